"""Writers of blocks: fresh names, visible values, and arithmetic that is exact."""

from __future__ import annotations

import pytest

from generators.programs.writing import BlockWriter, Writer, scalar
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Dense, TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import pick_of

ROW = TensorType((3,), element_type("si32"))


def begun(seed: int = 0, of: TensorType = ROW) -> BlockWriter:
    writer = Writer(pick_of(seed), of)
    return writer.block(writer.parameter(of))


def test_values_of_the_data_s_type_are_visible() -> None:
    block = begun()
    other = block.writer.new_value(scalar("i1"))
    own = block.writer.new_value(ROW)
    inner = block.nested_block(other, own)
    assert inner.data == [*block.data, own]
    assert inner.arguments == (other, own)
    assert len({value.name for value in (*inner.data, other)}) == 3


def test_a_number_fills_a_constant_of_any_type() -> None:
    block = begun()
    value = block.number(5, TensorType((2,), element_type("bf16")))
    constant = block.operations[-1].attribute("value")
    assert isinstance(constant, Dense)
    assert constant.array.astype(float).tolist() == [5, 5]
    assert value.type == constant.type


@pytest.mark.parametrize(
    ("of", "ops"),
    [
        ("si32", {"reverse", "select", "add", "subtract", "xor", "multiply"}),
        ("i1", {"reverse", "select", "xor", "and", "or"}),
        ("f32", {"reverse", "select"}),
    ],
)
def test_only_exact_operations_are_written(of: str, ops: set[str]) -> None:
    names: set[str] = set()
    for seed in range(40):
        block = begun(seed, TensorType((3,), element_type(of)))
        for _ in range(4):
            block.write_step()
        names |= {one.name for one in block.operations} - {"constant"}
    assert names == ops


def test_a_scalar_is_not_reversed() -> None:
    for seed in range(30):
        block = begun(seed, scalar("f32"))
        block.write_steps(5)
        assert "reverse" not in {one.name for one in block.operations}


def test_a_case_takes_all_parameters_with_their_profiles() -> None:
    block = begun(3)
    flag = block.writer.parameter(scalar("i1"), "bits")
    made = block.writer.case(block, [block.write_step(), flag])
    assert check(made.program) == []
    assert [value.type for value in made.program.main.arguments] == [ROW, scalar("i1")]
    assert {recipe.profiles[1] for recipe in made.inputs} == {"bits"}
    assert len(evaluate(made.program, materialise(made.program, made.inputs[0]))) == 2


def test_a_case_without_parameters_has_one_input_set() -> None:
    writer = Writer(pick_of(0), ROW)
    block = writer.block()
    made = writer.case(block, [block.pick_value()])
    assert [recipe.profiles for recipe in made.inputs] == [()]

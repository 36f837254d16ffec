"""Builders of cases, writers of blocks, and collectives in constructs."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.transforms.collective import collective_of
from conformance.verdict import Verdict
from generators.case.case import Case, InputRecipe
from generators.case.choices import ARRAY, PARAMETER, SPLAT, Pick
from generators.case.stream import stream
from generators.families.distribution import IN_MAIN
from generators.programs.building import (
    LARGEST_CONSTANT,
    case,
    constant,
    hide_choices,
    inputs,
    operand,
    prepend_operations,
)
from generators.programs.constructs import CASE, IF, LOOP, STARTED, put_in_construct
from generators.programs.writing import BlockWriter, Writer, scalar
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Dense, Operation, TensorType, Value
from reference.ir.types import ElementType, element_type
from reference.ops.host import COLLECTIVES
from suites.meta.support.built_cases import pick_of

F32 = element_type("f32")
ROWS = (("bits", "special"), ("small_integers", "bits"))


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, F32)


def sum_of(pick: Pick, **given: object) -> Case:
    kind = tensor(3)
    return case(pick, "add", {"lhs": kind, "rhs": kind}, (kind,), ROWS, **given)  # type: ignore[arg-type]


def test_large_constants_repeat_one_element_unless_the_whole_array_matters() -> None:
    for of, splat, repeats in (
        (tensor(LARGEST_CONSTANT), False, False),
        (tensor(LARGEST_CONSTANT + 1), False, True),
        (tensor(8), True, True),
    ):
        assert (len(set(constant(of, "bits", 1, splat=splat).array.tolist())) == 1) is repeats
    assert constant(tensor(3), "values:1,2,3", 1, splat=True).array.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("place", "kind"), [(PARAMETER, Value), (ARRAY, Dense), (SPLAT, Dense)])
def test_sources_of_an_operand(place: str, kind: type) -> None:
    pick = pick_of(0, {"lhs is": place})
    assert isinstance(operand(pick, "lhs", tensor(3), ("bits",)), kind)
    assert [choice.dimension for choice in pick.asked] == ["lhs is"]


def test_variadic_operands_share_their_source_and_unplanned_ones_have_no_dimension() -> None:
    pick = pick_of(0)
    operand(pick, "input12", tensor(3), ("bits",))
    operand(pick, "rhs", tensor(3), ("bits",), planned=False)
    assert [choice.dimension for choice in pick.asked] == ["input is"]


def test_scalars_are_no_splats() -> None:
    pick = pick_of(0)
    operand(pick, "lhs", tensor(), ("bits",))
    assert pick.asked[0].offered == (PARAMETER, ARRAY)


def test_recipes_are_for_parameters_only() -> None:
    value, fixed = Value("v", tensor(3)), constant(tensor(3), "bits", 1)
    recipes = inputs(pick_of(0, turn=0), (fixed, value), ROWS)
    assert {recipe.profiles for recipe in recipes} <= {("special",), ("bits",)}
    assert [recipe.seed - recipes[0].seed for recipe in recipes] == list(range(len(recipes)))
    assert inputs(pick_of(0), (fixed,), ROWS) == (InputRecipe((), 0),)


def test_cases_of_a_cell_begin_with_the_rows_that_each_has() -> None:
    value = Value("v", tensor(3))
    for turn in range(5):
        recipes = inputs(pick_of(turn, turn=turn), (value,), ROWS, first=(("wide",),))
        assert recipes[0].profiles == ("wide",)


def test_only_related_operands_are_correlated_or_one() -> None:
    def correlations(related: bool) -> set[str]:
        cases = [sum_of(pick_of(seed), related=related) for seed in range(60)]
        return {one.correlation for made in cases for one in made.inputs}

    assert correlations(False) == {"independent"}
    assert correlations(True) == {"independent", "equal", "negated", "one_ulp"}
    alike = sum_of(pick_of(0, {"operands are one": "yes", "lhs is": PARAMETER}), related=True)
    assert len(alike.program.main.arguments) == 1


def test_some_cases_have_constants_and_most_have_several_inputs() -> None:
    made = [sum_of(pick_of(seed)) for seed in range(200)]
    without = [one for one in made if not one.program.main.arguments]
    assert without
    assert all(one.inputs == (InputRecipe((), 0),) for one in without)
    assert 20 <= sum(len(one.program.main.arguments) < 2 for one in made) <= 150
    assert 2.5 < sum(len(one.inputs) for one in made) / len(made) < 5


def test_operands_with_a_fixed_source() -> None:
    for seed in range(20):
        made = sum_of(pick_of(seed), parameters=("lhs",), constants=("rhs",))
        assert [argument.name for argument in made.program.main.arguments] == ["lhs"]


def test_a_case_whose_results_are_all_empty() -> None:
    pick = pick_of(0)
    case(pick, "add", {"lhs": tensor(0), "rhs": tensor(0)}, (tensor(0),), ROWS)
    assert pick.has_empty_results
    sum_of(pick)
    assert not pick.has_empty_results


def test_hidden_choices_are_drawn_in_the_builder_and_recorded_after_it() -> None:
    def build(_: ElementType, pick: Pick) -> Case:
        return sum_of(pick)

    pick = pick_of(0)
    hide_choices(build, "lhs is")(F32, pick)
    assert [choice.dimension for choice in pick.asked] == ["rhs is"]
    assert pick.hidden == frozenset()


def test_operations_come_before_those_of_main() -> None:
    program = sum_of(pick_of(0), parameters=("lhs", "rhs")).program
    first = Operation("mine")
    extended = prepend_operations(program, (first,), ())
    assert [operation.name for operation in extended.main.body.operations] == [
        "mine",
        "add",
        "return",
    ]
    assert prepend_operations(program, (), ()) is program


# --- Writers of blocks ---------------------------------------------------------------------------

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
        names |= {operation.name for operation in block.operations} - {"constant"}
    assert names == ops


def test_a_scalar_is_not_reversed() -> None:
    for seed in range(30):
        block = begun(seed, scalar("f32"))
        block.write_steps(5)
        assert "reverse" not in {operation.name for operation in block.operations}


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


# --- Collectives in branches, in loops and in asynchronous operations -----------------------------

F32 = element_type("f32")
DRAWN = 4
"""Cases of each op in each construct."""

OF_NAME = {IF: "if", CASE: "case", LOOP: "while", STARTED: "async_start"}
EVERY = [(op, way) for op in sorted(IN_MAIN) for way in OF_NAME
         if way != STARTED or op in COLLECTIVES]  # fmt: skip


def drawn(op: str, way: str) -> list[Case]:
    """Return some cases of an op in a construct."""
    picks = [stream(77, index, {}, index) for index in range(DRAWN)]
    return [put_in_construct(IN_MAIN[op](element_type("ui32"), pick), way, pick)
            if op.endswith("_id") else put_in_construct(IN_MAIN[op](F32, pick), way, pick)
            for pick in picks]  # fmt: skip


@pytest.mark.parametrize(("op", "way"), EVERY)
def test_collective_is_in_the_construct_and_all_processes_finish(op: str, way: str) -> None:
    for made in drawn(op, way):
        program = made.program
        assert OF_NAME[way] in {operation.name for operation in program.main.body.operations}
        assert op not in {operation.name for operation in program.main.body.operations}
        assert getattr(collective_of(program), "name", "") == op
        assert check(program) == []
        for recipe in made.inputs[:2]:
            evaluate(program, materialise(program, recipe))


@pytest.mark.slow
@pytest.mark.parametrize(("op", "way"), EVERY)
def test_a_wrong_element_is_found(op: str, way: str) -> None:
    rule, wrong = CATALOG[op].tolerance, 0
    for made in drawn(op, way):
        inputs = materialise(made.program, made.inputs[0])
        expected = evaluate(made.program, inputs)
        assert judge(made.program, inputs, expected, expected, rule).verdict is Verdict.PASS
        actual = [np.zeros_like(array) for array in expected]
        if any((array != 0).any() for array in expected):
            found = judge(made.program, inputs, expected, actual, rule).verdict
            assert found in (Verdict.DIVERGENT, Verdict.FLUSHED, Verdict.UNSPECIFIED)
            wrong += found is Verdict.DIVERGENT
    assert wrong


def test_choices_are_drawn_where_nothing_is_planned() -> None:
    pick = Pick(lambda _: 0)
    made = put_in_construct(IN_MAIN["all_gather"](F32, pick), IF, pick)
    predicate = made.program.main.arguments[-1]
    assert str(predicate.type) == "tensor<i1>"
    assert [recipe.profiles[-1] for recipe in made.inputs] == ["values:1"]

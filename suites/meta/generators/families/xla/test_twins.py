"""The cases of a twin, under the names of XlaBuilder's op."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from generators.families import data_movement
from generators.families.xla.twins import rename_to_op, restate_case, twins
from reference.ir.program import Operation, Program, TensorType, Value, single_op
from reference.ir.types import element_type
from reference.ops.table import OPS
from suites.meta.support.built_cases import built, pick_of

F32 = element_type("f32")
X = Value("x", TensorType((2, 3), F32))


def transpose_program() -> Program:
    return single_op("transpose", (X,), (TensorType((3, 2), F32),), {"permutation": (1, 0)})


def test_only_the_name_changes_without_renames() -> None:
    program = rename_to_op(transpose_program(), OPS["Transpose"])
    assert program.subject.name == "Transpose"
    assert program.subject.attribute("permutation") == (1, 0)
    assert program.main.result_types == transpose_program().main.result_types


def test_attributes_are_renamed_or_restated() -> None:
    constant = single_op("constant", (), (X.type,), {"value": 1})  # type: ignore[arg-type]
    assert rename_to_op(constant, OPS["Constant"]).subject.attributes == (("literal", 1),)

    def restate(operation: Operation) -> dict[str, Any]:
        return {"dimensions": operation.results[0].type.static_shape}  # type: ignore[union-attr]

    reshaped = single_op("reshape", (X,), (TensorType((6,), F32),))
    assert rename_to_op(reshaped, OPS["Reshape"], restate).subject.attributes == (
        ("dimensions", (6,)),
    )


def test_results_may_follow_from_the_new_attributes() -> None:
    program = rename_to_op(
        transpose_program(), OPS["Transpose"], lambda _: {"permutation": (0, 1)}, inferred=True
    )
    assert program.main.result_types == (X.type,)
    assert program.main.body.operations[-1].operands == program.subject.results


def test_a_program_without_the_twin_is_unchanged() -> None:
    assert rename_to_op(transpose_program(), OPS["Rev"]) == transpose_program()


def test_the_last_of_several_twins_is_the_subject() -> None:
    y, z = (Value(name, X.type) for name in "yz")
    body = (Operation("negate", (X,), (y,)), Operation("negate", (y,), (z,)))
    program = transpose_program()
    main = program.main
    region = replace(main.body, operations=(*body, Operation("return", (z,))))
    changed = replace(program, functions=(replace(main, body=region, result_types=(X.type,)),))
    names = [one.name for one in rename_to_op(changed, OPS["Neg"]).main.body.operations]
    assert names == ["negate", "Neg", "return"]


def test_cases_are_those_of_the_twin() -> None:
    builders = twins(data_movement.BUILDERS, [OPS["Transpose"]])
    ours = built(builders["Transpose"], "f32", 5)
    theirs = built(data_movement.BUILDERS["transpose"], "f32", 5)
    for own, their in zip(ours, theirs, strict=True):
        assert own.inputs == their.inputs
        assert own.program == rename_to_op(their.program, OPS["Transpose"])
    direct = restate_case(
        data_movement.BUILDERS["transpose"], OPS["Transpose"], None, F32, pick_of(0)
    )
    assert direct == ours[0]

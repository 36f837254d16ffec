"""XlaBuilder's branches: computations of their operands, by a predicate or an index."""

from __future__ import annotations

import pytest

from generators.families.xla.control_flow import BUILDERS, branch
from reference.ir.program import TensorType, TupleType
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, operations, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 10))


@pytest.mark.parametrize(
    ("kind", "reversals"), [("its argument", 0), ("reversed", 1), ("reversed twice", 2)]
)
def test_a_branch_shows_which_one_was_taken(kind: str, reversals: int) -> None:
    region = branch(TensorType((2, 3), element_type("f32")), kind)
    assert [one.name for one in region.operations] == ["reverse"] * reversals + ["return"]


def test_branches_by_predicate_and_by_index() -> None:
    found = subjects(built(BUILDERS["Conditional"], "f32", 80))
    counts = {(str(one.operands[0].type.element), len(one.regions)) for one in found}  # type: ignore[union-attr]
    assert counts == {("i1", 2), ("si32", 1), ("si32", 2), ("si32", 3), ("si32", 4)}


def test_an_index_may_be_out_of_range() -> None:
    cases = built(BUILDERS["Conditional"], "f32", 40, {"form": "index", "branches": "2"})
    profiles = {p for case in cases for recipe in case.inputs for p in recipe.profiles}
    assert {"within:-1:2", "special"} <= profiles


def test_one_tuple_is_selected_or_another() -> None:
    found = operations(built(BUILDERS["Select (tuples)"], "f32", 60), "Select (tuples)")
    assert all(isinstance(one.operands[1].type, TupleType) for one in found)
    assert {one.operands[1] == one.operands[2] for one in found} == {True, False}


def test_a_call_names_a_function_of_the_program() -> None:
    for case in built(BUILDERS["Call"], "f32", 10):
        for one in operations([case], "Call"):
            case.program.function(str(one.attribute("computation")))

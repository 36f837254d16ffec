"""XlaBuilder's elementwise ops: shapes of every kind of broadcast, and required accuracies."""

from __future__ import annotations

import pytest

from generators.families.xla.elementwise import ALIKE, BUILDERS, MAPPED, ONES, SCALAR
from reference.ir.accuracy import ResultAccuracy
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


@pytest.mark.parametrize("kind", [ALIKE, SCALAR, ONES, MAPPED])
def test_shapes_of_a_kind(kind: str) -> None:
    cases = built(BUILDERS["Sub"], "f32", 40, {"shapes": kind})
    assert_valid(cases)
    for one in subjects(cases):
        lhs, rhs = sizes(one), sizes(one, 1)
        mapped = one.attribute("broadcast_dimensions")
        if kind == ALIKE:
            assert lhs == rhs
        if kind == SCALAR:
            assert () in (lhs, rhs)
            assert mapped in (None, ())
        if kind == ONES:
            assert len(lhs) == len(rhs)
        if kind == MAPPED:
            assert len(mapped) == min(len(lhs), len(rhs)) < max(len(lhs), len(rhs))  # type: ignore[arg-type]


def test_either_operand_is_broadcast() -> None:
    for side, larger in (("lhs", 1), ("rhs", 0)):
        planned = {"shapes": MAPPED, "broadcast": side}
        assert all(
            len(sizes(one, larger)) > len(sizes(one, 1 - larger))
            for one in subjects(built(BUILDERS["Add"], "f32", 20, planned))
        )


def test_a_size_of_one_is_repeated() -> None:
    pairs = [
        (sizes(one), sizes(one, 1))
        for one in subjects(built(BUILDERS["Add"], "f32", 60, {"shapes": ONES}))
    ]
    assert any(lhs != rhs for lhs, rhs in pairs)
    assert any(1 in lhs and 1 in rhs and lhs != rhs for lhs, rhs in pairs)


@pytest.mark.parametrize(
    ("kind", "accuracy"), [("ulps", ResultAccuracy("TOLERANCE", ulps=4)), ("nothing", None)]
)
def test_a_function_may_state_its_accuracy(kind: str, accuracy: ResultAccuracy | None) -> None:
    cases = built(BUILDERS["Exp"], "f32", 5, {"result_accuracy": kind})
    assert_valid(cases)
    assert {one.attribute("result_accuracy") for one in subjects(cases)} == {accuracy}


def test_other_ops_state_none() -> None:
    assert not any(
        one.attribute("result_accuracy") for one in subjects(built(BUILDERS["Abs"], "f32"))
    )

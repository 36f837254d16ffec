"""Comparators: what each kind orders by, and in which direction."""

from __future__ import annotations

import numpy as np
import pytest

from generators.regions.comparators import Comparator, comparators
from reference.interpreter.evaluate import body_of
from reference.ir.types import element_type
from suites.meta.support.built_cases import pick_of


def made(of: str, kind: str, count: int = 30, **planned: str) -> list[Comparator]:
    given = {"comparator": kind, **planned}
    return [comparators(element_type(of), pick_of(seed, given)) for seed in range(count)]


def before(one: Comparator, lhs: int, rhs: int) -> bool:
    """Return whether elements of `lhs` in every operand come before elements of `rhs`."""
    pairs = [np.array(side, of.storage) for of in one.inputs for side in (lhs, rhs)]
    return bool(body_of(one.region)(*pairs)[0])


@pytest.mark.parametrize("kind", ["one key", "two keys"])
@pytest.mark.parametrize(("direction", "ascending"), [("LT", True), ("GT", False)])
def test_keys_ascend_or_descend_in_every_form(kind: str, direction: str, ascending: bool) -> None:
    name = "direction" if kind == "one key" else "direction of key 1"
    other = {} if kind == "one key" else {"direction of key 2": direction}
    for one in made("si32", kind, **{name: direction}, **other):
        assert before(one, 1, 2) is ascending
        assert before(one, 2, 1) is not ascending
        assert not before(one, 1, 1)


def test_a_comparator_that_is_not_strict_has_short_slices() -> None:
    for one in made("f32", "non strict order"):
        assert before(one, 1, 1)
        assert one.longest == 16


def test_a_constant_orders_nothing() -> None:
    for one in made("f32", "constant false"):
        assert not before(one, 1, 2)
        assert not before(one, 2, 1)


def test_differences_are_of_small_numbers() -> None:
    for one in made("si8", "sign of difference"):
        assert before(one, -2, 2)
        assert one.rows == (("within:0:1",), ("within:-2:2",))


def test_comparators_in_functions_have_callees() -> None:
    assert all(one.functions for one in made("f32", "key in functions"))
    assert all(one.few and one.longest == 7 for one in made("f32", "non elementwise key"))


def test_each_row_has_a_profile_for_each_operand() -> None:
    for of in ("f32", "ui8", "i1", "complex<f32>"):
        for seed in range(40):
            one = comparators(element_type(of), pick_of(seed))
            assert {len(row) for row in one.rows} == {len(one.inputs)}
            assert element_type(of) in one.inputs

"""Ragged products: modes, roles of dimensions, and sizes of groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from generators.case.case import Case
from generators.families.ragged import ALL, EMPTY, FEWER, MORE, NONE, ONE, ragged_dot
from reference.ops.ragged import Mode, ragged_numbers
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects


def ragged_size(case: Case) -> int:
    given: Any = dict(case.program.subject.attributes)
    return sizes(case.program.subject)[ragged_numbers(**given).ragged]


def shares(case: Case) -> list[list[int]]:
    """Return the sizes of groups, a list for each index of the dimensions before."""
    groups = sizes(case.program.subject, 2)
    flat = [int(n) for n in case.inputs[0].profiles[-1].removeprefix("values:").split(",") if n]
    return [flat[n : n + groups[-1]] for n in range(0, len(flat), groups[-1])]


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (ALL, lambda groups, size: sum(groups) == size),
        (FEWER, lambda groups, size: sum(groups) < size or size == 0),
        (MORE, lambda groups, size: sum(groups) > size),
        (EMPTY, lambda groups, size: sum(groups) == size and (0 in groups or len(groups) == 1)),
        (ONE, lambda groups, size: sorted(groups) == [0] * (len(groups) - 1) + [size]),
        (NONE, lambda groups, _: not any(groups)),
    ],
)
def test_sizes_of_groups(kind: str, holds: Callable[[list[int], int], bool]) -> None:
    """The first of two profiles of a case has the planned kind; inputs begin with it."""
    planned = {"group sizes are for": kind, "group_sizes is": "a parameter"}
    cases = built(ragged_dot, "f32", 40, planned, turn=0)
    found = [(one, ragged_size(case)) for case in cases for one in shares(case)[:1]]
    assert len(found) > 20
    assert all(holds(one, size) for one, size in found)


@pytest.mark.parametrize("mode", Mode)
def test_a_mode_has_its_ragged_dimension(mode: Mode) -> None:
    cases = built(ragged_dot, "f32", 25, {"mode": mode.name.lower()})
    assert_valid(cases)
    for one in subjects(cases):
        given: Any = dict(one.attributes)
        assert ragged_numbers(**given).mode is mode
        assert bool(given["rhs_group_dimensions"]) == (mode is Mode.ROWS)


def test_sizes_of_groups_are_shared_or_given_for_each_index_before() -> None:
    ranks = {len(sizes(one, 2)) for one in subjects(built(ragged_dot, "f32", 80))}
    assert {1, 2} <= ranks


def test_a_type_of_sizes_holds_all_of_them() -> None:
    for case in built(ragged_dot, "f32", 60):
        of = case.program.subject.operands[2].type
        assert of.element.max_integer >= ragged_size(case) + 3  # type: ignore[union-attr]

"""Dimensions of variation: each value of each must change the program that a backend is given."""

from __future__ import annotations

import zlib
from itertools import combinations, product

import pytest

from conformance.catalog import CATALOG
from conformance.stablehlo.emit import emit
from generators.case.case import Case
from generators.case.choices import Pick
from generators.case.quantized_types import QuantizedColumn
from generators.cells.plan import coverage, valid_columns
from generators.families.table import BUILDERS, builder
from generators.programs.building import hide_choices
from generators.quantized.columns import quantized_case

Values = tuple[str, str, str]
"""A dimension, and two of its values."""

_FEWEST, _MOST = 3, 48
"""Cases of each column that are varied: more than the fewest where values still look alike."""


class _Draws:
    """Draws that depend on the last named choice and on how many came after it.

    So what a named choice changes is what its own value changes, and not that later choices are
    made by other draws than before.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.last, self.count = seed, "", 0
        self.pick = Pick(self)

    def planned(self, values: dict[str, str]) -> Pick:
        self.pick = Pick(self, values, 0)
        return self.pick

    def __call__(self, count: int) -> int:
        name = self.pick.asked[-1].dimension if self.pick.asked else ""
        self.count = self.count + 1 if name == self.last else 0
        self.last = name
        return zlib.crc32(f"{name} {self.count} {self.seed}".encode()) * count >> 32


def _build(op: str, column: object, values: dict[str, str], seed: int) -> tuple[Pick, Case]:
    pick = _Draws(seed).planned(values)
    if isinstance(column, QuantizedColumn):
        return pick, quantized_case(op, column, pick)
    return pick, builder(op)(column, pick)  # type: ignore[arg-type]


def _text(op: str, column: object, values: dict[str, str], seed: int) -> str | None:
    """Return the program as text; None where no case has these values."""
    try:
        return emit(_build(op, column, values, seed)[1].program)
    except ValueError:
        return None


def values_without_effect(op: str) -> set[Values]:
    """Return the pairs of values that every tried program is the same with, all else
    being equal.
    """
    met: set[Values] = set()
    differ: set[Values] = set()
    for index, (number, column) in product(range(_MOST), enumerate(valid_columns(op))):
        if index >= _FEWEST and met <= differ:
            break
        planned = coverage(op, 0).plan_case(number, index)
        try:
            pick, _ = _build(op, column, planned, index)
        except ValueError:  # a quantized column's simple case has other values
            continue
        values = {one.dimension: one.taken for one in reversed(pick.asked)}
        offered = {one.dimension: one.offered for one in reversed(pick.asked)}
        for name, options in offered.items():
            pairs = {(name, *pair) for pair in combinations(sorted(options), 2)}
            met |= pairs
            differ |= _differing_pairs(op, column, values, index, pairs - differ)
    return met - differ


def _differing_pairs(
    op: str, column: object, values: dict[str, str], seed: int, pairs: set[Values]
) -> set[Values]:
    """Return the pairs for which the case of these values has different programs."""
    texts = {
        (name, value): _text(op, column, values | {name: value}, seed)
        for name, value in {(name, value) for name, *both in pairs for value in both}
    }
    programs = {pair: (texts[pair[0], pair[1]], texts[pair[0], pair[2]]) for pair in pairs}
    return {pair for pair, (a, b) in programs.items() if None not in (a, b) and a != b}


@pytest.mark.slow
@pytest.mark.parametrize("op", CATALOG)
def test_every_value_changes_the_program(op: str) -> None:
    """A value counts as covered only if a backend sees it."""
    assert not values_without_effect(op), (
        "give such values one label, or draw them without a name (`hide_choices` where a builder "
        "of another op is used)"
    )


@pytest.mark.slow
def test_a_value_without_effect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    of = builder("abs")

    def pad_cases(element: object, pick: Pick) -> Case:
        pick.choose_named("colour", ("red", "green"), str)
        return of(element, pick)  # type: ignore[arg-type]

    monkeypatch.setitem(BUILDERS, "abs", pad_cases)
    coverage.cache_clear()
    try:
        assert values_without_effect("abs") == {("colour", "green", "red")}
        monkeypatch.setitem(BUILDERS, "abs", hide_choices(pad_cases, "colour"))
        coverage.cache_clear()
        assert not values_without_effect("abs")
    finally:
        coverage.cache_clear()

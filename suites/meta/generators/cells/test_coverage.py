"""Plans of cases: what is aimed at next, which cases contribute, and values that a backend sees.

That the standard profile covers every value is a test of all ops (test_contract.py).
"""

from __future__ import annotations

import zlib
from itertools import combinations, product
from math import prod

import pytest

from conformance.campaign.planning import cases_of
from conformance.catalog import CATALOG
from conformance.stablehlo.emit import emit
from generators.case.case import Case
from generators.case.choices import NARROWING, Pick, choose, seldom
from generators.case.quantized_types import QuantizedColumn
from generators.case.shapes import LARGE_TYPES
from generators.cells import plan
from generators.cells.coverage import Coverage
from generators.cells.coverage_column import (
    TRIES,
    Column,
    last_contributing_case,
    pop_missing,
    rotate_pairs,
    values_offered_until,
)
from generators.cells.plan import coverage, valid_columns
from generators.families.table import BUILDERS, builder
from generators.programs.building import hide_choices
from generators.quantized.columns import quantized_case, quantized_columns
from reference.ir.types import ELEMENT_TYPES


@pytest.mark.slow
def test_every_pair_of_types_is_converted() -> None:
    for op in ("convert", "bitcast_convert"):
        for column in (c for c in plan.valid_columns(op) if c.name in ELEMENT_TYPES):
            count = cases_of(CATALOG[op], "standard")
            made = plan.cases(op, column, 0, count)
            targets = {one.program.subject.results[0].type.element_type for one in made}
            offered = plan.coverage(op, 0).columns[plan.valid_columns(op).index(column)].options
            assert len(targets) == len(offered["to"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "op", ["convolution", "dot_general", "gather", "reduce", "reduce_window", "scatter", "sort"]
)
def test_large_cases_are_in_every_column_of_types_with_kernels_of_their_own(op: str) -> None:
    for column in (c for c in plan.valid_columns(op) if c.name in LARGE_TYPES):
        made = plan.cases(op, column, 0, cases_of(CATALOG[op], "standard"))
        sizes = [prod(value.type.shape) for one in made for value in one.program.subject.operands]
        assert max(sizes) > 2_000, column


def test_the_first_cases_are_seldom_scalars() -> None:
    for op in ("add", "compare", "gather", "map", "select_and_scatter", "slice"):
        columns = plan.valid_columns(op)
        made = [case for column in columns for case in plan.cases(op, column, 0, 2)]
        scalars = [
            one
            for one in made
            if getattr(one.program.subject.operands[0].type, "shape", None) == ()
        ]
        assert 0 < len(scalars) <= 0.1 * len(made)


def test_choices_are_as_planned_where_they_are_offered() -> None:
    pick = Pick(lambda count: count - 1, {"way": "b", "size": "none such"})
    assert choose(pick, ("a", "b", "c"), "way") == "b"
    assert choose(pick, (1, 2), "size") == 2
    assert choose(pick, ("a", "b", "c"), "way") == "c"  # the first time only
    assert seldom(pick, 3)
    assert [(one.dimension, one.taken) for one in pick.asked] == [
        ("way", "b"), ("size", "2"), ("way", "c"),
    ]  # fmt: skip
    pick.start()
    assert (choose(pick, ("a", "b"), "way"), len(pick.asked)) == ("b", 1)


@pytest.mark.parametrize("op", ["compare", "pad", "fft"])
def test_deep_covers_every_pair_in_every_column_and_then_triples(op: str) -> None:
    count = cases_of(CATALOG[op], "deep")
    covered = plan.coverage(op, 0)
    for index, column in enumerate(covered.columns[:4]):
        covered.plan_case(index, count - 1)
        assert not column.missing_pairs
        met = {
            value for row in column.rows for value in row
            if covered.names[value][1] not in NARROWING
        }  # fmt: skip
        beside = {(p >> 24, p & (1 << 24) - 1) for p in column.pairs}
        able = sum({(a, b), (a, c), (b, c)} <= beside for a, b, c in combinations(sorted(met), 3))
        assert len(column.triples) > 0.85 * able


def test_values_that_depend_on_others_are_reached() -> None:
    """A dimension that only one value of another asks for, and pairs within it."""

    def build(_: int, index: int, planned: dict[str, str]) -> Pick:
        pick = Pick(lambda count: index * 7 % count, planned)
        if choose(pick, ("plain",) * 30 + ("deep",), "kind") == "deep":
            choose(pick, ("x", "y", "z"), "only there")
            choose(pick, (1, 2, 3), "there too")
        pick.has_empty_results = choose(pick, ("some",) * 9 + ("empty",), "data") == "empty"
        return pick

    covered = Coverage(1, build)
    covered.plan_case(0, 29)
    done = covered.measure({0: range(30)}, ["only"])
    assert (done.values, done.out_of_reach) == (done.declared_values, 0) == (10, 0)
    assert done.pairs == done.declared_pairs == 9 + 2 * 3 + 8
    assert done.missing == ()
    assert done.dimensions == {
        "data": (2, 2), "kind": (2, 2), "only there": (3, 3), "there too": (3, 3),
    }  # fmt: skip
    few = covered.measure({0: [0]}, ["only"]).dimensions
    assert few["kind"] == (1, 2)


def test_values_hidden_by_empty_result_do_not_count() -> None:
    def build(_: int, __: int, planned: dict[str, str]) -> Pick:
        pick = Pick(lambda _: 0, planned)
        choose(pick, ("a", "b"), "way")
        pick.has_empty_results = True
        return pick

    covered = Coverage(1, build)
    covered.plan_case(0, 9)
    done = covered.measure({0: range(10)}, ["only"])
    assert (done.values, done.out_of_reach, done.pairs) == (0, 2, 0)


def test_quantized_columns_have_plans_of_their_own() -> None:
    for column in quantized_columns("add"):
        made = plan.cases("add", column, 0, 8)
        assert len({one.program for one in made}) == 8


# --- One column of a covering array --------------------------------------------------------------


def test_the_last_case_that_takes_a_new_value() -> None:
    column = Column(rows=[(1, 10), (2, 10), (1, 10), (2, 11), (2, 10)])
    assert last_contributing_case(column, 5) == 3
    assert last_contributing_case(column, 3) == 1
    assert last_contributing_case(column, 1) == 0


def test_a_case_that_is_offered_a_value_contributes() -> None:
    column = Column(rows=[(1,)] * 4, options={"size": {1: 0, 2: 2}})
    assert last_contributing_case(column, 4) == 2
    assert last_contributing_case(column, 2) == 0  # a later offer does not count


def test_so_does_the_first_that_aims_at_a_value_that_is_never_taken() -> None:
    column = Column(rows=[(1,)] * 4, options={"size": {1: 0, 2: 0}}, aimed={2: 3, 1: 1})
    assert last_contributing_case(column, 4) == 3
    taken = Column(rows=[(1,), (2,), (1,), (1,)], options={"size": {1: 0, 2: 0}}, aimed={2: 3})
    assert last_contributing_case(taken, 4) == 1


def test_values_offered_up_to_a_case() -> None:
    assert values_offered_until(1, {5: 0, 6: 1, 7: 2}, {8: 1}) == [5, 6, 8]


def test_a_missing_value_is_aimed_at_a_few_times() -> None:
    column = Column()
    missing = {7: (1, 2), 8: ()}
    for turn in range(TRIES):
        column.plans = [{}] * turn
        assert 7 in missing
        assert pop_missing(column, missing, 7) == (1, 2)
    assert list(missing) == [8]
    assert column.aimed == {7: 0}  # the first case that aimed at it


def test_a_value_that_is_aimed_at_moves_to_the_end() -> None:
    missing: dict[int, tuple[int, ...]] = {7: (), 8: ()}
    pop_missing(Column(), missing, 7)
    assert list(missing) == [8, 7]


def test_columns_start_at_different_pairs() -> None:
    pairs: dict[int, tuple[int, ...]] = dict.fromkeys(range(6), ())
    assert list(rotate_pairs(pairs, 0, 3)) == [0, 1, 2, 3, 4, 5]
    assert list(rotate_pairs(pairs, 1, 3)) == [2, 3, 4, 5, 0, 1]
    assert list(rotate_pairs(pairs, 2, 4)) == [3, 4, 5, 0, 1, 2]


# --- Each value of each dimension changes the program ---------------------------------------------

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

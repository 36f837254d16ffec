"""Coverage by design: the plan of cases, and the requirements of the standard profile."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import prod

import pytest

from conformance.campaign.planning import cases_of, plan_of
from conformance.catalog import CATALOG, Cell
from generators.case.choices import NARROWING, Pick, choose, seldom
from generators.case.shapes import LARGE_TYPES
from generators.cells import plan
from generators.cells.coverage import Coverage
from generators.cells.coverage_report import CoverageReport
from generators.quantized.columns import quantized_columns
from reference.ir.types import ELEMENT_TYPES

F32 = ELEMENT_TYPES["f32"]


def coverage_of(op: str, profile: str, seed: int = 0) -> CoverageReport:
    """Return a profile's coverage of an op's dimensions, in all its columns."""
    columns = plan.valid_columns(op)
    cases = {
        column.name: {n for task in plan_of(Cell(op, column, "cpu"), profile, seed)
                      for n in range(task.start, task.stop)}
        for column in columns
    }  # fmt: skip
    return plan.coverage_report(op, seed, cases)


@pytest.mark.slow
def test_later_plans_change_no_coverage() -> None:
    """The coverage of a run depends only on its cases, not on earlier plans."""
    before = coverage_of("dynamic_broadcast_in_dim", "standard", seed=4)
    for column in plan.valid_columns("dynamic_broadcast_in_dim"):
        plan.case("dynamic_broadcast_in_dim", column, 4, 79)
    assert coverage_of("dynamic_broadcast_in_dim", "standard", seed=4) == before
    assert coverage_of("dynamic_broadcast_in_dim", "deep", seed=4) != before


SPECIFIED = [op for op, row in CATALOG.items() if row.dialect == "stablehlo"]
LOWERED = [op for op in CATALOG if op not in SPECIFIED]


@pytest.mark.slow
@pytest.mark.parametrize("op", SPECIFIED)
def test_standard_reaches_every_value_and_pair(op: str) -> None:
    """Every value in every column where it can be had, every pair of values somewhere."""
    whole = coverage_of(op, "standard")
    assert whole.pairs == whole.declared_pairs, whole.missing
    assert whole.declared_values - whole.values == whole.out_of_reach, whole.missing
    assert whole.out_of_reach <= 0.02 * whole.declared_values, whole.missing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "profile"),
    [*((op, "smoke") for op in SPECIFIED), *((op, "standard") for op in LOWERED)],
)
def test_every_value_is_reached_somewhere(op: str, profile: str) -> None:
    """But for those of dimensions that have more values than an op has cases for.

    What an op of XlaBuilder shares with its twin is not tried again in every column.
    """
    cases = cases_of(CATALOG[op], profile)
    columns = [column.name for column in plan.valid_columns(op)]
    plan.coverage_report(op, 0, dict.fromkeys(columns, range(cases)))
    covered = plan.coverage(op, 0)
    met = {value for column in covered.columns for row in column.rows[:cases] for value in row}
    offered = {v for column in covered.columns for some in column.options.values() for v in some}
    sizes = Counter(covered.names[value][0] for value in offered)
    missing = {covered.names[value] for value in offered - met
               if sizes[covered.names[value][0]] <= cases * len(columns) / 3}  # fmt: skip
    assert len(missing) <= 0.05 * len(offered), missing


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
        made = [one for column in columns for one in plan.cases(op, column, 0, 2)]
        scalars = [
            one
            for one in made
            if getattr(one.program.subject.operands[0].type, "shape", None) == ()
        ]
        assert 0 < len(scalars) <= 0.1 * len(made)


def test_fft_types_occur_in_every_complex_column() -> None:
    made = plan.cases("fft", ELEMENT_TYPES["complex<f32>"], 0, 16)
    kinds = {one.program.subject.attribute("fft_type") for one in made}
    assert kinds == {"FFT", "IFFT", "IRFFT"}


@pytest.mark.slow
def test_case_does_not_depend_on_earlier_cases() -> None:
    late = plan.case("sort", F32, 5, 30)
    plan.coverage.cache_clear()
    assert plan.case("sort", F32, 5, 30) == late
    plan.coverage.cache_clear()
    plan.case("sort", ELEMENT_TYPES["si8"], 5, 11)
    assert plan.case("sort", F32, 5, 30) == late


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
    for number, column in enumerate(covered.columns[:4]):
        covered.plan_case(number, count - 1)
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

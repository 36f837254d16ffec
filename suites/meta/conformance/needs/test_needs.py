"""Needs of operands and ranges of results, by the rules that the catalog has for each op."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from typing import Any

import pytest

from conformance.catalog import numbers_of
from conformance.needs import ranges
from conformance.needs.need import (
    ANY,
    BITS,
    DEFINITE,
    DOMINANT,
    NONNEGATIVE,
    NONZERO,
    POSITIVE,
    Need,
    at_least,
    at_most,
    conjunction,
)
from conformance.needs.operand_needs import EXPONENTS, TRIPS, trip_count_needs
from conformance.needs.ranges import EVERYTHING, KnownValues, Range
from generators.regions.bodies import fold_of
from reference.custom_calls.sparse import CSR
from reference.ir.program import Operation, Value
from reference.ir.types import element_type
from suites.meta.support.small_programs import tensor_of


def value(name: str, of: str = "f32", *shape: int) -> Value:
    return Value(name, tensor_of(*(shape or (4,)), of=of))


X, Y, Z = value("x"), value("y"), value("z")
N, J = value("i", "si32"), value("j", "si32")
KEY, MASK = value("k", "ui32"), value("m", "i1")
C = value("c", "complex<f32>")
TABLE, STARTS = value("t", "f32", 10, 6), value("s", "si32", 4, 2)

BRANCH = fold_of("add", element_type("f32")).region
ROWS, COLUMNS = value("r", "si32", 4, 1), value("l", "si32", 4, 1)
MAKERS = {
    one.results[0].name: one
    for one in (
        Operation("convert", (N,), (value("converted"),)),
        Operation(
            "concatenate", (ROWS, COLUMNS), (value("joined", "si32", 4, 2),), (("dimension", 1),)
        ),
        Operation("negate", (X,), (value("negated"),)),
        Operation("multiply", (X, Y), (value("multiple"),)),
    )
}
CONVERTED, JOINED, NEGATED, MULTIPLE = (one.results[0] for one in MAKERS.values())
SMALL = Need(0, EXPONENTS)
GATHER = {"start_index_map": (0, 1), "slice_sizes": (1, 2), "index_vector_dim": 1}
SCATTER = {
    "update_window_dims": (1,), "inserted_window_dims": (0,), "index_vector_dim": 1,
    "scatter_dims_to_operand_dims": (0,), "unique_indices": True, "indices_are_sorted": False,
}  # fmt: skip


def operation_on(op: str, *operands: Value, **given: Any) -> Operation:
    to = "i1" if op == "compare" else "f32"
    regions = (BRANCH,) * {"case": 3, "reduce": 1}.get(op, 0)
    return Operation(op, operands, (value("result", to),), tuple(given.items()), regions)


def known_ranges(operands: Sequence[Value], **bounds: tuple[float, float]) -> KnownValues:
    """Return the ranges of values by name; those without bounds may be anything."""
    found = {one.name: EVERYTHING for one in (*operands, X)}
    return KnownValues(found | {name: Range(*pair) for name, pair in bounds.items()}, MAKERS)


def needs_of(operation: Operation, need: Need, **bounds: tuple[float, float]) -> dict[str, Need]:
    """Return the needs of the operands, by name."""
    found: dict[str, Need] = {}
    known = known_ranges(operation.operands, **bounds)
    for rule in numbers_of(operation).rules:
        for operand, one in rule(operation, need, known):
            found[operand.name] = conjunction(found.get(operand.name, ANY), one)
    return found


@pytest.mark.parametrize(
    ("op", "operands", "need", "bounds", "needs"),
    [
        ("sqrt", [X], ANY, {}, {"x": at_least(0)}),
        ("sqrt", [X], POSITIVE, {}, {"x": POSITIVE}),
        ("sqrt", [X], Need(2, 3), {}, {"x": Need(4, 9, is_open=True)}),
        ("sqrt", [X], NONZERO, {}, {"x": POSITIVE}),
        ("sqrt", [C], ANY, {}, {}),
        ("rsqrt", [X], ANY, {}, {"x": POSITIVE}),
        ("rsqrt", [C], ANY, {}, {}),
        ("log", [X], ANY, {}, {"x": POSITIVE}),
        ("log", [X], Need(0, inf), {}, {"x": Need(1, inf, is_open=True)}),
        ("log", [C], ANY, {}, {}),
        ("log_plus_one", [X], ANY, {}, {"x": at_least(-1, is_open=True)}),
        ("log_plus_one", [X], NONZERO, {}, {"x": Need(-1, is_open=True, nonzero=True)}),
        ("log_plus_one", [C], ANY, {}, {}),
        # the base is positive, unless the exponent is whole
        ("power", [X, Y], ANY, {}, {"x": POSITIVE}),
        ("power", [X, Y], ANY, {"y": (2, 2)}, {}),
        ("power", [X, Y], ANY, {"y": (-2, -2)}, {"x": NONZERO}),
        ("power", [X, Y], ANY, {"y": (0.5, 0.5)}, {"x": POSITIVE}),
        ("power", [N, J], ANY, {}, {"j": SMALL}),
        ("power", [X, CONVERTED], ANY, {}, {"converted": SMALL, "x": NONZERO}),
        ("divide", [X, Y], ANY, {}, {"y": NONZERO}),
        (
            "divide",
            [X, Y],
            at_least(0),
            {},
            {"y": Need(0, inf, True, nonzero=True), "x": at_least(0)},
        ),
        ("divide", [X, Y], Need(0, 4), {"y": (1, 2)}, {"y": NONZERO, "x": Need(0, 4)}),
        ("remainder", [X, Y], ANY, {}, {"y": NONZERO}),
        ("batch_norm_inference", [X] * 4 + [Y], ANY, {}, {"y": POSITIVE}),
        ("cholesky", [X], ANY, {}, {"x": Need(form=DEFINITE)}),
        ("shift_left", [KEY, N], ANY, {}, {"i": Need(0, 31), "k": Need(form=BITS)}),
        ("shift_left", [N, J], ANY, {}, {"j": Need(0, 31)}),
        ("xor", [KEY, N], ANY, {}, {"k": Need(form=BITS)}),
        ("bitcast_convert", [N], ANY, {}, {"i": Need(form="f32")}),
        ("bitcast_convert", [X], ANY, {}, {}),
        # a mask of infinities is true somewhere
        ("select", [MASK, X, Y], ANY, {"y": (-inf, -inf)}, {"m": POSITIVE}),
        ("select", [MASK, X, Y], ANY, {}, {}),
        ("case", [N], ANY, {}, {"i": Need(0, 2)}),
        ("add", [X, Y], at_least(5), {"y": (2, 2)}, {"x": at_least(3), "y": at_least(2.5)}),
        (
            "add",
            [X, Y],
            Need(1, 5, nonzero=True),
            {"y": (3, 3)},
            {"x": Need(-2, 2), "y": at_least(0.5)},
        ),
        ("add", [X, Y], at_least(4), {}, {"x": at_least(2), "y": at_least(2)}),
        ("add", [X, Y], at_most(4), {}, {"x": at_most(2), "y": at_most(2)}),
        ("add", [X, Y], NONZERO, {"y": (1, 3)}, {"x": at_least(-1, is_open=True)}),
        ("add", [X, Y], NONZERO, {"y": (-3, -1)}, {"x": at_most(1, is_open=True)}),
        ("add", [X, Y], NONZERO, {"y": (0, 3)}, {"x": POSITIVE}),
        ("add", [N, KEY], Need(form=BITS), {}, {"i": Need(form=BITS), "k": Need(form=BITS)}),
        ("subtract", [X, Y], Need(0, 1), {"y": (2, 3)}, {"x": Need(3, 3)}),
        ("subtract", [X, Y], Need(0, 1), {"x": (2, 3)}, {"y": Need(2, 2)}),
        ("subtract", [X, Y], at_least(1), {"y": (0, inf)}, {"x": at_least(5)}),
        ("multiply", [X, Y], Need(-8, -2), {"y": (1, 4)}, {"x": Need(-2, -2)}),
        ("multiply", [X, Y], Need(0, 8), {"y": (2, 4)}, {"x": Need(0, 2), "y": at_least(0)}),
        ("multiply", [X, Y], Need(0, 8), {"y": (-4, -2)}, {"x": Need(-2, 0), "y": at_least(0)}),
        ("multiply", [X, Y], Need(-8, 8), {"y": (2, 4)}, {"x": Need(-2, 2)}),
        ("multiply", [X, Y], at_least(3), {"y": (1, inf)}, {"x": at_least(0), "y": at_least(0)}),
        ("multiply", [X, Y], POSITIVE, {"y": (0, inf)}, {"x": POSITIVE, "y": POSITIVE}),
        ("multiply", [X, Y], NONZERO, {"y": (-1, 1)}, {"x": NONZERO, "y": NONZERO}),
        ("multiply", [X, X], Need(0, 9, is_open=True), {}, {"x": Need(-3, 3, True, nonzero=True)}),
        ("negate", [X], Need(1, 3), {}, {"x": Need(-3, -1)}),
        ("abs", [X], Need(0, 3), {}, {"x": Need(-3, 3)}),
        ("abs", [X], POSITIVE, {}, {"x": NONZERO}),
        ("tanh", [X], Need(0.5, 3, is_open=True), {}, {"x": POSITIVE}),
        ("tanh", [X], at_most(0), {}, {"x": at_most(0)}),
        ("exponential", [X], Need(1, 8), {}, {"x": Need(0.0, log(8))}),
        ("exponential", [X], POSITIVE, {}, {"x": ANY}),
        ("dot_general", [X, Y], POSITIVE, {}, {"x": POSITIVE, "y": POSITIVE}),
        ("dot_general", [X, Y], NONNEGATIVE, {}, {"x": NONNEGATIVE, "y": NONNEGATIVE}),
        ("dot_general", [X, Y], NONZERO, {}, {}),
        ("maximum", [X, Y], POSITIVE, {}, {"x": POSITIVE, "y": POSITIVE}),
        ("clamp", [X, Y, Z], POSITIVE, {}, {"y": POSITIVE}),
    ],
)
def test_operands_have_the_needs_of_their_op(
    op: str, operands: list[Value], need: Need, bounds: dict, needs: dict[str, Need]
) -> None:
    assert needs_of(operation_on(op, *operands), need, **bounds) == needs


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "needs"),
    [
        ("custom_call", [X], {"call_target_name": "lapack_spotrf_ffi"}, Need(form=DEFINITE)),
        ("custom_call", [X], {"call_target_name": "lapack_strsm"}, Need(form=DOMINANT)),
        ("custom_call", [X], {"call_target_name": "lapack_sgesdd"}, None),
        ("dynamic_slice", [TABLE, N, J], {"slice_sizes": (3, 6)},
         {"i": Need(0, 7), "j": Need(0, 0)}),
        ("dynamic_update_slice", [TABLE, value("u", "f32", 4, 1), N, J], {},
         {"i": Need(0, 6), "j": Need(0, 5)}),
        ("torch_index_select", [TABLE, N], {"dim": 1, "batch_dims": 0}, {"i": Need(0, 5)}),
        # an index vector has the bounds of its dimension with the fewest positions
        ("gather", [TABLE, STARTS], GATHER, {"s": Need(0, 4)}),
        ("gather", [TABLE, JOINED], GATHER, {"r": Need(0, 9), "l": Need(0, 4)}),
        ("scatter", [TABLE, ROWS, value("u", "f32", 4, 6)], SCATTER,
         {"r": Need(0, 9, distinct=True), "t": POSITIVE, "u": POSITIVE}),
        # offsets of rows ascend, and columns are in range
        ("custom_call", [X, N, J, value("d", "f32", 3, 2)], {"call_target_name": CSR},
         {"i": Need(0, 4, in_order=True), "j": Need(0, 2)}),
    ],
)  # fmt: skip
def test_indices_stay_in_the_operand_and_calls_get_matrices_of_a_form(
    op: str, operands: list[Value], attributes: dict, needs: Any
) -> None:
    wanted = needs if isinstance(needs, dict) else {"x": needs} if needs else {}
    assert needs_of(operation_on(op, *operands, **attributes), POSITIVE) == wanted


@pytest.mark.parametrize(
    ("direction", "operands", "needs"),
    [
        ("EQ", (N, J), {"i": Need(0, 9)}),
        ("LT", (N, J), {"i": Need(0, 9)}),
        ("GT", (N, J), {"i": Need(1, 10)}),
        ("LT", (J, N), {"i": Need(1, 10)}),
        ("EQ", (X, J), {"x": Need(0, 9)}),
        ("LT", (X, J), {}),
    ],
)
def test_labels_are_compared_with_positions(direction: str, operands: Any, needs: dict) -> None:
    compare = operation_on("compare", *operands, comparison_direction=direction)
    assert needs_of(compare, ANY, j=(0, 9)) == needs


@pytest.mark.parametrize(("direction", "first", "last"), [("LT", N, J), ("GT", J, N)])
def test_loop_counts_from_a_small_number_to_a_few(
    direction: str, first: Value, last: Value
) -> None:
    compare = operation_on("compare", first, last, comparison_direction=direction)
    known = KnownValues({N.name: EVERYTHING, J.name: EVERYTHING}, {"result": compare})
    counted = [(N, Need(0, 1)), (J, Need(TRIPS // 2, TRIPS))]
    assert list(trip_count_needs(compare.results[0], known)) == counted
    assert list(trip_count_needs(X, known)) == []


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (ANY, POSITIVE, POSITIVE),
        (at_least(1), at_most(5), Need(1, 5)),
        (at_least(1), at_least(3), at_least(3)),
        (at_least(0, is_open=True), at_least(0), POSITIVE),
        (NONZERO, at_least(0), Need(0, nonzero=True)),
        (at_least(7), Need(0, 3), Need(0, 3)),
        (at_most(1), at_least(2), at_least(2)),
        (Need(1, 1, is_open=True), Need(5, 5), Need(5, 5)),
        (Need(0, 1), Need(1, 5), Need(1, 1)),
        (Need(form=BITS), Need(0, 7), Need(0, 7)),
        (Need(form=DEFINITE), Need(0, 7), Need(0, 7, form=DEFINITE)),
        (Need(distinct=True), Need(in_order=True), Need(distinct=True, in_order=True)),
    ],
)
def test_conjunction_prefers_bounded_and_greater_intervals(
    one: Need, other: Need, both: Need
) -> None:
    assert conjunction(one, other) == both
    assert conjunction(other, one) == both


@pytest.mark.parametrize(
    ("op", "bounds", "found"),
    [
        ("add", [(1, 2), (10, 20)], (11, 22)),
        ("subtract", [(1, 2), (10, 20)], (-19, -8)),
        ("multiply", [(-1, 2), (-3, 5)], (-6, 10)),
        ("multiply", [(0, 0), (-inf, inf)], (0, 0)),
        ("divide", [(1, 2), (4, 8)], (0.125, 0.5)),
        ("divide", [(1, 2), (0, 8)], EVERYTHING),
        ("divide", [(1, 2), (-1, 1)], EVERYTHING),
        ("divide", [(1, inf), (1, inf)], EVERYTHING),
        ("abs", [(-3, 2)], (0, 3)),
        ("abs", [(-3, -2)], (2, 3)),
        ("sqrt", [(-4, 9)], (0, 3)),
        ("exponential", [(0, 1)], (1, exp(1))),
        ("exponential", [(-inf, 800)], (ranges.LEAST, inf)),
        ("clamp", [(0, 0), (-5, 5), (1, 1)], (0, 1)),
        ("clamp", [(0, 0), (2, 5), (1, 1)], (1, 1)),
        ("power", [(0, 1), (0, 9)], (0, 1)),
        ("power", [(0, 2), (0, 9)], (0, inf)),
        ("power", [(-1, 1), (0, 9)], EVERYTHING),
        ("maximum", [(0, 3), (1, 2)], (1, 3)),
        ("minimum", [(0, 3), (1, 2)], (0, 2)),
        ("negate", [(0, 3)], (-3, 0)),
        ("cosine", [EVERYTHING], (-1, 1)),
        # sums of numbers that are not negative
        ("reduce", [(2, 3), (0, 0)], (2, inf)),
        ("reduce", [(-1, 3), (0, 0)], EVERYTHING),
    ],
)
def test_range_of_the_result(op: str, bounds: list, found: tuple[float, float]) -> None:
    operation = operation_on(op, *(value(f"x{n}") for n in range(len(bounds))))
    rule = numbers_of(operation).range
    assert rule is not None
    assert rule(operation, [Range(*bound) for bound in bounds], known_ranges([])) == found


@pytest.mark.parametrize(
    ("fold", "found"), [("maximum", (-9, 3)), ("minimum", (-9, 3)), ("multiply", EVERYTHING)]
)
def test_range_of_a_reduction(fold: str, found: tuple[float, float]) -> None:
    body = fold_of(fold, element_type("f32")).region
    operation = Operation("reduce", (X, Y), (value("r"),), (), (body,))
    assert ranges.reduce_range(operation, [Range(0, 3), Range(-9, -9)], known_ranges([])) == found


@pytest.mark.parametrize(
    ("op", "operands", "factor", "found"),
    [
        ("multiply", (X, X), EVERYTHING, (0, 9)),
        ("multiply", (X, NEGATED), EVERYTHING, (-6, 0)),
        ("multiply", (X, MULTIPLE), (2, 2), (0, 9)),
        ("multiply", (X, MULTIPLE), (-2, -2), (-6, 0)),
        ("multiply", (X, MULTIPLE), (1, 2), (-6, 9)),
        ("multiply", (X, Y), (1, 2), (-6, 9)),
        ("multiply", (C, C), EVERYTHING, (-6, 9)),
        ("dot_general", (X, X), EVERYTHING, (0, inf)),
        ("dot_general", (X, Y), EVERYTHING, EVERYTHING),
    ],
)
def test_product_of_a_value_with_a_multiple_of_itself_has_one_sign(
    op: str, operands: tuple[Value, ...], factor: tuple[float, float], found: tuple[float, float]
) -> None:
    operation = operation_on(op, *operands)
    rule = numbers_of(operation).range
    assert rule is not None
    assert rule(operation, [Range(-2, 3)] * 2, known_ranges(operands, y=factor)) == found


def test_result_has_elements_of_the_operands_that_it_moves() -> None:
    assert ranges.copied_operands(operation_on("select", MASK, X, Y), 0) == (X, Y)
    assert ranges.copied_operands(operation_on("reverse", X), 0) == (X,)
    assert ranges.union([]) == EVERYTHING
    assert ranges.union([Range(0, 1), Range(-2, 0.5)]) == (-2, 1)

"""Needs that operations have for their operands, whatever happens to their results."""

from __future__ import annotations

from math import inf

import pytest

from conformance.needs import operand_needs
from conformance.needs.need import ANY, BITS, DEFINITE, DOMINANT, NONZERO, POSITIVE, Need, at_least
from conformance.needs.operand_needs import EXPONENTS, TRIPS
from conformance.needs.rules import Rule
from reference.custom_calls.sparse import CSR
from suites.meta.conformance.needs.single_operations import (
    known_ranges,
    needs_by_rule,
    operation_on,
    value,
)

X, Y = value("x"), value("y")
N, J = value("i", "si32"), value("j", "si32")
C = value("c", "complex<f32>")


@pytest.mark.parametrize(
    ("rule", "need", "found"),
    [
        (operand_needs.sqrt_needs, ANY, at_least(0)),
        (operand_needs.sqrt_needs, POSITIVE, POSITIVE),
        (operand_needs.sqrt_needs, Need(2, 3), Need(4, 9, is_open=True)),
        (operand_needs.rsqrt_needs, ANY, POSITIVE),
        (operand_needs.log_needs, ANY, POSITIVE),
        (operand_needs.log_needs, Need(0, inf), Need(1, inf, is_open=True)),
        (operand_needs.log_plus_one_needs, ANY, at_least(-1, is_open=True)),
        (operand_needs.log_plus_one_needs, NONZERO, Need(-1, is_open=True, nonzero=True)),
    ],
)
def test_domains_of_functions(rule: Rule, need: Need, found: Need) -> None:
    assert needs_by_rule(rule, operation_on("sqrt", X), need) == {"x": [found]}


@pytest.mark.parametrize(
    "rule",
    [
        operand_needs.sqrt_needs,
        operand_needs.rsqrt_needs,
        operand_needs.log_needs,
        operand_needs.log_plus_one_needs,
    ],
)
def test_complex_functions_need_nothing(rule: Rule) -> None:
    assert needs_by_rule(rule, operation_on("sqrt", C)) == {}


def power(*operands, need: Need = ANY, makers=(), **ranges) -> dict[str, list[Need]]:
    operation, known = operation_on("power", *operands), known_ranges(*operands, **ranges)
    known.makers.update({one.results[0].name: one for one in makers})
    return needs_by_rule(operand_needs.power_needs, operation, need, known)


def test_base_is_positive_unless_the_exponent_is_whole() -> None:
    assert power(X, Y) == {"x": [POSITIVE]}
    assert power(X, Y, y=(2, 2)) == {}
    assert power(X, Y, y=(-2, -2)) == {"x": [NONZERO]}
    assert power(X, Y, y=(0.5, 0.5)) == {"x": [POSITIVE]}


def test_exponents_that_are_integers_are_small() -> None:
    small = Need(0, EXPONENTS)
    assert power(N, J) == {"j": [small]}
    converted = operation_on("convert", N)
    exponent = converted.results[0]
    assert small in power(X, exponent, makers=[converted])[exponent.name]


@pytest.mark.parametrize(
    ("divisor", "need", "found"),
    [
        ((-inf, inf), ANY, {"y": [NONZERO]}),
        (
            (-inf, inf),
            at_least(0),
            {"y": [Need(0, is_open=True, nonzero=True)], "x": [at_least(0)]},
        ),
        ((1, 2), Need(0, 4), {"y": [NONZERO], "x": [Need(0, 4)]}),
    ],
)
def test_divisor_is_not_zero(divisor: tuple, need: Need, found: dict) -> None:
    known = known_ranges(X, Y, y=divisor)
    assert (
        needs_by_rule(operand_needs.divide_needs, operation_on("divide", X, Y), need, known)
        == found
    )


def test_forms_of_matrices_and_positions_of_variances() -> None:
    assert needs_by_rule(operand_needs.remainder_needs, operation_on("remainder", X, Y)) == {
        "y": [NONZERO]
    }
    assert needs_by_rule(operand_needs.require_positive(1), operation_on("add", X, Y)) == {
        "y": [POSITIVE]
    }
    assert needs_by_rule(operand_needs.require_form(DEFINITE), operation_on("cholesky", X)) == {
        "x": [Need(form=DEFINITE)]
    }


@pytest.mark.parametrize(
    ("target", "form"),
    [("lapack_spotrf_ffi", DEFINITE), ("lapack_strsm", DOMINANT), ("lapack_sgesdd", None)],
)
def test_calls_of_decompositions_need_matrices_of_a_form(target: str, form: str | None) -> None:
    call = operation_on("custom_call", X, call_target_name=target)
    found = needs_by_rule(operand_needs.custom_call_needs, call)
    assert found == ({} if form is None else {"x": [Need(form=form)]})


def test_sparse_matrices_have_ascending_offsets_and_columns_in_range() -> None:
    call = operation_on("custom_call", X, N, J, value("d", "f32", 3, 2), call_target_name=CSR)
    found = needs_by_rule(operand_needs.custom_call_needs, call)
    assert found == {"i": [Need(0, 4, in_order=True)], "j": [Need(0, 2)]}


def test_shifts_stay_within_the_width_and_generators_have_any_bits() -> None:
    key, by = value("k", "ui32"), value("b", "ui32")
    found = needs_by_rule(operand_needs.shift_amount_needs, operation_on("shift_left", key, by))
    assert found == {"b": [Need(0, 31)], "k": [Need(form=BITS)]}
    assert needs_by_rule(operand_needs.shift_amount_needs, operation_on("shift_left", N, J)) == {
        "j": [Need(0, 31)]
    }
    assert needs_by_rule(operand_needs.bitwise_needs, operation_on("xor", key, N)) == {
        "k": [Need(form=BITS)]
    }


def test_integers_reinterpreted_as_floats_have_their_bits() -> None:
    cast = operation_on("bitcast_convert", N)
    assert needs_by_rule(operand_needs.bitcast_needs, cast) == {"i": [Need(form="f32")]}
    assert needs_by_rule(operand_needs.bitcast_needs, operation_on("bitcast_convert", X)) == {}


@pytest.mark.parametrize(
    ("direction", "operands", "found"),
    [
        ("EQ", (N, J), {"i": [Need(0, 9)]}),
        ("LT", (N, J), {"i": [Need(0, 9)]}),
        ("GT", (N, J), {"i": [Need(1, 10)]}),
        ("LT", (J, N), {"i": [Need(1, 10)]}),
        ("EQ", (X, J), {"x": [Need(0, 9)]}),
        ("LT", (X, J), {}),
    ],
)
def test_labels_are_compared_with_positions(direction: str, operands, found: dict) -> None:
    compare = operation_on("compare", *operands, to="i1", comparison_direction=direction)
    known = known_ranges(*operands, j=(0, 9))
    assert needs_by_rule(operand_needs.compare_needs, compare, ANY, known) == found


def test_mask_of_infinities_is_true_somewhere() -> None:
    mask = value("m", "i1")
    select = operation_on("select", mask, X, Y)
    masked = known_ranges(mask, X, Y, y=(-inf, -inf))
    assert needs_by_rule(operand_needs.select_needs, select, ANY, masked) == {"m": [POSITIVE]}
    assert needs_by_rule(operand_needs.select_needs, select) == {}


def test_loop_counts_from_a_small_number_to_a_few() -> None:
    for direction, first, last in (("LT", N, J), ("GT", J, N)):
        compare = operation_on("compare", first, last, to="i1", comparison_direction=direction)
        known = known_ranges(N, J, makers=[compare])
        assert list(operand_needs.trip_count_needs(compare.results[0], known)) == [
            (N, Need(0, 1)),
            (J, Need(TRIPS // 2, TRIPS)),
        ]
    assert list(operand_needs.trip_count_needs(X, known_ranges(X))) == []

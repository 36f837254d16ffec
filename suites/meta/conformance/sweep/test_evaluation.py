"""Results skipped as certainly right are right, and no result that differs is skipped."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.sweep.arguments import Domain, domain_of
from conformance.sweep.evaluation import differences_of
from conformance.sweep.function import Function, functions_of
from conformance.sweep.properties import properties_of
from conformance.sweep.rounding import preimages
from reference.ir.op import plain_name
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, from_bits, to_bits
from reference.numerics.elementary.functions import REAL
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS

BINARY = ("atan2", "polygamma", "power", "zeta")
UNARY = [name if name in OPS else f"chlo.{name}" for name in REAL if name not in BINARY]
SMALL = [name for name, of in ELEMENT_TYPES.items() if of.is_float and of.bits <= 16]


def function_of(op: str, of: str, to: str = "") -> Function:
    (function,) = functions_of([op], [of], [to] if to else [])
    return function


def flip_bits(expected: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return results with a bit flipped here and there, and where; NaN stays NaN."""
    of, codes = element_type_of(expected), to_bits(expected).copy()
    where = np.sort(random.choice(len(codes), len(codes) // 50, replace=False))
    where = where[~np.isnan(to_float64(expected))[where]]
    codes[where] ^= codes.dtype.type(1)
    return from_bits(codes, of), where


def check(function: Function, operands: tuple[Array, ...], *, is_ordered: bool) -> None:
    expected = function.evaluate(operands)
    actual, where = flip_bits(expected, np.random.default_rng(7))
    found = differences_of(function, operands, actual, is_ordered=is_ordered)
    assert found.where.tolist() == where.tolist()
    assert np.array_equal(to_bits(found.expected), to_bits(expected[where]))
    right = differences_of(function, operands, expected, is_ordered=is_ordered)
    assert len(right.where) == 0


def stretches(domain: Domain) -> list[tuple[Array, ...]]:
    """Return arguments of an exhaustive domain: around 0, 1, the largest numbers and NaN."""
    exponent = domain.numbers >> 8
    starts = (0, 0x68 * exponent, 0x7E * exponent, 0x85 * exponent, 0xFF * exponent - 1000)
    return [domain.arguments(start, start + 3000) for start in starts]


@pytest.mark.parametrize("op", UNARY)
def test_f32_is_compared_as_the_reference_rounds(op: str) -> None:
    function = function_of(op, "f32")
    sample = domain_of(function, 4096, exhaustive=False)
    check(function, sample.arguments(0, sample.numbers), is_ordered=True)
    for operands in stretches(domain_of(function, 0, exhaustive=True)):
        check(function, operands, is_ordered=True)


@pytest.mark.parametrize("op", UNARY)
def test_declared_monotonic_functions_have_monotonic_tables(op: str) -> None:
    found = properties_of(function_of(op, "f16"))
    falls_between_poles = plain_name(op) == "digamma"
    declared = REAL[plain_name(op)].monotonic or falls_between_poles
    assert declared == bool(found.positive and found.negative)


@pytest.mark.parametrize("of", ["bf16", "f16"])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide", "power", "atan2"])
def test_pairs_are_compared_as_the_reference_rounds(op: str, of: str) -> None:
    function = function_of(op, of)
    sample = domain_of(function, 20_000, exhaustive=False)
    check(function, sample.arguments(0, sample.numbers), is_ordered=False)
    row = domain_of(function, 0, exhaustive=True).arguments(0x3F85 << 16, (0x3F85 << 16) + 70_000)
    check(function, row, is_ordered=True)


@pytest.mark.parametrize("of", ["f32", "si32", "ui32"])
@pytest.mark.parametrize("to", SMALL)
def test_conversions_are_compared_as_the_reference_rounds(of: str, to: str) -> None:
    function = function_of("convert", of, to)
    sample = domain_of(function, 4096, exhaustive=False)
    check(function, sample.arguments(0, sample.numbers), is_ordered=False)


@pytest.mark.parametrize("name", SMALL)
def test_table_holds_the_preimage_of_each_code(name: str) -> None:
    of = ELEMENT_TYPES[name]
    table = preimages(of)
    codes = np.flatnonzero(table.count)
    assert len(codes) > (1 << of.bits) // 2 - 2
    first, count = table.first[codes], table.count[codes]
    for bits, is_inside in ((first, True), (first + count - 1, True), (first + count, False)):
        values = bits.view(np.float64)
        numbers = ~np.isnan(values)
        with np.errstate(all="ignore"):
            rounded = to_bits(round_to(values, of))
        assert ((rounded == codes) == is_inside)[numbers].all()
        assert numbers.all() or not is_inside
    narrow = preimages(of, 64)
    assert (narrow.count <= table.count).all()

"""The figures of a sweep: as the reference rounds, as MPFR has them."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest

from conformance.backends.base import Unsupported
from conformance.sweep.arguments import Domain, domain_of
from conformance.sweep.block import Block, run_block
from conformance.sweep.evaluation import differences_of
from conformance.sweep.function import Function, functions_of
from conformance.sweep.judging import outcome_of
from conformance.sweep.outcome import NOTHING, add_outcomes
from conformance.sweep.properties import properties_of
from conformance.sweep.rounding import preimages
from conformance.sweep.strata import thresholds
from conformance.tolerance.hardware import Hardware
from reference.ir.op import plain_name
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, from_bits, to_bits
from reference.numerics.elementary.functions import REAL
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS
from suites.meta.support import mpfr

BINARY = ("atan2", "polygamma", "power", "zeta")
UNARY = [name if name in OPS else f"chlo.{name}" for name in REAL if name not in BINARY]
SMALL = [name for name, of in ELEMENT_TYPES.items() if of.is_float and of.bits <= 16]


def function_of(op: str, of: str, to: str = "") -> Function:
    (function,) = functions_of([op], [of], [to] if to else [])
    return function


def flip_bits(expected: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return results with a bit flipped here and there, and where; NaN stays NaN."""
    element_type, codes = element_type_of(expected), to_bits(expected).copy()
    where = np.sort(random.choice(len(codes), len(codes) // 50, replace=False))
    where = where[~np.isnan(to_float64(expected))[where]]
    codes[where] ^= codes.dtype.type(1)
    return from_bits(codes, element_type), where


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


F32 = ELEMENT_TYPES["f32"]


def arguments(count: int) -> Array:
    """Return thresholds with their neighbours, and any numbers of f32, with both signs."""
    random = np.random.default_rng(31)
    fixed = random.choice(thresholds(F32), count // 2)
    drawn = random.integers(0, 0x7F800000, count // 2, dtype=np.uint32)
    codes = np.concatenate([fixed.astype(np.uint32), drawn])
    return from_bits(codes | random.integers(0, 2, count, dtype=np.uint32) << np.uint32(31), F32)


def test_inversions_and_asymmetries_are_counted() -> None:
    function = function_of("tanh", "f16")
    domain = domain_of(function, 0, exhaustive=False)
    (x,) = domain.arguments(0, domain.numbers)
    actual = function.evaluate((x,))
    at = 0x3800  # 0.5
    actual[at] = actual[at - 40]
    outcome = outcome_of(domain, (x,), actual, Hardware.CPU)
    assert (outcome.inversions, outcome.asymmetries) == (1, 1)


def test_a_joint_of_blocks_is_compared_too() -> None:
    domain = domain_of(function_of("sqrt", "f16"), 0, exhaustive=False)
    half = domain.numbers // 2
    parts = [
        run_block("reference", Block((0,), (domain,), start, start + half))[0]
        for start in (0, half)
    ]
    whole = run_block("reference", Block((0,), (domain,), 0, domain.numbers))[0]
    joined = NOTHING
    for part in parts:
        joined = add_outcomes(joined, part, 1, 1)
    assert joined == whole
    assert add_outcomes(add_outcomes(NOTHING, parts[1], 1), parts[0], 1).inversions == 1


@pytest.mark.parametrize("of", ["si8", "ui4", "f8E4M3FN", "bf16", "i1"])
def test_every_value_is_swept_once(of: str) -> None:
    function = function_of("abs" if of in ("bf16", "f8E4M3FN", "si8") else "not", of)
    domain = domain_of(function, 0, exhaustive=False)
    codes = to_bits(domain.arguments(0, domain.numbers)[0])
    assert sorted(codes.tolist()) == list(range(1 << ELEMENT_TYPES[of].bits))


def test_samples_hold_every_exponent_and_are_reproducible() -> None:
    domain = domain_of(function_of("exponential", "f64"), 1 << 14, exhaustive=False)
    (x,) = domain.arguments(0, domain.numbers)
    assert not domain.is_exhaustive
    assert len(np.unique(np.frexp(x[np.isfinite(x) & (x > 0)])[1])) >= 2046
    assert np.array_equal(to_bits(x), to_bits(domain.arguments(0, domain.numbers)[0]))
    other = domain_of(function_of("exponential", "f64"), 1 << 14, exhaustive=False, seed=1)
    assert not np.array_equal(to_bits(x)[:64], to_bits(other.arguments(0, 32)[0]))


@pytest.mark.parametrize("of", ["f32", "bf16"])
@pytest.mark.parametrize("op", mpfr.MPFR)
def test_figures_equal_mpfr(op: str, of: str) -> None:
    operands = mpfr.any_numbers(mpfr.function_of(op, of), 300, seed=6)
    if (op, of) == ("mhlo.cosh", "f32") and _lacks_cosh():
        with pytest.raises(Unsupported):
            mpfr.disagreement(op, of, operands, "cpu")
        return
    assert mpfr.disagreement(op, of, operands, "cpu") == ""


def _lacks_cosh() -> bool:
    return version("jaxlib").startswith("0.10.")


def test_a_disagreement_is_said() -> None:
    function = mpfr.function_of("exponential", "f32")
    operands = (np.array([0.5, 1.0, 2.0], np.float32),)
    outcome, actual = mpfr.swept_figures(function, operands, "reference")
    assert outcome.right == mpfr.mpfr_figures(function, operands, actual).right == 3
    moved = np.nextafter(actual, np.float32(np.inf))
    figures = mpfr.mpfr_figures(function, operands, moved)
    assert figures.right == 0
    assert 0.5 < figures.worst < 1.5


@pytest.mark.parametrize("name", SMALL)
def test_table_holds_the_preimage_of_each_code(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    table = preimages(element_type)
    codes = np.flatnonzero(table.count)
    assert len(codes) > (1 << element_type.bits) // 2 - 2
    first, count = table.first[codes], table.count[codes]
    for bits, is_inside in ((first, True), (first + count - 1, True), (first + count, False)):
        values = bits.view(np.float64)
        numbers = ~np.isnan(values)
        with np.errstate(all="ignore"):
            rounded = to_bits(round_to(values, element_type))
        assert ((rounded == codes) == is_inside)[numbers].all()
        assert numbers.all() or not is_inside
    narrow = preimages(element_type, 64)
    assert (narrow.count <= table.count).all()

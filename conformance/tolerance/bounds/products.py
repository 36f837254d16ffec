"""Error bound of a sum of products, for contractions and convolutions.

With S the sum of the magnitudes of the n products, the result for an exact sum e may be any number
within u_out |e| + (2 u_in + gamma(n)(u_acc)) S, where gamma(n)(u) = n u / (1 - n u) (Higham,
"Accuracy and Stability of Numerical Algorithms", sections 3.1 and 3.5; TOSA conformance,
DOT_PRODUCT). For many products n is replaced by less (reference/numerics/schedules.py). u_in is the
unit roundoff of the type that operands are rounded to before the multiplication, 0 if they are not
rounded. u_acc is the unit roundoff of the type of the sums, u_out of the result's type.

Underflow is gradual and adds half of the smallest subnormal number for each product. Errors are
measured against the sum before it is rounded. A result with less precision than the operands (16
bits or more) may be rounded to their type first: XLA's page lets backends accumulate in a different
type and convert to the preferred type (Dot, Conv). A backend that flushes subnormal numbers errs
more. That error is bounded as well, to distinguish it from others (f16 and f8 have no mode that
flushes).

Exact data: if every term of every sum is a multiple of some q, S is at most q / u_acc, and operands
need no rounding, then sums in any order are exact. Then the only permitted result is the correctly
rounded sum; it is 0 where S is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conformance.tolerance.bounds.underflow import has_flushing_modes, underflow
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Bound, Summation
from reference.interpreter.evaluate import given_attributes
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of, to_bits
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.products import magnitudes, to_wide_type, unrounded_products
from reference.numerics.schedules import (
    LIKELY,
    growth_of_sum,
    has_likely_bound,
    order_factors,
)
from reference.ops.contraction import round_to_stated_types, rounds_operands

_TF32_PRECISION = 11
_FAST_ACCUMULATION = 2.0**-13
"""Unit roundoff of sums with `allow_imprecise_accumulation`: Hopper's tensor cores add products
of f8 with 14 bits (DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.3.2)."""

_BF16, _F16, _F32, _F64 = (ELEMENT_TYPES[name] for name in ("bf16", "f16", "f32", "f64"))
_BYTE = 8


Depth = Callable[[Operation, tuple[Array, ...]], int]
"""A function depth(operation, operands): the number of products in each element of the result."""


@dataclass(frozen=True, slots=True)
class DefaultPrecision:
    """Unit roundoffs that a platform applies to operands of f32 for DEFAULT and HIGH; 0 for none.

    `operands` are the unit roundoffs of operands that are rounded to 16 bits on any platform; their
    sums are accumulated like sums of 16-bit numbers. A sum may then be rounded to a type of unit
    roundoff `intermediate` before it is converted to the result's type. `sums` is the accumulation
    type if it differs from the requested type, whatever algorithm the operation states.
    """

    default: float = 0.0
    high: float = 0.0
    operands: tuple[float, float] | None = None
    intermediate: float = 0.0
    sums: ElementType | None = None
    exact: bool = True
    """Whether sums of exact data must be exact. Not if a convolution may use a fast transform."""

    rounds_to_nearest: bool = True
    """Whether each addition does. Tensor cores of GPUs truncate (Fasi, Higham, Mikaitis and
    Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021); of TPUs no source says it."""


_DEFAULT_PRECISIONS = {
    Hardware.GPU: DefaultPrecision(2.0**-11, 2.0**-11, rounds_to_nearest=False),
    Hardware.TPU: DefaultPrecision(2.0**-8, 2.0**-16, rounds_to_nearest=False),
}


def default_precision(platform: str) -> DefaultPrecision:
    """Return the precision of DEFAULT and HIGH on a `Hardware`: TF32 on a GPU, bf16 on a TPU.

    Source: jax.lax.Precision, which says what each precision means on which hardware.
    """
    return next(
        (one for hardware, one in _DEFAULT_PRECISIONS.items() if hardware == platform),
        DefaultPrecision(),
    )


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of an operation, as unit roundoffs; 0 where nothing is rounded.

    `operands`: of the rounded operands. `accumulation`, `of`: of the sums, and their type.
    `intermediate`: of a type that sums are rounded to before they are converted to the result's
    type. `result`: of the result.
    """

    operands: tuple[float, float]
    accumulation: float
    of: ElementType
    result: float
    intermediate: float = 0.0

    @property
    def operand_error(self) -> float:
        """Relative error of a product from rounding both operands, 2 u_in."""
        return self.operands[0] + self.operands[1]


def precision_of(
    operation: Operation, operands: tuple[Array, ...], to: ElementType, default: DefaultPrecision
) -> Precision:
    """Return the precision that an operation's algorithm or `precision_config` requires."""
    given = given_attributes(operation)
    result, own = unit_roundoff(to), element_type_of(operands[0])
    intermediate = _operand_roundoff(own, result)
    if given.get("accumulation_type") is not None and default.sums is None:
        return _algorithm_precision(given, operands, result)
    if default.sums is not None or default.operands is not None:
        of = default.sums or _accumulation_type(_F16.bits, to)
        return Precision(
            default.operands or (0.0, 0.0), unit_roundoff(of), of, result, default.intermediate
        )
    bits = own.part.bits
    of = _accumulation_type(bits, to)
    if bits != _F32.bits or of is not _F32:
        return Precision((0.0, 0.0), unit_roundoff(of), of, result, intermediate)
    config = given.get("precision_config") or ("DEFAULT", "DEFAULT")
    rounding = {"DEFAULT": default.default, "HIGH": default.high}
    # a backend multiplies both in the less precise mode
    worst = max(rounding.get(one, 0.0) for one in config)
    return Precision((worst, worst), unit_roundoff(of), of, result, intermediate)


def _operand_roundoff(own: ElementType, result: float) -> float:
    """Return the unit roundoff of the operands' type if sums may be rounded to it; otherwise 0.

    That is the case if the result has less precision. No sums are kept in a type of a byte.
    """
    if not (own.is_float or own.is_complex) or own.part.bits <= _BYTE:
        return 0.0
    return unit_roundoff(own) if unit_roundoff(own) < result else 0.0


def _accumulation_type(bits: int, to: ElementType) -> ElementType:
    """Return the least precise accumulation type: f16 for up to 8 bits, otherwise f32 (as TOSA)."""
    if to.part.bits > _F32.bits:
        return _F64
    return _F16 if bits <= _BYTE and to.part.bits <= _F16.bits else _F32


def round_operands(operation: Operation, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the operands as rounded by the algorithm that the operation states, if any."""
    if operation.attribute("accumulation_type") is None:
        return operands
    lhs, rhs, *rest = operands
    return (*round_to_stated_types(lhs, rhs, given_attributes(operation)), *rest)


def _algorithm_precision(
    given: dict[str, object], operands: tuple[Array, ...], result: float
) -> Precision:
    """Return the precision of a dot algorithm.

    For operands split into components, terms below the last component are omitted. Real operands
    that are not split are already rounded by `round_operands`.
    """
    accumulation = ELEMENT_TYPES.get(str(given["accumulation_type"]), _F32)
    count = given.get("num_primitive_operations")
    primitive = count if isinstance(count, int) else 1
    # operations i, j of the components with i + j <= order: 1, 3, 6, ... of them
    order = next(n for n in range(1, 64) if (n + 1) * (n + 2) // 2 > primitive)
    units = [
        0.0
        if rounds_operands(given) and element_type_of(operand).is_float
        else _operand_rounding(
            str(given.get(f"{side}_precision_type")), operand, order, unit_roundoff(accumulation)
        )
        for side, operand in zip(("lhs", "rhs"), operands, strict=True)
    ]
    sums = unit_roundoff(accumulation)
    if given.get("allow_imprecise_accumulation"):
        sums = max(sums, _FAST_ACCUMULATION)
    return Precision((units[0], units[1]), sums, accumulation, result)


def _operand_rounding(name: str, operand: Array, order: int, least: float) -> float:
    """Return the relative error of rounding to a precision type; 0 if it holds the type exactly."""
    to, element_type = ELEMENT_TYPES.get(name), element_type_of(operand)
    once = 2.0**-_TF32_PRECISION if to is None else unit_roundoff(to)
    if not (element_type.is_float or element_type.is_complex) or once <= unit_roundoff(
        element_type
    ):
        return 0.0
    return max(once**order, least)


def factors_of(operation: Operation, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the operands that are multiplied."""
    return operands[: min(len(operation.operands), 2)]


def make_flush_loss(summation: Summation, depth: Depth, default: DefaultPrecision) -> Bound:
    """Return a rule's `flush_loss`: errors from subnormal products, sums and operands."""

    def flush_losses(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        to = element_type_of(expected[0])
        if not (to.is_float or to.is_complex) or not has_flushing_modes(to.part):
            return (None,)
        operands = round_operands(operation, operands)
        precision = precision_of(operation, operands, to, default)
        sums = _Sums(summation, operation, operands, depth(operation, operands), flushes=True)
        finite = sums.finite
        total = sums.magnitudes(*finite)
        if _is_exact(sums, total, precision):  # no intermediate result is subnormal
            return (None,)
        more = np.sqrt(2.0) if to.is_complex else 1.0
        return (np.minimum(_underflow(sums, finite, precision), total) * more,)

    return flush_losses


def make_measure(
    summation: Summation, depth: Depth, default: DefaultPrecision, *, flushes: bool = False
) -> Callable[..., tuple[Array, ...]]:
    """Return a rule's `measure`: errors of the result's elements in units of their bounds.

    If `flushes`, subnormal numbers may be flushed to zero.
    """

    def measure(
        operation: Operation,
        operands: tuple[Array, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        want, got = expected[0], actual[0]
        to = element_type_of(want)
        alike = _equal_or_same_nan(want, got)
        if not (to.is_float or to.is_complex):
            return (np.where(alike, 0.0, np.inf),)
        operands = round_operands(operation, operands)
        precision = precision_of(operation, operands, to, default)
        sums = _Sums(summation, operation, operands, depth(operation, operands), flushes)
        return (_errors(sums, precision, default, alike, got),)

    return measure


def make_bound(
    summation: Summation, depth: Depth, default: DefaultPrecision
) -> Callable[..., tuple[Array | None, ...]]:
    """Return a rule's `bound`: the largest distance from the expected, rounded results."""

    def bound(
        operation: Operation, operands: tuple[Array, ...], expected: tuple[Array, ...]
    ) -> tuple[Array | None, ...]:
        want = expected[0]
        to = element_type_of(want)
        if not (to.is_float or to.is_complex):
            return (None,)
        operands = round_operands(operation, operands)
        precision = precision_of(operation, operands, to, default)
        sums = _Sums(summation, operation, operands, depth(operation, operands))
        finite = sums.finite
        total = sums.magnitudes(*finite)
        if default.exact and _is_exact(sums, total, precision):
            return (np.zeros(want.shape),)
        target = sums.exact
        factor = _order_factor(sums, precision, default)
        near = _bound(sums, finite, total, target, precision, factor, to)
        near = near + np.abs(to_wide_type(want) - target).astype(np.float64)
        return (np.where(np.isfinite(near), near, total),)

    return bound


def _equal_or_same_nan(want: Array, got: Array) -> Array:
    """Return the elements that are equal or the same NaN; zeros of either sign are equal."""
    alike = to_bits(want) == to_bits(got)
    if element_type_of(want).is_complex:
        return alike.all(axis=-1) | (want == got)
    return alike | (want == got) | ((want != want) & (got != got))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of an operation on its operands, with the numbers that bound their errors."""

    summation: Summation
    operation: Operation
    operands: tuple[Array, ...]
    depth: int
    flushes: bool = False

    @property
    def exact(self) -> Array:
        """The sums of products, before they are rounded."""
        return self.summation(self.operation, self.operands, unrounded_products)

    def magnitudes(self, lhs: Array, *others: Array) -> Array:
        """Return the sums of the magnitudes of products of other operands."""
        rest = self.operands[1 + len(others) :]
        return self.summation(self.operation, (lhs, *others, *rest), magnitudes)

    @property
    def factors(self) -> tuple[Array, ...]:
        """Magnitudes of the multiplied operands, as float64."""
        factors = factors_of(self.operation, self.operands)
        return tuple(np.abs(to_wide_type(factor)).astype(np.float64) for factor in factors)

    @property
    def finite(self) -> tuple[Array, ...]:
        """`factors` with zeros instead of infinity and NaN."""
        return tuple(np.where(np.isfinite(factor), factor, 0.0) for factor in self.factors)


def _errors(
    sums: _Sums, precision: Precision, default: DefaultPrecision, alike: Array, got: Array
) -> Array:
    finite, to = sums.finite, element_type_of(got)
    total = sums.magnitudes(*finite)
    if default.exact and _is_exact(sums, total, precision):
        return np.where(alike, 0.0, np.inf)
    target = sums.exact
    factor = _order_factor(sums, precision, default)
    bound = _bound(sums, finite, total, target, precision, factor, to)
    value = to_wide_type(got)
    error = np.abs(value - target).astype(np.float64)
    limit = to.float_format.max_finite
    at_limit = np.isfinite(target) & ~np.isfinite(value) & (np.abs(target) + bound >= limit)
    units = np.where(at_limit | (error == 0), 0.0, error / bound)
    units = np.where(np.isnan(units), np.inf, units)
    # a partial sum may overflow: to infinity, or to NaN if two overflow to opposite signs
    overflows = total * (1 + sums.depth * precision.accumulation) >= min(
        precision.of.float_format.max_finite, limit
    )
    lost = overflows & ~np.isfinite(value) & ~np.isnan(target)
    return np.where(alike | lost, 0.0, units)


def _is_exact(sums: _Sums, total: Array, precision: Precision) -> bool:
    """Return whether every partial sum, in any order, is representable in the accumulation type."""
    factors = sums.factors
    if not total.size or not all(np.isfinite(factor).all() for factor in factors):
        return False
    quantum = 1.0
    for index, factor in enumerate(factors):
        least = quantum_of(factor)
        rounding = precision.operands[min(index, 1)]
        if rounding and (factor >= least / rounding).any():
            return False
        quantum *= least
    coarsest = max(precision.accumulation, precision.intermediate)
    largest = min(quantum / coarsest, precision.of.float_format.max_finite)
    return bool(
        quantum >= underflow_error(precision.of, flushes=sums.flushes) and total.max() <= largest
    )


def quantum_of(magnitudes: Array) -> float:
    """Return the largest power of two that divides all of these float64 numbers; 1 for zeros."""
    mantissa, exponent = np.frexp(magnitudes[magnitudes != 0])
    if not mantissa.size:
        return 1.0
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return float(np.min(np.ldexp(lowest, exponent - 53)))


def _order_factor(sums: _Sums, precision: Precision, default: DefaultPrecision) -> float:
    """Return the factor of the sums' second bound; infinity if additions may truncate."""
    is_imprecise = sums.operation.attribute("allow_imprecise_accumulation") and default.sums is None
    if is_imprecise or not default.rounds_to_nearest:
        return np.inf
    if not has_likely_bound(sums.depth):
        return LIKELY
    factors = sums.summation(sums.operation, sums.operands, order_factors(precision.of))
    return float(factors.max(initial=LIKELY))


def _bound(
    sums: _Sums,
    finite: tuple[Array, ...],
    total: Array,
    target: Array,
    precision: Precision,
    factor: float,
    to: ElementType,
) -> Array:
    terms, more = sums.depth, 1.0
    if to.is_complex or np.iscomplexobj(sums.operands[0]):
        terms, more = 2 * terms, np.sqrt(2.0)  # both parts are sums of twice as many products
    product = float(growth_of_sum(terms, precision.accumulation, factor))
    gamma = product / (1 - product) if product < 1 else np.inf
    size = np.abs(target).astype(np.float64)
    least = np.maximum(size, to.float_format.smallest_normal)
    out = (precision.result + precision.intermediate) * least * more
    inner = np.where(total == 0, 0.0, (precision.operand_error + gamma) * total) * more
    lost = _underflow(sums, finite, precision) * more
    return np.where(total == 0, 0.0, np.where(np.isfinite(size), out, 0.0) + inner + lost)


def _underflow(sums: _Sums, finite: tuple[Array, ...], precision: Precision) -> Array:
    """Return the error of products, sums and operands below the smallest normal number."""
    lost = np.asarray(2.0 * sums.depth * underflow_error(precision.of, flushes=sums.flushes))
    for index, one in enumerate(finite):
        element_type = element_type_of(sums.operands[index])
        if not (element_type.is_float or element_type.is_complex):
            continue
        smallest = element_type.float_format.smallest_normal
        below = (one < smallest) & (one != 0)
        # rounding a subnormal operand has an absolute error; flushing it loses all of it
        error = np.minimum(one, precision.operands[min(index, 1)] * smallest)
        error = one if sums.flushes and has_flushing_modes(element_type) else error
        if below.any() and error.any():
            parts = (*finite[:index], np.where(below, error, 0.0), *finite[index + 1 :])
            lost = lost + sums.magnitudes(*parts)
    return lost


def underflow_error(element_type: ElementType, *, flushes: bool = False) -> float:
    """Return the absolute error of an underflow; 0 for integers."""
    return (
        underflow(element_type, flushes=flushes)
        if element_type.is_float or element_type.is_complex
        else 0.0
    )

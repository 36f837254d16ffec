"""Tolerance rule: the largest permitted error of a backend's result, with name and source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from conformance.tolerance.hardware import Hardware
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType
from reference.numerics.products import Multiply


@dataclass(frozen=True, slots=True)
class Ulps:
    """Accuracy budgets by type, in ulp; `gpu_f32` where a GPU's figure for f32 differs.

    `narrow` is for types under 16 bits, `complex_` for both parts of a complex result in ulps of
    the larger part. A budget of 0 asks for the correctly rounded result.
    """

    f32: float
    f64: float
    half: float
    narrow: float
    complex_: float
    gpu_f32: float | None = None

    def budget(self, element_type: ElementType, platform: str) -> float:
        """Return the budget in ulp for results of a float or complex type on a `Hardware`."""
        if element_type.is_complex:
            return self.complex_
        if element_type.name == "f32" and self.gpu_f32 is not None and platform == Hardware.GPU:
            return self.gpu_f32
        if element_type.bits < 16:
            return self.narrow
        return {"f64": self.f64, "f32": self.f32}.get(element_type.name, self.half)


Formula = Callable[..., Array]
"""A function formula(operands): a result that the specification's text also permits."""


Bound = Callable[[Operation, tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]]
"""A function bound(operation, operands, expected results): the largest permitted absolute errors of
each result.

They are float64 arrays (for complex elements: of the modulus), or None if the result is data.
"""

Permits = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]
]
"""A function permits(operation, operands, expected, actual): a mask for each result, or None.

Marked elements are right because all results jointly have the required property.
"""

Measure = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]
]
"""A function measure(operation, operands, expected, actual): the errors of each result's elements
as float64.

They are in units of the permitted error, such as a residual over its bound.
"""

MeasureIn = Callable[[ElementType], Measure]
"""A function measure_in(type): the `Measure` of sums that are accumulated in that type, with its
subnormal numbers flushed if hardware has a mode for it.
"""

Excludes = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]],
    tuple[Sequence[tuple[str, Array]], ...],
]
"""A function excludes(operation, operands, expected, actual): (label, mask) pairs for each result.

Marked elements are wrong although the specification does not determine the result, such as random
numbers out of range.
"""

EitherZero = Callable[[Operation, tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]]
"""either_zero(operation, operands, expected results): for each result a mask of the zeros that may
have either sign, or None if there are none. The mask is boolean and has the result's shape; for
complex results a trailing dimension of two (real, imaginary), as in `reference.ir.types.to_bits`.
Only zeros are marked."""


class Summation(Protocol):
    """Sums of products of an operation, on any operands."""

    def __call__(
        self,
        operation: Operation,
        operands: tuple[Array, ...],
        multiply: Multiply,
        padding: float = 0.0,
        /,
    ) -> Array:
        """Return the sums that a multiplication of matrices gives.

        That is `unrounded_products` for the sums before rounding, and `magnitudes` for float64 sums
        of their terms' magnitudes (reference/numerics/products.py). `padding` is the number that a
        convolution pads lhs with.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """Permitted results of an op.

    `ulps` is None where a result is data: it is compared bit for bit, and any NaN equals any other
    unless `nan_bits`. `range` is the range of the function, which no result may leave, however
    large the budget. `formulas` are further evaluations that the specification's text allows.

    An accumulating op has a `bound` instead of `ulps`: errors are measured in units of the bound,
    and the budget is 1. Where several results are right, such as any order of equal elements,
    `permits` decides on all results jointly. Errors that depend on the backend's own results, such
    as backward errors, are given by `measure`, again with a budget of 1. `excludes` marks results
    that are wrong even where the specification does not determine the right result.

    `by_hardware` replaces the rule on hardware that computes less precisely by default. If
    `is_nondeterministic`, results may differ when a program runs again. `complex_rule` replaces the
    rule where operands are complex and results are not. If `rounds_operands`, the bound allows for
    operands that are rounded before anything else.

    With a `bound` or a `measure`, zeros of either sign are equal. If the rule also has
    `either_zero`, an expected zero keeps its sign unless `either_zero` allows any sign. Numbers
    that are zero only after rounding or flushing are not covered.

    `flush_loss` is the largest error that results have beside the bound if intermediate subnormal
    numbers are flushed to zero. It permits nothing: flushed programs are judged by it.
    `summation` gives the sums of an op that adds products of its first operands. `measure_in`
    permits nothing either: it measures results whose sums are accumulated in a stated type.
    """

    name: str
    text: str
    source: str
    ulps: Ulps | None = None
    range: tuple[float, float] | None = None
    formulas: tuple[Formula, ...] = ()
    nan_bits: bool = False
    bound: Bound | None = None
    permits: Permits | None = None
    measure: Measure | None = None
    excludes: Excludes | None = None
    either_zero: EitherZero | None = None
    by_hardware: tuple[tuple[Hardware, Rule], ...] = ()
    is_nondeterministic: bool = False
    rounds_operands: bool = False
    complex_rule: Rule | None = None
    flush_loss: Bound | None = None
    summation: Summation | None = None
    measure_in: MeasureIn | None = None

    @property
    def is_backward(self) -> bool:
        """Whether `measure` gives backward errors of the whole problem, not of elements."""
        return self.measure is not None and self.bound is None

    def hardware_rule(self, platform: str) -> Rule:
        """Return the rule that judges on a `Hardware`: `by_hardware`'s, or this rule."""
        return next((rule for hardware, rule in self.by_hardware if platform == hardware), self)

    @property
    def unit(self) -> str:
        """Unit of errors: the bound or ulp."""
        return "of the bound" if self.bound or self.measure else "ulp"

    def budget(self, element_type: ElementType, platform: str) -> float | None:
        """Return the budget in `unit` for a result type, or None for integers and data."""
        if not (element_type.is_float or element_type.is_complex):
            return None
        if self.bound is not None or self.measure is not None:
            return 1.0
        if self.ulps is None:
            return None
        return self.ulps.budget(element_type, platform)

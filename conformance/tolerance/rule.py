"""Tolerance rules: what a backend's result may differ by, each rule named and with its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.tolerance.hardware import Hardware
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType


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
        """The budget for results of a floating-point or complex type on a `Hardware`."""
        if element_type.is_complex:
            return self.complex_
        if element_type.name == "f32" and self.gpu_f32 is not None and platform == Hardware.GPU:
            return self.gpu_f32
        if element_type.bits < 16:
            return self.narrow
        return {"f64": self.f64, "f32": self.f32}.get(element_type.name, self.half)


Formula = Callable[..., Array]
"""Another reading of the specification: operands in, a permitted result out."""


Bound = Callable[[Operation, tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]]
"""bound(operation, operands, expected results): for each result a float64 array of the largest
permitted absolute errors (of complex elements: of the modulus), or None where it is data."""

Permits = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]
]
"""permits(operation, operands, expected, actual): for each result a mask of the elements that are
right because all results together have the property asked for; None where there is no such."""

Measure = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]
]
"""measure(operation, operands, expected, actual): for each result the errors of its elements as
float64, in units of what is permitted, such as a residual over its bound."""

Excludes = Callable[
    [Operation, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]],
    tuple[Sequence[tuple[str, Array]], ...],
]
"""excludes(operation, operands, expected, actual): for each result (label, mask) pairs of elements
that are wrong however much the specification leaves open, such as random numbers out of range."""

EitherZero = Callable[[Operation, tuple[Array, ...], tuple[Array, ...]], tuple[Array | None, ...]]
"""either_zero(operation, operands, expected results): for each result a mask of the zeros that may
have either sign, whatever sign the expected one has: booleans of the result's shape, for complex
results with a trailing dimension of two, (real, imaginary), as `reference.ir.types.to_bits` has it.
None where there is no such zero. Never true of anything but a zero."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is permitted of an op's results.

    `ulps` is None where a result is data, to be met bit for bit (any NaN stands for any other
    unless `nan_bits`). `range` is the range of the function, never to be left however large the
    budget. `formulas` are further evaluations that the specification's text allows.

    An accumulating op has a `bound` instead of `ulps`: errors are then measured in units of it,
    and the budget is 1. Where any of many results is right, such as any order of equal elements,
    `permits` decides on all results together. Errors that only the backend's own results tell,
    such as backward errors, are given by `measure`, again with a budget of 1. `excludes` names
    what is wrong although the specification leaves open which results are right. `by_hardware` has
    the rules that take this one's place on hardware that computes less precisely by default. Where
    it `varies`, results need not be the same when a program runs again. `of_complex` takes its
    place where operands are complex and results are not. Where it `rounds_operands`,
    the bound allows for operands that are rounded before anything else.

    With a `bound` or a `measure`, zeros of either sign are alike; but where the rule has
    `either_zero` too, an expected zero has the expected sign unless that says that it may have
    any. It says nothing of numbers that are zero only when rounded or flushed.

    `loss` is what results lose at most, beside the bound, where subnormal numbers on the way to
    them are taken for zeros: no permission, but what programs that are flushed are judged by.
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

    @property
    def is_backward(self) -> bool:
        """Whether errors are those of the whole problem: no element has a bound of its own."""
        return self.measure is not None and self.bound is None

    def for_hardware(self, platform: str) -> Rule:
        """The rule that judges on a `Hardware`: itself, unless `by_hardware` has another for it."""
        return next((rule for hardware, rule in self.by_hardware if platform == hardware), self)

    @property
    def unit(self) -> str:
        """What errors are measured in."""
        return "of the bound" if self.bound or self.measure else "ulp"

    def budget(self, element_type: ElementType, platform: str) -> float | None:
        """The budget in ulp for a result type, None where the rule has none (integers, data)."""
        if not (element_type.is_float or element_type.is_complex):
            return None
        if self.bound is not None or self.measure is not None:
            return 1.0
        if self.ulps is None:
            return None
        return self.ulps.budget(element_type, platform)

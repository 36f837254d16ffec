"""Exponentials that compilers compute otherwise, and that no identity describes.

They are not rounded before they are added, or their constant argument is NaN.
"""

from __future__ import annotations

import numpy as np

from conformance.known.rewritings.evaluation import move_elements
from conformance.known.rewritings.identities import FORMS
from conformance.known.rewritings.patterns import Matcher
from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from reference.ir.program import Operation, Value
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

UNROUNDED = "exponential taken into a sum unrounded"
CONSTANT_NAN = "exponential of a constant NaN"

LARGEST_ARGUMENT = float(np.float32(88.8))
"""Largest argument of the exponential of f32; larger arguments are clamped to it (jaxlib 0.10.2 and
0.12, measured). Its exponential exceeds the largest number and is infinite only when it is
rounded."""


def exponentials_of_constant_nan(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield the result, without a prediction where a constant NaN is the exponential's argument.

    There the code that jaxlib 0.10.2 generates reads an undefined value. exp(x)^y counts as the
    exponential of x * y. Source: jax#29537.
    """
    is_nan = _constant_nans(shown, operation.operands[-1])
    if operation.name == "power":
        seen = Matcher(shown, FORMS).operations_named(operation.operands[0], "exponential")
        if next(seen, None) is None:
            return
    operands = shown.known_values(operation.operands)
    if is_nan is None or operands is None:
        return
    yield ValuePrediction(OPS[operation.name].evaluate(*operands), undefined=is_nan)


def _constant_nans(shown: ObservedProgram, value: Value) -> Array | None:
    """Return the elements of a value that are NaN because of a constant NaN operand; None if
    unknown.
    """
    constant = shown.known_value(value) if _is_constant_to_llvm(shown, value) else None
    if constant is not None:
        of = element_type_of(constant)
        return np.isnan(to_float64(constant)) if of.is_float else None
    maker = shown.maker(value)
    if maker is None:
        return None
    if maker.name == "select":
        return _selected_nans(shown, *maker.operands)
    if maker.name == "cholesky":  # NaN is selected for a matrix that has no decomposition
        decomposition = shown.known_value(value)
        return None if decomposition is None else np.isnan(decomposition)
    if OPS[maker.name].rearranges:
        before = _constant_nans(shown, maker.operands[0])
        return None if before is None else move_elements(maker, before)
    if maker.name not in _PROPAGATE_NAN:
        return None
    found = [_constant_nans(shown, operand) for operand in maker.operands]
    masks = [one for one in found if one is not None]
    return np.logical_or.reduce(masks) if masks else None


def _is_constant_to_llvm(shown: ObservedProgram, value: Value) -> bool:
    """Return whether a value is computed from constants, elementwise behind barriers.

    XLA's passes fold nothing behind an optimization barrier. LLVM does, because XLA has removed the
    barriers by then.
    """
    if shown.is_folded(value):
        return True
    maker = shown.maker(value)
    if maker is None or not maker.operands:
        return False
    record, before = OPS[maker.name], maker.operands
    if maker.name == "optimization_barrier":
        before = (maker.operands[maker.results.index(value)],)
    elif not record.lifts and not record.rearranges:
        return False
    return all(_is_constant_to_llvm(shown, one) for one in before)


def _selected_nans(
    shown: ObservedProgram, pred: Value, on_true: Value, on_false: Value
) -> Array | None:
    is_true = shown.known_value(pred)
    sides = [_constant_nans(shown, side) for side in (on_true, on_false)]
    if is_true is None or all(one is None for one in sides):
        return None
    chosen, other = (False if one is None else one for one in sides)
    return np.where(is_true, chosen, other)


_PROPAGATE_NAN = ("add", "divide", "multiply", "negate", "subtract")


def sums_with_unrounded_exponential(
    shown: ObservedProgram, operation: Operation, *, sign: int = 1
) -> Predictions:
    """Yield exp(x) + y, or with the sign exp(x) - y and y - exp(x), with the exponential
    unrounded.
    """
    lhs, rhs = operation.operands
    for taken, other, signs in ((lhs, rhs, (1, sign)), (rhs, lhs, (sign, 1))):
        maker, y = shown.maker(taken), shown.values.get(other.name)
        if maker is None or maker.name != "exponential" or y is None:
            continue
        x = shown.values.get(maker.operands[0].name)
        if x is None or element_type_of(x) is not ELEMENT_TYPES["f32"]:
            continue
        with np.errstate(all="ignore"):
            wide = np.exp(np.minimum(to_float64(x), LARGEST_ARGUMENT))
            total = signs[0] * wide + signs[1] * to_float64(y)
            few = np.abs(wide) * (np.finfo(np.float32).eps * EXPONENTIAL_ERROR)
            yield ValuePrediction(total.astype(np.float32), few)


EXPONENTIAL_ERROR = 8.0
"""Error, in units of roundoff, of an unrounded f32 exponential whose argument is clamped."""

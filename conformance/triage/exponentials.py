"""Identities of exponentials, logarithms, powers and roots of real numbers that compilers take for
identities of rounded ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.catalog import rule_of
from conformance.tolerance.hardware import Hardware
from conformance.triage.prediction import Predicted, Shown, flushed
from reference.interpreter.evaluate import apply
from reference.ir.monoid import ADD
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import BOOLEAN, ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.table import OPS
from reference.unspecified.reduction import taken_apart

LOGARITHM = "logarithm of a power as a product"
INVERSE = "logarithm of an exponential as its argument"
EXPONENTIAL = "quotient by an exponential as a product"
POWER = "quotient by a power as a product"
ROOT = "quotient by a root as a product"
OF_EXPONENTIAL = "power of an exponential as one"
PRODUCT = "product of exponentials as one"
MAGNITUDE = "root of a square as a magnitude"
UNROUNDED = "exponential taken into a sum unrounded"
OF_NAN = "exponential of a constant NaN"

LARGEST_ARGUMENT = float(np.float32(88.8))
"""What larger arguments are cut to before the exponential of f32 is computed (jaxlib 0.10.2, 0.12,
measured): its exponential is over the largest number, and infinite only when it is rounded."""


def of_logarithm(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """log(x^y) as y log(x), or as y log|x|; a reciprocal square root is such a power, too."""
    shown = Shown(program, values)
    maker = shown.maker(operation.operands[0])
    if maker is None or maker.name not in ("power", "rsqrt"):
        return
    x = values.get(maker.operands[0].name)
    if x is None or not element_type_of(x).is_float:
        return
    y = values.get(maker.operands[1].name) if maker.name == "power" else np.full_like(x, -0.5)
    if y is None:
        return
    with np.errstate(all="ignore"):
        for base in (x, np.abs(x)):
            yield Predicted(OPS["multiply"].evaluate(y, OPS["log"].evaluate(base)))


def of_inverse(
    program: Program, operation: Operation, values: Mapping[str, Array], *, name: str
) -> Iterator[Predicted]:
    """a / exp(x) as a exp(-x), or with the name "power" a / b^x as a b^-x, the exponential or the
    power within its own budget."""
    dividend, divisor = operation.operands
    maker = Shown(program, values).maker(divisor)
    a = values.get(dividend.name)
    if a is None or maker is None or maker.name != name or not element_type_of(a).is_float:
        return
    *base, x = (values.get(value.name) for value in maker.operands)
    given = [one for one in base if one is not None]
    if x is None or len(given) < len(base):
        return
    yield from _within(maker, a, OPS[name].evaluate(*given, np.negative(x)))


def of_root_divisor(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """a / sqrt(x) as a rsqrt(x), the reciprocal root within its budget."""
    dividend, divisor = operation.operands
    maker, a = Shown(program, values).maker(divisor), values.get(dividend.name)
    if a is None or maker is None or maker.name != "sqrt" or not element_type_of(a).is_float:
        return
    x = values.get(maker.operands[0].name)
    if x is not None:
        yield from _within(replace(maker, name="rsqrt"), a, OPS["rsqrt"].evaluate(x))


def of_power(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """Yield exp(x y) for exp(x)^y; exp(x) may be a product or a quotient of exponentials."""
    exponent = _exponent(Shown(program, values), operation.operands[0])
    y = values.get(operation.operands[1].name)
    if exponent is None or y is None or not element_type_of(y).is_float:
        return
    x, error = exponent
    with np.errstate(all="ignore"):
        total, moved = OPS["multiply"].evaluate(x, y), error * np.abs(to_float64(y))
    yield from _exponential(operation, total, moved)


def of_constant_nan(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """Yield the result without a prediction where the argument of an exponential is NaN because a
    constant is: there the code that jaxlib 0.10.2 generates reads no defined value.

    exp(x)^y is the exponential of a product with y. Source: jax#29537.
    """
    shown = Shown(program, values)
    is_nan = _constant_nans(shown, operation.operands[-1])
    if operation.name == "power" and _exponent(shown, operation.operands[0]) is None:
        return
    given = [values.get(value.name) for value in operation.operands]
    operands = [one for one in given if one is not None]
    if is_nan is None or len(operands) < len(given):
        return
    yield Predicted(OPS[operation.name].evaluate(*operands), undefined=is_nan)


def _constant_nans(shown: Shown, value: Value) -> Array | None:
    """The elements of a value that are NaN because an operand of its arithmetic is a constant NaN;
    None where nothing is known of it."""
    constant = shown.constant(value)
    if constant is not None:
        of = element_type_of(constant)
        return np.isnan(to_float64(constant)) if of.is_float else None
    maker = shown.maker(value)
    if maker is None:
        return None
    if maker.name == "select":
        return _selected_nans(shown, *maker.operands)
    if maker.name == "cholesky":  # NaN is selected for a matrix that has no decomposition
        decomposition = shown.known(value)
        return None if decomposition is None else np.isnan(decomposition)
    if OPS[maker.name].rearranges:
        before = _constant_nans(shown, maker.operands[0])
        return None if before is None else apply(_retyped(maker, BOOLEAN[0]), (before,))[0]
    if maker.name not in _PROPAGATE_NAN:
        return None
    found = [_constant_nans(shown, operand) for operand in maker.operands]
    masks = [one for one in found if one is not None]
    return np.logical_or.reduce(masks) if masks else None


def _selected_nans(shown: Shown, pred: Value, on_true: Value, on_false: Value) -> Array | None:
    is_true = shown.known(pred)
    sides = [_constant_nans(shown, side) for side in (on_true, on_false)]
    if is_true is None or all(one is None for one in sides):
        return None
    chosen, other = (False if one is None else one for one in sides)
    return np.where(is_true, chosen, other)


_PROPAGATE_NAN = ("add", "divide", "multiply", "negate", "subtract")


def of_argument(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """log(exp(x)) as x; exp(x) may be a magnitude, or a product or quotient of exponentials."""
    exponent = _exponent(Shown(program, values), operation.operands[0])
    if exponent is not None:
        predicted = Predicted(*exponent)
        yield predicted
        yield flushed(predicted)


@quiet
def _exponent(shown: Shown, value: Value) -> tuple[Array, Array] | None:
    """What a value is the exponential of, and what that may be off by roundings on the way; None
    where it is none."""
    maker = shown.maker(value)
    if maker is None or not maker.operands:
        return None
    if maker.name == "exponential":
        x = shown.values.get(maker.operands[0].name)
        return None if x is None else (x, np.zeros(x.shape))
    if maker.name == "abs":
        return _exponent(shown, maker.operands[0])
    if OPS[maker.name].rearranges or OPS[maker.name] is OPS["reduce"]:
        return _rearranged(shown, maker)
    if maker.name not in ("multiply", "divide"):
        return None
    one, other = (_exponent(shown, operand) for operand in maker.operands)
    if one is None or other is None or not element_type_of(one[0]).is_float:
        return None
    total = OPS["add" if maker.name == "multiply" else "subtract"].evaluate(one[0], other[0])
    rounding = np.abs(to_float64(total)) * unit_roundoff(element_type_of(total))
    return total, one[1] + other[1] + rounding


def _rearranged(shown: Shown, maker: Operation) -> tuple[Array, Array] | None:
    """Return what the result of an operation that rearranges elements is the exponential of, the
    error of that too; a sum of one element is that element."""
    exponent = _exponent(shown, maker.operands[0])
    if exponent is None:
        return None
    if OPS[maker.name] is OPS["reduce"]:
        return _summed_alone(shown, maker, exponent)
    (x,), (error,) = (apply(_retyped(maker, element_type_of(one)), (one,)) for one in exponent)
    return x, error


def _summed_alone(
    shown: Shown, maker: Operation, exponent: tuple[Array, Array]
) -> tuple[Array, Array] | None:
    """Return the exponent in the shape of the sums of one element each; None for other sums."""
    given = [shown.known(value) for value in maker.operands]
    operands = [one for one in given if one is not None]
    if len(given) != SUM or len(operands) < SUM or not bool((operands[1] == 0).all()):
        return None
    parts = taken_apart(maker, operands)
    if parts.monoid(0) is not ADD or not bool((parts.leaves.counts == 1).all()):
        return None
    x, error = (one.reshape(parts.leaves.shape) for one in exponent)
    return x, error


def _retyped(maker: Operation, of: ElementType) -> Operation:
    """An operation that rearranges elements of another type."""

    def changed(value: Value) -> Value:
        assert isinstance(value.type, TensorType)
        return replace(value, type=replace(value.type, element_type=of))

    operands, results = (tuple(map(changed, some)) for some in (maker.operands, maker.results))
    return replace(maker, operands=operands, results=results)


SUM = 2
"""Operands of a reduction of one tensor."""


def of_exponentials(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """exp(x) exp(y) as exp(x + y), and exp(x) / exp(y) as exp(x - y); 1 / exp(x) is exp(-x)."""
    shown = Shown(program, values)
    (maker, x), (other, y) = (_argument(shown, value) for value in operation.operands)
    if maker is not None and other is not None and x is not None and y is not None:
        with np.errstate(all="ignore"):
            total = OPS["subtract" if operation.name == "divide" else "add"].evaluate(x, y)
        yield from _exponential(maker, total)


def _argument(shown: Shown, value: Value) -> tuple[Operation | None, Array | None]:
    """The exponential that a value is, or that it is the reciprocal of, and its argument."""
    maker, is_inverse = shown.maker(value), False
    if maker is not None and maker.name == "divide":
        one = shown.values.get(maker.operands[0].name)
        is_inverse = one is not None and bool((one == 1).all())
        maker = shown.maker(maker.operands[1]) if is_inverse else None
    if maker is None or maker.name != "exponential":
        return None, None
    x = shown.values.get(maker.operands[0].name)
    if x is None or not element_type_of(x).is_float:
        return None, None
    return maker, np.negative(x) if is_inverse else x


@quiet
def _exponential(
    maker: Operation, x: Array, error_of_x: Array | float = 0.0
) -> Iterator[Predicted]:
    """Yield exp(x) within the budget of an operation, of its argument's rounding, and of the error
    that the argument had before."""
    found = OPS["exponential"].evaluate(x)
    rounding = np.abs(to_float64(x)) * unit_roundoff(element_type_of(x)) + error_of_x
    moved = np.abs(to_float64(found)) * rounding
    for predicted in _within(maker, np.ones_like(found), found):
        error = np.where(np.isfinite(moved), moved, 0)
        yield Predicted(
            predicted.result, None if predicted.error is None else predicted.error + error
        )


@quiet
def _within(maker: Operation, a: Array, factor: Array) -> Iterator[Predicted]:
    """a times a factor that is within the budget of the operation that makes such ones."""
    rule, of = rule_of(maker), element_type_of(factor)
    if rule is None:
        return
    result = OPS["multiply"].evaluate(a, factor)
    budget = rule.budget(of, Hardware.CPU) or 0.0
    error = budget * ulp_size(to_float64(factor), of) * np.abs(to_float64(a))
    predicted = Predicted(result, error + ulp_size(to_float64(result), of))
    yield predicted
    yield flushed(predicted)


def squared(shown: Shown, value: Value) -> Value | None:
    """What a value is the square of: of x, as a product x x and as a power x^2."""
    maker = shown.maker(value)
    if maker is None or maker.name not in ("multiply", "power"):
        return None
    one, other = maker.operands
    is_square = one.name == other.name if maker.name == "multiply" else shown.is_all(other, 2)
    return one if is_square else None


def of_root(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """sqrt(x^2) and sqrt(|x^2|) as |x|, the square being a power, or a product of x, or |x|, with
    itself, and the root a power, too, where it is one."""
    shown = Shown(program, values)
    if operation.name == "power" and not shown.is_all(operation.operands[1], 0.5):
        return
    square = operation.operands[0]
    maker = shown.maker(square)
    if maker is not None and maker.name == "abs":  # of what is known not to be negative
        square = maker.operands[0]
    value = squared(shown, square)
    x = None if value is None else values.get(value.name)
    if x is not None and element_type_of(x).is_float:
        predicted = Predicted(np.abs(x), np.zeros(x.shape))
        yield predicted
        yield flushed(predicted)


def of_sum(
    program: Program, operation: Operation, values: Mapping[str, Array], *, sign: int = 1
) -> Iterator[Predicted]:
    """exp(x) + y, or with the sign exp(x) - y and y - exp(x), the exponential unrounded."""
    shown = Shown(program, values)
    lhs, rhs = operation.operands
    for taken, other, signs in ((lhs, rhs, (1, sign)), (rhs, lhs, (sign, 1))):
        maker, y = shown.maker(taken), values.get(other.name)
        if maker is None or maker.name != "exponential" or y is None:
            continue
        x = values.get(maker.operands[0].name)
        if x is None or element_type_of(x) is not ELEMENT_TYPES["f32"]:
            continue
        with np.errstate(all="ignore"):
            wide = np.exp(np.minimum(to_float64(x), LARGEST_ARGUMENT))
            total = signs[0] * wide + signs[1] * to_float64(y)
            few = np.abs(wide) * (np.finfo(np.float32).eps * EXPONENTIAL_ERROR)
            yield Predicted(total.astype(np.float32), few)


EXPONENTIAL_ERROR = 8.0
"""Roundoffs of an exponential of f32 that is cut to the largest argument, and not rounded."""

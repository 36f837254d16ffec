"""CHLO's elementwise ops: functions, predicates, and the high half of a product.

Source: StableHLO, stablehlo/dialect/ChloOps.td. The constraints have no numbers there: P1, P2, ...
are the operands in their order, then the result.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import (
    AdmittedTensors,
    admit,
    join_with_commas,
    merged_shape,
    same_baseline_type,
    same_shape,
    stated_types,
)
from reference.ir.op import (
    FIRST_OPERAND,
    Dialect,
    Evaluate,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.program import TensorType
from reference.ir.types import BOOLEAN, Array, Kind, element_type_of
from reference.numerics import arithmetic, exactness
from reference.numerics.elementary.functions import FUNCTIONS
from reference.numerics.rounding import next_down, next_up, to_float64

_FLOAT = admit(Kind.FLOAT)
_FLOAT_OR_COMPLEX = admit(Kind.FLOAT, Kind.COMPLEX)
_INTEGER = admit(Kind.SIGNED, Kind.UNSIGNED)

COMPLEX_FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "sinh", "tan",
)  # fmt: skip
"""Functions of one real or complex number."""

REAL_FUNCTIONS = ("digamma", "erf", "erf_inv", "erfc", "lgamma")
"""Functions of one real number."""

_MONOTONIC = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "erf", "erf_inv", "erfc", "sinh",
)  # fmt: skip
"""Functions that only grow or only shrink with a real operand."""


def _uniform_type(
    *operands: TensorType, admits: AdmittedTensors, result: TensorType | None = None
) -> TensorType:
    """Return the result type of an op whose operands and result have one type.

    Raises:
        ConstraintViolation: P1, P2 (operand not of an admitted type), then an id for types that
            differ.
    """
    for index, operand in enumerate(operands, 1):
        require(f"P{index}", operand in admits, operand)  # P1, P2
    types = stated_types(*operands, result)
    one = f"P{len(operands) + 1}"
    require(one, same_baseline_type(*types), join_with_commas(*types))
    return result or replace(operands[0], shape=merged_shape(operands))


def _predicate_type(operand: TensorType, *, result: TensorType | None = None) -> TensorType:
    """Return the result type of a predicate.

    Raises:
        ConstraintViolation: P1 (operand not of a floating-point type), P2 (shape or element type of
            the result).
    """
    require("P1", operand in _FLOAT, operand)
    if result is not None:
        fits = same_shape(operand, result) and result.element_type == BOOLEAN[0]
        require("P2", fits, join_with_commas(operand, result))
    return result or TensorType(operand.shape, BOOLEAN[0])


def conj(operand: Array) -> Array:
    """Return the conjugate of complex numbers, and real numbers unchanged."""
    return np.asarray(np.conj(operand)) if np.iscomplexobj(operand) else operand.copy()


def square(operand: Array) -> Array:
    """Return each number multiplied by itself, correctly rounded."""
    return arithmetic.multiply(operand, operand)


def _is_exact_square(operands: tuple[Array, ...], result: Array) -> Array:
    return exactness.is_exact_product((operands[0], operands[0]), result)


def _is_infinite(operand: Array, *, signs: tuple[float, ...]) -> Array:
    return np.isin(to_float64(operand), [sign * np.inf for sign in signs])


def next_after(x: Array, y: Array) -> Array:
    """Return the number next to x in the direction of y, as C's nextafter: y if they are equal."""
    left, right = to_float64(x), to_float64(y)
    moved = np.where(right > left, next_up(x), next_down(x))
    same = (left == right) | np.isnan(right)
    return np.asarray(np.where(np.isnan(left), x, np.where(same, y, moved))).astype(x.dtype)


def mulhi(lhs: Array, rhs: Array) -> Array:
    """Return the more significant half of each product of twice the width."""
    element_type, wide = element_type_of(lhs), arithmetic.widen_subbyte(lhs).dtype
    factors = (np.asarray(arithmetic.widen_subbyte(one), object) for one in (lhs, rhs))
    high = np.asarray(np.multiply(*factors) >> element_type.bits, object).astype(wide)
    return arithmetic.wrap_integers(high, element_type)


_op = partial(
    Op, dialect=Dialect.CHLO, specified=False, principal=FIRST_OPERAND, attributes=(),
    structure=Structure.COMPUTES, lifts=True, needs_result=False, quantized=QuantizedUse.REFUSES,
)  # fmt: skip


def _uniform_op(
    name: str,
    operands: tuple[str, ...],
    admits: AdmittedTensors,
    evaluate: Evaluate,
    rounding: Rounding = Rounding.APPROXIMATES,
) -> Op:
    ids = tuple(f"P{number + 1}" for number in range(len(operands) + 1))
    return _op(
        name=f"chlo.{name}", type_function=partial(_uniform_type, admits=admits), constraints=ids,
        evaluate=evaluate, operands=operands, element_types=admits.element_types,
        rounding=rounding,
    )  # fmt: skip


def _unary(name: str, admits: AdmittedTensors) -> Op:
    record = _uniform_op(name, ("operand",), admits, FUNCTIONS[name])
    return replace(record, monotonic=name in _MONOTONIC)


def _predicate(name: str, *signs: float) -> Op:
    return _op(
        name=f"chlo.{name}", type_function=_predicate_type, constraints=("P1", "P2"),
        evaluate=partial(_is_infinite, signs=signs), operands=("operand",),
        element_types=_FLOAT.element_types, rounding=Rounding.EXACT,
    )  # fmt: skip


OPS: tuple[Op, ...] = (
    *(_unary(name, _FLOAT_OR_COMPLEX) for name in COMPLEX_FUNCTIONS),
    *(_unary(name, _FLOAT) for name in REAL_FUNCTIONS),
    _uniform_op("conj", ("operand",), _FLOAT_OR_COMPLEX, conj, Rounding.EXACT),
    replace(
        _uniform_op("square", ("operand",), _FLOAT_OR_COMPLEX, square, Rounding.CORRECT),
        unrounded=np.square, is_exact=_is_exact_square,
    ),
    _predicate("is_inf", 1, -1),
    _predicate("is_neg_inf", -1),
    _predicate("is_pos_inf", 1),
    _uniform_op("next_after", ("x", "y"), _FLOAT, next_after, Rounding.EXACT),
    _uniform_op("polygamma", ("n", "x"), _FLOAT, FUNCTIONS["polygamma"]),
    _uniform_op("zeta", ("x", "q"), _FLOAT, FUNCTIONS["zeta"]),
    _uniform_op("mulhi", ("lhs", "rhs"), _INTEGER, mulhi, Rounding.EXACT),
)  # fmt: skip
"""The ops of this family."""

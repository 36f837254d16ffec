"""XlaBuilder's elementwise ops: operands of two shapes are broadcast to one.

Source: XLA operation semantics, each op by its name; "Broadcasting", to which those pages refer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from reference.ir.constraints import require
from reference.ir.op import Op
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ALL, COMPLEX
from reference.ops.xla.building import Building, lowered_op, renamed_op

Dimensions = tuple[int, ...]

UNARY = {
    "Abs": "abs", "Ceil": "ceil", "Clz": "count_leading_zeros", "Floor": "floor", "Imag": "imag",
    "IsFinite": "is_finite", "Neg": "negate", "Not": "not", "PopulationCount": "popcnt",
    "Real": "real", "Round": "round_nearest_afz", "RoundNearestAfz": "round_nearest_afz",
    "RoundNearestEven": "round_nearest_even", "Sign": "sign",
}  # fmt: skip
"""Ops of one operand, with their counterparts."""

FUNCTIONS = {
    "Cbrt": "cbrt", "Cos": "cosine", "Exp": "exponential", "Expm1": "exponential_minus_one",
    "Log": "log", "Log1p": "log_plus_one", "Logistic": "logistic", "Rsqrt": "rsqrt", "Sin": "sine",
    "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
"""Ops of one operand that may state a required accuracy, with their counterparts."""

ACCURACY = ("result_accuracy",)
"""The attribute of ops that may state a required accuracy."""

BINARY = {
    "Add": "add", "And": "and", "Atan2": "atan2", "Complex": "complex", "Div": "divide",
    "Max": "maximum", "Min": "minimum", "Mul": "multiply", "Or": "or", "Pow": "power",
    "Rem": "remainder", "ShiftLeft": "shift_left", "ShiftRightArithmetic": "shift_right_arithmetic",
    "ShiftRightLogical": "shift_right_logical", "Sub": "subtract", "Xor": "xor",
}  # fmt: skip
"""Ops of two operands, with their counterparts."""

DIRECTIONS = {"Eq": "EQ", "Ne": "NE", "Ge": "GE", "Gt": "GT", "Le": "LE", "Lt": "LT"}
"""Comparisons, with the `comparison_direction` of their counterpart; each also has a total order
form.
"""


@dataclass(frozen=True, slots=True)
class Broadcasting:
    """The common shape of two operands, and the dimensions of each operand in that shape."""

    shape: Dimensions
    lhs: Dimensions
    rhs: Dimensions


def broadcasting(
    lhs: TensorType, rhs: TensorType, broadcast_dimensions: Dimensions | None
) -> Broadcasting | None:
    """Return the broadcasting of operands of these types, or None if they are not compatible.

    A scalar broadcasts to any shape. Operands of one rank are matched dimension by dimension; an
    operand of lower rank is placed at `broadcast_dimensions`. A size of 1 is repeated.
    """
    low, high = sorted((lhs.rank, rhs.rank))
    whole = tuple(range(high))
    named = whole[:low] if broadcast_dimensions is None else broadcast_dimensions
    if broadcast_dimensions is None and low not in (0, high):
        return None
    places = (named, whole) if lhs.rank < rhs.rank else (whole, named)
    sizes = [1] * high
    for of, dimensions in zip((lhs, rhs), places, strict=True):
        for dimension, size in zip(dimensions, of.static_shape, strict=True):
            if 1 not in (size, sizes[dimension]) and size != sizes[dimension]:
                return None
            sizes[dimension] = size if sizes[dimension] == 1 else sizes[dimension]
    return Broadcasting(tuple(sizes), *places)


def are_broadcast_dimensions(low: int, high: int, broadcast_dimensions: Dimensions | None) -> bool:
    """Return whether these are valid dimensions, in order, of the operand of lower rank."""
    if broadcast_dimensions is None:
        return True
    in_order = all(a < b for a, b in pairwise(broadcast_dimensions))
    inside = all(0 <= dimension < high for dimension in broadcast_dimensions)
    return len(broadcast_dimensions) == low and in_order and inside


def check_compatible(
    lhs: TensorType, rhs: TensorType, *, broadcast_dimensions: Dimensions | None = None, **_: Any
) -> None:
    """Require P1 to P3 of binary ops.

    P1: operands have one element type. P2: their shapes can be broadcast. P3:
    `broadcast_dimensions` are the dimensions of the operand of lower rank, in order.
    """
    require("P1", lhs.element_type == rhs.element_type, f"{lhs} and {rhs}")
    low, high = sorted((lhs.rank, rhs.rank))
    if require(
        "P3", are_broadcast_dimensions(low, high, broadcast_dimensions), broadcast_dimensions
    ):
        found = broadcasting(lhs, rhs, broadcast_dimensions)
        require("P2", found is not None, f"{lhs} and {rhs}")


def broadcast_operand(
    building: Building, value: Value, dimensions: Dimensions, shape: Dimensions
) -> Value:
    """Return the value broadcast to a shape, with its own dimensions at `dimensions`."""
    of = tensor_of(value)
    if of.shape == shape:
        return value
    result = TensorType(shape, of.element_type)
    return building.op("broadcast_in_dim", value, result=result, broadcast_dimensions=dimensions)


def lower_binary(
    twin: str,
    building: Building,
    lhs: Value,
    rhs: Value,
    *,
    broadcast_dimensions: Dimensions | None = None,
    **given: Any,
) -> Value:
    """Return the value of a binary op of StableHLO, of operands broadcast to one shape."""
    left, right = tensor_of(lhs), tensor_of(rhs)
    low, high = sorted((left.rank, right.rank))
    if are_broadcast_dimensions(
        low, high, broadcast_dimensions
    ):  # a near miss is written unchanged
        found = broadcasting(left, right, broadcast_dimensions)
        if found is not None:
            lhs = broadcast_operand(building, lhs, found.lhs, found.shape)
            rhs = broadcast_operand(building, rhs, found.rhs, found.shape)
    return building.op(twin, lhs, rhs, **given)


def _compare(
    direction: str, total: bool, building: Building, lhs: Value, rhs: Value, **given: Any
) -> Value:
    kind = "TOTALORDER" if total else _usual_type(tensor_of(lhs))
    return lower_binary(
        "compare", building, lhs, rhs, comparison_direction=direction, compare_type=kind, **given
    )


def _usual_type(of: TensorType) -> str:
    """Return the comparison that the builder uses by default."""
    element = of.element
    if element.is_float or element.is_complex:
        return "FLOAT"
    return "SIGNED" if element.is_signed else "UNSIGNED"


_binary_op = partial(
    lowered_op, operands=("lhs", "rhs"), attributes=("broadcast_dimensions",),
    optional=("broadcast_dimensions",), conditions=check_compatible,
    constraints=("P1", "P2", "P3"),
)  # fmt: skip

_ORDERED = tuple(of for of in ALL if of not in COMPLEX)
_IN_TOTAL_ORDER = tuple(of for of in ALL if of.is_float)


def _comparisons() -> list[Op]:
    records: list[Op] = []
    for name, direction in DIRECTIONS.items():
        types = ALL if name in ("Eq", "Ne") else _ORDERED
        records += [
            _binary_op(name, "compare", partial(_compare, direction, False), element_types=types),
            _binary_op(
                f"{name}TotalOrder", "compare", partial(_compare, direction, True),
                element_types=_IN_TOTAL_ORDER,
            ),
        ]  # fmt: skip
    return records


OPS: tuple[Op, ...] = (
    *(renamed_op(name, twin) for name, twin in UNARY.items()),
    *(
        renamed_op(name, twin, attributes=ACCURACY, optional=ACCURACY)
        for name, twin in FUNCTIONS.items()
    ),
    *(_binary_op(name, twin, partial(lower_binary, twin)) for name, twin in BINARY.items()),
    *_comparisons(),
    renamed_op("Clamp", "clamp"),
    renamed_op("ReducePrecision", "reduce_precision"),
    renamed_op("Select", "select"),
)

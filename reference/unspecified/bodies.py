"""What the operations of a body leave open, in lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.interpreter import quantized
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.regions import Body
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64
from reference.unspecified.elementwise import ORDERED, open_elements
from reference.unspecified.quantization import open_codes
from reference.unspecified.reasons import Open

_MOVES = frozenset({"abs", "complex", "imag", "negate", "optimization_barrier", "real", "select"})
"""Ops that hand on the NaN they were given, its sign aside."""
_GIVEN = frozenset({"bitcast_convert", "constant"})
"""Ops whose NaNs are determined to the bit."""


def open_in_lanes(body: Body, arguments: Sequence[Array]) -> list[Open]:
    """For each operation of a body on scalars, applied to arguments of one shape: where the
    specification leaves its result open. What is computed from that is taken to be open too."""
    region, found = body.region, list[Open]()
    computed: dict[str, Array] = {}
    for number, operation in enumerate(region.operations[:-1]):
        wanted = (*operation.operands, *operation.results)
        if operation.regions or not all(map(_is_scalar, wanted)):
            continue
        part = Region(
            region.arguments, (*region.operations[: number + 1], Operation("return", wanted))
        )
        values = body.another(part).lanes(*arguments)
        given = values[: len(operation.operands)]
        if quantized.involved(operation):
            found += open_codes(operation, given, values[-1], 0, _open)
        else:
            found += open_elements(operation, given, values[-1])
            nans = [
                computed.get(value.name, np.zeros((), np.bool_)) for value in operation.operands
            ]
            found += _seen(operation, given, nans)
            for value, result in zip(operation.results, values[len(given) :], strict=True):
                computed[value.name] = _computed(operation, given, nans, result)
    return found


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape == ()


def _open(plain: Operation, operands: Sequence[Array], result: Array, _: int) -> list[Open]:
    return open_elements(plain, operands, result)


# --- NaNs that are computed ----------------------------------------------------------------------


def _computed(
    operation: Operation, operands: Sequence[Array], nans: Sequence[Array], result: Array
) -> Array:
    """Where a result is a NaN of which nothing says which one it is: IEEE-754-2019 6.2.3 does not
    require that payloads are handed on, 6.3 leaves the signs of computed NaNs open. `nans` says
    that of the operands."""
    if operation.name in _GIVEN:
        return np.zeros(result.shape, np.bool_)
    if operation.name == "select":
        return _is_nan(result) & np.where(operands[0], nans[1], nans[2])
    if operation.name in _MOVES:
        return _is_nan(result) & np.logical_or.reduce(np.broadcast_arrays(*nans))
    return _is_nan(result)


def _seen(operation: Operation, operands: Sequence[Array], nans: Sequence[Array]) -> list[Open]:
    """Where an operation's result depends on which NaN an operand is."""
    if operation.name == "bitcast_convert":
        return [("bits of a NaN that is computed", nans[0])]
    if operation.name != "compare" or operation.attribute("compare_type") != "TOTALORDER":
        return []
    ordered = operation.attribute("comparison_direction") in ORDERED
    both = _is_nan(operands[0]) & _is_nan(operands[1])
    return [("total order of a NaN that is computed", (nans[0] | nans[1]) & (ordered | both))]


def _is_nan(array: Array) -> Array:
    of = element_type_of(array)
    if of.is_complex:
        return np.isnan(array)
    return np.isnan(to_float64(array)) if of.is_float else np.zeros(array.shape, np.bool_)

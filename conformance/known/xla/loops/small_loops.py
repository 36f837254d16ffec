"""Numbers rounded from wider types to FNUZ types and f8E4M3FN in loops over little memory.

XLA's CPU compiler compiles a loop over at most one KiB as one function, with another code
generator. It rounds to these types differently:

- Negative numbers that become zero keep their sign, and -0 is the NaN of these types.
- Numbers that are subnormal in f16 become 2^-14 with their sign, where f8E5M2FNUZ has normal
  numbers.
- 496 and -496 become -0 in f8E4M3FN, not NaN: they are rounded up to 512, and the carry sets the
  bit of the sign.

Arithmetic on these types is done in f16, as is most movement of elements, and each operation
rounds. A slice that a scan reads is not rounded before the first operation on it; slices that it
writes are.

Source: XLA's `small_while_loop_hoisting_pass` and `fptrunc`; jaxlib 0.10.2 and 0.12, measured on
all numbers of these types.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from conformance.known.xla.sorting.misread_orders import rounded_up
from conformance.transforms.retype import element_of, retype
from conformance.transforms.values import nested_operations
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Value
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, NonFinite, element_type_of
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_to, to_float64
from reference.ops.structure import CONTROL_FLOW

LABEL = "rounded in a small loop"

_F16 = ELEMENT_TYPES["f16"]
_FN = ELEMENT_TYPES["f8E4M3FN"]
_CARRIED = 496.0
"""The number whose rounding to f8E4M3FN carries into the sign: the middle of 480 and 512."""
_IN_F16 = {
    of: _F16
    for of in ELEMENT_TYPES.values()
    if of is _FN or (of.is_float and of.float_format.non_finite is NonFinite.NAN_NEGATIVE_ZERO)
}
_LOOPS = frozenset({"while", "mhlo.scan"})
_ASSEMBLING = frozenset({"mhlo.scan"})
"""Loops that assemble results from slices."""
_UNROUNDED = CONTROL_FLOW | {
    "bitcast_convert", "constant", "optimization_barrier", "reshape", "transpose",
}  # fmt: skip
"""Ops that small loops execute without rounding, in any type."""


def _round_to(wide: Array, to: ElementType) -> Array:
    """Return numbers of a wider type rounded to one of these types by small loops."""
    number = to_float64(wide)
    right = round_to(number, to)
    if to is _FN:
        return np.where(np.abs(number) == _CARRIED, -0.0, right).astype(right.dtype)
    up = rounded_up(right) if element_type_of(wide) is _F16 else None
    is_lost = (to_float64(right) == 0) & (number < 0)
    return np.where(is_lost, np.nan, right if up is None else up).astype(right.dtype)


def _execute_in_loop(operation: Operation, operands: Operands, results: Results) -> Results | None:
    """Return the results of an operation in a small loop; None if none is of these types."""
    is_rounded = [element_of(value) in _IN_F16 for value in operation.results]
    if operation.name in _UNROUNDED or not any(is_rounded):
        return None
    wide = operands
    if operation.name != "convert":
        taken = [
            convert_to(x, _IN_F16.get(element_type_of(x), element_type_of(x))) for x in operands
        ]
        wide = apply(retype(operation, _IN_F16), taken)
    return tuple(
        _round_to(x, element_type_of(y)) if rounds and element_type_of(x).is_float else y
        for x, y, rounds in zip(wide, results, is_rounded, strict=True)
    )


def _predict_small_loops(
    operation: Operation, operands: Operands, expected: Results
) -> Results | None:
    """Return the results where each loop in an operation is small."""
    del expected
    within = (operation, *nested_operations(operation))
    if not any(element_of(value) in _IN_F16 for one in within for value in one.results):
        return None
    in_loops = {
        id(one) for loop in within if loop.name in _LOOPS for one in nested_operations(loop)
    }

    def execute_wrongly(one: Operation, given: Operands, results: Results) -> Results | None:
        return _execute_in_loop(one, given, results) if id(one) in in_loops else None

    if operation.name not in _ASSEMBLING:
        return apply(operation, operands, otherwise=execute_wrongly)
    body = operation.regions[0]
    results = apply(operation, operands, otherwise=execute_wrongly)
    return _move_slices(results, operation.results, body.operations[-1].operands)


def _move_slices(arrays: Operands, values: Sequence[Value], parts: Sequence[Value]) -> Operands:
    """Return arrays, rounded where the body moves only slices (`parts`) of a value."""
    pairs = zip(arrays, values, parts, strict=True)
    return tuple(
        x if whole.type == part.type or (up := rounded_up(x)) is None else up
        for x, whole, part in pairs
    )


ROUNDED_LOOPS = exact_hypothesis(LABEL, _predict_small_loops)
"""The class of results of loops, and of branches that contain loops."""

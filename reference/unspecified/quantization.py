"""Unspecified results of operations on quantized tensors.

Such a result is unspecified if the equivalent operation on numbers or codes is unspecified, or if
its number has no code: the specification has not decided how NaN and numbers out of range are
converted to integers (stablehlo#180). Numbers are out of range only if the expressed type lacks the
bounds of the storage type, such as 2^31 - 1 in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reference.interpreter import quantized
from reference.interpreter.evaluate import apply, of_shape
from reference.ir.program import Operation, QuantizedType
from reference.ir.types import Array
from reference.numerics.rounding import round_to, to_float64
from reference.ops.quantization import along, rounded_scales
from reference.ops.table import OPS
from reference.unspecified.reasons import Open, Reason

REASONS: dict[str, tuple[Reason, ...]] = {}
"""The reasons by op: none, because all these ops have a quantized tensor."""

Plain = Callable[[Operation, Sequence[Array], Array, int], list[Open]]


def open_codes(
    operation: Operation, operands: Sequence[Array], result: Array, number: int, plain: Plain
) -> list[Open]:
    """Return the reasons for an operation on quantized tensors; `plain` returns those of others."""
    inner = quantized.plain(operation)
    if not quantized.on_numbers(operation):
        return plain(inner, quantized.in_result_types(operation, operands), result, number)
    numbers = quantized.numbers(operation, operands)
    whole = of_shape(inner, result.shape) if OPS[inner.name].lifts else inner  # a lane is a scalar
    found = apply(whole, numbers)[number]
    reasons = plain(inner, numbers, found, number)
    of = quantized.element_types(operation)[1][number]
    if of is None:
        return reasons
    return [*reasons, *_without_code(found, of)]


def _without_code(numbers: Array, quantized_type: QuantizedType) -> list[Open]:
    wide, to = to_float64(numbers), quantized_type.expressed_type
    found: list[Open] = [("NaN has no code", np.isnan(wide))]
    ends = np.array([quantized_type.storage_min, quantized_type.storage_max], np.float64)
    rounded = to_float64(round_to(ends, to))
    storage = quantized_type.storage_type
    if rounded[0] < storage.min_integer or rounded[1] > storage.max_integer:
        scales = to_float64(rounded_scales(quantized_type, wide.ndim))
        moved = wide / scales + along(
            np.array(quantized_type.zero_points, np.float64), quantized_type, wide.ndim
        )
        beyond = (moved < storage.min_integer) | (moved > storage.max_integer)
        found.append(("out of the range of the storage type", beyond))
    return found

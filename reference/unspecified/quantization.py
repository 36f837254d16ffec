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
from reference.interpreter.evaluate import apply, reshape_operation
from reference.ir.program import Operation, QuantizedType
from reference.ir.types import Array
from reference.numerics.rounding import round_to, to_float64
from reference.ops.quantization import rounded_scales, shape_per_axis
from reference.ops.table import OPS
from reference.unspecified.reasons import Reason, Unspecified

REASONS: dict[str, tuple[Reason, ...]] = {}
"""The reasons by op: none, because all these ops have a quantized tensor."""

PlainReasons = Callable[[Operation, Sequence[Array], Array, int], list[Unspecified]]


def unspecified_codes(
    operation: Operation, operands: Sequence[Array], result: Array, number: int, plain: PlainReasons
) -> list[Unspecified]:
    """Return the reasons for an operation on quantized tensors; `plain` returns the reasons for
    other operations.
    """
    inner = quantized.plain_operation(operation)
    if not quantized.computes_on_numbers(operation):
        return plain(inner, quantized.convert_to_body_types(operation, operands), result, number)
    numbers = quantized.decode_operands(operation, operands)
    whole = (
        reshape_operation(inner, result.shape) if OPS[inner.name].lifts else inner
    )  # a lane is a scalar
    found = apply(whole, numbers)[number]
    reasons = plain(inner, numbers, found, number)
    of = quantized.element_types(operation)[1][number]
    if of is None:
        return reasons
    return [*reasons, *_unencodable_numbers(found, of)]


def _unencodable_numbers(numbers: Array, quantized_type: QuantizedType) -> list[Unspecified]:
    wide, to = to_float64(numbers), quantized_type.expressed_type
    found: list[Unspecified] = [("NaN has no code", np.isnan(wide))]
    ends = np.array([quantized_type.storage_min, quantized_type.storage_max], np.float64)
    rounded = to_float64(round_to(ends, to))
    storage = quantized_type.storage_type
    if rounded[0] < storage.min_integer or rounded[1] > storage.max_integer:
        scales = to_float64(rounded_scales(quantized_type, wide.ndim))
        moved = wide / scales + shape_per_axis(
            np.array(quantized_type.zero_points, np.float64), quantized_type, wide.ndim
        )
        beyond = (moved < storage.min_integer) | (moved > storage.max_integer)
        found.append(("out of the range of the storage type", beyond))
    return found

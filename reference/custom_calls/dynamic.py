"""Ops whose attributes are operands, as jax.export spells them: custom calls of StableHLO's own.

Programs of unknown sizes compute what is an attribute otherwise, window sizes for instance. Where
the specification has no op for that, jax writes a custom call `stablehlo.dynamic_*` whose meaning
is that of the op with the attributes' values in the place of the last operands.

Source: StableHLO, stablehlo/dialect/ExperimentalOps (operands of each call); chlo.top_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.errors import EvaluationError
from reference.ir.program import Dense, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, to_bits
from reference.ops.folds.reduction import reduce_window
from reference.ops.mhlo import first_by
from reference.ops.random import rng_bit_generator

_SETTINGS = 5
"""Operands of dynamic_reduce_window after its inputs and init values."""

_SI64 = ELEMENT_TYPES["si64"]


def dynamic_reduce_window(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """`reduce_window`, its body being a function that the call names.

    Operands are inputs, init values, then window_dimensions, window_strides, base_dilations,
    window_dilations and padding.

    Raises:
        EvaluationError: when the call does not name one function.
    """
    if len(given["computations"]) != 1:
        raise EvaluationError("dynamic_reduce_window names one function, its body")
    (body,) = given["computations"]
    arrays, settings = inputs[:-_SETTINGS], inputs[-_SETTINGS:]
    dimensions, strides, base, dilations = (tuple(map(int, one)) for one in settings[:4])
    pairs = np.asarray(settings[4], np.int64)
    count = len(arrays) // 2
    return reduce_window(
        arrays[:count], arrays[count:], body=body, window_dimensions=dimensions,
        window_strides=strides, base_dilations=base, window_dilations=dilations,
        padding=Dense.of(pairs, TensorType(pairs.shape, _SI64)),
    )  # fmt: skip


def dynamic_rng_bit_generator(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """`rng_bit_generator` of a state and the shape of the numbers."""
    state, shape = inputs
    spelled = str(given["rng_algorithm"])
    named = (name for name in ("DEFAULT", "PHILOX", "THREE_FRY") if name in spelled)
    stated = given["results"]
    types = (stated[0], TensorType(tuple(map(int, shape)), stated[1].element_type))
    return rng_bit_generator(state, rng_algorithm=next(named), results=types)


def dynamic_top_k(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """The k largest elements along the last dimension, largest first, and where they stand.

    Of equal elements the first comes first; numbers are in total order, NaN above infinity.
    """
    del given
    operand, k = inputs
    return first_by(-1 - _ranks(operand), operand, int(k))


def _ranks(operand: Array) -> Array:
    """Numbers of si64 in the same order; minus one minus a rank reverses it without overflow."""
    of = element_type_of(operand)
    if not of.is_float:
        flipped = operand.dtype == np.uint64
        return operand.view(np.int64) ^ np.int64(-(2**63)) if flipped else operand.astype(np.int64)
    code = to_bits(operand).astype(np.uint64)
    if not of.float_format.signed:
        return code.astype(np.int64)
    magnitude = (code & np.uint64((1 << (of.bits - 1)) - 1)).view(np.int64)
    return np.where(code >> np.uint64(of.bits - 1) != 0, -1 - magnitude, magnitude)


CALLS = {
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
    "stablehlo.dynamic_rng_bit_generator": dynamic_rng_bit_generator,
    "stablehlo.dynamic_top_k": dynamic_top_k,
}
"""By target, to be merged into reference.custom_calls.targets.BUILT_IN."""

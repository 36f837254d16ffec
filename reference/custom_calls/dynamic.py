"""Ops with operands in place of attributes, as jax.export writes them: StableHLO's custom calls.

Programs of unknown sizes compute what is otherwise an attribute, for example window sizes. If the
specification has no such op, jax writes a custom call `stablehlo.dynamic_*`. It means the op with
the values of the last operands as attributes.

Source: StableHLO, stablehlo/dialect/ExperimentalOps (operands of each call); chlo.top_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.ir.errors import EvaluationError
from reference.ir.program import Dense, TensorType
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, to_bits
from reference.ops.folds.reduction import reduce_window
from reference.ops.mhlo import take_smallest
from reference.ops.random import rng_bit_generator

_SETTINGS = 5
"""Number of operands of dynamic_reduce_window after its inputs and init values."""

_SI64 = ELEMENT_TYPES["si64"]


def dynamic_reduce_window(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Evaluate `reduce_window` with the function that the call names as its body.

    Operands are inputs, init values, then window_dimensions, window_strides, base_dilations,
    window_dilations and padding.

    Raises:
        EvaluationError: if the call does not name exactly one function.
    """
    if len(given["computations"]) != 1:
        raise EvaluationError("dynamic_reduce_window must name one function, its body")
    (body,) = given["computations"]
    arrays, settings = inputs[:-_SETTINGS], inputs[-_SETTINGS:]
    dimensions, strides, base, dilations = (tuple(map(int, setting)) for setting in settings[:4])
    pairs = np.asarray(settings[4], np.int64)
    count = len(arrays) // 2
    return reduce_window(
        arrays[:count], arrays[count:], body=body, window_dimensions=dimensions,
        window_strides=strides, base_dilations=base, window_dilations=dilations,
        padding=Dense.of(pairs, TensorType(pairs.shape, _SI64)),
    )  # fmt: skip


def dynamic_rng_bit_generator(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Evaluate `rng_bit_generator`, given a state and the shape of the numbers."""
    state, shape = inputs
    spelled = str(given["rng_algorithm"])
    named = (name for name in ("DEFAULT", "PHILOX", "THREE_FRY") if name in spelled)
    stated = given["results"]
    types = (stated[0], TensorType(tuple(map(int, shape)), stated[1].element_type))
    return rng_bit_generator(state, rng_algorithm=next(named), results=types)


def dynamic_top_k(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the k largest elements along the last dimension, in descending order, and their
    indices.

    Equal elements keep their order; floating-point numbers are in total order, NaN above infinity.
    """
    del given
    operand, k = inputs
    return take_smallest(-1 - _ranks(operand), operand, int(k))


def _ranks(operand: Array) -> Array:
    """Return a si64 key for each element, such that keys are in the order of the elements; -1 - key
    reverses the order without overflow.
    """
    element_type = element_type_of(operand)
    if not element_type.is_float:
        flipped = operand.dtype == np.uint64
        return operand.view(np.int64) ^ np.int64(-(2**63)) if flipped else operand.astype(np.int64)
    code = to_bits(operand).astype(np.uint64)
    if not element_type.float_format.signed:
        return code.astype(np.int64)
    magnitude = (code & np.uint64((1 << (element_type.bits - 1)) - 1)).view(np.int64)
    return np.where(code >> np.uint64(element_type.bits - 1) != 0, -1 - magnitude, magnitude)


CALLS = {
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
    "stablehlo.dynamic_rng_bit_generator": dynamic_rng_bit_generator,
    "stablehlo.dynamic_top_k": dynamic_top_k,
}
"""Implementations by target; part of reference.custom_calls.targets.BUILT_IN."""

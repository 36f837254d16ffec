"""Batch normalization and its gradient.

The specification defines the three ops by other ops; `inference`, `moments` and `gradient` are
those definitions. They use numpy's functions only, so that they accept numbers (in float64, for f64
in extended precision, in the range of their own type, rounded once at the end) as well as numbers
with errors.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import baseline_element_type, join_with_commas, same_shape
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import TensorType
from reference.ir.types import FLOATS, Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.products import to_wide_type
from reference.numerics.ranged import RangedNumbers
from reference.numerics.rounding import round_to
from reference.ops.elementwise.types import FLOAT


def _inputs(tensors: dict[str, TensorType], *vectors: str) -> None:
    """Check I1, I2, ... in order: floating-point or per-tensor quantized; `vectors` of rank 1."""
    for index, (name, of) in enumerate(tensors.items(), 1):
        require(f"I{index}", of in FLOAT and (name not in vectors or of.rank == 1), of)  # I1 to I5


def _same_element(*given: TensorType) -> None:
    elements = {baseline_element_type(of) for of in given}
    require("C2", len(elements) == 1, join_with_commas(*given))


def _has_feature(operand: TensorType, feature_index: int) -> bool:
    return require("C1", 0 <= feature_index < operand.rank, f"{feature_index} of {operand}")


def _is_size(given: TensorType, size: int | None) -> bool:
    """Return whether `size(given) = size` holds, or may hold at run time."""
    return size is None or not given.is_static or math.prod(given.static_shape) == size


def batch_norm_grad_type(
    operand: TensorType,
    scale: TensorType,
    mean: TensorType,
    variance: TensorType,
    grad_output: TensorType,
    *,
    epsilon: float,  # noqa: ARG001 - any number will do
    feature_index: int,
    results: tuple[TensorType, ...] | None = None,
) -> tuple[TensorType, ...]:
    """Return the result types of `batch_norm_grad`: the types of `operand`, `scale` and `scale`.

    Raises:
        ConstraintViolation: I1 to I5, "result" (not three results), C1 (feature_index), C2 (element
            types), C3 (shapes that must equal the operand's), C4 (other shapes), C5 (size of
            scale).
    """
    tensors = {"operand": operand, "scale": scale, "mean": mean, "variance": variance}
    _inputs({**tensors, "grad_output": grad_output}, "scale", "mean", "variance")
    inferred = (operand, scale, scale)
    found = results or inferred
    if not require("result", len(found) == len(inferred), join_with_commas(*found)):
        return inferred
    _same_element(*tensors.values(), grad_output, *found)  # C2
    large, small = (operand, grad_output, found[0]), (scale, mean, variance, *found[1:])
    require("C3", same_shape(*large), join_with_commas(*large))
    require("C4", same_shape(*small), join_with_commas(*small))
    if _has_feature(operand, feature_index):  # C1
        size = operand.shape[feature_index]
        require("C5", _is_size(scale, size), join_with_commas(operand, scale))
    return found


def batch_norm_inference_type(
    operand: TensorType,
    scale: TensorType,
    offset: TensorType,
    mean: TensorType,
    variance: TensorType,
    *,
    epsilon: float,  # noqa: ARG001 - any number will do
    feature_index: int,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `batch_norm_inference`.

    Raises:
        ConstraintViolation: I1 to I5, C1 (feature_index), C2 (element types), C3 to C6 (sizes of
            scale, offset, mean and variance), C7 (type of the result).
    """
    vectors = {"scale": scale, "offset": offset, "mean": mean, "variance": variance}
    _inputs({"operand": operand, **vectors}, *vectors)
    found = result or operand
    _same_element(operand, *vectors.values(), found)  # C2
    if _has_feature(operand, feature_index):  # C1
        size = operand.shape[feature_index]
        for index, of in enumerate(vectors.values(), 3):
            require(
                f"C{index}", _is_size(of, size), join_with_commas(operand, of)
            )  # C3, C4, C5, C6
    require("C7", same_shape(operand, found), join_with_commas(operand, found))  # C7, besides C2
    return found


def batch_norm_training_type(
    operand: TensorType,
    scale: TensorType,
    offset: TensorType,
    *,
    epsilon: float,  # noqa: ARG001 - any number will do
    feature_index: int,
    results: tuple[TensorType, ...] | None = None,
) -> tuple[TensorType, ...]:
    """Return the result types of `batch_norm_training`: the types of `operand`, `scale` and
    `scale`.

    Raises:
        ConstraintViolation: I1 to I3, "result" (not three results), C1 (feature_index), C2 (element
            types), C3 to C6 (sizes of scale, offset, batch_mean and batch_var), C7 (type of the
            output).
    """
    _inputs({"operand": operand, "scale": scale, "offset": offset}, "scale", "offset")
    inferred = (operand, scale, scale)
    found = results or inferred
    if not require("result", len(found) == len(inferred), join_with_commas(*found)):
        return inferred
    _same_element(operand, scale, offset, *found)  # C2
    if _has_feature(operand, feature_index):  # C1
        size = operand.shape[feature_index]
        for index, of in enumerate((scale, offset, *found[1:]), 3):
            require(
                f"C{index}", _is_size(of, size), join_with_commas(operand, of)
            )  # C3, C4, C5, C6
    require(
        "C7", same_shape(operand, found[0]), join_with_commas(operand, found[0])
    )  # C7, besides C2
    return found


# --- The definitions -----------------------------------------------------------------------------


def total(x: Any, axes: tuple[int, ...]) -> Any:
    """Return `compute_sum`, with summed dimensions kept at size 1."""
    return np.add.reduce(x, axis=axes, keepdims=True)


def inference(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: Any) -> Any:
    """Return `batch_norm_inference` by its definition."""
    return scale * ((x - mean) / np.sqrt(variance + epsilon)) + offset


def moments(x: Any, count: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return `compute_mean` and `compute_variance`; `count` is the number of elements per
    feature."""
    mean = total(x, axes) / count
    centered = x - mean
    return mean, total(centered * centered, axes) / count


def gradient(
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    grad_output: Any,
    epsilon: Any,
    count: Any,
    axes: tuple[int, ...],
) -> tuple[Any, Any, Any]:
    """Return `batch_norm_grad` by its definition; `count` is the number of elements per feature."""
    centered = x - mean
    deviation = np.sqrt(variance + epsilon)
    along = total(grad_output * centered, axes) * centered / (variance + epsilon)
    grad_offset = total(grad_output, axes)
    inner = grad_output * count - grad_offset - along
    grad_operand = scale / deviation / count * inner
    return grad_operand, total(grad_output * (centered / deviation), axes), grad_offset


# --- Evaluation ----------------------------------------------------------------------------------


def reduced_axes(operand: Array, feature_index: int) -> tuple[int, ...]:
    """Return the summed dimensions: all but the feature dimension."""
    return tuple(axis for axis in range(operand.ndim) if axis != feature_index)


def shape_per_feature(vector: Array, operand: Array, feature_index: int) -> Array:
    """Return one number per feature, shaped to broadcast to the operand."""
    shape = [1] * operand.ndim
    shape[feature_index] = -1
    return vector.reshape(shape)


def constants(operand: Array, feature_index: int, epsilon: float) -> tuple[Array, Array]:
    """Return `epsilon` and the number of elements per feature, as constants of the element type."""
    element_type = element_type_of(operand)
    axes = reduced_axes(operand, feature_index)
    count = math.prod(operand.shape[axis] for axis in axes)
    return to_wide_type(round_to(np.array(epsilon, np.float64), element_type)), to_wide_type(
        round_to(np.array(count, np.float64), element_type)
    )


def _ranged_numbers(array: Array) -> RangedNumbers:
    return RangedNumbers(to_wide_type(array), element_type_of(array))


def _vector(found: RangedNumbers, size: int) -> Array:
    return round_to(found.numbers.reshape(size), found.of)


@quiet
def batch_norm_grad(
    operand: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    grad_output: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> tuple[Array, Array, Array]:
    """Return the gradients of `batch_norm_training` for its operand, scale and offset.

    Args:
        operand: floating-point numbers of any shape with at least one dimension.
        scale: a number for each index of the feature dimension, as `mean` and `variance`.
        mean: subtracted from the operand.
        variance: the square, without epsilon, of the divisor of the operand.
        grad_output: the gradient of the output, of the operand's shape.
        epsilon: added to the variance.
        feature_index: the feature dimension.
    """
    size = operand.shape[feature_index]
    vectors = (scale, mean, variance)
    factor, center, spread = (
        _ranged_numbers(shape_per_feature(v, operand, feature_index)) for v in vectors
    )
    added, count = constants(operand, feature_index, epsilon)
    axes, x = reduced_axes(operand, feature_index), _ranged_numbers(operand)
    found = gradient(x, factor, center, spread, _ranged_numbers(grad_output), added, count, axes)
    return round_to(found[0].numbers, x.of), _vector(found[1], size), _vector(found[2], size)


@quiet
def batch_norm_inference(
    operand: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    feature_index: int,
) -> Array:
    """Return the operand minus `mean`, over sqrt(`variance` + epsilon), scaled and shifted.

    All but the operand are given for each index of the feature dimension.
    """
    given = (scale, offset, mean, variance)
    factor, shift, center, spread = (
        _ranged_numbers(shape_per_feature(v, operand, feature_index)) for v in given
    )
    added, _count = constants(operand, feature_index, epsilon)
    found = inference(_ranged_numbers(operand), factor, shift, center, spread, added)
    return round_to(found.numbers, element_type_of(operand))


@quiet
def batch_norm_training(
    operand: Array, scale: Array, offset: Array, *, epsilon: float, feature_index: int
) -> tuple[Array, Array, Array]:
    """Return the operand normalized by its mean and variance, and both for each feature."""
    size = operand.shape[feature_index]
    factor, shift = (
        _ranged_numbers(shape_per_feature(v, operand, feature_index)) for v in (scale, offset)
    )
    added, count = constants(operand, feature_index, epsilon)
    axes = reduced_axes(operand, feature_index)
    x = _ranged_numbers(operand)
    mean, variance = moments(x, count, axes)
    output = inference(x, factor, shift, mean, variance, added)
    return round_to(output.numbers, x.of), _vector(mean, size), _vector(variance, size)


_ATTRIBUTES = ("epsilon", "feature_index")
_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, attributes=_ATTRIBUTES, element_types=FLOATS,
    principal=FIRST_OPERAND, quantized=QuantizedUse.COMPUTES, rounding=Rounding.ACCUMULATES,
    structure=Structure.COMPUTES, lifts=False, needs_result=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="batch_norm_grad", type_function=batch_norm_grad_type, evaluate=batch_norm_grad,
        operands=("operand", "scale", "mean", "variance", "grad_output"),
        constraints=("C1", "C2", "C3", "C4", "C5"), inputs=("I1", "I2", "I3", "I4", "I5"),
        several=True, expensive=True,
    ),
    _op(
        name="batch_norm_inference", type_function=batch_norm_inference_type,
        evaluate=batch_norm_inference, operands=("operand", "scale", "offset", "mean", "variance"),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6", "C7"),
        inputs=("I1", "I2", "I3", "I4", "I5"),
    ),
    _op(
        name="batch_norm_training", type_function=batch_norm_training_type,
        evaluate=batch_norm_training, operands=("operand", "scale", "offset"),
        constraints=("C1", "C2", "C3", "C4", "C5", "C6", "C7"), inputs=("I1", "I2", "I3"),
        several=True, expensive=True,
    ),
)  # fmt: skip
"""The ops of this family."""

"""Per-axis quantization: for each op that admits it, types of its operands and results.

Source: StableHLO specification, the constraints of each op on `quantization_dimension`: C5 to C7 of
`add`, C6 of `broadcast_in_dim`, C3 of `reshape`, C4 of `transpose`, C29 and C30 of `convolution`,
C16 of `dot_general`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from generators.case.choices import Pick
from generators.case.quantized_types import QuantizationParameters, draw_quantized_type, move_axis
from reference.ir.program import Operation, QuantizedType, TensorType

Types = dict[str, TensorType | QuantizedType]
"""The types of an operation's values by name: an element type, or a whole type that is not
quantized.
"""

PerAxis = Callable[[Operation, QuantizationParameters, Pick], Types | None]
"""A function types(operation, parameters, pick): per-axis types; None if the shapes allow none."""


def _shapes(operation: Operation) -> list[tuple[int, ...]]:
    types = [value.type for value in (*operation.operands, *operation.results)]
    return [of.static_shape if isinstance(of, TensorType) else () for of in types]


def dimension(shape: tuple[int, ...], pick: Pick) -> int | None:
    """Return a dimension to quantize along; not of size 0, which would have no scales."""
    fitting = [d for d, size in enumerate(shape) if size]
    return fitting[pick(len(fitting))] if fitting else None


def _add(operation: Operation, parameters: QuantizationParameters, pick: Pick) -> Types | None:
    """Return per-axis types along one dimension: of lhs and rhs, or of lhs only.

    A per-tensor lhs with a per-axis rhs is valid too, but StableHLO's verifier refuses it.
    """
    shape = _shapes(operation)[0]
    axis, both = dimension(shape, pick), not pick(3)
    if axis is None:
        return None
    lhs, rhs = operation.operands
    types: Types = {}
    for value, per_axis in ((lhs, True), (rhs, both), (operation.results[0], True)):
        types[value.name] = draw_quantized_type(
            parameters, pick, axis=axis if per_axis else None, size=shape[axis]
        )
    if lhs == rhs:
        types[lhs.name] = draw_quantized_type(parameters, pick, axis=axis, size=shape[axis])
    return types


def _single_tensor(
    operation: Operation, parameters: QuantizationParameters, pick: Pick
) -> Types | None:
    """Return per-axis types of ops whose only quantized tensor is the operand or the result."""
    values = [
        value
        for value in (*operation.operands[:1], *operation.results)
        if isinstance(value.type, TensorType) and str(value.type.element_type) == "f32"
    ]
    shape = values[0].type.static_shape if values and isinstance(values[0].type, TensorType) else ()
    axis = dimension(shape, pick)
    if axis is None:
        return None
    kind = draw_quantized_type(parameters, pick, axis=axis, size=shape[axis])
    return {value.name: kind for value in values}


def _broadcast(
    operation: Operation, parameters: QuantizationParameters, pick: Pick
) -> Types | None:
    """Return types by C6: the dimension is broadcast, with one scale repeated along a new size."""
    before, after = _shapes(operation)[0], _shapes(operation)[-1]
    dimensions = operation.attribute("broadcast_dimensions")
    axis = dimension(before, pick)
    if axis is None or not isinstance(dimensions, tuple):
        return None
    to = int(dimensions[axis])  # type: ignore[call-overload] - a tuple of integers
    kind = draw_quantized_type(parameters, pick, axis=axis, size=before[axis])
    wide = move_axis(kind, to)
    if before[axis] == 1:
        count = after[to]
        if not count:
            return None
        wide = replace(wide, scales=kind.scales * count, zero_points=kind.zero_points * count)
    return {operation.operands[0].name: kind, operation.results[0].name: wide}


def _reshape(operation: Operation, parameters: QuantizationParameters, pick: Pick) -> Types | None:
    """Return types by C3: the sizes before, along and after the dimension stay."""
    before, after = _shapes(operation)[0], _shapes(operation)[-1]
    pairs = [
        (i, j)
        for i in range(len(before))
        for j in range(len(after))
        if before[i] == after[j] != 0
        and math.prod(before[:i]) == math.prod(after[:j])
        and math.prod(before[i + 1 :]) == math.prod(after[j + 1 :])
    ]
    if not pairs:
        return None
    axis, to = pairs[pick(len(pairs))]
    kind = draw_quantized_type(parameters, pick, axis=axis, size=before[axis])
    return {operation.operands[0].name: kind, operation.results[0].name: move_axis(kind, to)}


def _transpose(
    operation: Operation, parameters: QuantizationParameters, pick: Pick
) -> Types | None:
    """Return types by C4: the dimension is permuted."""
    shape, order = _shapes(operation)[0], operation.attribute("permutation")
    axis = dimension(shape, pick)
    if axis is None or not isinstance(order, tuple):
        return None
    kind = draw_quantized_type(parameters, pick, axis=axis, size=shape[axis])
    to = order.index(axis)
    return {operation.operands[0].name: kind, operation.results[0].name: move_axis(kind, to)}


def _kernel_types(axis: Callable[[Operation, Pick], tuple[int, int] | None]) -> PerAxis:
    """Return types of contractions: a per-axis kernel with zero points 0, and maybe the result."""

    def types(operation: Operation, parameters: QuantizationParameters, pick: Pick) -> Types | None:
        found = axis(operation, pick)
        if found is None:
            return None
        inner, outer = found
        lhs, rhs, result = operation.operands[0], operation.operands[1], operation.results[0]
        shapes = _shapes(operation)
        if lhs == rhs or not shapes[1][inner]:
            return None
        size, to = shapes[1][inner], shapes[-1]
        kernel = draw_quantized_type(parameters, pick, symmetric=True, axis=inner, size=size)
        kinds: Types = {lhs.name: draw_quantized_type(parameters, pick), rhs.name: kernel}
        if pick(4) == 3:  # hybrid
            assert isinstance(lhs.type, TensorType)
            assert isinstance(result.type, TensorType)
            return kinds | {lhs.name: lhs.type, result.name: result.type}
        outward = outer if pick(2) and 0 <= outer < len(to) and to[outer] else None
        steps = to[outward] if outward is not None else 1
        return kinds | {
            result.name: draw_quantized_type(parameters, pick, axis=outward, size=steps)
        }

    return types


def _output_feature_dimensions(operation: Operation, _: Pick) -> tuple[int, int] | None:
    """Return the output features in the kernel and in the result (C29, C30)."""
    inner = operation.attribute("kernel_output_feature_dimension")
    outer = operation.attribute("output_feature_dimension")
    return (inner, outer) if isinstance(inner, int) and isinstance(outer, int) else None


def _free_dimension(operation: Operation, pick: Pick) -> tuple[int, int] | None:
    """Return a dimension of rhs that is neither contracted (C16) nor batched."""
    names = (
        "rhs_batching_dimensions", "rhs_contracting_dimensions", "lhs_batching_dimensions",
        "lhs_contracting_dimensions",
    )  # fmt: skip
    batch, contracted, _, _ = given = [operation.attribute(name, ()) for name in names]
    if not all(isinstance(one, tuple) for one in given):
        return None
    assert isinstance(batch, tuple)
    assert isinstance(contracted, tuple)
    shapes = _shapes(operation)
    free = [d for d in range(len(shapes[1])) if d not in (*batch, *contracted)]
    if not free:
        return None
    number = pick(len(free))
    left = len(shapes[0]) - len(batch) - len(contracted)
    return free[number], len(batch) + left + number


AXES: dict[str, PerAxis] = {
    "add": _add,
    "broadcast_in_dim": _broadcast,
    "constant": _single_tensor,
    "convolution": _kernel_types(_output_feature_dimensions),
    "dot_general": _kernel_types(_free_dimension),
    "dynamic_broadcast_in_dim": _broadcast,
    "dynamic_conv": _kernel_types(_output_feature_dimensions),
    "dynamic_reshape": _reshape,
    "get_dimension_size": _single_tensor,
    "reshape": _reshape,
    "transpose": _transpose,
}
"""Per-axis types of each op that admits per-axis tensors."""

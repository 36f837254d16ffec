"""Convolutions, static and dynamic: dot products between windows of lhs and slices of rhs.

Windows are a view of the padded lhs; a copy, as matrices of wide elements, is multiplied by the
kernel (`reference.numerics.products`). If the specification's formula takes a slice that ends
`lhs_window_dimensions` after its start, it means the dilated window of constraint C25: taken
literally, the formula would drop elements of a dilated window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import (
    are_dimensions,
    is_quantized,
    is_unique,
    quantized_element,
    sizes_agree,
)
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import Dense, TensorType
from reference.ir.types import ALL, Array
from reference.numerics.products import Multiply, matmul, to_wide_type
from reference.ops.contraction import (
    PER_TENSOR,
    ProductTypes,
    check_expressed,
    check_precision_config,
)

_SLAB = 1 << 23
"""Maximum number of elements of the matrices of windows that are materialised at a time."""

Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The attributes of a convolution; omitted attributes have their neutral values."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]
    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]
    feature_groups: int
    batch_groups: int

    @property
    def input_dimensions(self) -> tuple[int, ...]:
        """The dimensions of lhs in the order batch, spatial, feature."""
        return (self.input_batch, *self.input_spatial, self.input_feature)

    @property
    def kernel_dimensions(self) -> tuple[int, ...]:
        """The dimensions of rhs in the order spatial, input feature, output feature."""
        return (*self.kernel_spatial, self.kernel_input_feature, self.kernel_output_feature)

    @property
    def output_dimensions(self) -> tuple[int, ...]:
        """The dimensions of the result in the order batch, spatial, feature."""
        return (self.output_batch, *self.output_spatial, self.output_feature)


def geometry(given: Attributes, spatial: int, padding: Array | None = None) -> Geometry:
    """Return the geometry that attributes describe, for `spatial` spatial dimensions.

    `padding` overrides the attribute of that name (`dynamic_conv` has it as an operand).
    """
    if padding is None:
        return _static_geometry(tuple(given.items()), spatial)
    return _geometry(given, spatial, padding)


@lru_cache(maxsize=256)
def _static_geometry(given: tuple[tuple[str, Any], ...], spatial: int) -> Geometry:
    attributes = dict(given)
    padding = attributes.get("padding")
    none = np.zeros((max(spatial, 0), 2), np.int64)
    return _geometry(attributes, spatial, padding.array if isinstance(padding, Dense) else none)


def _geometry(given: Attributes, spatial: int, padding: Array) -> Geometry:
    ones = (1,) * spatial
    return Geometry(
        given.get("window_strides", ones),
        tuple((int(low), int(high)) for low, high in padding.reshape(-1, 2).tolist()),
        given.get("lhs_dilation", ones),
        given.get("rhs_dilation", ones),
        given.get("window_reversal", (False,) * spatial),
        given["input_batch_dimension"],
        given["input_feature_dimension"],
        given["input_spatial_dimensions"],
        given["kernel_input_feature_dimension"],
        given["kernel_output_feature_dimension"],
        given["kernel_spatial_dimensions"],
        given["output_batch_dimension"],
        given["output_feature_dimension"],
        given["output_spatial_dimensions"],
        given.get("feature_group_count", 1),
        given.get("batch_group_count", 1),
    )


# -- types ------------------------------------------------------------------------------------


def convolution_type(
    lhs: TensorType, rhs: TensorType, *, result: TensorType, **given: Any
) -> TensorType:
    """Return the result type of `convolution`, which the program states.

    Raises:
        ConstraintViolation: I1 (per-axis quantized lhs), I19 (no such precision), C1 to C34.
    """
    padding = given.get("padding")
    known = not isinstance(padding, Dense) or _is_padding_matrix(padding.type, lhs, rhs)
    if not known:
        given = {name: value for name, value in given.items() if name != "padding"}
    return _check_type(lhs, rhs, geometry(given, lhs.rank - 2), given, result, known=known)


def _is_padding_matrix(padding: TensorType, lhs: TensorType, rhs: TensorType) -> bool:
    """Check C4 for equal ranks (C1): a row of two numbers for each spatial dimension."""
    if lhs.rank != rhs.rank:
        return False
    wanted = zip(padding.shape, (lhs.rank - 2, 2), strict=False)
    agrees = padding.rank == 2 and all(size in (None, want) for size, want in wanted)
    return require("C4", agrees, padding)


def dynamic_conv_type(
    lhs: TensorType, rhs: TensorType, padding: TensorType, *, result: TensorType, **given: Any
) -> TensorType:
    """Return the result type of `dynamic_conv`, which the program states; its padding is unknown.

    Raises:
        ConstraintViolation: I1 (per-axis quantized lhs), I3 (padding not a matrix of integers), I19
            (no such precision), C1 to C34.
    """
    integers = not is_quantized(padding) and padding.element.is_integer
    if require("I3", integers and padding.rank == 2, padding):
        _is_padding_matrix(padding, lhs, rhs)
    return _check_type(lhs, rhs, geometry(given, lhs.rank - 2), given, result, known=False)


def _check_type(
    lhs: TensorType,
    rhs: TensorType,
    of: Geometry,
    given: Attributes,
    result: TensorType,
    *,
    known: bool,
) -> TensorType:
    """Check every constraint except C4; C25 only if the padding is `known`."""
    require("I1", lhs in PER_TENSOR, lhs)
    check_precision_config(given.get("precision_config", ()), "C24", "I19")
    _check_element_types(ProductTypes(lhs, rhs, result), of)
    if not require("C1", lhs.rank == rhs.rank, f"{lhs}, {rhs}"):
        return result
    windowed = _check_windows(of, lhs.rank - 2)
    numbered = _check_dimension_numbers(of, lhs.rank)
    divided = _check_groups(lhs, rhs, of, numbered)
    ranked = require("C26", result.rank == lhs.rank, result)
    if ranked and numbered[2]:
        shape = _result_shape(lhs, rhs, of, windowed and known, numbered, divided)
        agree = zip(shape, result.shape, strict=True)
        same = all(sizes_agree(a, b) for a, b in agree)
        require("C25", same, f"{shape} for {result}")
    return result


def _check_windows(of: Geometry, spatial: int) -> bool:
    """Check C2, C3, C5 to C9."""
    found = [
        require("C2", len(of.strides) == spatial, of.strides),
        require("C3", all(stride > 0 for stride in of.strides), of.strides),
        require("C5", len(of.lhs_dilation) == spatial, of.lhs_dilation),
        require("C6", all(one > 0 for one in of.lhs_dilation), of.lhs_dilation),
        require("C7", len(of.rhs_dilation) == spatial, of.rhs_dilation),
        require("C8", all(one > 0 for one in of.rhs_dilation), of.rhs_dilation),
        require("C9", len(of.reversal) == spatial, of.reversal),
    ]
    return all(found)


def _check_dimension_numbers(of: Geometry, rank: int) -> tuple[bool, bool, bool]:
    """Check C12, C13 and C17 to C20: return whether lhs, rhs and result have valid numbers."""

    def are_valid(size_id: str, id_: str, spatial: tuple[int, ...], all_: tuple[int, ...]) -> bool:
        whole = require(size_id, len(spatial) == rank - 2, spatial)
        good = is_unique(all_) and are_dimensions(all_, rank)
        return require(id_, good, all_) and whole

    return (
        are_valid("C12", "C13", of.input_spatial, of.input_dimensions),
        are_valid("C17", "C18", of.kernel_spatial, of.kernel_dimensions),
        are_valid("C19", "C20", of.output_spatial, of.output_dimensions),
    )


def _is_divisible(count: int, size: int | None) -> bool:
    return size is None or size % count == 0


def _check_groups(
    lhs: TensorType, rhs: TensorType, of: Geometry, numbered: tuple[bool, bool, bool]
) -> bool:
    """Check C10, C11, C14 to C16 and C21 to C23: return whether the groups divide the sizes."""
    features = require("C21", of.feature_groups > 0, of.feature_groups)
    batches = require("C22", of.batch_groups > 0, of.batch_groups)
    if not features or not batches:
        return False
    require("C23", 1 in (of.feature_groups, of.batch_groups), of)
    found = [True]
    if numbered[0]:
        batch, feature = lhs.shape[of.input_batch], lhs.shape[of.input_feature]
        found += [
            require("C10", _is_divisible(of.batch_groups, batch), lhs),
            require("C11", _is_divisible(of.feature_groups, feature), lhs),
        ]
        if numbered[1] and found[-1]:
            taken = rhs.shape[of.kernel_input_feature]
            same = None in (taken, feature) or taken == (feature or 0) // of.feature_groups
            require("C14", same, f"{lhs}, {rhs}")
    if numbered[1]:
        made = rhs.shape[of.kernel_output_feature]
        require("C15", _is_divisible(of.batch_groups, made), rhs)
        require("C16", _is_divisible(of.feature_groups, made), rhs)
    return all(found)


def _result_shape(
    lhs: TensorType,
    rhs: TensorType,
    of: Geometry,
    windowed: bool,
    numbered: tuple[bool, bool, bool],
    divided: bool,
) -> tuple[int | None, ...]:
    """Return the sizes that C25 requires; None where another violation makes them meaningless."""
    shape: list[int | None] = [None] * len(of.output_dimensions)
    if numbered[0] and divided:
        batch = lhs.shape[of.input_batch]
        shape[of.output_batch] = None if batch is None else batch // of.batch_groups
    if numbered[1]:
        shape[of.output_feature] = rhs.shape[of.kernel_output_feature]
    if numbered[0] and numbered[1] and windowed:
        for index, dimension in enumerate(of.output_spatial):
            image = lhs.shape[of.input_spatial[index]]
            window = rhs.shape[of.kernel_spatial[index]]
            if image is not None and window is not None:
                shape[dimension] = num_windows(of, index, image, window)
    return tuple(shape)


def _dilated_size(size: int, by: int) -> int:
    return 0 if size == 0 else (size - 1) * by + 1


def _padded_size(of: Geometry, number: int, image: int) -> int:
    low, high = of.padding[number]
    return low + _dilated_size(image, of.lhs_dilation[number]) + high


def num_windows(of: Geometry, number: int, image: int, window: int) -> int:
    """Return the number of windows along spatial dimension `number`, by C25."""
    padded, window = _padded_size(of, number, image), _dilated_size(window, of.rhs_dilation[number])
    if padded == 0 or window > padded:
        return 0
    return (padded - window) // of.strides[number] + 1


def _check_element_types(types: ProductTypes, of: Geometry) -> None:
    """Check C27 to C34."""
    names = ", ".join(map(str, types))
    if not any(is_quantized(one) for one in types):
        require("C27", len({one.element_type for one in types}) == 1, names)
        return
    lhs, rhs, result = (quantized_element(one) for one in types)
    same = (lhs is None) == (result is None)
    if not require("C28", same and rhs is not None, names) or rhs is None:
        return
    axis = rhs.quantization_dimension
    require("C29", axis in (None, of.kernel_output_feature), axis)
    if lhs is None or result is None:
        check_expressed(None, rhs, types, "C34")
        return
    made = result.quantization_dimension
    require("C30", made in (None, of.output_feature), made)
    require("C31", lhs.storage_type == rhs.storage_type, names)
    check_expressed(lhs, rhs, types, "C32")
    require("C33", axis is not None or made is None, names)


# -- evaluation -------------------------------------------------------------------------------


def convolution(lhs: Array, rhs: Array, *, result: TensorType, **given: Any) -> Array:
    """Return the dot products of every window of the padded lhs with the kernel, in groups."""
    return _evaluate(lhs, rhs, geometry(given, lhs.ndim - 2), result)


def dynamic_conv(
    lhs: Array, rhs: Array, padding: Array, *, result: TensorType, **given: Any
) -> Array:
    """Evaluate as `convolution`; only now the padding, and with it the sizes of the result, is
    known."""
    return _evaluate(lhs, rhs, geometry(given, lhs.ndim - 2, padding), result)


def _evaluate(lhs: Array, rhs: Array, of: Geometry, result: TensorType) -> Array:
    boolean, to = lhs.dtype == np.bool_, result.element

    def multiply(a: Array, b: Array) -> Array:
        return matmul(a, b, to, boolean=boolean)

    return convolve(lhs, rhs, of, multiply)


def convolve(
    lhs: Array, rhs: Array, of: Geometry, multiply: Multiply, padding: float = 0.0
) -> Array:
    """Return a convolution by any product of matrices.

    `multiply` gets wide elements, group by group. `padding` is the value that lhs is padded with:
    0, unless `lhs` and `rhs` are functions of the operands, such as magnitudes.
    """
    groups = of.feature_groups * of.batch_groups
    kernel = np.transpose(to_wide_type(rhs), of.kernel_dimensions)
    if any(of.reversal):
        kernel = np.flip(kernel, tuple(d for d, reverse in enumerate(of.reversal) if reverse))
    windows = _windows(
        np.transpose(to_wide_type(lhs), of.input_dimensions), kernel.shape[:-2], of, padding
    )
    depth, made = prod(kernel.shape[:-1]), kernel.shape[-1] // groups
    right = kernel.reshape(depth, groups, made).transpose(1, 0, 2)
    spatial = len(of.strides)
    # windows: group, batch, number of the window (spatial), position in it (spatial), feature
    places = windows.shape[1 : 2 + spatial]
    slabs = [
        multiply(slab.reshape(groups, prod(slab.shape[1 : 2 + spatial]), depth), right)
        for slab in _slabs(windows, spatial)
    ]
    products = slabs[0] if len(slabs) == 1 else np.concatenate(slabs, axis=1)
    by_place = products.transpose(1, 0, 2).reshape(*places, groups * made)
    return np.ascontiguousarray(np.transpose(by_place, np.argsort(of.output_dimensions)))


def _windows(image: Array, window: tuple[int, ...], of: Geometry, padding: float) -> Array:
    """Return all windows of lhs (batch, spatial..., feature) as a view of lhs padded and dilated.

    Shape: (group, batch, number of the window..., position in the window..., feature).
    """
    padded = np.ascontiguousarray(_pad_image(image, of, padding))
    sizes = image.shape[1:-1]
    counts = tuple(num_windows(of, n, sizes[n], window[n]) for n in range(len(window)))
    batch, *spatial, feature = padded.strides
    outer = tuple(step * by for step, by in zip(spatial, of.strides, strict=True))
    inner = tuple(step * by for step, by in zip(spatial, of.rhs_dilation, strict=True))
    batches, features = padded.shape[0] // of.batch_groups, padded.shape[-1] // of.feature_groups
    group = batch * batches if of.batch_groups > 1 else feature * features
    shape = (of.batch_groups * of.feature_groups, batches, *counts, *window, features)
    steps = (group, batch, *outer, *inner, feature)
    return np.ndarray(shape, padded.dtype, padded, strides=steps)


def _pad_image(image: Array, of: Geometry, padding: float) -> Array:
    """Return lhs (batch, spatial..., feature) with base dilation and padding, which may be
    negative."""
    sizes = image.shape[1:-1]
    padded = tuple(max(0, _padded_size(of, n, size)) for n, size in enumerate(sizes))
    if not any(map(any, of.padding)) and set(of.lhs_dilation) <= {1}:
        return image
    whole = np.full((image.shape[0], *padded, image.shape[-1]), padding, image.dtype)
    source, target = [slice(None)], [slice(None)]
    for index, size in enumerate(sizes):
        low, step = of.padding[index][0], of.lhs_dilation[index]
        first = max(0, -(low // step))  # the first element that negative padding keeps
        last = min(size, max(first, -((low - padded[index]) // step)))
        source.append(slice(first, last))
        target.append(slice(low + first * step, low + last * step, step))
    if all(one.stop is None or one.stop > one.start for one in source):
        whole[tuple(target)] = image[tuple(source)]
    return whole


def _slabs(windows: Array, spatial: int) -> Iterator[Array]:
    """Yield the windows in pieces, along the batch or else the first spatial dimension."""
    axis = 2 if spatial and windows.shape[1] == 1 else 1
    count = windows.shape[axis]
    step = max(1, count * _SLAB // max(1, windows.size))
    for start in range(0, max(1, count), step):
        chosen = (slice(None),) * axis + (slice(start, start + step),)
        yield windows[chosen]


_ATTRIBUTES = (
    "window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal",
    "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions",
    "kernel_input_feature_dimension", "kernel_output_feature_dimension",
    "kernel_spatial_dimensions", "output_batch_dimension", "output_feature_dimension",
    "output_spatial_dimensions", "feature_group_count", "batch_group_count", "precision_config",
)  # fmt: skip
_OPTIONAL = (
    "window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal",
    "feature_group_count", "batch_group_count", "precision_config",
)  # fmt: skip
_CONSTRAINTS = tuple(f"C{number}" for number in range(1, 35))


def _remove(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(one for one in names if one != name)


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.COMPUTES, rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES,
    lifts=False, needs_result=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="convolution", type_function=convolution_type, evaluate=convolution,
        operands=("lhs", "rhs"), attributes=_ATTRIBUTES, optional=_OPTIONAL,
        constraints=_CONSTRAINTS, inputs=("I1", "I19"),
    ),
    _op(
        name="dynamic_conv", type_function=dynamic_conv_type, evaluate=dynamic_conv,
        operands=("lhs", "rhs", "padding"), attributes=_remove(_ATTRIBUTES, "padding"),
        size_operands=("padding",),
        optional=_remove(_OPTIONAL, "padding"), constraints=_CONSTRAINTS,
        inputs=("I1", "I3", "I19"),
    ),
)  # fmt: skip
"""The ops of this family."""

"""XlaBuilder's products, convolutions and normalizations.

Source: XLA operation semantics, each op by its name. `preferred_element_type` is the element type
of the result, wider or narrower than the operands'; the page does not say whether a backend
accumulates in it. StableHLO's convolution has one element type for all three (C27); the rows waive
that.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from reference.ir.constants import matrix
from reference.ir.constraints import require
from reference.ir.op import Op
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ALL, element_type
from reference.ops.contraction import Dimensions
from reference.ops.convolution import geometry, num_windows
from reference.ops.ragged import ragged_numbers, result_sizes
from reference.ops.xla.building import Building, lowered_op, renamed_op
from reference.ops.xla.windows import STRIDED_SAME, padding_along

Sizes = tuple[int, ...]


class DotDimensionNumbers(NamedTuple):
    """The contracting dimensions of each operand, and the batch dimensions."""

    lhs_contracting_dimensions: Sizes
    rhs_contracting_dimensions: Sizes
    lhs_batch_dimensions: Sizes = ()
    rhs_batch_dimensions: Sizes = ()


class ConvolutionDimensionNumbers(NamedTuple):
    """The batch, feature and spatial dimensions of the operands and the result."""

    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: Sizes
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: Sizes
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: Sizes


class RaggedDotDimensionNumbers(NamedTuple):
    """Dimension numbers of a product, with the ragged dimension of lhs and rhs's group
    dimension."""

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sizes
    rhs_group_dimensions: Sizes = ()

    @property
    def spread(self) -> dict[str, Any]:
        """The dimensions as the attributes of `chlo.ragged_dot`."""
        return dot_general_attributes(self.dot_dimension_numbers) | {
            "lhs_ragged_dimensions": self.lhs_ragged_dimensions,
            "rhs_group_dimensions": self.rhs_group_dimensions,
        }


def dot_general_attributes(numbers: DotDimensionNumbers) -> dict[str, Any]:
    """Return dimension numbers as the attributes of `dot_general`."""
    return {
        "lhs_batching_dimensions": numbers.lhs_batch_dimensions,
        "rhs_batching_dimensions": numbers.rhs_batch_dimensions,
        "lhs_contracting_dimensions": numbers.lhs_contracting_dimensions,
        "rhs_contracting_dimensions": numbers.rhs_contracting_dimensions,
    }


def default_dimension_numbers(spatial: int) -> ConvolutionDimensionNumbers:
    """Return batch, feature, then spatial dimensions; for the kernel output feature, input
    feature."""
    places = tuple(range(2, spatial + 2))
    return ConvolutionDimensionNumbers(0, 1, places, 1, 0, places, 0, 1, places)


def _result_element(lhs: TensorType, preferred_element_type: str | None) -> Any:
    return lhs.element if preferred_element_type is None else element_type(preferred_element_type)


def _dot_conditions(lhs: TensorType, rhs: TensorType, **_: Any) -> None:
    """Require P1 to P3 of Dot.

    P1: operands are vectors or matrices, as in the page's table. P2: contracted sizes agree. P3:
    operands have one element type.
    """
    require("P3", lhs.element_type == rhs.element_type, f"{lhs} and {rhs}")
    known = (lhs.rank, rhs.rank) in ((1, 1), (2, 1), (2, 2), (1, 2))
    if require("P1", known, f"{lhs} and {rhs}"):
        require("P2", lhs.shape[-1] == rhs.shape[0], f"{lhs} and {rhs}")


def _dot(
    building: Building, lhs: Value, rhs: Value, *, precision_config: tuple[str, ...] = (),
    preferred_element_type: str | None = None,
) -> Value:  # fmt: skip
    left, right = tensor_of(lhs), tensor_of(rhs)
    result = TensorType(
        (*left.shape[:-1], *right.shape[1:]), _result_element(left, preferred_element_type)
    )
    return building.op("dot", lhs, rhs, result=result, precision_config=precision_config)


def dimensions_fit(
    lhs: TensorType, rhs: TensorType, *, dimension_numbers: DotDimensionNumbers, **_: Any
) -> bool:
    """Require P1 and P2 of DotGeneral.

    P1: contracted dimensions have the same sizes. P2: so do batch dimensions. P3, that operands
    have one element type, is its twin's C13.
    """
    numbers, fits = dimension_numbers, True
    for id_, ours, theirs in (
        ("P1", numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions),
        ("P2", numbers.lhs_batch_dimensions, numbers.rhs_batch_dimensions),
    ):
        inside = all(0 <= d < lhs.rank for d in ours) and all(0 <= d < rhs.rank for d in theirs)
        if require(id_, inside, numbers):
            sizes = [lhs.shape[d] for d in ours], [rhs.shape[d] for d in theirs]
            fits &= require(id_, sizes[0] == sizes[1], numbers)
        fits &= inside
    return fits


def dimensions_of(numbers: DotDimensionNumbers) -> Dimensions:
    """Return dimension numbers in the form of dot_general's."""
    return Dimensions(
        numbers.lhs_batch_dimensions, numbers.rhs_batch_dimensions,
        numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions,
    )  # fmt: skip


def product_sizes(left: TensorType, right: TensorType, numbers: DotDimensionNumbers) -> Sizes:
    """Return the sizes of a product: batches, dimensions of lhs only, dimensions of rhs only."""
    dimensions = dimensions_of(numbers)
    return (
        *(left.static_shape[d] for d in dimensions.lhs_batching),
        *(left.static_shape[d] for d in dimensions.lhs_result(left.rank)),
        *(right.static_shape[d] for d in dimensions.rhs_result(right.rank)),
    )


def _dot_general(
    building: Building, lhs: Value, rhs: Value, *, dimension_numbers: DotDimensionNumbers,
    precision_config: tuple[str, ...] = (), preferred_element_type: str | None = None,
) -> Value:  # fmt: skip
    left, right, numbers = tensor_of(lhs), tensor_of(rhs), dimension_numbers
    result = TensorType(
        product_sizes(left, right, numbers), _result_element(left, preferred_element_type)
    )
    return building.op(
        "dot_general", lhs, rhs, result=result, precision_config=precision_config,
        **dot_general_attributes(numbers),
    )  # fmt: skip


_OF_RAGGED: dict[str, tuple[str, ...]] = {
    "P1": ("P12", "P13"),
    "P2": ("P3", "P7", "P9", "P11"),
    "P3": ("P2", "P6", "P8", "P10"),
    "P4": ("P15", "P16", "P17"),
    "P5": ("P18",),
    "P6": ("P14", "P19"),
    "P7": ("P4", "P5"),
    "P8": ("P1",),
}
"""The constraints of RaggedDot, as constraints of `chlo.ragged_dot`: the ragged dimension,
contracting dimensions, batch dimensions, group dimensions, their size, group sizes, dimensions of
two roles, precisions."""


def _ragged_dot(
    building: Building, lhs: Value, rhs: Value, group_sizes: Value, *,
    dimension_numbers: RaggedDotDimensionNumbers, precision_config: tuple[str, ...] = (),
    preferred_element_type: str | None = None,
) -> Value:  # fmt: skip
    given, left = dimension_numbers.spread, tensor_of(lhs)
    shapes = (tensor_of(one).static_shape for one in (lhs, rhs, group_sizes))
    try:
        left_sizes, right_sizes, groups = shapes
        sizes = result_sizes(left_sizes, right_sizes, groups[-1], ragged_numbers(**given))
    except IndexError:  # for a near miss, whose result is as stated
        stated = building.results[:1]
        sizes = tensor_of(Value("", stated[0])).static_shape if stated else ()
    result = TensorType(sizes, _result_element(left, preferred_element_type))
    return building.op(
        "chlo.ragged_dot", lhs, rhs, group_sizes, result=result,
        precision_config=precision_config, **given,
    )  # fmt: skip


def _conv_conditions(
    lhs: TensorType, rhs: TensorType, *, feature_group_count: int, batch_group_count: int,
    window_strides: Sizes, dimension_numbers: ConvolutionDimensionNumbers | None = None, **_: Any,
) -> None:  # fmt: skip
    """Require P1 to P5 of Conv.

    P1: operands have n + 2 dimensions. P2: features of the kernel times groups are lhs's features.
    P3: groups divide the output features. P4: batch groups divide the batch. P5: operands have one
    element type.
    """
    require("P5", lhs.element_type == rhs.element_type, f"{lhs} and {rhs}")
    spatial = len(window_strides)
    if not require("P1", lhs.rank == rhs.rank == spatial + 2, f"{lhs} and {rhs}"):
        return
    numbers = dimension_numbers or default_dimension_numbers(spatial)
    left, right = lhs.static_shape, rhs.static_shape
    taken = right[numbers.kernel_input_feature_dimension]
    made = right[numbers.kernel_output_feature_dimension]
    features = left[numbers.input_feature_dimension]
    require("P2", taken * feature_group_count == features, f"{lhs} and {rhs}")
    require("P3", made % (feature_group_count * batch_group_count) == 0, made)
    require("P4", left[numbers.input_batch_dimension] % batch_group_count == 0, lhs)


def _conv(
    building: Building, lhs: Value, rhs: Value, *, window_strides: Sizes, padding: Any,
    dimension_numbers: ConvolutionDimensionNumbers | None = None,
    lhs_dilation: Sizes | None = None, rhs_dilation: Sizes | None = None,
    window_reversal: tuple[bool, ...] | None = None, feature_group_count: int = 1,
    batch_group_count: int = 1, precision_config: tuple[str, ...] = (),
    preferred_element_type: str | None = None,
) -> Value:  # fmt: skip
    left, right, spatial = tensor_of(lhs), tensor_of(rhs), len(window_strides)
    numbers = dimension_numbers or default_dimension_numbers(spatial)
    windows = [right.static_shape[d] for d in numbers.kernel_spatial_dimensions]
    pairs = padding
    if isinstance(padding, str):
        pairs = [padding_along(padding, size) for size in windows]
    given: dict[str, Any] = {
        "window_strides": window_strides, "padding": matrix(pairs, 2),
        "lhs_dilation": lhs_dilation or (1,) * spatial,
        "rhs_dilation": rhs_dilation or (1,) * spatial,
        "window_reversal": window_reversal or (False,) * spatial,
        **numbers._asdict(),
        "feature_group_count": feature_group_count, "batch_group_count": batch_group_count,
    }  # fmt: skip
    whole = geometry(given, spatial)
    images = [left.static_shape[d] for d in numbers.input_spatial_dimensions]
    counts = (
        num_windows(whole, n, *one) for n, one in enumerate(zip(images, windows, strict=True))
    )
    made = right.static_shape[numbers.kernel_output_feature_dimension]
    batch = left.static_shape[numbers.input_batch_dimension] // batch_group_count
    placed = dict(zip(whole.output_dimensions, (batch, *counts, made), strict=True))
    sizes = [placed[dimension] for dimension in range(spatial + 2)]
    result = TensorType(tuple(sizes), _result_element(left, preferred_element_type))
    return building.op(
        "convolution", lhs, rhs, result=result, precision_config=precision_config, **given
    )


_GROUPS = ("feature_group_count", "batch_group_count", "precision_config", "preferred_element_type")
_LEFT_OUT = ("precision_config", "preferred_element_type")


def _convolution(name: str, *more: str, readings: tuple[str, ...] = ()) -> Op:
    return lowered_op(
        name, "convolution", _conv, operands=("lhs", "rhs"),
        attributes=("window_strides", "padding", *more, *_GROUPS), needs_result=False,
        optional=(*_LEFT_OUT, *(one for one in more if one == "window_reversal")),
        conditions=_conv_conditions, constraints=("P1", "P2", "P3", "P4", "P5"), waives=("C27",),
        readings=readings,
    )  # fmt: skip


_product = partial(
    lowered_op, operands=("lhs", "rhs"), needs_result=False, constraints=("P1", "P2", "P3")
)

OPS: tuple[Op, ...] = (
    renamed_op("BatchNormGrad", "batch_norm_grad"),
    renamed_op("BatchNormInference", "batch_norm_inference"),
    renamed_op("BatchNormTraining", "batch_norm_training"),
    _convolution("Conv", readings=(STRIDED_SAME,)),
    _convolution("ConvWithGeneralPadding"),
    _convolution("ConvWithGeneralDimensions", "dimension_numbers", readings=(STRIDED_SAME,)),
    _convolution("ConvGeneral", "dimension_numbers"),
    _convolution(
        "ConvGeneralDilated", "lhs_dilation", "rhs_dilation", "dimension_numbers",
        "window_reversal",
    ),
    _product(
        "Dot", "dot", _dot, attributes=_LEFT_OUT, optional=_LEFT_OUT, conditions=_dot_conditions,
        element_types=ALL,
    ),
    _product(
        "DotGeneral", "dot_general", _dot_general, attributes=("dimension_numbers", *_LEFT_OUT),
        optional=_LEFT_OUT, conditions=dimensions_fit, restates={"P3": ("C13",)},
    ),
    lowered_op(
        "RaggedDot", "chlo.ragged_dot", _ragged_dot, operands=("lhs", "rhs", "group_sizes"),
        attributes=("dimension_numbers", *_LEFT_OUT), optional=_LEFT_OUT, needs_result=False,
        constraints=tuple(_OF_RAGGED), restates=_OF_RAGGED,
    ),
)  # fmt: skip

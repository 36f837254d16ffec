"""Products that compilers write as convolutions, read as products.

XLA writes the dimensions of a product as spatial dimensions of a convolution: batching dimensions
are dilated so far apart that each window covers one element, and free dimensions of the rhs are
windows that slide from one side of a single element to the other. No window of the product
multiplies the padding. A convolution of StableHLO would: padding is 0, its product with infinity is
NaN, and f8E8M0FNU has no 0.

Source: openxla/xla, xla/service/dot_as_convolution_util.cc, read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from conformance.hlo.building import Building, Sizes
from conformance.hlo.protos import ConvolutionDimensions, WindowDimension
from reference.ir.program import TensorType, Value, tensor_of


class Part(Enum):
    """The role of a spatial dimension in a product."""

    BATCHING = auto()
    CONTRACTING = auto()
    OF_LHS = auto()
    OF_RHS = auto()


def part_of(lhs: int, rhs: int, result: int, window: WindowDimension) -> Part | None:
    """Return the role of a spatial dimension with these sizes; None if windows overlap."""
    padding = window.padding_low, window.padding_high
    stride, dilation = window.stride or 1, window.base_dilation or 1
    if (window.window_dilation or 1) != 1:
        return None
    is_plain = padding == (0, 0) and not window.window_reversal
    if is_plain and rhs == 1 and stride == dilation == 1 and lhs == result:
        return Part.OF_LHS
    slides = padding == (rhs - 1, rhs - 1) and window.window_reversal
    if slides and lhs == 1 and stride == dilation == 1 and rhs == result:
        return Part.OF_RHS
    if is_plain and dilation == 1 and lhs == rhs and result == 1:
        return Part.CONTRACTING
    is_spread = dilation == lhs and stride == max(1, lhs - 1)
    return Part.BATCHING if is_plain and is_spread and lhs == rhs == result else None


def product_parts(
    lhs: TensorType,
    rhs: TensorType,
    result: TensorType,
    numbers: ConvolutionDimensions,
    window: Sequence[WindowDimension],
) -> list[Part] | None:
    """Return the role of each spatial dimension of a product; None for any other convolution.

    A product whose dimensions are neither dilated nor padded is a convolution as well.
    """
    sizes = zip(
        (lhs.static_shape[d] for d in numbers.input_spatial_dimensions),
        (rhs.static_shape[d] for d in numbers.kernel_spatial_dimensions),
        (result.static_shape[d] for d in numbers.output_spatial_dimensions),
        window,
        strict=True,
    )
    parts = [part_of(*size) for size in sizes]
    found = [part for part in parts if part is not None]
    is_spread = Part.BATCHING in found or Part.OF_RHS in found
    return found if is_spread and len(found) == len(parts) else None


@dataclass(frozen=True, slots=True)
class _Side:
    """The dimensions of an operand.

    Attributes:
        spatial: its spatial dimensions.
        parts: their roles.
        feature: the dimension that is contracted.
        other: the other dimension, with the dimension of the result that it becomes.
        own: the role of spatial dimensions that only this operand has.
    """

    spatial: Sequence[int]
    parts: Sequence[Part]
    feature: int
    other: dict[int, int]
    own: Part

    def places(self, wanted: Part) -> Sizes:
        """Return the spatial dimensions of this operand that have the `wanted` role."""
        pairs = zip(self.spatial, self.parts, strict=True)
        return tuple(place for place, part in pairs if part is wanted)

    def free_dimensions(
        self, shape: Sizes, outputs: Sequence[int]
    ) -> Iterator[tuple[int, int | None]]:
        """Yield the dimensions that are in a product, in order, with the dimension of the result
        that each becomes; None for a dimension of size 1 that is another operand's.
        """
        becomes: dict[int, int | None] = {**self.other}
        for place, part, output in zip(self.spatial, self.parts, outputs, strict=True):
            if part in (Part.OF_LHS, Part.OF_RHS):
                becomes[place] = output if part is self.own else None
        yield from ((d, becomes[d]) for d in range(len(shape)) if d in becomes)


def product(
    building: Building,
    operands: tuple[Value, Value],
    of: TensorType,
    numbers: ConvolutionDimensions,
    parts: Sequence[Part],
) -> Value:
    """Add the product that a convolution represents, and return its result in the stated shape."""

    lhs = _Side(
        numbers.input_spatial_dimensions, parts, numbers.input_feature_dimension,
        {numbers.input_batch_dimension: numbers.output_batch_dimension}, Part.OF_LHS,
    )  # fmt: skip
    rhs = _Side(
        numbers.kernel_spatial_dimensions, parts, numbers.kernel_input_feature_dimension,
        {numbers.kernel_output_feature_dimension: numbers.output_feature_dimension}, Part.OF_RHS,
    )  # fmt: skip
    outputs = numbers.output_spatial_dimensions
    order = [place for place, part in zip(outputs, parts, strict=True) if part is Part.BATCHING]
    sizes = [of.static_shape[place] for place in order]
    for side, operand in zip((lhs, rhs), operands, strict=True):
        shape = tensor_of(operand).static_shape
        for dimension, place in side.free_dimensions(shape, outputs):
            order.append(of.rank + len(order) if place is None else place)
            sizes.append(shape[dimension])
    made = building.one(
        "dot_general", operands, TensorType(tuple(sizes), of.element_type),
        lhs_batching_dimensions=lhs.places(Part.BATCHING),
        rhs_batching_dimensions=rhs.places(Part.BATCHING),
        lhs_contracting_dimensions=(lhs.feature, *lhs.places(Part.CONTRACTING)),
        rhs_contracting_dimensions=(rhs.feature, *rhs.places(Part.CONTRACTING)),
    )  # fmt: skip
    ranked = sorted(range(len(order)), key=order.__getitem__)
    return building.reshape(building.transpose(made, tuple(ranked)), of.static_shape)

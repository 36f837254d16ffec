"""Cases of the ops of reference/ops/convolution.py.

Every attribute varies: strides, padding of both signs, dilation of both operands, reversal, groups
of features and of batches, any order of dimensions. Images and windows are small; a few have a size
at a threshold of kernels; an image may be empty. Windows of size 0, to which C25 gives a number,
are excluded: StableHLO's verifier refuses them ("expects window to have positive value"), so that
no backend ever receives one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import NamedTuple

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import capped_label, is_large, size_label, step_label
from generators.families.contraction import precisions, result_of, shuffle, value_rows
from generators.programs.building import Builder, case
from reference.ir.constants import matrix
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import ElementType
from reference.ops.convolution import Geometry, num_windows

_SI64 = TYPES["si64"]

_RANKS = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3)
_IMAGES = (1, 2, 3, 4, 5, 6, 7, 8)
_LONG_IMAGES = (9, 11, 15, 16, 17, 28, 31, 32, 33, 65, 0)
_WINDOWS = (1, 2, 3, 3, 1, 2, 4, 5)
_LONG_WINDOWS = (7, 8, 9, 16, 17)
_FEATURES = (1, 2, 3, 4, 1, 2, 3, 4, 5, 8, 16, 17)
_PADDINGS = (
    (0, 0), (1, 1), (0, 1), (1, 0), (2, 2), (-1, 0), (0, -1), (-1, -1), (3, -1), (-2, 5), (4, 4),
    (0, 8), (-2, 1),
)  # fmt: skip
_DILATIONS = (1, 1, 1, 1, 1, 2, 2, 3, 5)
_STRIDES = (1, 1, 1, 2, 2, 3, 4, 7)
_GROUPS = ((1, 1),) * 7 + ((2, 1), (1, 2), (3, 1), (1, 3), (2, 1), (4, 1), (8, 1), (1, 4))
_MOST_PRODUCTS = 60_000
_MOST_ELEMENTS = 4_096
_MOST_RESULTS = 2_048
_INDEX_TYPES = ("si32", "si64", "si8", "si16", "si4", "si64")
"""Types of the padding of `dynamic_conv`, which may be negative."""


class Form(NamedTuple):
    """The permitted attributes of a convolution.

    `mixed`: dimensions in any order; otherwise batch, feature, spatial, and output feature, input
    feature, spatial. `named` returns the padding for a window size, given the padding's name.
    `prefers`: the result has another element type than the operands.
    """

    mixed: bool = True
    dilated: bool = True
    named: Callable[[str, int], tuple[int, int]] | None = None
    prefers: bool = False


GENERAL = Form()
NAMES = ("SAME", "VALID")
"""Names of the paddings that XlaBuilder takes."""


_SOME, _EMPTY, _WHOLE, _TURNED = "some", "empty", "whole image", "whole image, reversed"
_FITS = (*(_SOME,) * 11, _WHOLE, _TURNED, _EMPTY)
"""Positions of windows in the image."""

_WHOLES = (_WHOLE, _TURNED)
"""Windows as large as the image, without padding and with one feature, which compilers turn into
products and sums. They are listed because random choices rarely combine to them."""


class _Shapes(NamedTuple):
    """Sizes by their part in the convolution, not yet in the order of dimensions."""

    image: tuple[int, ...]
    window: tuple[int, ...]
    batch: int
    taken: int
    made: int


class _Sizes(NamedTuple):
    """The numbers of feature groups, batch groups and spatial dimensions, and the sizes along
    each."""

    groups: tuple[int, int]
    spatial: int
    fit: str
    shapes: _Shapes


_LARGE = _Sizes((1, 1), 2, _SOME, _Shapes((16, 15), (3, 3), 2, 8, 16))


def _sizes(pick: Pick, form: Form) -> _Sizes:
    groups = choose(pick, _GROUPS, "groups", _groups_label)
    spatial = choose(pick, _RANKS, "spatial dimensions")
    fits = _FITS if form.dilated else tuple(fit for fit in _FITS if fit != _TURNED)
    fit = choose(pick, fits, "windows")
    return _Sizes(groups, spatial, fit, _shapes(pick, groups, spatial, fit))


def _shapes(pick: Pick, groups: tuple[int, int], spatial: int, fit: str) -> _Shapes:
    whole = fit in _WHOLES
    image = [choose(pick, _IMAGES) for _ in range(spatial)]
    window = [choose(pick, _WINDOWS) for _ in range(spatial)]
    if whole:
        image = window = [max(2, min(size, 4)) for size in window]
    elif spatial:
        if seldom(pick, 4, "long image"):
            image[pick(spatial)] = choose(pick, _LONG_IMAGES, "long size", size_label)
        if seldom(pick, 6, "long window"):
            window[pick(spatial)] = choose(pick, _LONG_WINDOWS)
    batch = choose(pick, (1, 1, 2, 3, 1, 2, 3, 5), "batch", step_label) * groups[1]
    taken = 1 if whole else choose(pick, _FEATURES, "input features", _features_label)
    made = choose(pick, _FEATURES, "output features", step_label)
    if choose(pick, ("some",) * 39 + ("empty",), "data") == "empty":
        batch, taken, made = choose(pick, ((0, taken, made), (batch, 0, made), (batch, taken, 0)))
    return _Shapes(tuple(image), tuple(window), batch, taken, made * prod(groups))


def _groups_label(groups: tuple[int, int]) -> str:
    if groups == (1, 1):
        return "none"
    return "of features" if groups[0] > 1 else "of batches"


def _signs_label(padding: tuple[int, int]) -> str:
    if padding == (0, 0):
        return "0"
    if min(padding) >= 0 or max(padding) <= 0:
        return "more" if max(padding) > 0 else "less"
    return "more and less" if padding[0] > 0 else "less and more"


def _features_label(features: int) -> str:
    """Return the kind of a number of features: vectorised kernels start at 8."""
    return "1" if features == 1 else "more" if features < 8 else "8 or more"


_REVERSALS = (0, 0, 0, 0, 1, 2, 3)
_count_label = capped_label(2)


def _orders(pick: Pick, spatial: int, form: Form) -> list[tuple[int, ...]]:
    """Return the dimensions of lhs, rhs and the result in their canonical order.

    lhs and result: batch, spatial, feature. rhs: spatial, input feature, output feature.
    """
    if not form.mixed:
        places = tuple(range(2, spatial + 2))
        return [(0, *places, 1), (*places, 1, 0), (0, *places, 1)]
    rank = spatial + 2
    return [
        shuffle(pick, rank) if seldom(pick, 2, f"{side} mixed") else tuple(range(rank))
        for side in ("lhs", "rhs", "result")
    ]


def _geometry(
    pick: Pick,
    groups: tuple[int, int],
    spatial: int,
    paddings: tuple[tuple[int, int], ...],
    form: Form,
    fit: str,
) -> Geometry:
    inputs, kernels, outputs = _orders(pick, spatial, form)
    ones, each = (1,) * spatial, range(spatial)
    whole = fit in _WHOLES
    dilated = form.dilated and not whole
    turned = _reversal(pick, spatial) if dilated else (form.dilated and fit == _TURNED,) * spatial
    strides = tuple(choose(pick, _STRIDES, "stride", step_label) for _ in each)
    padding = ((0, 0),) * spatial
    if form.named is None and not whole:
        padding = tuple(choose(pick, paddings, "padding", _signs_label) for _ in each)
    left, right = (
        tuple(choose(pick, _DILATIONS, name, step_label) for _ in each) if dilated else ones
        for name in ("lhs_dilation", "rhs_dilation")
    )
    return Geometry(
        strides, padding, left, right, turned,
        inputs[0], inputs[-1], inputs[1:-1],
        kernels[-2], kernels[-1], kernels[:-2],
        outputs[0], outputs[-1], outputs[1:-1],
        *groups,
    )  # fmt: skip


def _reversal(pick: Pick, spatial: int) -> tuple[bool, ...]:
    reversed_ = choose(pick, _REVERSALS[: spatial + 4], "window_reversal", _count_label)
    turned = (*(True,) * reversed_, *(False,) * (spatial - reversed_))
    return tuple(turned[d] for d in shuffle(pick, spatial))


def _place_sizes(dimensions: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes at the positions that the dimension numbers give."""
    shape = [0] * len(sizes)
    for dimension, size in zip(dimensions, sizes, strict=True):
        shape[dimension] = size
    return tuple(shape)


def _attributes(geometry: Geometry, pick: Pick) -> dict[str, Attribute]:
    """Return all attributes but padding; neutral attributes are sometimes omitted."""
    spatial = len(geometry.strides)
    ones, plain = (1,) * spatial, (False,) * spatial
    given: dict[str, Attribute] = {
        "input_batch_dimension": geometry.input_batch,
        "input_feature_dimension": geometry.input_feature,
        "input_spatial_dimensions": geometry.input_spatial,
        "kernel_input_feature_dimension": geometry.kernel_input_feature,
        "kernel_output_feature_dimension": geometry.kernel_output_feature,
        "kernel_spatial_dimensions": geometry.kernel_spatial,
        "output_batch_dimension": geometry.output_batch,
        "output_feature_dimension": geometry.output_feature,
        "output_spatial_dimensions": geometry.output_spatial,
        "feature_group_count": geometry.feature_groups,
        "batch_group_count": geometry.batch_groups,
    }
    windows: dict[str, tuple[Attribute, Attribute]] = {
        "window_strides": (geometry.strides, ones),
        "lhs_dilation": (geometry.lhs_dilation, ones),
        "rhs_dilation": (geometry.rhs_dilation, ones),
        "window_reversal": (geometry.reversal, plain),
    }
    terse = seldom(pick, 4, "defaults left out")
    given |= {name: value for name, (value, rest) in windows.items() if value != rest or not terse}
    return given | precisions(pick)


class _Built(NamedTuple):
    """The types and attributes of a convolution, and the name of its padding, if any."""

    lhs: TensorType
    rhs: TensorType
    result: TensorType
    padding: tuple[tuple[int, int], ...]
    attributes: dict[str, Attribute]
    name: str


def _build_convolution(
    element_type: ElementType,
    pick: Pick,
    paddings: tuple[tuple[int, int], ...],
    form: Form = GENERAL,
) -> _Built:
    large = is_large(pick, element_type)
    groups, spatial, fit, shapes = _LARGE if large else _sizes(pick, form)
    geometry = _geometry(pick, groups, spatial, paddings, form, fit)
    name = choose(pick, NAMES, "padding") if form.named else ""
    if not large:
        some = fit != _EMPTY
        shapes = _fit_shapes(shapes, geometry) if some else shapes
        while not _is_modest(shapes, geometry):
            shapes = _shrink_shapes(shapes)
        shapes = _fit_shapes(shapes, geometry) if some else shapes
    if form.named:
        padding = tuple(form.named(name, window) for window in shapes.window)
        geometry = replace(geometry, padding=padding)
    to = result_of(element_type, pick, may_narrow=True) if form.prefers else element_type
    kernel = (*shapes.window, shapes.taken, shapes.made)
    image = (shapes.batch, *shapes.image, shapes.taken * geometry.feature_groups)
    result = (
        shapes.batch // geometry.batch_groups,
        *(num_windows(geometry, n, *axis) for n, axis in enumerate(_sizes_along_axes(shapes))),
        shapes.made,
    )
    return _Built(
        TensorType(_place_sizes(geometry.input_dimensions, image), element_type),
        TensorType(_place_sizes(geometry.kernel_dimensions, kernel), element_type),
        TensorType(_place_sizes(geometry.output_dimensions, result), to),
        geometry.padding,
        _attributes(geometry, pick),
        name,
    )


def _sizes_along_axes(shapes: _Shapes) -> list[tuple[int, int]]:
    return list(zip(shapes.image, shapes.window, strict=True))


def _is_modest(shapes: _Shapes, geometry: Geometry) -> bool:
    windows = prod(
        num_windows(geometry, n, *axis) for n, axis in enumerate(_sizes_along_axes(shapes))
    )
    results = shapes.batch // geometry.batch_groups * windows * shapes.made
    image = shapes.batch * prod(shapes.image) * shapes.taken * geometry.feature_groups
    kernel = prod(shapes.window) * shapes.taken * shapes.made
    products = results * prod(shapes.window) * shapes.taken
    return (
        max(image, kernel) <= _MOST_ELEMENTS
        and results <= _MOST_RESULTS
        and products <= _MOST_PRODUCTS
    )


def _fit_shapes(shapes: _Shapes, geometry: Geometry) -> _Shapes:
    """Return shapes with a window in every dimension.

    Images grow, or windows shrink if images would be too long.
    """
    window = shapes.window
    grown = shapes._replace(image=_enlarge_images(shapes.image, window, geometry))
    if _is_modest(grown, geometry):
        return grown
    window = tuple(
        min(size, max(_padded_length(length, geometry, n) - 1, 0) // geometry.rhs_dilation[n] + 1)
        for n, (length, size) in enumerate(_sizes_along_axes(shapes))
    )
    return shapes._replace(image=_enlarge_images(shapes.image, window, geometry), window=window)


def _padded_length(length: int, geometry: Geometry, n: int) -> int:
    """Return the length of an image along a dimension, including its holes and its padding."""
    return (length - 1) * geometry.lhs_dilation[n] + 1 + sum(geometry.padding[n])


def _enlarge_images(
    image: tuple[int, ...], window: tuple[int, ...], geometry: Geometry
) -> tuple[int, ...]:
    """Return the images, enlarged to hold at least one window; empty images stay."""
    needed = [(size - 1) * geometry.rhs_dilation[n] + 1 for n, size in enumerate(window)]
    lacking = [need - _padded_length(1, geometry, n) for n, need in enumerate(needed)]
    return tuple(
        length and max(length, 1 + max(0, -(-lack // geometry.lhs_dilation[n])))
        for n, (length, lack) in enumerate(zip(image, lacking, strict=True))
    )


def _shrink_shapes(shapes: _Shapes) -> _Shapes:
    """Return the shapes with the largest sizes halved; groups still divide batch and features."""
    image, window = shapes.image, shapes.window
    largest = max(*image, *window, 1) if image else 1
    if largest > 3:
        image, window = (
            tuple(size // 2 if size == largest else size for size in sizes)
            for sizes in (image, window)
        )
        return shapes._replace(image=image, window=window)
    if shapes.taken > 1:
        return shapes._replace(taken=shapes.taken // 2)
    image = tuple(max(1, size - 1) for size in image)
    window = tuple(max(1, size - 1) for size in window)
    if (image, window) == (shapes.image, shapes.window):
        return shapes._replace(batch=0)
    return shapes._replace(image=image, window=window)


def convolution_case(form: Form, element_type: ElementType, pick: Pick) -> tuple[Case, str]:
    """Return a convolution with all attributes written, and the name of its padding or ""."""
    built = _build_convolution(element_type, pick, _PADDINGS, form)
    spatial = len(built.padding)
    plain: dict[str, Attribute] = {
        "window_strides": (1,) * spatial, "lhs_dilation": (1,) * spatial,
        "rhs_dilation": (1,) * spatial, "window_reversal": (False,) * spatial,
    }  # fmt: skip
    given = plain | built.attributes | {"padding": matrix(built.padding, 2)}
    types = {"lhs": built.lhs, "rhs": built.rhs}
    rows = value_rows(element_type)
    return case(pick, "convolution", types, (built.result,), rows, given), built.name


def _convolution(element_type: ElementType, pick: Pick) -> Case:
    built = _build_convolution(element_type, pick, _PADDINGS)
    given = built.attributes
    if any(map(any, built.padding)) or pick(2) == 0:
        given = given | {"padding": matrix(built.padding, 2)}
    types = {"lhs": built.lhs, "rhs": built.rhs}
    return case(pick, "convolution", types, (built.result,), value_rows(element_type), given)


def _dynamic_conv(element_type: ElementType, pick: Pick) -> Case:
    built = _build_convolution(
        element_type, pick, tuple(padding for padding in _PADDINGS if max(map(abs, padding)) < 8)
    )
    index = TYPES[choose(pick, _INDEX_TYPES, "index type")]
    spatial = len(built.padding)
    types = {"lhs": built.lhs, "rhs": built.rhs, "padding": TensorType((spatial, 2), index)}
    numbers = ",".join(str(one) for low_high in built.padding for one in low_high)
    rows = tuple(
        (*row, f"values:{numbers}" if numbers else "values:0") for row in value_rows(element_type)
    )
    late = seldom(pick, 4, "padding comes late", paired=False)
    constants = () if late else ("padding",)
    return case(
        pick, "dynamic_conv", types, (built.result,), rows, built.attributes,
        constants=constants, unplanned=("padding",),
    )  # fmt: skip


BUILDERS: dict[str, Builder] = {"convolution": _convolution, "dynamic_conv": _dynamic_conv}
"""The builder of each op's cases."""

"""Windows of reductions and convolutions: small and whole, cropped, dilated, over large arrays.

A pad, with interior padding or with cropped edges, may precede them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of, size_of
from generators.chains.fitting import fit_shape
from generators.chains.patterns.folds import body_and_init, can_be_multiplied
from generators.chains.patterns.pattern import Pattern, is_number
from generators.families.reduction import padding_of
from reference.ir.program import Region, TensorType, Value

_KINDS = ("ones", "all", "growing", "dilated", "strided", "cropped", "mixed")

_LARGE_KINDS = ("side by side", "dilated", "side by side", "strided", "cropped", "ones", "mixed")
"""Kinds with windows of few elements; compilers have kernels for non-overlapping windows."""

_LARGE = ((64, 64), (8192,), (32, 129), (8, 17, 32), (4096, 2))
"""Sizes of arrays for which compilers have other code."""


class _AxisWindows(NamedTuple):
    """Windows along one dimension: their size, stride, dilations, and the padding."""

    window: int
    stride: int = 1
    base: int = 1
    dilation: int = 1
    padding: tuple[int, int] = (0, 0)


def _choose_edges(chain: Chain, size: int, *, cut: bool = False) -> tuple[int, int]:
    """Return the padding of both sides of a dimension, which may crop all but one element.

    With `cut`, padding only crops. Elements cropped at one side may be added at the other.
    """
    if not cut and size > 1 and chain.pick(4) == 3:
        by = choose(chain.pick, (1, min(2, size - 1)))
        return choose(chain.pick, ((-by, by), (by, -by)))
    low = choose(chain.pick, _possible_edges(size, (0, -1, 1, -2, 2), cut=cut))
    return low, choose(chain.pick, _possible_edges(size + low, (0, 1, -1, 2), cut=cut))


def _possible_edges(size: int, edges: Sequence[int], *, cut: bool) -> list[int]:
    """Return the paddings that leave at least one element, or all for an empty dimension."""
    return [edge for edge in edges if size + edge >= min(size, 1) and not (cut and edge > 0)]


def _choose_windows(chain: Chain, kind: str, size: int, *, ones: bool, cut: bool) -> _AxisWindows:
    """Return windows of a kind along a dimension of this size; of one element if `ones`."""
    pick = chain.pick
    whole = max(size, 1)
    if kind == "growing":
        return _AxisWindows(whole, padding=(whole - 1, 0))
    if kind == "all":
        return _AxisWindows(whole)
    if kind == "side by side":
        window = 1 if ones else choose(pick, (2, 1, 3))
        return _AxisWindows(window, window, choose(pick, (1, 2)))
    if kind == "cropped":
        return _AxisWindows(
            1 if ones else min(2, whole), padding=_choose_edges(chain, size, cut=cut)
        )
    window = 1 if ones else choose(pick, (min(2, whole), 1))
    stride = choose(pick, (1, window, 2, 3)) if kind != "dilated" else choose(pick, (window, 1))
    if kind == "strided":
        return _AxisWindows(window, stride)
    base, dilation = choose(pick, (1, 2, 3)), choose(pick, (1, 1, 2, 7))
    padding = _choose_edges(chain, size) if kind == "mixed" else (0, 0)
    return _AxisWindows(window, stride, base, dilation, padding)


def _window_reduction(chain: Chain, value: Value) -> Value:
    """Write a window reduction: windows of one element, of all, growing, cropped, dilated, ..."""
    large = chain.pick(4) == 3
    if large:
        value = fit_shape(chain, value, TensorType(choose(chain.pick, _LARGE), element(value)))
    kind = choose(chain.pick, _LARGE_KINDS if large else _KINDS)
    ones, cut = chain.pick(3) == 2, bool(chain.pick(2))
    along = [_choose_windows(chain, kind, size, ones=ones, cut=cut) for size in shape_of(value)]
    body, init = body_and_init(chain, element(value))
    return _fold_windows(chain, value, along, body, init)


def _fold_windows(
    chain: Chain, value: Value, along: Sequence[_AxisWindows], body: Region, init: Value
) -> Value:
    return chain.op(
        "reduce_window", value, init, window_dimensions=tuple(one.window for one in along),
        window_strides=tuple(one.stride for one in along),
        base_dilations=tuple(one.base for one in along),
        window_dilations=tuple(one.dilation for one in along),
        padding=padding_of([one.padding for one in along]), regions=(body,),
    )  # fmt: skip


class _Padded(NamedTuple):
    """A padded value, and the padding or cropping at each edge of its dimensions."""

    value: Value
    edges: tuple[tuple[int, int], ...]

    def choose_window_padding(self, chain: Chain) -> list[tuple[int, int]]:
        """Return a padding for windows: either as wide as the cropping, or arbitrary."""
        if chain.pick(2):
            return [(max(-low, 0), max(-high, 0)) for low, high in self.edges]
        return [_choose_edges(chain, size) for size in shape_of(self.value)]


def _pad_value(chain: Chain, value: Value, filling: Value) -> _Padded:
    """Write a pad that extends or crops dimensions, with or without interior padding.

    Interior padding along dimensions of size 1 has no effect.
    """
    cut, shape = chain.pick(3) < 2, shape_of(value)
    edges = tuple(_choose_edges(chain, size, cut=cut) for size in shape)
    holes = choose(chain.pick, ("none", "any", "of one"))
    padded = chain.op(
        "pad", value, filling, edge_padding_low=tuple(low for low, _ in edges),
        edge_padding_high=tuple(high for _, high in edges),
        interior_padding=tuple(_choose_interior_padding(chain, holes, size) for size in shape),
    )  # fmt: skip
    return _Padded(padded, edges)


def _choose_interior_padding(chain: Chain, kind: str, size: int) -> int:
    if kind == "any":
        return chain.pick(2)
    return int(kind == "of one" and size == 1)


def _windows_of_pad(chain: Chain, value: Value) -> Value:
    """Write a padded window reduction of a pad, with the same padding value or another."""
    if chain.pick(2):
        value = chain.reshape(value, (1, *shape_of(value)))
    body, init = body_and_init(chain, element(value))
    neutral = chain.pick(3) < 2
    filling = init if neutral else chain.number(chain.pick(2), TensorType((), element(value)))
    padded = _pad_value(chain, value, filling)
    along = [
        _AxisWindows(choose(chain.pick, (min(2, max(size, 1)), 1)), padding=padding)
        for size, padding in zip(
            shape_of(padded.value), padded.choose_window_padding(chain), strict=True
        )
    ]
    return _fold_windows(chain, padded.value, along, body, init)


# --- Convolutions --------------------------------------------------------------------------------


def _small_convolution(chain: Chain, value: Value) -> Value:
    """Write a convolution over one or two dimensions, of size 1 or of the kernel's size."""
    of, pick = element(value), chain.pick
    batch, features = choose(pick, (1, 2)), choose(pick, (1, 2, 3, 4, 8))
    sizes = [choose(pick, (1, 2, 3, 5, 8)) for _ in range(1 + pick(2))]
    image = fit_shape(chain, value, TensorType((batch, *sizes, features), of))
    return _add_convolution(chain, image, [_choose_edges(chain, size) for size in sizes])


def _convolution_of_pad(chain: Chain, value: Value) -> Value:
    """Write a convolution after a pad with zeros or ones, or after cropping."""
    of, pick = element(value), chain.pick
    features = choose(pick, (1, 2, 4))
    sizes = [choose(pick, (2, 1, 3, 5)) for _ in range(1 + pick(2))]
    image = fit_shape(chain, value, TensorType((1, *sizes, features), of))
    filling = chain.number(choose(pick, (0, 0, 1)), TensorType((), of))
    padded = _pad_value(chain, image, filling)
    return _add_convolution(chain, padded.value, padded.choose_window_padding(chain)[1:-1])


def _add_convolution(chain: Chain, image: Value, padding: Sequence[tuple[int, int]]) -> Value:
    """Write a convolution of an image with dimensions batch, space, feature."""
    pick, of = chain.pick, element(image)
    batch, *sizes, features = shape_of(image)
    along = [_choose_kernel_windows(chain, *one) for one in zip(sizes, padding, strict=True)]
    depthwise = features > 1 and pick(5) == 4
    taken, made = (1, features) if depthwise else (features, choose(pick, (1, 2, 3)))
    kernel = (*(one.window for one in along), taken, made)
    rhs = chain.value_of(TensorType(kernel, of))
    spatial = tuple(range(1, len(sizes) + 1))
    last, inside = len(sizes) + 1, tuple(range(len(sizes)))
    lengths = (_count_windows(size, one) for size, one in zip(sizes, along, strict=True))
    return chain.op(
        "convolution", image, rhs, to=TensorType((batch, *lengths, made), of),
        window_strides=tuple(one.stride for one in along),
        padding=padding_of([one.padding for one in along]),
        lhs_dilation=tuple(one.base for one in along),
        rhs_dilation=tuple(one.dilation for one in along),
        window_reversal=tuple(pick(4) == 3 for _ in along),
        input_batch_dimension=0, input_feature_dimension=last, input_spatial_dimensions=spatial,
        kernel_input_feature_dimension=len(sizes), kernel_output_feature_dimension=last,
        kernel_spatial_dimensions=inside,
        output_batch_dimension=0, output_feature_dimension=last,
        output_spatial_dimensions=spatial,
        feature_group_count=features if depthwise else 1, batch_group_count=1,
        precision_config=("DEFAULT", "DEFAULT"),
    )  # fmt: skip


def _choose_kernel_windows(chain: Chain, size: int, padding: tuple[int, int]) -> _AxisWindows:
    """Return a kernel along a dimension: of one element, of a few, or of the image's size."""
    pick = chain.pick
    base = choose(pick, (1, 1, 1, 2)) if size > 1 else 1  # links cover it for a single element
    return _AxisWindows(
        choose(pick, (1, 2, 3, max(size, 1))), choose(pick, (1, 1, 2)), base,
        choose(pick, (1, 1, 1, 2)), padding,
    )  # fmt: skip


def _count_windows(size: int, along: _AxisWindows) -> int:
    """Return the number of windows along a dimension with `size` elements."""
    image = (size - 1) * along.base + 1 + sum(along.padding) if size else sum(along.padding)
    window = (along.window - 1) * along.dilation + 1
    return max(image - window, -along.stride) // along.stride + 1


def _is_small_and_foldable(of: TensorType) -> bool:
    return 0 < of.rank < 4 and size_of(of) <= 128 and (is_number(of) or of.element.is_boolean)


def _is_small_and_reducible(of: TensorType) -> bool:
    return _is_small_and_foldable(of) and not of.element.is_complex


PATTERNS = (
    Pattern(_window_reduction, _is_small_and_reducible),
    Pattern(_window_reduction, _is_small_and_reducible),
    Pattern(_windows_of_pad, _is_small_and_reducible),
    Pattern(_small_convolution, can_be_multiplied),
    Pattern(_convolution_of_pad, can_be_multiplied),
)
"""Patterns of windows that compilers rewrite."""

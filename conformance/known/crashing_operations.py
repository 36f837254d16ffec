"""Operations on which XLA's compilers crash or go wrong, by conditions that no text states.

An entry of an expectation file names such a condition in `where`. It reads attributes and sizes of
an operation in MLIR's generic form, as the parent process loads no parser.

Source: libtpu 0.0.50 (gathers, 561 random ones) and jaxlib 0.10.2 for GPUs (convolutions, 1,527
random ones: those that satisfy the condition crash, and no others), measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from conformance.known.shrunk_ranges import WindowDimension, are_exchanged, are_shrunk
from conformance.text import contains

PREFIX = "condition: "
"""Text that begins the name of a condition in `where`."""

AND = " && "
"""Text between the parts of a text in `where`."""

LEAST_OF_YNNPACK = 4096
"""Smallest number of elements of a reduction that XLA's CPU compiler gives to YNNPACK."""


@dataclass(frozen=True, slots=True)
class OperationText:
    """An operation in MLIR's generic form on one line, attributes before types."""

    text: str

    @property
    def name(self) -> str:
        """The name of the op, with its dialect."""
        found = re.search(r'"([\w.]+)"\(', self.text)
        return found[1] if found else ""

    @property
    def is_static(self) -> bool:
        """Whether all operands and results have known sizes."""
        return "tensor<?" not in self.text and "x?" not in self.text

    def numbers(self, name: str) -> list[int]:
        """Return an attribute that is a list of numbers or of truth values; empty if omitted."""
        found = re.search(rf"\b{name} = (?:array<i\d+(?:: ([^>]*))?>|\[([^\]]*)\])", self.text)
        listed = (found[1] or found[2] or "") if found else ""
        return [_TRUTH[one] if one in _TRUTH else int(one) for one in re.findall(r"[-\w]+", listed)]

    def pairs(self, name: str, count: int) -> list[tuple[int, int]]:
        """Return an attribute that is a matrix of `count` rows of two; zeros if omitted."""
        found = re.search(rf"\b{name} = dense<([^>]*)>", self.text)
        every = [int(one) for one in re.findall(r"-?\d+", found[1])] if found else [0]
        every = every * (2 * count) if len(every) == 1 else every
        return list(zip(every[::2], every[1::2], strict=True))

    def shapes(self) -> list[list[int]]:
        """Return the sizes of the operands and results that are tensors of static sizes."""
        return [
            [int(one) for one in sizes.split("x")[:-1]]
            for sizes in re.findall(r"tensor<((?:\d+x)*)", self.types)
        ]

    @property
    def types(self) -> str:
        """The types of operands and results."""
        return self.text.rpartition(" : (")[2]


_TRUTH = {"false": 0, "true": 1}


@dataclass(frozen=True, slots=True)
class _Gather:
    """A gather of static sizes: the operand's sizes, the slice's, and the index vectors' batch."""

    sizes: list[int]
    slices: list[int]
    batch: list[int]
    collapsed: list[int]
    batching: list[int]
    indexed: list[int]

    @property
    def cut(self) -> set[int]:
        """The dimensions that a slice does not have as a whole."""
        return {d for d, size in enumerate(self.sizes) if self.slices[d] < size}

    @property
    def unindexed(self) -> set[int]:
        """The collapsed dimensions of size 1 without a component in index vectors."""
        return {d for d in self.collapsed if self.sizes[d] == 1 and d not in self.indexed}


def _gather_of(operation: OperationText) -> _Gather | None:
    """Return the sizes of a gather, whose result has the sizes of the slice that are kept."""
    if operation.name not in ("stablehlo.gather", "stablehlo.dynamic_gather"):
        return None
    sizes, *_, result = operation.shapes()
    collapsed, batching = (
        operation.numbers(name) for name in ("collapsed_slice_dims", "operand_batching_dims")
    )
    offsets = operation.numbers("offset_dims")
    kept = [result[d] for d in offsets]
    left_out = {*collapsed, *batching}
    if len(kept) + len(left_out) != len(sizes):
        return None
    slices = [1 if d in left_out else kept.pop(0) for d in range(len(sizes))]
    batch = [size for d, size in enumerate(result) if d not in offsets]
    indexed = operation.numbers("start_index_map")
    return _Gather(sizes, slices, batch, collapsed, batching, indexed)


def is_gather_of_single_elements(operation: OperationText) -> bool:
    """Return whether slices are single elements, and a dimension of size 1 has no index."""
    found = _gather_of(operation)
    if found is None or {*found.collapsed, *found.batching} != {*range(len(found.sizes))}:
        return False
    others = found.cut - {*found.indexed, *found.batching}
    return bool(found.unindexed and found.cut and not others and prod(found.batch) > 1)


def is_gather_of_leading_dimension(operation: OperationText) -> bool:
    """Return whether a dimension of size 1 has no index, and stands before those that have.

    Of these, slices have a single element in one, and all elements in another.
    """
    found = _gather_of(operation)
    if found is None or found.batching or 1 in found.batch or not found.batch:
        return False
    kept = [d for d in found.indexed if d not in found.collapsed]
    single = [d for d in kept if found.slices[d] == 1]
    whole = [d for d in found.indexed if found.slices[d] == found.sizes[d]]
    leading = bool(kept) and any(d < min(kept) for d in found.unindexed)
    is_cut = len(single) == 1 and found.cut >= {*single}
    return leading and is_cut and bool(whole) and found.cut <= {*found.indexed}


def is_shrunk_window(operation: OperationText) -> bool:
    """Return whether XLA's own loop computes a convolution with a shrunk window.

    cuDNN computes windows of up to three dimensions that are not reversed, and of two that are both
    reversed, also after XLA has exchanged image and window.
    """
    if operation.name != "stablehlo.convolution":
        return False
    image, kernel, result, *_ = operation.shapes()
    places, taps, made = (
        [sizes[d] for d in operation.numbers(f"{name}_spatial_dimensions")]
        for name, sizes in (("input", image), ("kernel", kernel), ("output", result))
    )
    count = len(taps)
    reversed_ = operation.numbers("window_reversal")
    if (count == 2 and all(reversed_)) or (count < 4 and not any(reversed_)):
        return False
    ones = [1] * count
    strides, holes, steps = (
        operation.numbers(name) or ones
        for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    padding = zip(*operation.pairs("padding", count), strict=True)
    terms = (places, taps, made, strides, *padding, holes, steps)
    window = [WindowDimension(*one) for one in zip(*terms, strict=True)]
    return are_shrunk(window) and not are_exchanged(window, reversed_)


def is_long_reduction(operation: OperationText) -> bool:
    """Return whether an operand or result has so many elements that YNNPACK may reduce it."""
    return any(prod(shape) >= LEAST_OF_YNNPACK for shape in operation.shapes())


def is_long_extremum(operation: OperationText) -> bool:
    """Return whether YNNPACK may reduce an operand by a maximum or minimum, or by a function."""
    is_extremum = re.search(r"\.(maximum|minimum|call)\b", operation.text)
    return is_extremum is not None and is_long_reduction(operation)


def is_last_start_negative(operation: OperationText) -> bool:
    """Return whether the largest start index of an update, in some dimension, is negative in the
    type of the indices, which is signed and too narrow for it.
    """
    index = re.search(r", tensor<i(\d+)>\) -> ", operation.text)
    if operation.name != "stablehlo.dynamic_update_slice" or index is None:
        return False
    sign = 1 << (int(index[1]) - 1)
    sizes, parts, *_ = operation.shapes()
    return any((size - part) & sign for size, part in zip(sizes, parts, strict=True))


def may_be_partly_outside(operation: OperationText) -> bool:
    """Return whether a scatter has windows of several elements along a dimension with an index, or
    indices of a type that is too narrow for such a dimension.
    """
    indexed = operation.numbers("scatter_dims_to_operand_dims")
    if operation.name != "stablehlo.scatter" or not indexed:
        return False
    shapes, count = operation.shapes(), len(operation.shapes()) // 3
    left_out = {
        d
        for name in ("inserted_window_dims", "input_batching_dims")
        for d in operation.numbers(name)
    }
    kept = [d for d in range(len(shapes[0])) if d not in left_out]
    windows = [shapes[count + 1][d] for d in operation.numbers("update_window_dims")]
    sizes = dict(zip(kept, windows, strict=True))
    index = re.findall(r"tensor<(?:\d+x)*([^<>x]+)", operation.types)[count]  # such as ui8
    largest = (1 << (int(index.lstrip("ui")) - (not index.startswith("u")))) - 1
    return any(sizes.get(d, 1) > 1 or shapes[0][d] > largest for d in indexed)


def _several_updates_without_index(operation: OperationText) -> tuple[list[int], list[int]] | None:
    """Return the sizes of the input of a scatter, and of its updates, if several updates have index
    vectors without components; otherwise None.
    """
    if operation.name != "stablehlo.scatter" or operation.numbers("scatter_dims_to_operand_dims"):
        return None
    shapes, windows = operation.shapes(), operation.numbers("update_window_dims")
    update = shapes[len(shapes) // 3 + 1]
    count = prod(size for d, size in enumerate(update) if d not in windows)
    return (shapes[0], update) if count > 1 else None


def are_updates_of_one_element(operation: OperationText) -> bool:
    """Return whether a scatter has index vectors without components, several of them, for windows
    of a single element.
    """
    found = _several_updates_without_index(operation)
    windows = operation.numbers("update_window_dims")
    batching = operation.numbers("input_batching_dims")
    return found is not None and not batching and all(found[1][d] == 1 for d in windows)


def are_updates_shaped_as_input(operation: OperationText) -> bool:
    """Return whether a scatter has index vectors without components, several of them, and updates
    of the input's sizes.
    """
    found = _several_updates_without_index(operation)
    batching = operation.numbers("input_batching_dims")
    return found is not None and not batching and found[0] == found[1]


def is_window_padded_in_a_plane(operation: OperationText) -> bool:
    """Return whether windows are longer than 1 in several dimensions, and padded in one."""
    sizes = operation.numbers("window_dimensions")
    if not sizes:
        return False
    pads = operation.pairs("padding", len(sizes))
    extended = [pad for size, pad in zip(sizes, pads, strict=True) if size > 1]
    return len(extended) > 1 and any(low > 0 or high > 0 for low, high in extended)


def is_part_transformed(operation: OperationText) -> bool:
    """Return whether an FFT of complex numbers is shorter than the dimensions, or longer."""
    if operation.name != "stablehlo.fft" or not re.search("fft_type I?FFT>", operation.text):
        return False
    length = operation.numbers("fft_length")
    return operation.shapes()[0][-len(length) :] != length


CONDITIONS: dict[str, Callable[[OperationText], bool]] = {
    "extremum of 4096 elements": is_long_extremum,
    "fft of a part": is_part_transformed,
    "gather of leading dimension": is_gather_of_leading_dimension,
    "gather of single elements": is_gather_of_single_elements,
    "negative largest start index": is_last_start_negative,
    "padded window of several dimensions": is_window_padded_in_a_plane,
    "reduction of 4096 elements": is_long_reduction,
    "several updates of one element": are_updates_of_one_element,
    "shrunk window": is_shrunk_window,
    "updates of the input's sizes": are_updates_shaped_as_input,
    "window partly outside": may_be_partly_outside,
}
"""The conditions by name."""


def satisfies(text: str, name: str) -> bool:
    """Return whether an operation, in MLIR's generic form, satisfies the condition of a name.

    No operation of dynamic sizes does.
    """
    operation = OperationText(text)
    return operation.is_static and CONDITIONS[name](operation)


def parts_of(pattern: str) -> list[str]:
    """Return the parts of a text of `where`. All of them must describe the operation."""
    return pattern.split(AND)


def describes(pattern: str, operation: str) -> bool:
    """Return whether a text of `where` describes an operation in MLIR's generic form."""
    return all(_describes(part, operation) for part in parts_of(pattern))


def _describes(part: str, operation: str) -> bool:
    name = part.removeprefix(PREFIX)
    return contains(operation, part) if name == part else satisfies(operation, name)

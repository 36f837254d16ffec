"""Instructions that apply a computation to elements: reductions, windows, sorts, scatters, maps."""

from __future__ import annotations

import numpy as np

from conformance.hlo.protos import WindowDimension
from conformance.hlo.shapes import Tree
from conformance.hlo.site import Handler, Site
from reference.ir.program import Dense, TensorType, tensor_of
from reference.ir.types import ELEMENT_TYPES


def _reduce(site: Site) -> Tree:
    """Return a fold in the type of its initial values; inputs and results are converted.

    HLO's folds may have a wider accumulator, as the TPU's sums of bf16 in f32 have.
    """
    count, building = len(site.types), site.building
    inputs, inits = site.values[:count], site.values[count:]
    elements = [tensor_of(init).element for init in inits]
    given = [building.convert(*pair) for pair in zip(inputs, elements, strict=True)]
    types = [
        TensorType(of.shape, element, of.bounds)
        for of, element in zip(site.types, elements, strict=True)
    ]
    folded = building.add(
        "reduce", (*given, *inits), types, (site.body(),),
        dimensions=tuple(site.instruction.dimensions),
    )  # fmt: skip
    return site.tree(
        [building.convert(one, of.element) for one, of in zip(folded, site.types, strict=True)]
    )


def window_of(site: Site) -> list[WindowDimension]:
    """Return the window of an instruction that has exactly one window."""
    window = site.instruction.window
    if window is None:
        raise site.unreadable("it has no window")
    return window.dimensions


def padding_of(window: list[WindowDimension]) -> Dense:
    """Return a window's padding as the attribute `padding`: low and high for each dimension."""
    pairs = np.array([(d.padding_low, d.padding_high) for d in window], np.int64).reshape(-1, 2)
    return Dense.of(pairs, TensorType(pairs.shape, ELEMENT_TYPES["si64"]))


def _reduce_window(site: Site) -> Tree:
    window = window_of(site)
    return site.tree(site.building.add(
        "reduce_window", site.values, site.types, (site.body(),),
        window_dimensions=tuple(d.size for d in window),
        window_strides=tuple(d.stride or 1 for d in window),
        base_dilations=tuple(d.base_dilation or 1 for d in window),
        window_dilations=tuple(d.window_dilation or 1 for d in window),
        padding=padding_of(window),
    ))  # fmt: skip


def _select_and_scatter(site: Site) -> Tree:
    window = window_of(site)
    return site.building.one(
        "select_and_scatter", site.values, site.type, (site.body(0), site.body(1)),
        window_dimensions=tuple(d.size for d in window),
        window_strides=tuple(d.stride or 1 for d in window), padding=padding_of(window),
    )  # fmt: skip


def _sort(site: Site) -> Tree:
    one = site.instruction
    return site.tree(site.building.add(
        "sort", site.values, site.types, (site.body(),), dimension=one.dimensions[0],
        is_stable=one.is_stable,
    ))  # fmt: skip


def _scatter(site: Site) -> Tree:
    one, numbers = site.instruction, site.instruction.scatter_dimension_numbers
    if numbers is None:
        raise site.unreadable("it has no dimension numbers")
    return site.tree(site.building.add(
        "scatter", site.values, site.types, (site.body(),),
        update_window_dims=tuple(numbers.update_window_dims),
        inserted_window_dims=tuple(numbers.inserted_window_dims),
        input_batching_dims=tuple(numbers.input_batching_dims),
        scatter_indices_batching_dims=tuple(numbers.scatter_indices_batching_dims),
        scatter_dims_to_operand_dims=tuple(numbers.scatter_dims_to_operand_dims),
        index_vector_dim=numbers.index_vector_dim, indices_are_sorted=one.indices_are_sorted,
        unique_indices=one.unique_indices,
    ))  # fmt: skip


def _map(site: Site) -> Tree:
    dimensions = tuple(range(site.type.rank))
    return site.building.one("map", site.values, site.type, (site.body(),), dimensions=dimensions)


def _top_k(site: Site) -> Tree:
    one = site.instruction
    return site.tree(site.building.add(
        "mhlo.topk", (site.value(0),), site.types, k=one.k, largest=one.largest
    ))  # fmt: skip


def _scan(site: Site) -> Tree:
    one, values, types = site.instruction, site.values, site.types
    carried = one.num_carries
    return site.tree(site.building.add(
        "mhlo.scan", values, types, (site.body(),), dimension=one.dimensions[0],
        is_reverse=one.is_reverse, operandSegmentSizes=(len(values) - carried, carried),
        resultSegmentSizes=(len(types) - carried, carried),
    ))  # fmt: skip


HANDLERS: dict[str, Handler] = {
    "map": _map,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "scan": _scan,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "sort": _sort,
    "topk": _top_k,
}
"""The function that reads each opcode."""

"""Cases of the ops of reference/ops/indexed; scatter's cases are in indexed/scatter.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import axis
from generators.families.data_movement import INDEX_TYPES, contents, index_label, permutation
from generators.families.indexed.roles import (
    SIZES,
    Access,
    access,
    batches,
    explicit,
    index_profiles,
    index_type,
)
from generators.families.indexed.scatter import scatter_case
from generators.programs.building import Builder, case
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType

MOST_ORDERED = 40
"""Maximum number of index vectors listed explicitly."""


def _sorted_index_vectors(pick: Pick, chosen: Access, *, implicit: bool) -> str | None:
    """Return sorted index vectors, in and out of range; None if there would be too many."""
    count = math.prod(chosen.batch)
    if count > MOST_ORDERED or not chosen.mapped:
        return None
    vectors = [[pick(limit + 4) - 1 for limit in chosen.limits()] for _ in range(count)]
    by_dimension = sorted(range(len(chosen.mapped)), key=lambda k: chosen.mapped[k])

    def place(vector: Sequence[int]) -> list[int]:
        starts = [min(max(v, 0), limit) for v, limit in zip(vector, chosen.limits(), strict=True)]
        return [starts[k] for k in by_dimension]

    return explicit(sorted(vectors, key=place), chosen, implicit=implicit)


def _gather(op: str, element_type: ElementType, pick: Pick) -> Case:
    chosen = access(pick, element_type, batching=op == "gather")
    implicit = chosen.implicit and not seldom(pick, 2, "index vectors of 1")
    rank = len(chosen.batch) + len(chosen.kept)
    offset_dims = tuple(sorted(permutation(pick, rank)[: len(chosen.kept)]))
    window, batch = iter(chosen.kept), iter(chosen.batch)
    result = tuple(
        chosen.sizes[next(window)] if d in offset_dims else next(batch) for d in range(rank)
    )
    profiles = index_profiles(chosen)
    given: dict[str, Attribute] = {
        "offset_dims": offset_dims,
        "collapsed_slice_dims": chosen.dropped,
        "start_index_map": chosen.mapped,
        "index_vector_dim": len(chosen.batch) if implicit else chosen.vector_dim,
        "indices_are_sorted": False,
    }
    if seldom(pick, 4, "indices_are_sorted"):
        given["indices_are_sorted"] = True
        ordered = _sorted_index_vectors(pick, chosen, implicit=implicit)
        profiles = (ordered or "values:1",) * 7 + (profiles[0],)  # one in eight is out of order
    index = TensorType(chosen.indices_shape(implicit=implicit), index_type(pick, chosen))
    types = {"operand": TensorType(chosen.shape, element_type), "start_indices": index}
    if op == "gather":
        given["slice_sizes"] = chosen.sizes
        given["operand_batching_dims"] = chosen.batching
        given["start_indices_batching_dims"] = chosen.paired_dims(implicit=implicit)
        rows = tuple((name, indices) for indices in profiles for name in contents(element_type))
        return case(pick, op, types, (TensorType(result, element_type),), rows, given)
    # half the range of unsigned types: StableHLO reads the other half as negative sizes
    room = 2 * max(chosen.sizes, default=0) + 1
    able = [row for row in INDEX_TYPES if row.max_integer - row.min_integer > room]
    types["slice_sizes"] = TensorType(
        (len(chosen.shape),), choose(pick, able, "size type", index_label)
    )
    sizes = "values:" + ",".join(map(str, chosen.sizes))
    rows = tuple((name, indices, sizes) for indices in profiles for name in contents(element_type))
    constants = () if seldom(pick, 4, "sizes not known", paired=False) else ("slice_sizes",)
    result_type = (TensorType(result, element_type),)
    unplanned = ("slice_sizes",)
    return case(pick, op, types, result_type, rows, given, constants=constants, unplanned=unplanned)


def _torch_index_select(op: str, element_type: ElementType, pick: Pick) -> Case:
    rank = choose(pick, (1, 2, 2, 3, 3, 4), "rank")
    sizes = tuple(choose(pick, SIZES) for _ in range(rank))
    dim = axis(pick, rank, "dim")
    batch_dims = 0
    if dim and seldom(pick, 3, "batch_dims given"):
        batch_dims = 1 + pick(dim)
    free = tuple(batches(pick))
    wide = tuple(row for row in INDEX_TYPES if row.max_integer > max(sizes))
    index = TensorType(sizes[:batch_dims] + free, choose(pick, wide, "index type", index_label))
    result = TensorType(sizes[:dim] + free + sizes[dim + 1 :], element_type)
    given: dict[str, Attribute] = {"dim": dim, "batch_dims": batch_dims}
    last = sizes[dim] - 1
    profiles = (f"within:0:{last}",) * 4 + (f"values:{last}", f"within:-2:{last + 2}")
    rows = tuple((name, indices) for indices in profiles for name in contents(element_type))
    types = {"operand": TensorType(sizes, element_type), "index": index}
    return case(pick, op, types, (result,), rows, given)


_BUILD: dict[str, Callable[[str, ElementType, Pick], Case]] = {
    "dynamic_gather": _gather,
    "gather": _gather,
    "scatter": scatter_case,
    "torch_index_select": _torch_index_select,
}

BUILDERS: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""The builder of each op's cases."""

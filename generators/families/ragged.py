"""Cases of the ops on ragged tensors in reference/ops/ragged.py.

Group sizes sum to all indices of the ragged dimension, to fewer or to more; some groups or all are
empty, or one group has all indices. Group sizes are shared, or separate for each index of the
preceding dimensions.
"""

from __future__ import annotations

from math import prod

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import capped_label, size_label
from generators.families.collectives.ragged_exchange import ragged_all_to_all
from generators.families.contraction import precisions, result_of, shuffle, value_rows
from generators.families.data_movement import INDEX_TYPES, index_label
from generators.programs.building import Builder, case
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType
from reference.ops.ragged import Mode, ragged_numbers, result_sizes

Sizes = tuple[int, ...]

_RAGGED_SIZES = (5, 4, 3, 2, 1, 7, 8, 9, 16, 17, 33, 0)
_OTHERS = (2, 3, 1, 4)
_DEPTHS = (3, 1, 2, 4, 8, 17, 33, 65, 0)
_GROUPS = (3, 2, 1, 4, 7)
_MOST_LISTED = 64
_count = capped_label(2)

ALL, FEWER, MORE, EMPTY, ONE, NONE = (
    "all indices", "fewer", "more", "some empty", "one has all", "all empty"
)  # fmt: skip
_SHARES = (ALL, FEWER, MORE, EMPTY, ONE, NONE)


def _mode(mode: Mode) -> str:
    return mode.name.lower()


def _sides(pick: Pick, mode: Mode) -> dict[str, list[int]]:
    """Return sizes of the dimensions in each role, with the ragged dimension in its role."""
    least = {Mode.BATCH: "batch", Mode.ROWS: "rows", Mode.DEPTH: "depth"}[mode]
    counts = {
        "batch": choose(pick, (0, 0, 1, 1, 2), "batching dimensions") or int(least == "batch"),
        "rows": choose(pick, (1, 1, 1, 0, 2), "other dimensions of lhs") or int(least == "rows"),
        "depth": choose(pick, (1, 1, 1, 0, 2), "contracting dimensions") or int(least == "depth"),
        "columns": choose(pick, (1, 1, 1, 0, 2), "other dimensions of rhs"),
    }
    sides = {part: [choose(pick, _OTHERS) for _ in range(n)] for part, n in counts.items()}
    if mode is not Mode.DEPTH and sides["depth"]:
        sides["depth"][0] = choose(pick, _DEPTHS, "contracting size", size_label)
    ragged = sides[least]
    ragged[pick(len(ragged))] = choose(pick, _RAGGED_SIZES, "ragged size", size_label)
    return sides


def _group_sizes(pick: Pick, kind: str, size: int, groups: int) -> list[int]:
    """Return sizes of groups, for one index of the preceding dimensions."""
    if kind in (ONE, NONE):
        chosen = pick(groups)
        return [size * (kind == ONE and n == chosen) for n in range(groups)]
    wanted = {FEWER: max(0, size - 1 - pick(3)), MORE: size + 1 + pick(2)}.get(kind, size)
    cuts = sorted(pick(wanted + 1) for _ in range(groups - 1))
    if kind == EMPTY and cuts:
        cuts[pick(len(cuts))] = 0
        cuts.sort()
    return [b - a for a, b in zip((0, *cuts), (*cuts, wanted), strict=True)]


def _sizes_profile(pick: Pick, before: int, size: int, groups: int) -> str:
    kind = choose(pick, _SHARES, "group sizes are for")
    listed = [n for _ in range(before) for n in _group_sizes(pick, kind, size, groups)]
    return "values:" + ",".join(map(str, listed))


def ragged_dot(element_type: ElementType, pick: Pick, *, may_narrow: bool = False) -> Case:
    """Return a ragged product; see `generators.families.contraction.result_of` for `may_narrow`."""
    mode = choose(pick, (*Mode,), "mode", _mode)
    sides = _sides(pick, mode)
    groups = choose(pick, _GROUPS, "groups", _count)
    left = [*sides["batch"], *sides["rows"], *sides["depth"]]
    grouped = [groups] * (mode is Mode.ROWS)
    right = [*sides["batch"], *sides["depth"], *sides["columns"], *grouped]
    mixed = seldom(pick, 3, "dimensions mixed")
    lhs_order, rhs_order = (
        shuffle(pick, len(sizes)) if mixed else tuple(range(len(sizes))) for sizes in (left, right)
    )
    batches, depths = len(sides["batch"]), len(sides["depth"])
    first = batches + len(sides["rows"])
    begin = {Mode.BATCH: 0, Mode.ROWS: batches, Mode.DEPTH: first}[mode]
    own = {Mode.BATCH: sides["batch"], Mode.ROWS: sides["rows"], Mode.DEPTH: sides["depth"]}[mode]
    ragged = begin + choose(pick, (0, len(own) - 1))
    given: dict[str, Attribute] = {
        "lhs_batching_dimensions": tuple(lhs_order.index(d) for d in range(batches)),
        "rhs_batching_dimensions": tuple(rhs_order.index(d) for d in range(batches)),
        "lhs_contracting_dimensions": tuple(lhs_order.index(first + d) for d in range(depths)),
        "rhs_contracting_dimensions": tuple(rhs_order.index(batches + d) for d in range(depths)),
        "lhs_ragged_dimensions": (lhs_order.index(ragged),),
        "rhs_group_dimensions": (rhs_order.index(len(right) - 1),) if grouped else (),
    }
    lhs, rhs = tuple(left[d] for d in lhs_order), tuple(right[d] for d in rhs_order)
    numbers = ragged_numbers(**given)  # pyright: ignore[reportArgumentType]
    before = tuple(lhs[d] for d in numbers.outer_dimensions(len(lhs)))
    if prod(before) * groups > _MOST_LISTED or seldom(pick, 2, "group sizes are all's"):
        before = ()
    size = lhs[numbers.ragged]
    able = [of for of in INDEX_TYPES if of.max_integer >= size + 3]
    types = {
        "lhs": TensorType(lhs, element_type),
        "rhs": TensorType(rhs, element_type),
        "group_sizes": TensorType((*before, groups), choose(pick, able, "size type", index_label)),
    }
    shares = [_sizes_profile(pick, prod(before), size, groups) for _ in range(2)]
    contents = value_rows(element_type)
    rows = tuple((*row, shares[n % 2]) for n, row in enumerate(contents))
    to = result_of(element_type, pick, may_narrow=may_narrow)
    result = TensorType(result_sizes(lhs, rhs, groups, numbers), to)
    return case(pick, "chlo.ragged_dot", types, (result,), rows, given | precisions(pick))


BUILDERS: dict[str, Builder] = {
    "chlo.ragged_dot": ragged_dot,
    "mhlo.ragged_all_to_all": ragged_all_to_all,
}
"""The builder of each op's cases."""

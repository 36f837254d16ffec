"""Cases of the ops of reference/ops/sorts/sorting.py."""

from __future__ import annotations

import math
from dataclasses import replace

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import axis, is_large, limit_elements, shape, size_label
from generators.programs.building import Builder, case, inputs, operand, prepend_operations
from generators.regions.comparators import Comparator, comparators
from reference.ir.program import Attribute, TensorType, single_op
from reference.ir.types import ElementType

_LENGTHS = (2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, 257, 1025)
_LARGEST = 4096
"""Largest number of elements of an operand; of larger operands, unsorted dimensions are reduced."""


def _sort(element_type: ElementType, pick: Pick) -> Case:
    chosen = comparators(element_type, pick)
    sizes = list(shape(pick, min_rank=1))
    dimension = axis(pick, len(sizes), "dimension")
    if seldom(pick, 2, "length chosen"):  # most dimensions of most shapes are short
        sizes[dimension] = choose(pick, _LENGTHS, "length", size_label)
    if is_large(pick, element_type):
        sizes = [1 if d != dimension else 5000 for d in range(len(sizes))]
    sizes[dimension] = min(sizes[dimension], chosen.longest or sizes[dimension])
    if math.prod(sizes) > max(_LARGEST, sizes[dimension]):
        sizes = [size if d == dimension else min(size, 2) for d, size in enumerate(sizes)]
    if chosen.few:
        sizes = list(limit_elements(sizes))
    given: dict[str, Attribute] = {
        "dimension": dimension - len(sizes) * seldom(pick, 8, "dimension from the end"),
        "is_stable": not seldom(pick, 2, "not stable"),
    }
    kinds = tuple(TensorType(tuple(sizes), one) for one in chosen.inputs)
    types = {f"input{n}": kind for n, kind in enumerate(kinds)}
    if chosen.alike > 1:
        return _share_first_operand(pick, chosen, kinds, given)
    made = case(pick, "sort", types, kinds, chosen.rows, given, regions=(chosen.region,))
    return replace(made, program=prepend_operations(made.program, (), chosen.functions))


def _share_first_operand(
    pick: Pick, chosen: Comparator, kinds: tuple[TensorType, ...], given: dict[str, Attribute]
) -> Case:
    """Return the case whose first operands are the same value."""
    names = tuple(zip(*chosen.rows, strict=True))
    first = operand(pick, "input0", kinds[0], names[0])
    others = (
        operand(pick, f"input{n}", kinds[n], names[n]) for n in range(chosen.alike, len(kinds))
    )
    placed = (*(first,) * chosen.alike, *others)
    pick.has_empty_results = any(0 in of.shape for of in kinds)
    program = single_op("sort", placed, kinds, given, (chosen.region,))
    return Case(program, inputs(pick, placed, chosen.rows))


BUILDERS: dict[str, Builder] = {"sort": _sort}
"""The builder of each op's cases."""

"""Cases of the ops of reference/ops/sorts/sorting.py."""

from __future__ import annotations

import math

from generators.case.case import Case
from generators.case.shapes import Pick, choose, shape
from generators.programs.building import Builder, case
from generators.regions.comparators import comparators
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType

_LENGTHS = (2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, 257, 1025)
_LARGEST = 4096
"""Elements; of a larger operand the other dimensions are cut."""


def _sort(element_type: ElementType, pick: Pick) -> Case:
    chosen = comparators(element_type, pick)
    sizes = list(shape(pick, min_rank=1))
    dimension = pick(len(sizes))
    if pick(2) == 1:  # most dimensions of most shapes are short
        sizes[dimension] = choose(pick, _LENGTHS)
    sizes[dimension] = min(sizes[dimension], chosen.longest or sizes[dimension])
    if math.prod(sizes) > _LARGEST:
        sizes = [size if d == dimension else min(size, 2) for d, size in enumerate(sizes)]
    given: dict[str, Attribute] = {
        "dimension": dimension - len(sizes) * (pick(8) == 7),
        "is_stable": pick(2) == 0,
    }
    kinds = tuple(TensorType(tuple(sizes), one) for one in chosen.inputs)
    types = {f"input{n}": kind for n, kind in enumerate(kinds)}
    return case(pick, "sort", types, kinds, chosen.rows, given, regions=(chosen.region,))


BUILDERS: dict[str, Builder] = {"sort": _sort}
"""What builds the cases of each op."""

"""The specification's own example of sort (seeds/004)."""

import numpy as np

from generators.invalid.misses import program, tensor
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import check, evaluate
from reference.ir.types import ELEMENT_TYPES

SI64 = ELEMENT_TYPES["si64"]


def test_sort() -> None:
    block = BodyBuilder.of(SI64, SI64, SI64, SI64)
    comparator = block.finish_region(block.compare(block.arguments[0], block.arguments[1], "GT"))
    of = tensor(SI64, 2, 3)
    types = {"input0": of, "input1": of}
    made = program("sort", types, (of, of), (comparator,), dimension=0, is_stable=True)
    assert check(made) == []
    first, second = np.array([[1, 2, 3], [3, 2, 1]]), np.array([[3, 2, 1], [1, 2, 3]])
    one, other = evaluate(made, [first, second])
    assert one.tolist() == [[3, 2, 3], [1, 2, 1]]
    assert other.tolist() == [[1, 2, 1], [3, 2, 3]]

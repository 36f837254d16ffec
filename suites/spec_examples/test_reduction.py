"""The specification's own examples of reductions and of map, evaluated by the reference.

Operands, attributes and results are the specification's (seeds/004).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from generators.families.reduction import padding_of
from generators.regions.bodies import fold_of, selector
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import Array, ElementType, element_type, element_type_of

SI64 = element_type("si64")


def body(op: str, of: ElementType = SI64) -> Region:
    return fold_of(op, of).region


def si64(values: Any) -> Array:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Example:
    op: str
    operands: tuple[Array, ...]
    result: Array
    attributes: dict[str, Attribute]
    regions: tuple[Region, ...]

    @property
    def program(self) -> Program:
        operands = tuple(Value(f"v{n}", type_of(array)) for n, array in enumerate(self.operands))
        results = (type_of(self.result),)
        return single_op(self.op, operands, results, self.attributes, self.regions)


def type_of(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


EXAMPLES = (
    Example(
        "map",
        (si64([[0, 1], [2, 3]]), si64([[4, 5], [6, 7]])),
        si64([[0, 5], [12, 21]]),
        {"dimensions": (0, 1)},
        (body("multiply"),),
    ),
    Example(
        "reduce",
        (si64([[0, 1, 2, 3, 4, 5]]), si64(0)),
        si64([15]),
        {"dimensions": (1,)},
        (body("add"),),
    ),
    Example(
        "reduce_window",
        (si64([[1, 2], [3, 4], [5, 6]]), si64(0)),
        si64([[0, 0], [3, 4]]),
        {
            "window_dimensions": (2, 1),
            "window_strides": (4, 1),
            "base_dilations": (2, 1),
            "window_dilations": (3, 1),
            "padding": padding_of(((2, 1), (0, 0))),
        },
        (body("add"),),
    ),
    Example(
        "select_and_scatter",
        (si64([[1, 5], [2, 5], [3, 6], [4, 4]]), si64([[5, 6], [7, 8]]), si64(0)),
        si64([[0, 0], [0, 0], [5, 14], [7, 0]]),
        {
            "window_dimensions": (3, 1),
            "window_strides": (2, 1),
            "padding": padding_of(((0, 1), (0, 0))),
        },
        (selector(SI64, "GE"), body("add")),
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.op for example in EXAMPLES])
def test_example(example: Example) -> None:
    program = example.program
    assert check(program) == []
    (result,) = evaluate(program, example.operands)
    np.testing.assert_array_equal(result, example.result)
    assert result.dtype == example.result.dtype

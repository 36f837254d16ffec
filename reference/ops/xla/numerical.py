"""XlaBuilder's linear algebra, transforms and random numbers.

Source: XLA operation semantics, each op by its name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.op import FIRST_RESULT, Op
from reference.ir.program import Dense, TensorType, Value
from reference.ir.types import FLOATS, element_type
from reference.ops.xla.building import Building, built, renamed
from reference.ops.xla.shapes import Shape, type_of

_SI64 = element_type("si64")


def _rng(
    distribution: str, building: Building, first: Value, second: Value, *, shape: Shape
) -> Value:
    sizes = np.array(shape.dimensions, np.int64)
    of = TensorType(sizes.shape, _SI64)
    size = building.op("constant", value=Dense.of(sizes, of))
    return building.op(
        "rng", first, second, size, result=type_of(shape), rng_distribution=distribution
    )


def _rng_conditions(first: TensorType, second: TensorType, *, shape: Shape, **_: Any) -> None:
    """P1: parameters are scalars. P2: they have the element type of the result."""
    require("P1", first.rank == second.rank == 0, f"{first}, {second}")
    names = {first.element.name, second.element.name, shape.element_type}
    require("P2", len(names) == 1, names)


def _rng_bit_generator(
    building: Building, initial_state: Value, *, algorithm: str, shape: Shape
) -> tuple[Value, ...]:
    results = (initial_state.type, type_of(shape))
    return building.ops(
        "rng_bit_generator", initial_state, results=results, rng_algorithm=algorithm
    )


_random = partial(
    built, attributes=("shape",), conditions=_rng_conditions, constraints=("P1", "P2"),
    needs_result=False, principal=FIRST_RESULT,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    renamed("Cholesky", "cholesky"),
    renamed("Fft", "fft"),
    built(
        "RngBitGenerator", "rng_bit_generator", _rng_bit_generator, operands=("initial_state",),
        attributes=("algorithm", "shape"), needs_result=False,
    ),
    _random(
        "RngNormal", "rng", partial(_rng, "NORMAL"), operands=("mu", "sigma"),
        element_types=FLOATS,
    ),
    _random("RngUniform", "rng", partial(_rng, "UNIFORM"), operands=("a", "b")),
    renamed("TriangularSolve", "triangular_solve"),
)  # fmt: skip

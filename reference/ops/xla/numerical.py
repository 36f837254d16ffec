"""XlaBuilder's linear algebra, transforms and random numbers.

Source: XLA operation semantics, each op by its name. Only an older version of the page has
`RngBernoulli`: it belonged to ComputationBuilder, the predecessor of XlaBuilder. Its semantics here
are XLA's at that time (tensorflow/compiler/xla/service/elemental_ir_emitter.cc of 2017 and 2018):
for each element a uniform number of [0, 1), and whether it is less than the mean, as an integer.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.op import (
    FIRST_RESULT,
    Composite,
    CompositeAttributes,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
)
from reference.ir.program import Dense, TensorType, Value
from reference.ir.types import FLOATS, Array, element_type
from reference.ops.random import rng
from reference.ops.xla.building import Building, lowered_op, renamed_op
from reference.ops.xla.shapes import Shape, shape_of, type_of

_SI64, _UI32, _F32 = (element_type(name) for name in ("si64", "ui32", "f32"))
_SCALAR = TensorType((), _F32)


def _rng(
    distribution: str, building: Building, first: Value, second: Value, *, shape: Shape
) -> Value:
    sizes = np.array(shape.dimensions, np.int64)
    size = _constant(building, sizes, TensorType(sizes.shape, _SI64))
    return building.op(
        "rng", first, second, size, result=type_of(shape), rng_distribution=distribution
    )


def _constant(building: Building, numbers: Array, of: TensorType) -> Value:
    return building.op("constant", value=Dense.of(numbers, of))


def _rng_conditions(first: TensorType, second: TensorType, *, shape: Shape, **_: Any) -> None:
    """Require P1 and P2 of the distributions.

    P1: parameters are scalars. P2: they have the element type of the result.
    """
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


# -- RngBernoulli -----------------------------------------------------------------------------


def bernoulli_type(
    mean: TensorType, *, shape: Shape, result: TensorType | None = None
) -> TensorType:
    """Return the result type of `RngBernoulli`: the requested shape.

    Raises:
        ConstraintViolation: P1 (the mean is a scalar of F32), P2 (the shape is of U32), "result".
    """
    sound = require("P1", mean == _SCALAR, mean)
    sound &= require("P2", shape.element_type == _UI32.name, shape)
    if not sound:
        return result or mean
    made = type_of(shape)
    require("result", result in (None, made), made)
    return made


def bernoulli(mean: Array, *, shape: Shape, **_: Any) -> Array:
    """Return 1 with probability `mean`, else 0; the same numbers for the same shape."""
    sizes = np.array(shape.dimensions, np.int64)
    of = TensorType(shape.dimensions, _F32)
    zero, one = (np.array(end, np.float32) for end in (0, 1))
    uniform = rng(zero, one, sizes, rng_distribution="UNIFORM", result=of)
    return np.asarray(uniform < mean).astype(np.uint32)


def _decompose_bernoulli(building: Building, mean: Value, *, shape: Shape) -> Value:
    """Lower to an ordered comparison: no number is less than a NaN mean."""
    of: Any = mean.type
    bernoulli_type(of, shape=shape)  # which the following operations do not check
    zero, one = (_constant(building, np.array(end, np.float32), _SCALAR) for end in (0, 1))
    uniform = _rng("UNIFORM", building, zero, one, shape=shape._replace(element_type=_F32.name))
    means = building.op(
        "broadcast_in_dim", mean, result=TensorType(shape.dimensions, _F32),
        broadcast_dimensions=(),
    )  # fmt: skip
    less = building.op("compare", uniform, means, comparison_direction="LT")
    return building.op("convert", less, result=type_of(shape))


def _states(result: TensorType, **given: Any) -> CompositeAttributes:
    """Return no attributes: the type of the result is the shape."""
    del result, given
    return ()


def _read_attributes(
    _: tuple[TensorType, ...], result: TensorType, __: dict[str, Any]
) -> dict[str, Any]:
    return {"shape": shape_of(result)}


_random = partial(
    lowered_op, attributes=("shape",), conditions=_rng_conditions, constraints=("P1", "P2"),
    needs_result=False, principal=FIRST_RESULT,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    renamed_op("Cholesky", "cholesky"),
    renamed_op("Fft", "fft"),
    lowered_op(
        "RngBitGenerator", "rng_bit_generator", _rng_bit_generator, operands=("initial_state",),
        attributes=("algorithm", "shape"), needs_result=False,
    ),
    Op(
        name="RngBernoulli", dialect=Dialect.XLA, specified=False, is_random=True,
        type_function=bernoulli_type, evaluate=bernoulli, operands=("mean",),
        attributes=("shape",), constraints=("P1", "P2"), element_types=(_UI32,),
        principal=FIRST_RESULT, quantized=QuantizedUse.REFUSES, rounding=Rounding.APPROXIMATES,
        structure=Structure.COMPUTES, lifts=False, needs_result=False,
        composite=Composite(
            name="xla.rng_bernoulli", order=(0,), decompose=_decompose_bernoulli, states=_states,
            reads=_read_attributes,
        ),
    ),
    _random(
        "RngNormal", "rng", partial(_rng, "NORMAL"), operands=("mu", "sigma"),
        element_types=FLOATS,
    ),
    _random("RngUniform", "rng", partial(_rng, "UNIFORM"), operands=("a", "b")),
    renamed_op("TriangularSolve", "triangular_solve"),
)  # fmt: skip

"""XlaBuilder's random numbers: parameters, shapes, and zeros and ones of a given mean."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import TensorType, Value
from reference.ir.types import element_type
from reference.ops.xla.building import Building
from reference.ops.xla.numerical import OPS, bernoulli, bernoulli_type
from reference.ops.xla.shapes import Shape
from suites.meta.support.ops.lowering import lower, records_of, violations
from suites.meta.support.ops.violations import violated_by

F32, UI32 = element_type("f32"), element_type("ui32")
SCALAR, SHAPE = TensorType((), F32), Shape("f32", (2, 3))
RECORDS = records_of(OPS)


@pytest.mark.parametrize(
    ("op", "distribution"), [("RngNormal", "NORMAL"), ("RngUniform", "UNIFORM")]
)
def test_a_distribution_takes_its_shape_as_a_constant(op: str, distribution: str) -> None:
    constant, made = lower(RECORDS[op], SCALAR, SCALAR, shape=SHAPE)
    value = constant.attribute("value")
    assert value.array.tolist() == [2, 3]  # type: ignore[union-attr]
    assert made.attribute("rng_distribution") == distribution
    assert made.results[0].type == TensorType((2, 3), F32)


@pytest.mark.parametrize(
    ("first", "second", "shape", "ids"),
    [
        (SCALAR, SCALAR, SHAPE, []),
        (TensorType((1,), F32), SCALAR, SHAPE, ["P1"]),
        (SCALAR, TensorType((), UI32), SHAPE, ["P2"]),
        (SCALAR, SCALAR, Shape("f64", (2, 3)), ["P2"]),
    ],
)
def test_conditions_of_a_distribution(
    first: TensorType, second: TensorType, shape: Shape, ids: list[str]
) -> None:
    result = {"result": SCALAR} if ids else {}
    assert violations(RECORDS["RngUniform"], first, second, shape=shape, **result) == ids


def test_a_generator_returns_its_state_and_the_bits() -> None:
    state = TensorType((2,), element_type("ui64"))
    (made,) = lower(
        RECORDS["RngBitGenerator"], state, algorithm="PHILOX", shape=Shape("ui32", (4,))
    )
    assert [value.type for value in made.results] == [state, TensorType((4,), UI32)]


@pytest.mark.parametrize(
    ("mean", "shape", "ids"),
    [
        (SCALAR, Shape("ui32", (2,)), []),
        (TensorType((1,), F32), Shape("ui32", (2,)), ["P1"]),
        (SCALAR, Shape("si32", (2,)), ["P2"]),
    ],
)
def test_conditions_of_zeros_and_ones(mean: TensorType, shape: Shape, ids: list[str]) -> None:
    assert violated_by(bernoulli_type, mean, shape=shape) == ids


def test_zeros_and_ones_have_the_mean() -> None:
    shape = Shape("ui32", (4000,))
    for mean in (0.0, 0.25, 1.0):
        found = bernoulli(np.array(mean, np.float32), shape=shape)
        assert found.dtype == np.uint32
        assert set(np.unique(found)) <= {0, 1}
        assert found.mean() == pytest.approx(mean, abs=0.04)
    assert not bernoulli(np.array(np.nan, np.float32), shape=shape).any()


def test_zeros_and_ones_are_decomposed_into_a_comparison() -> None:
    composite = RECORDS["RngBernoulli"].composite
    assert composite is not None
    building = Building("r")
    made = composite.decompose(building, Value("mean", SCALAR), shape=Shape("ui32", (2,)))
    assert made.type == TensorType((2,), UI32)
    compared = next(operation for operation in building.operations if operation.name == "compare")
    assert compared.attribute("comparison_direction") == "LT"
    assert building.operations[-1].name == "convert"

"""CHLO's constants: a value in the shape of an operand, whatever the operand's elements are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.ir.constraints import collect_violations
from reference.ir.program import Dense, Scalar, TensorType
from reference.ir.types import ALL, ELEMENT_TYPES
from reference.ops.chlo.constants import OPS

CONSTANT, LIKE = OPS
F32, F64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]
OPERAND = TensorType((2, 3), ELEMENT_TYPES["i1"])


@pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)
def test_a_number_of_any_type_is_repeated_in_the_shape_of_the_operand(of: Any) -> None:
    value = Scalar.of(np.ones((), of.storage), TensorType((), of))
    assert LIKE.infer(OPERAND, value=value) == TensorType((2, 3), of)
    made = LIKE.evaluate(np.zeros((2, 3), np.float32), value=value)
    assert made.dtype == of.storage
    np.testing.assert_array_equal(made, np.ones((2, 3), of.storage))


@pytest.mark.parametrize(
    ("kind", "result", "ids"),
    [
        (Scalar, TensorType((2, 3), F32), ()),
        (Scalar, TensorType((2, 3), F64), ("P1",)),
        (Dense, TensorType((2, 3), F32), ("P1",)),
        (Scalar, TensorType((3, 2), F32), ("P2",)),
    ],
)
def test_constraints_of_constant_like(kind: Any, result: TensorType, ids: tuple[str, ...]) -> None:
    value = kind.of(np.float32(1), TensorType((), F32))
    with collect_violations() as found:
        LIKE.infer(OPERAND, value=value, result=result)
    assert tuple(found.ids) == ids


def test_a_constant_has_the_type_of_its_value() -> None:
    value = Dense.of(np.arange(3, dtype=np.float32), TensorType((3,), F32))
    assert CONSTANT.infer(value=value) == value.type
    assert CONSTANT.evaluate(value=value).tolist() == [0, 1, 2]
    with collect_violations() as found:
        CONSTANT.infer(value=value, result=TensorType((2,), F32))
    assert tuple(found.ids) == ("P1",)

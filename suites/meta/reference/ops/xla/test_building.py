"""Operations under construction, and records that take their facts from a twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.ir.constraints import ConstraintViolation, collect_violations, require
from reference.ir.errors import EvaluationError
from reference.ir.op import Dialect
from reference.ir.program import TensorType, Value
from reference.ir.types import element_type
from reference.ops.xla.building import LOWER, Building, lower_operands, lowered_op, renamed_op
from suites.meta.support.ops.lowering import lower, violations

F32, SI32 = element_type("f32"), element_type("si32")
A, B = TensorType((2, 3), F32), TensorType((3, 2), F32)
X, Y = Value("x", A), Value("y", B)


def test_operations_get_names_and_types() -> None:
    building = Building("r")
    negated = building.op("negate", X)
    negate_and_transpose = building.op("transpose", negated, permutation=(1, 0))
    assert (negated, negate_and_transpose) == (Value("r.0.0", A), Value("r.1.0", B))
    assert [operation.name for operation in building.operations] == ["negate", "transpose"]
    assert building.operations[1].operands == (negated,)


def test_a_stated_type_is_written_unchanged_unless_it_is_checked() -> None:
    assert Building("r").op("negate", X, result=B).type == B
    with pytest.raises(ConstraintViolation):
        Building("r", checks=True).op("negate", X, result=B)


def test_a_near_miss_is_written_without_a_check() -> None:
    assert Building("r").op("transpose", X, permutation=(0, 0)).type is not None
    with pytest.raises(ConstraintViolation, match="transpose breaks C2"):
        Building("r", checks=True).op("transpose", X, permutation=(0, 0))


def test_constraints_of_the_twin_are_reported_under_ids_of_the_op() -> None:
    building = Building("r", checks=True, twin="transpose", restated={"C2": "P1"})
    with pytest.raises(ConstraintViolation, match="breaks P1"):
        building.op("transpose", X, permutation=(0, 0))
    other = Building("r", checks=True, twin="reverse", restated={"C2": "P1"})
    with pytest.raises(ConstraintViolation, match="breaks C2"):
        other.op("transpose", X, permutation=(0, 0))


@pytest.mark.parametrize("error", [IndexError(), KeyError("k"), ValueError(), ZeroDivisionError()])
def test_numbers_that_cannot_be_lowered_break_the_lowering(error: Exception) -> None:
    def fail(*_: Any) -> None:
        raise error

    with pytest.raises(ConstraintViolation, match="lowering"):
        lower_operands(fail, Building("r"))
    with pytest.raises(ConstraintViolation, match="lowering"), collect_violations() as found:
        lower_operands(fail, Building("r"))
    assert found.ids == ["lowering"]


def test_a_renamed_op_is_its_twin_under_other_names() -> None:
    record = renamed_op("Turn", "transpose", renames={"order": "permutation"})
    assert (record.attributes, record.operands) == (("order",), ("operand",))
    assert (record.dialect, record.twin) == (Dialect.XLA, "transpose")
    assert record.rounding is LOWER["transpose"].rounding
    assert not record.specified
    assert record.infer(A, order=(1, 0)) == B
    (operation,) = lower(record, A, order=(1, 0))
    assert operation.name == "transpose"
    assert operation.attribute("permutation") == (1, 0)


def is_square(of: TensorType, **_: Any) -> None:
    require("P1", of.shape[0] == of.shape[1], of)


def negate_and_transpose(building: Building, operand: Value) -> Value:
    return building.op("transpose", building.op("negate", operand), permutation=(1, 0))


def test_conditions_are_checked_before_the_lowering() -> None:
    record = lowered_op(
        "Adjoint", "transpose", negate_and_transpose, operands=("operand",), conditions=is_square,
        constraints=("P1",),
    )  # fmt: skip
    square = TensorType((2, 2), F32)
    assert record.infer(square) == square
    assert violations(record, square, result=A) == ["result"]
    with pytest.raises(ConstraintViolation, match="Adjoint breaks P1"):
        record.infer(A)
    assert violations(record, A, result=B) == ["P1"]


def test_a_waived_constraint_of_the_twin_is_not_reported() -> None:
    given: dict[str, Any] = {"operands": ("operand",), "attributes": ("order",)}

    def permute(building: Building, operand: Value, *, order: tuple[int, ...]) -> Value:
        return building.op("transpose", operand, result=A, permutation=order)

    strict = lowered_op("Strict", "transpose", permute, **given)
    lenient = lowered_op("Lenient", "transpose", permute, waives=("C2",), **given)
    assert violations(strict, A, order=(0, 0)) == ["C2"]
    assert violations(lenient, A, order=(0, 0)) == []
    assert lenient.waives == ("C2",)


def test_a_lowered_op_has_no_evaluation_of_its_own() -> None:
    with pytest.raises(EvaluationError, match="lower the program first"):
        renamed_op("Turn", "transpose").evaluate(np.zeros((2, 2)))

"""Conditions of TopK and Scan, and a scan's carries and outputs."""

from __future__ import annotations

from typing import Any

import pytest

from generators.regions.bodies import fold_of
from reference.ir.program import TensorType
from reference.ir.types import element_type
from reference.ops.xla.extended import OPS
from suites.meta.support.ops.lowering import lower, records_of, violations

F32 = element_type("f32")
RECORDS = records_of(OPS)
ADD = fold_of("add", F32).region
ROW, SCALAR = TensorType((5,), F32), TensorType((), F32)


@pytest.mark.parametrize(
    ("operand", "k", "ids"),
    [(ROW, 5, []), (ROW, 0, []), (ROW, 6, ["P2"]), (ROW, -1, ["P2"]), (SCALAR, 0, ["P1"])],
)
def test_conditions_of_top_k(operand: TensorType, k: int, ids: list[str]) -> None:
    results = {"results": (operand, operand)} if ids else {}
    assert violations(RECORDS["TopK"], operand, k=k, **results) == ids


SCAN: dict[str, Any] = {"scan_dimension": 0, "num_carries": 1}


def test_a_scan_says_how_many_operands_and_results_are_carries() -> None:
    (made,) = lower(RECORDS["Scan"], ROW, SCALAR, regions=(ADD,), is_reverse=True, **SCAN)
    assert (made.name, made.attribute("dimension"), made.attribute("is_reverse")) == (
        "mhlo.scan", 0, True
    )  # fmt: skip
    assert made.attribute("operandSegmentSizes") == (1, 1)
    assert made.attribute("resultSegmentSizes") == (0, 1)
    assert made.attribute("is_associative") is None


def test_a_scan_may_say_that_it_is_associative() -> None:
    (made,) = lower(RECORDS["Scan"], ROW, SCALAR, regions=(ADD,), is_associative=False, **SCAN)
    assert made.attribute("is_associative") is False


@pytest.mark.parametrize(
    ("operands", "dimension", "ids"),
    [
        ((ROW, SCALAR), 0, []),
        ((ROW, SCALAR), 1, ["P1"]),
        ((TensorType((2, 5), F32), SCALAR), 0, ["P2"]),
        ((ROW, ROW), 0, ["P2", "P3"]),
    ],
)
def test_conditions_of_a_scan(
    operands: tuple[TensorType, ...], dimension: int, ids: list[str]
) -> None:
    given = SCAN | {"scan_dimension": dimension}
    found = violations(RECORDS["Scan"], *operands, regions=(ADD,), results=operands[1:], **given)
    assert found == ids

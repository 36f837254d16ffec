"""TopK and Scan, and their conditions."""

from __future__ import annotations

import numpy as np
import pytest

from reference.interpreter.evaluate import body_of
from reference.ir.constraints import ConstraintViolation, collect_violations
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import Array, element_type
from reference.ops.mhlo import check_scan, scan, scan_type, take_smallest, top_k, top_k_type

F32, SI32 = element_type("f32"), element_type("si32")
NAN = np.nan


def tensor(*shape: int) -> TensorType:
    return TensorType(shape, F32)


def test_largest_or_smallest_elements_with_their_places() -> None:
    operand = np.array([[3, 1, 3], [0.0, -0.0, NAN]], np.float32)
    values, places = top_k(operand, k=2)
    np.testing.assert_array_equal(values, [[3, 3], [NAN, 0]])
    assert places.tolist() == [[0, 2], [2, 0]]
    assert places.dtype == np.int32
    assert top_k(operand, k=2, largest=False)[1].tolist() == [[1, 0], [0, 1]]


def test_equal_keys_keep_their_order() -> None:
    values, places = take_smallest(np.array([1, 0, 1, 0]), np.array([5, 6, 7, 8]), 3)
    assert values.tolist() == [6, 8, 5]
    assert places.tolist() == [1, 3, 0]


def test_at_most_all_elements() -> None:
    values, places = top_k_type(tensor(2, 3), k=3)
    assert (values, places) == (tensor(2, 3), TensorType((2, 3), SI32))
    for operand, k in ((tensor(2, 3), 4), (tensor(2, 3), -1), (tensor(), 0)):
        with pytest.raises(ConstraintViolation):
            top_k_type(operand, k=k)


CARRY, SLICE, SUM = (Value(name, tensor()) for name in ("carry", "slice", "sum"))
RUNNING = Region(
    (SLICE, CARRY),
    (Operation("add", (SLICE, CARRY), (SUM,)), Operation("return", (SLICE, SUM))),
)
"""A body that outputs the slice and carries the sum."""


def running_scan(numbers: list[float], *, reverse: bool = False) -> list[Array]:
    operands = np.array(numbers, np.float32), np.float32(0)
    return list(
        scan(
            operands, body=body_of(RUNNING), dimension=0, operandSegmentSizes=(1, 1),
            resultSegmentSizes=(1, 1), is_reverse=reverse,
        )
    )  # fmt: skip


def test_a_scan_carries_a_value_from_slice_to_slice() -> None:
    outputs, total = running_scan([1, 2, 4])
    assert outputs.tolist() == [1, 2, 4]
    assert total == 7


def test_outputs_stay_at_the_places_of_their_slices() -> None:
    """In f32, 2^24 + 1 is 2^24: the order of additions shows in the sum."""
    large = 2.0**24
    assert running_scan([1, 1, large])[1] == large + 2
    outputs, total = running_scan([1, 1, large], reverse=True)
    assert total == large
    assert outputs.tolist() == [1, 1, large]


def test_a_scan_of_nothing_returns_the_carries() -> None:
    outputs, total = running_scan([])
    assert outputs.shape == (0,)
    assert total == 0


def test_types_of_a_scan() -> None:
    sizes = {"operandSegmentSizes": (1, 1), "resultSegmentSizes": (1, 1)}
    types = scan_type((tensor(5), tensor()), body=RUNNING, dimension=0, **sizes)
    assert types == (tensor(5), tensor())
    for operands, dimension in (((tensor(5), tensor(1)), 0), ((tensor(5), tensor()), 1)):
        with pytest.raises(ConstraintViolation):
            scan_type(operands, body=RUNNING, dimension=dimension, **sizes)


@pytest.mark.parametrize(
    ("inputs", "carries", "dimension", "ids"),
    [
        ((tensor(5),), (tensor(),), 0, []),
        ((tensor(5),), (tensor(),), 1, ["P1"]),
        ((), (tensor(),), 0, ["P1"]),
        ((tensor(5, 2),), (tensor(),), 0, ["P2"]),
        ((tensor(5),), (tensor(1),), 0, ["P2", "P3"]),
    ],
)
def test_conditions_of_a_scan(
    inputs: tuple[TensorType, ...], carries: tuple[TensorType, ...], dimension: int, ids: list[str]
) -> None:
    with collect_violations() as found:
        check_scan(inputs, carries, RUNNING, dimension, 1)
    assert found.ids == ids

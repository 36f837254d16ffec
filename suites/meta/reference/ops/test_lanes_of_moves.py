"""Data movement in many lanes: in each lane as the op without lanes."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import TensorType
from reference.ir.types import Array, element_type
from reference.ops import data_movement
from reference.ops import lanes_of_moves as lanes

NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
"""Two lanes of a 3 x 4 matrix."""

F32 = element_type("f32")


def scalars(*numbers: int, of: str = "int64") -> Array:
    return np.array(numbers, of)


def test_each_lane_is_moved_as_a_whole_array() -> None:
    to = TensorType((4, 2, 3), F32)
    found = lanes.broadcast_in_dim(NUMBERS, broadcast_dimensions=(2, 0), result=to)
    wanted = [data_movement.broadcast_to(lane, (4, 2, 3), (2, 0)) for lane in NUMBERS]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        lanes.transpose(NUMBERS, permutation=(1, 0)), [lane.T for lane in NUMBERS]
    )
    assert lanes.reshape(NUMBERS, result=TensorType((2, 6), F32)).shape == (2, 2, 6)
    found = lanes.slice_(NUMBERS, start_indices=(1, 0), limit_indices=(3, 4), strides=(1, 3))
    np.testing.assert_array_equal(found, NUMBERS[:, 1:3, 0:4:3])


def test_a_shared_array_is_repeated_in_a_concatenation() -> None:
    found = lanes.concatenate((NUMBERS, NUMBERS[:1]), dimension=1)
    assert found.shape == (2, 3, 8)
    np.testing.assert_array_equal(found[1, :, 4:], NUMBERS[0])


@pytest.mark.parametrize("shared", [False, True])
def test_each_lane_slices_at_its_own_indices(shared: bool) -> None:
    starts = scalars(0, 1), scalars(2)
    operand = NUMBERS[:1] if shared else NUMBERS
    found = lanes.dynamic_slice(operand, starts, slice_sizes=(2, 2))
    own = NUMBERS[0] if shared else NUMBERS[1]
    np.testing.assert_array_equal(found, [NUMBERS[0, 0:2, 2:4], own[1:3, 2:4]])


@pytest.mark.parametrize(
    ("start", "first"), [(scalars(-5), 0), (scalars(9), 2), (scalars(2**64 - 1, of="uint64"), 2)]
)
def test_windows_are_clamped_to_the_operand(start: Array, first: int) -> None:
    operand = np.arange(4)[np.newaxis]
    found = lanes.dynamic_slice(operand, (start,), slice_sizes=(2,))
    assert found.tolist() == [[first, first + 1]]


def test_the_last_lane_counts_where_lanes_write_the_same_element() -> None:
    operand = np.zeros(5, np.int32)
    lanes.write_slices(operand, np.array([[1, 1], [2, 2]], np.int32), (scalars(0, 1),))
    assert operand.tolist() == [1, 2, 2, 0, 0]
    lanes.write_slices(operand, np.array([[7]], np.int32), (scalars(3, 9),))
    assert operand.tolist() == [1, 2, 2, 7, 7]

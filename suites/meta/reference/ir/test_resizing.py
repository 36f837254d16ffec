"""Sizes of a program, and the same program with other sizes."""

from __future__ import annotations

import numpy as np

from reference.ir.program import Dense, Scalar, TensorType, Value, single_op
from reference.ir.resizing import resize_dimensions, sizes_of
from reference.ir.types import element_type

F32 = element_type("f32")


def tensor(*shape: int | None) -> TensorType:
    return TensorType(shape, F32)


def test_sizes_over_1_that_are_known() -> None:
    program = single_op("abs", (Value("operand", tensor(1, 0, None, 4)),), (tensor(1, 0, 3, 4),))
    assert sizes_of(program) == {3, 4}


def test_every_dimension_of_that_size_changes() -> None:
    program = single_op("abs", (Value("operand", tensor(3, 4, None)),), (tensor(3, 4, 4),))
    main = resize_dimensions(program, {4: 6}).main
    assert [value.type for value in main.arguments] == [tensor(3, 6, None)]
    assert main.body.operations[0].results[0].type == tensor(3, 6, 6)
    assert main.result_types == (tensor(3, 6, 6),)


def test_attributes_that_count_elements_change_and_others_stay() -> None:
    given = {"limit_indices": (3,), "start_indices": (3,), "strides": (3,)}
    program = single_op("slice", (Value("operand", tensor(3)),), (tensor(0),), given)
    changed = resize_dimensions(program, {3: 5}).main.body.operations[0]
    assert changed.attribute("limit_indices") == (5,)
    assert changed.attribute("start_indices") == changed.attribute("strides") == (3,)


def test_constants_repeat_or_drop_elements() -> None:
    def resize_constant(size: int) -> list[float]:
        value = Dense.of(np.array([1, 2, 3], np.float32), tensor(3))
        program = single_op("constant", (), (tensor(3),), {"value": value})
        found = resize_dimensions(program, {3: size}).main.body.operations[0].attribute("value")
        assert isinstance(found, Dense)
        assert found.type == tensor(size)
        return found.array.tolist()

    assert resize_constant(5) == [1, 2, 3, 1, 2]
    assert resize_constant(2) == [1, 2]


def test_a_number_stays_as_it_is() -> None:
    value = Scalar.of(np.float32(3), tensor())
    operand = Value("operand", tensor(3))
    program = single_op("chlo.constant_like", (operand,), (tensor(3),), {"value": value})
    changed = resize_dimensions(program, {3: 5}).main.body.operations[0]
    assert changed.attribute("value") == value
    assert changed.results[0].type == tensor(5)

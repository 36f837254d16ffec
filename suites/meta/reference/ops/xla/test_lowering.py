"""Programs of XlaBuilder's ops as programs of StableHLO's."""

from __future__ import annotations

import pytest

from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Operation, Program, Region, TensorType, Value, single_op
from reference.ir.types import element_type
from reference.ops.xla.lowering import lower_program, steps_of

F32 = element_type("f32")
VECTOR = TensorType((2,), F32)
X = Value("x", VECTOR)


def test_a_program_without_such_ops_is_returned_itself() -> None:
    program = single_op("abs", (X,), (VECTOR,))
    assert lower_program(program) is program
    assert steps_of(program.subject, program) == (program.subject,)


def test_the_result_keeps_its_name() -> None:
    program = single_op("Abs", (X,), (VECTOR,))
    assert lower_program(program) == single_op("abs", (X,), (VECTOR,))


def test_ops_within_regions_are_lowered_too() -> None:
    inner = single_op("Abs", (X,), (VECTOR,)).main.body
    loop = Operation("while", (X,), (X,), (), (inner, Region((), ())))
    main = single_op("abs", (X,), (VECTOR,)).main
    body = Region(main.body.arguments, (loop, *main.body.operations))
    lowered = lower_program(Program((type(main)(main.name, body, main.result_types),)))
    assert [operation.name for operation in lowered.walk()] == [
        "while",
        "abs",
        "return",
        "abs",
        "return",
    ]


def test_operands_that_cannot_be_lowered() -> None:
    program = single_op("Abs", (X, Value("y", VECTOR)), (VECTOR,))
    with pytest.raises(ConstraintViolation):
        lower_program(program)

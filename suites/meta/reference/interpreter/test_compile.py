"""Functions are compiled on first use; errors of programs are the errors of the function in use."""

from __future__ import annotations

import numpy as np
import pytest

from reference.interpreter.compile import BlockCompiler, CompiledProgram
from reference.interpreter.frames import Run
from reference.ir.errors import EvaluationError
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value, attributes
from reference.ir.types import element_type
from reference.ops.host import Queues
from reference.ops.table import OPS

VECTOR = TensorType((2,), element_type("f32"))
A, B, C = (Value(name, VECTOR) for name in "abc")
PLAIN = Run({}, None, Queues())


def function(name: str, *operations: Operation, result: Value = B) -> Function:
    body = (*operations, Operation("return", (result,)))
    return Function(name, Region((A,), body), (VECTOR,))


def call(callee: str) -> Operation:
    return Operation("func.call", (A,), (B,), attributes(callee=callee))


NEGATE = Operation("negate", (A,), (B,))


def test_a_function_is_compiled_once() -> None:
    program = CompiledProgram(Program((function("main", NEGATE),)))
    assert program.entry("main") is program.entry("main")
    (found,) = program.entry("main").call(PLAIN, [np.array([1, -2], np.float32)])
    assert found.tolist() == [-1, 2]


def test_values_are_freed_after_their_last_use() -> None:
    """Slots: a, b, c. The first operation is the last to need a, the second to need b."""
    twice = Operation("add", (B, B), (C,))
    entry = CompiledProgram(Program((function("main", NEGATE, twice, result=C),))).entry("main")
    assert entry.slots == 3
    assert entry.block.last == ((0,), (1,))


def test_an_argument_that_nothing_needs_is_freed_first() -> None:
    constant = Operation("after_all", (), (B,))
    entry = CompiledProgram(Program((function("main", constant),))).entry("main")
    assert entry.block.last == ((0,),)


def test_a_value_that_a_region_uses_lives_until_the_operation_ends() -> None:
    inner = Region((), (Operation("negate", (A,), (C,)), Operation("return", (C,))))
    branch = Operation("case", (A,), (B,), (), (inner,))
    block = BlockCompiler(CompiledProgram(Program(()))).block(
        Region((A,), (NEGATE, branch, Operation("return", (B,)))), {}
    )
    assert 0 not in block.last[0]
    assert 0 in block.last[1]


def test_nested_blocks_keep_their_values() -> None:
    block = BlockCompiler(CompiledProgram(Program(())), 1).block(
        Region((), (NEGATE, Operation("return", (B,)))), {"a": 0}
    )
    assert block.last == ()
    assert block.returned == (1,)


def test_a_function_that_is_missing_or_recursive_is_an_error() -> None:
    program = CompiledProgram(Program((function("main", call("main")),)))
    with pytest.raises(EvaluationError, match="no function is called f"):
        program.entry("f")
    entry = program.entry("main")
    with pytest.raises(EvaluationError, match="main calls itself"):
        entry.call(PLAIN, [np.zeros(2, np.float32)])


def test_an_undefined_value_is_an_error_of_its_operation() -> None:
    program = CompiledProgram(Program((function("main", Operation("negate", (C,), (B,))),)))
    with pytest.raises(EvaluationError, match="no value %c"):
        program.entry("main")


def test_a_block_must_return() -> None:
    program = Program((Function("main", Region((A,), (NEGATE,)), (VECTOR,)),))
    with pytest.raises(EvaluationError, match="does not end with return"):
        CompiledProgram(program).entry("main")


def test_a_compiled_program_is_current_until_a_record_that_it_uses_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = CompiledProgram(Program((function("main", NEGATE),)))
    program.entry("main")
    monkeypatch.setitem(OPS, "abs", OPS["sign"])
    assert program.is_current
    monkeypatch.setitem(OPS, "negate", OPS["abs"])
    assert not program.is_current

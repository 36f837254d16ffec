"""Calls of functions, of custom targets, and of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference.interpreter.calls import RUN_PARALLEL, call_step, runs_processes
from reference.interpreter.compile import CompiledProgram
from reference.interpreter.evaluate import evaluate
from reference.interpreter.frames import Run, SlottedOperation
from reference.ir.errors import EvaluationError
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value, attributes
from reference.ir.types import Array, element_type
from reference.ops.host import Queues

PAIR = TensorType((2,), element_type("f32"))
A, B, C, D = (Value(name, PAIR) for name in "abcd")
X, Y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)


def function(name: str, arguments: tuple[Value, ...], *operations: Operation) -> Function:
    results = operations[-1].results
    body = Region(arguments, (*operations, Operation("return", results)))
    return Function(name, body, (PAIR,) * len(results))


NEGATED = function("negated", (A,), Operation("negate", (A,), (B,)))


def custom_call(target: str, *called: str, results: tuple[Value, ...] = (C,)) -> Program:
    given = attributes(call_target_name=target, called_computations=called)
    call = Operation("custom_call", (A, B), results, given)
    return Program((NEGATED, function("main", (A, B), call)))


def test_a_call_checks_its_operands() -> None:
    entry = CompiledProgram(Program((NEGATED,))).entry("negated")
    call = Operation("func.call", (A,), (B,), attributes(callee="negated"))
    step = call_step(SlottedOperation(call, (0,), (1,)), entry)
    frame: list[Any] = [X, None]
    step(Run({}, None, Queues()), frame)
    assert frame[1].tolist() == [-1, -2]
    with pytest.raises(EvaluationError, match="3"):
        step(Run({}, None, Queues()), [np.zeros(3, np.float32), None])
    many = call_step(SlottedOperation(call, (0, 0), (1,)), entry)
    with pytest.raises(EvaluationError, match="negated takes 1 inputs, not 2"):
        many(Run({}, None, Queues()), [X, None])


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda a, _: a[:1], "handler of 'own'"),
        (lambda a, _: a.astype(np.float64), "handler of 'own'"),
        (lambda a, b: (a, b), "gives 2 results"),
        (lambda *_: None, "gives 0 results"),
    ],
)
def test_results_of_a_handler_are_checked(handler: Callable[..., Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(custom_call("own"), [X, Y], custom_calls={"own": handler})


def test_a_handler_precedes_the_built_in_target() -> None:
    found = evaluate(custom_call("Qr"), [X, Y], custom_calls={"Qr": lambda a, b: a + b})
    assert found[0].tolist() == [4, 6]


def test_a_missing_function_fails_only_a_target_that_uses_it() -> None:
    program = custom_call("own", "missing")
    (found,) = evaluate(program, [X, Y], custom_calls={"own": lambda a, _: a})
    assert found.tolist() == [1, 2]
    with pytest.raises(EvaluationError, match="missing"):
        evaluate(program, [X, Y])


def test_functions_run_as_processes_in_order() -> None:
    """Each takes its share of the inputs; results are in the order of processes."""
    program = custom_call(f"{RUN_PARALLEL}2 x 1", "negated", "negated", results=(C, D))
    assert runs_processes(program.subject)
    assert not runs_processes(custom_call("own").subject)
    found = evaluate(program, [X, Y])
    assert [one.tolist() for one in found] == [[-1, -2], [-3, -4]]


@pytest.mark.parametrize(
    ("grid", "called"),
    [("1 x 1", ("negated", "negated")), ("2 x 1", ("negated",)), ("2 x 1", ("negated", "missing"))],
)
def test_processes_must_be_as_many_as_functions(grid: str, called: tuple[str, ...]) -> None:
    program = custom_call(f"{RUN_PARALLEL}{grid}", *called, results=(C, D))
    with pytest.raises(EvaluationError, match=r"functions of|missing"):
        evaluate(program, [X, Y])


def manual(mesh: tuple[tuple[str, int], ...]) -> Program:
    """Return a program that negates the shards of a vector, one on each device."""
    shard = TensorType((2 // mesh[0][1],), element_type("f32"))
    inner = Value("i", shard), Value("o", shard)
    region = Region(
        inner[:1], (Operation("negate", inner[:1], inner[1:]), Operation("sdy.return", inner[1:]))
    )
    given = attributes(
        mesh=mesh, in_shardings=((("x",),),), out_shardings=((("x",),),), manual_axes=("x",)
    )
    call = Operation("sdy.manual_computation", (A,), (B,), given, (region,))
    return Program((function("main", (A,), call),))


@pytest.mark.parametrize("count", [1, 2])
def test_a_manual_computation_runs_on_the_shards_of_each_device(count: int) -> None:
    seen: list[tuple[int, ...]] = []

    def keep(operation: Operation, results: tuple[Array, ...]) -> tuple[Array, ...]:
        if operation.name == "negate":
            seen.append(results[0].shape)
        return results

    (found,) = evaluate(manual((("x", count),)), [X], on_result=keep)
    assert found.tolist() == [-1, -2]
    assert seen == [(2 // count,)] * count


def test_devices_along_other_axes_compute_the_same() -> None:
    (found,) = evaluate(manual((("x", 2), ("y", 3))), [X])
    assert found.tolist() == [-1, -2]


def test_other_operations_of_shardy_are_the_identity() -> None:
    program = Program((function("main", (A,), Operation("sdy.sharding_constraint", (A,), (B,))),))
    assert evaluate(program, [X])[0].tolist() == [1, 2]

"""mhlo.ragged_all_to_all: invalid offsets are errors; text and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.cells import plan
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate, split_by_process
from reference.ir.constants import matrix
from reference.ir.errors import EvaluationError
from reference.ir.program import Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.ops.distribution.ragged import RaggedOperands, ragged_all_to_all_type
from reference.ops.xla.lowering import lower_program
from suites.meta.support.ops.violations import violated_by

F32 = element_type("f32")


def program_of(operands: tuple[Array, ...], groups: list[list[int]], **given: Any) -> Program:
    types = [TensorType(a.shape, element_type_of(a)) for a in operands]
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(types))
    given = {"replica_groups": matrix(groups)} | given
    program = single_op("mhlo.ragged_all_to_all", values, (types[1],), given)
    return replace(program, process_grid=(2, 1))


def share(*places: list[int], data: list[float] | None = None) -> tuple[Array, ...]:
    """Return operands of a process: input, an output of four zeros, offsets and sizes."""
    given = np.array([1, 2, 3] if data is None else data, np.float32)
    return (given, np.zeros(4, np.float32), *(np.array(place, np.int32) for place in places))


GOOD = share([0, 1], [1, 2], [0, 0], [1, 1])
OTHER = share([0, 1], [1, 1], [1, 2], [2, 1], data=[4, 5, 6])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (share([0, 2], [1, 2], [0, 0], [1, 1]), r"rows 2 to 4 of input, which has 3"),
        (share([0, -1], [1, 2], [0, 0], [1, 1]), r"rows -1 to 1 of input"),
        (share([0, 1], [1, 2], [0, 3], [1, 1]), r"rows 3 to 5 of output, which has 4"),
        (share([0, 1], [1, 2], [1, 0], [1, 1]), r"row 1 of output is updated several times"),
        (share([0, 1], [1, 2], [0, 0], [1, 0]), r"recv_sizes are \[0\], but \[1\] rows are sent"),
        (share([0, 1], [1, -1], [0, 0], [1, 1]), r"recv_sizes are \[2\], but \[-1\] rows are sent"),
    ],
)
def test_invalid_offsets_are_an_error(wrong: tuple[Array, ...], message: str) -> None:
    program = program_of(GOOD, [[0, 1]])
    assert split_by_process(program, evaluate(program, (*GOOD, *OTHER)))[0][0].tolist() == [
        1,
        4,
        0,
        0,
    ]
    with pytest.raises(EvaluationError, match=message):
        evaluate(program, (*wrong, *OTHER))


def test_each_group_is_for_itself() -> None:
    """Two replicas in separate groups keep their own elements."""
    own = share([1], [2], [0], [2])
    program = program_of(own, [[0], [1]])
    for (result,) in split_by_process(program, evaluate(program, (*own, *own))):
        assert result.tolist() == [2, 3, 0, 0]


@pytest.mark.parametrize("groups", [[[0]], [[0, 0]], [[0, 2]], [[0, 1], [2, 3]]])
def test_groups_are_of_all_replicas(groups: list[list[int]]) -> None:
    assert check(program_of(GOOD, groups))


def test_cases_are_written_and_read_as_custom_calls() -> None:
    """The parsed program evaluates to the same results."""
    for case in plan.cases("RaggedAllToAll", F32, 5, 12):
        program = lower_program(case.program)
        text = emit(program)
        assert "custom_call" in text
        read = parse_module(text)
        assert read.subject.name == "mhlo.ragged_all_to_all"
        assert emit(read).count("ragged_all_to_all") == 1
        inputs = materialise(program, case.inputs[0])
        pairs = zip(evaluate(read, inputs), evaluate(program, inputs), strict=True)
        for theirs, ours in pairs:
            np.testing.assert_array_equal(theirs, ours)


def test_other_custom_calls_stay_custom_calls() -> None:
    """Without groups the participants are unknown."""
    text = """func.func @main(%x: tensor<4xf32>, %i: tensor<1xi32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @ragged_all_to_all(%x, %x, %i, %i, %i, %i) {backend_config = ""}
    : (tensor<4xf32>, tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    assert parse_module(text).subject.name == "custom_call"


# --- The type function ---------------------------------------------------------------------------

PLACES = TensorType((2,), element_type("si32"))
WHOLE, OUTPUT = TensorType((3, 5), F32), TensorType((4, 5), F32)


@pytest.mark.parametrize(
    ("operands", "ids"),
    [
        ((WHOLE, OUTPUT, *[PLACES] * 4), []),
        ((WHOLE, OUTPUT, *[PLACES] * 3), ["operands"]),
        ((WHOLE, OUTPUT, *[PLACES] * 3, TensorType((2,), F32)), ["operands"]),
        ((WHOLE, OUTPUT, *[PLACES] * 3, TensorType((4,), PLACES.element_type)), ["operands"]),
        ((WHOLE, TensorType((4, 6), F32), *[PLACES] * 4), ["operands"]),
        ((WHOLE, OUTPUT, *[TensorType((3,), PLACES.element_type)] * 4), ["operands"]),
    ],
)
def test_operands_of_ragged_all_to_all(operands: tuple[TensorType, ...], ids: list[str]) -> None:
    scope = Program((), process_grid=(2, 1))
    groups = matrix([[0, 1]])
    found = violated_by(ragged_all_to_all_type, operands, replica_groups=groups, scope=scope)
    assert found == ids


@pytest.mark.parametrize(
    ("groups", "grid", "ids"),
    [
        ([[0, 1]], (2, 1), []),
        ([[0], [1]], (2, 1), []),
        ([[0, 1]], None, []),
        ([[0, 0]], (2, 1), ["attributes"]),
        ([[0, 1]], (3, 1), ["attributes"]),
    ],
)
def test_groups_of_ragged_all_to_all(
    groups: list[list[int]], grid: tuple[int, int] | None, ids: list[str]
) -> None:
    scope, operands = Program((), process_grid=grid), (WHOLE, OUTPUT, *[PLACES] * 4)
    given = {"replica_groups": matrix(groups), "scope": scope}
    assert violated_by(ragged_all_to_all_type, operands, **given) == ids
    assert violated_by(ragged_all_to_all_type, operands, result=WHOLE, **given) == [*ids, "result"]


def test_updates_of_a_process_are_its_share_of_offsets_and_sizes() -> None:
    places = (np.array(numbers) for numbers in ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], []))
    operands = RaggedOperands(np.zeros(1), np.zeros(1), *places)
    assert [*operands.updates(1, 2)] == [(2, 6, 10), (3, 7, 11)]

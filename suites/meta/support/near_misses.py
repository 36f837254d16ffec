"""The near misses of one module, checked and sorted by the constraint that they name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from reference.interpreter.evaluate import check
from reference.ir.program import Dense, Operation, Program, TensorType
from reference.ops.table import OPS


def programs(module: ModuleType, op: str, id_: str) -> list[Program]:
    """Return the programs that are to break a constraint of an op."""
    return [program for own, program in module.NEAR_MISSES[op](op) if own == id_]


def subjects(module: ModuleType, op: str, id_: str) -> list[Operation]:
    """Return the operations of these programs."""
    return [
        next(one for one in program.walk() if one.name == op)
        for program in programs(module, op, id_)
    ]


def attributes(module: ModuleType, op: str, id_: str, name: str) -> list[Any]:
    """Return the values of an attribute in those programs; constants as lists."""
    found = [operation.attribute(name) for operation in subjects(module, op, id_)]
    return [one.array.tolist() if isinstance(one, Dense) else one for one in found]


def shapes(module: ModuleType, op: str, id_: str, operand: int = 0) -> list[Any]:
    """Return the shapes of an operand in those programs; of the result for operand -1."""
    found = subjects(module, op, id_)
    values = [one.results[0] if operand < 0 else one.operands[operand] for one in found]
    return [value.type.shape for value in values if isinstance(value.type, TensorType)]


def assert_separate(module: ModuleType, op: str) -> None:
    """Assert that each near miss breaks the constraint that it names, and no other, and that only
    constraints listed as inseparable have none.
    """
    misses = list(module.NEAR_MISSES[op](op))
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)], program
    listed = {*OPS[op].constraints, *OPS[op].inputs} - set(module.INSEPARABLE.get(op, ()))
    assert {id_ for id_, _ in misses} == listed
    assert len({program.digest for _, program in misses}) == len(misses)

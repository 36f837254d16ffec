"""Cases that a builder makes of random choices, or of planned ones."""

from __future__ import annotations

from random import Random

from generators.case.case import Case
from generators.case.choices import Pick
from generators.programs.building import Builder
from reference.interpreter.evaluate import check
from reference.ir.program import Operation, TensorType
from reference.ir.types import element_type


def pick_of(seed: int, planned: dict[str, str] | None = None, turn: int | None = None) -> Pick:
    """Return reproducible choices; `planned` are values of dimensions that are taken.

    In turn 0 a case takes the first of its profiles.
    """
    return Pick(Random(seed).randrange, planned, turn)


def built(
    build: Builder, of: str, count: int = 60, planned: dict[str, str] | None = None,
    turn: int | None = None,
) -> list[Case]:  # fmt: skip
    """Return cases of an element type; `planned` are values of dimensions that are taken."""
    return [build(element_type(of), pick_of(seed, planned, turn)) for seed in range(count)]


def operations(cases: list[Case], op: str) -> list[Operation]:
    """Return the operations of that name in cases."""
    return [one for case in cases for one in case.program.walk() if one.name == op]


def subjects(cases: list[Case]) -> list[Operation]:
    """Return the last operation of each case."""
    return [case.program.subject for case in cases]


def sizes(operation: Operation, number: int = 0) -> tuple[int, ...]:
    """Return the shape of an operand; of the first result for -1."""
    value = operation.results[0] if number < 0 else operation.operands[number]
    assert isinstance(value.type, TensorType)
    return value.type.static_shape


def assert_valid(cases: list[Case]) -> None:
    """Assert that no program breaks a constraint."""
    assert [ids for case in cases for _, ids in check(case.program) if ids] == []

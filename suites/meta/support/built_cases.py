"""Cases and chains that builders and patterns make of random choices, or of planned ones."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from generators.case.case import Case
from generators.case.choices import Pick
from generators.chains.chain import Chain
from generators.chains.patterns.pattern import Pattern
from generators.programs.building import Builder
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, element_type


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
    return [
        operation for case in cases for operation in case.program.walk() if operation.name == op
    ]


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


def write_chains(
    patterns: Sequence[Pattern], name: str, of: str, shape: tuple[int, ...], count: int = 20
) -> list[tuple[Chain, Value]]:
    """Return chains of one pattern on a parameter, and the result of each; all are valid."""
    (pattern, *_) = [one for one in patterns if one.name == name]
    found: list[tuple[Chain, Value]] = []
    for seed in range(count):
        chain = Chain(pick_of(seed), exact=True)
        kind = TensorType(shape, element_type(of))
        assert pattern.takes(kind)
        chain.data.append(chain.parameter(kind))
        found.append((chain, pattern.write(chain, chain.data[0])))
        assert_valid([chain.case([found[-1][1]])])
    return found


def evaluate_chain(chain: Chain, result: Value, first: Array) -> Array:
    """Return the result of a chain whose first parameter has these elements, others any."""
    case = chain.case([result])
    inputs = list(materialise(case.program, case.inputs[0]))
    names = [value.name for value in case.program.main.arguments]
    if chain.data[0].name in names:
        inputs[names.index(chain.data[0].name)] = first
    return evaluate(case.program, inputs)[0]


def steps_of(chain: Chain) -> list[str]:
    """Return the names of a chain's operations, without constants."""
    return [operation.name for operation in chain.operations if operation.name != "constant"]

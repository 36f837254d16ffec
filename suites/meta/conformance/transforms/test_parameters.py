"""Parameters have names that MLIR's printer keeps."""

from __future__ import annotations

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.pretty import print_pretty
from conformance.transforms.parameters import name_parameters
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES

OF = TensorType((), ELEMENT_TYPES["f32"])


def difference(first: str, second: str, result: str) -> Program:
    """Return the program that subtracts its parameters, with these names."""
    lhs, rhs, made = (Value(name, OF) for name in (first, second, result))
    operations = (Operation("subtract", (lhs, rhs), (made,)), Operation("return", (made,)))
    return Program((Function("main", Region((lhs, rhs), operations), (OF,)),))


@pytest.mark.parametrize(
    ("names", "kept"),
    [(("5", "y", "z"), ["p0", "y"]), (("5", "7", "p0"), ["p1", "p2"])],
)
def test_numbers_become_names_that_are_free(names: tuple[str, str, str], kept: list[str]) -> None:
    program = name_parameters(difference(*names))
    assert [one.name for one in program.main.arguments] == kept
    assert [one.name for one in program.main.body.operations[0].operands] == kept
    (printed,) = print_pretty([emit(program)])
    assert all(f"%{name}: tensor<f32>" in printed for name in kept)


def test_a_program_with_names_is_left_as_it_is() -> None:
    program = difference("x", "y", "5")
    assert name_parameters(program) is program

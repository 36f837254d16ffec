"""Roles of operations in a program: calls, branches and loops, constants, structure."""

from __future__ import annotations

import pytest

from reference.ir.program import Operation, TensorType, TokenType, Value, attributes
from reference.ir.types import element_type
from reference.ops import structure
from reference.ops.structure import (
    MANUAL,
    calls_target,
    computations,
    is_constant,
    is_inside,
    is_structure,
    named_functions,
    redirect_calls,
    structure_of,
)

CALL = Operation("func.call", attributes=attributes(callee="f", other="f"))
CUSTOM = Operation("custom_call", attributes=attributes(called_computations=("g", "h")))


def test_functions_that_an_operation_refers_to() -> None:
    assert named_functions(CALL) == ("f",)
    assert named_functions(CUSTOM) == computations(CUSTOM) == ("g", "h")
    assert named_functions(Operation("add")) == computations(CALL) == ()


def test_calls_are_redirected_and_other_attributes_stay() -> None:
    renamed = redirect_calls(CALL, {"f": "new"})
    assert renamed.attributes == attributes(callee="new", other="f")
    assert redirect_calls(CALL, {"g": "new"}) == CALL
    changed = redirect_calls(CUSTOM, {"h": "new"})
    assert changed.attribute("called_computations") == ("g", "new")
    plain = Operation("add")
    assert redirect_calls(plain, {"f": "new"}) is plain


@pytest.mark.parametrize(
    ("predicate", "those", "others"),
    [
        (is_constant, ["constant"], ["iota", "add"]),
        (calls_target, ["custom_call"], ["func.call", "composite"]),
        (
            is_inside,
            ["if", "case", "while", "async_start", MANUAL],
            ["reduce", "func.call", "mine.op"],
        ),
        (
            is_structure,
            ["constant", "if", "while", "func.call", MANUAL],
            ["add", "reduce", "mine.op"],
        ),
    ],
)
def test_roles(predicate: object, those: list[str], others: list[str]) -> None:
    assert callable(predicate)
    assert all(predicate(Operation(op)) for op in those)
    assert not any(predicate(Operation(op)) for op in others)


def test_a_barrier_is_structure_unless_it_forwards_a_tensor() -> None:
    forwarding = "optimization_barrier"
    tensor = Value("r", TensorType((), element_type("f32")))
    assert is_structure(Operation(forwarding, (), (Value("r", TokenType()),)))
    assert not is_structure(Operation(forwarding, (), (tensor,)))


def test_other_ops_of_other_dialects_have_no_role() -> None:
    assert structure_of(Operation("mine.op")) is None
    assert structure_of(CALL) is structure.Structure.CALLS


def test_sets_of_ops() -> None:
    assert {"if", "case", "while"} <= structure.CONTROL_FLOW
    assert "reduce" not in structure.CONTROL_FLOW
    assert {"all_reduce", "partition_id"} <= structure.COMMUNICATION
    assert {"infeed", "send"} <= structure.HOST
    assert not structure.HOST & structure.COMMUNICATION

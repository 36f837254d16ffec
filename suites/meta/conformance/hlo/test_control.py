"""Tuples, copies, asynchronous pairs and tokens."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.control import HANDLERS
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TokenType, Value
from suites.meta.conformance.hlo.instructions import (
    evaluate_instruction,
    instruction,
    shape,
    site_of,
    tuple_shape,
)
from suites.meta.support.small_programs import array, tensor_of

X, Y = Value("x", tensor_of(2)), Value("y", tensor_of(2))
RESULT = shape("f32", 2)


def tree(opcode: str, *operands, result=RESULT, **given):
    return HANDLERS[opcode](site_of(instruction(opcode, result, **given), operands))


def test_tuples_are_made_and_taken_apart() -> None:
    assert tree("tuple", X, Y) == (X, Y)
    assert tree("get-tuple-element", (X, Y), tuple_index=1) is Y


@pytest.mark.parametrize("operand", [X, (X,)])
def test_an_element_that_is_not_there_is_an_error(operand) -> None:
    with pytest.raises(Unreadable, match="no such element"):
        tree("get-tuple-element", operand, tuple_index=1)


def test_a_copy_in_mixed_precision_converts() -> None:
    one = instruction("copy", shape("bf16", 1))
    (found,) = evaluate_instruction(HANDLERS["copy"], one, array([1 + 2.0**-12]))
    assert found.astype(np.float32).tolist() == [1.0]
    assert tree("copy", (X, Y)) == (X, Y)


def test_a_copy_that_was_started_ends_with_its_operand() -> None:
    started = tree("copy-start", X)
    assert tree("copy-done", started) is X
    assert tree("async-done", ((X,), Y, ())) is Y
    for opcode in ("copy-done", "async-done"):
        with pytest.raises(Unreadable, match="not started"):
            tree(opcode, X)


@pytest.mark.parametrize("opcode", ["domain", "add-dependency", "async-update"])
def test_instructions_without_an_effect_on_values(opcode: str) -> None:
    assert tree(opcode, X, Y) is X


def test_barriers_and_tokens() -> None:
    passed = tree("opt-barrier", (X, Y), result=tuple_shape(RESULT, RESULT))
    assert [one.type for one in passed] == [X.type, Y.type]
    token = tree("after-all")
    assert isinstance(token, Value)
    assert token.type == TokenType()

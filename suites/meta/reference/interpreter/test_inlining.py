"""Calls replaced by the operations of their callees, with names that do not collide."""

from __future__ import annotations

import pytest

from reference.interpreter.inlining import Inlining, NotInlined, Origin, inline_calls
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value, attributes
from reference.ir.types import element_type

SCALAR = TensorType((), element_type("f32"))
X, Y, Z = (Value(name, SCALAR) for name in "xyz")


def call(name: str, operand: Value, result: Value) -> Operation:
    return Operation("func.call", (operand,), (result,), attributes(callee=name))


def function(name: str, *body: Operation) -> Function:
    """Return a function of x that returns the last result of its body."""
    end = Operation("return", body[-1].results)
    return Function(name, Region((X,), (*body, end)), (SCALAR,))


NEGATE = function("negate twice", Operation("negate", (X,), (Y,)), Operation("negate", (Y,), (Z,)))


def inline_last(*functions: Function) -> tuple[list[str], Inlining]:
    """Return the operations of the last function with all calls inlined, as text."""
    work = Inlining(Program(functions))
    last = functions[-1]
    region = work.region(last.body, {}, last.name, "", (last.name,))
    texts = [
        f"{operation.name}({' '.join(v.name for v in operation.operands)}) -> "
        f"{' '.join(v.name for v in operation.results)}".removesuffix(" -> ")
        for operation in region.operations
    ]
    return texts, work


def test_each_call_has_values_of_its_own() -> None:
    main = function("main", call("negate twice", X, Y), call("negate twice", Y, Z))
    texts, _ = inline_last(NEGATE, main)
    assert texts == [
        "negate(x) -> negate_twice.1.y",
        "negate(negate_twice.1.y) -> negate_twice.1.z",
        "negate(negate_twice.1.z) -> negate_twice.2.y",
        "negate(negate_twice.2.y) -> negate_twice.2.z",
        "return(negate_twice.2.z)",
    ]


def test_the_origin_of_each_value() -> None:
    main = function("main", call("negate twice", X, Y), Operation("abs", (Y,), (Z,)))
    _, work = inline_last(NEGATE, main)
    assert work.origins == {
        "negate_twice.1.y": Origin("negate twice", "y"),
        "negate_twice.1.z": Origin("negate twice", "z"),
        "z": Origin("main", "z"),
    }


@pytest.mark.parametrize(
    ("name", "prefix"), [("2nd", "_2nd.1."), ("a b", "a_b.1."), ("a.$-", "a.$-.1.")]
)
def test_names_of_functions_become_names_of_values(name: str, prefix: str) -> None:
    main = function("main", call(name, X, Y))
    texts, _ = inline_last(function(name, Operation("abs", (X,), (Y,))), main)
    assert texts[0] == f"abs(x) -> {prefix}y"


def test_a_function_may_call_others_but_not_itself() -> None:
    outer = function("outer", call("negate twice", X, Y))
    texts, _ = inline_last(NEGATE, outer, function("main", call("outer", X, Y)))
    assert texts[0] == "negate(x) -> negate_twice.2.y"
    circle = function("a", call("b", X, Y)), function("b", call("a", X, Y))
    with pytest.raises(NotInlined, match="function a calls itself"):
        inline_last(*circle, function("main", call("a", X, Y)))


def test_a_function_that_there_is_not() -> None:
    with pytest.raises(NotInlined, match="no function is called f"):
        inline_last(function("main", call("f", X, Y)))


def test_a_program_may_grow_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    main = function("main", call("negate twice", X, Y))
    monkeypatch.setattr("reference.interpreter.inlining.MAX_OPERATIONS", 4)  # with both returns
    inline_last(NEGATE, main)
    monkeypatch.setattr("reference.interpreter.inlining.MAX_OPERATIONS", 3)
    with pytest.raises(NotInlined, match="more than 3 operations"):
        inline_last(NEGATE, main)


def test_bodies_are_inlined_but_branches_and_loops_keep_their_calls() -> None:
    body = function("main", call("negate twice", X, Y)).body
    program = Program((NEGATE,))
    (region,) = inline_calls(Operation("reduce", regions=(body,)), program).regions
    assert [operation.name for operation in region.operations] == ["negate", "negate", "return"]
    loop = Operation("while", regions=(body,))
    assert inline_calls(loop, program) is loop
    plain = Operation("reduce", regions=(NEGATE.body,))
    assert inline_calls(plain, program) is plain

"""Programs with operations in a construct: a branch, a loop, a function, a composite."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reference.ir.program import Dense, Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import BOOLEAN, ELEMENT_TYPES
from reference.ops.structure import is_constant

COUNTER = TensorType((), ELEMENT_TYPES["si32"])
FLAG = TensorType((), BOOLEAN[0])


def put_in_case(program: Program, *, hoists: bool) -> Program:
    """Return the program with its operations in a branch of a `case` on its last input."""
    return _put_in_branch(program, "case", COUNTER, hoists)


def put_in_if(program: Program, *, hoists: bool) -> Program:
    """Return the program with its operations in a branch of an `if` on its last input."""
    return _put_in_branch(program, "if", FLAG, hoists)


def put_in_while(program: Program, *, hoists: bool) -> Program:
    """Return the program with its operations in a loop that ends after as many iterations as its
    last input says."""
    outside, inside, end = _split(program, hoists)
    limit = Value("limit", COUNTER)
    zero, one = (_constant(f"counter.{n}", COUNTER, n) for n in (0, 1))
    inits = [_constant(f"init.{n}", value.type, 0) for n, value in enumerate(end.operands)]
    before = tuple(each.results[0] for each in (zero, *inits))
    counter, following, goes_on = (
        Value(name, of) for name, of in (("n", COUNTER), ("m", COUNTER), ("goes_on", FLAG))
    )

    def carried_values(name: str) -> tuple[Value, ...]:
        return tuple(Value(f"{name}.{n}", v.type) for n, v in enumerate(end.operands))

    compared = Operation(
        "compare", (Value("c", COUNTER), limit), (goes_on,), (("comparison_direction", "LT"),)
    )
    condition = Region(
        (Value("c", COUNTER), *carried_values("before")),
        (compared, Operation("return", (goes_on,))),
    )
    counted = Operation("add", (counter, one.results[0]), (following,))
    body = Region(
        (counter, *carried_values("last")),
        (*inside, counted, Operation("return", (following, *end.operands))),
    )
    results = carried_values("result")
    loop = Operation("while", before, (Value("end", COUNTER), *results), (), (condition, body))
    operations = (*outside, zero, one, *inits, loop, Operation("return", results))
    return _program(program, operations, limit)


def put_in_function(program: Program, *, hoists: bool) -> Program:
    """Return the program with its operations in a function that main calls."""
    return _put_in_function(program, "func.call", (("callee", "inner"),), hoists)


def put_in_composite(program: Program, *, hoists: bool) -> Program:
    """Return the program with its operations in the decomposition of a composite."""
    return _put_in_function(
        program, "composite", (("decomposition", "inner"), ("name", "suite.any")), hoists
    )


CONSTRUCTS: dict[str, tuple[Callable[[Program], Program], int | bool | None]] = {
    "function": (partial(put_in_function, hoists=False), None),
    "composite": (partial(put_in_composite, hoists=False), None),
    "case": (partial(put_in_case, hoists=False), 1),
    "case, constants around it": (partial(put_in_case, hoists=True), 1),
    "if": (partial(put_in_if, hoists=False), False),
    "if, constants around it": (partial(put_in_if, hoists=True), False),
    "loop of one iteration": (partial(put_in_while, hoists=True), 1),
    "loop of two iterations": (partial(put_in_while, hoists=False), 2),
}
"""For each construct the function that places a program in it, and its own input, if any."""


def _put_in_branch(program: Program, op: str, of: TensorType, hoists: bool) -> Program:
    outside, inside, end = _split(program, hoists)
    index = Value("index", of)
    zeros = tuple(_constant(f"zero.{n}", value.type, 0) for n, value in enumerate(end.operands))
    other = Region((), (*zeros, Operation("return", tuple(one.results[0] for one in zeros))))
    branches = (other, Region((), (*inside, end)))
    results = tuple(Value(f"result.{n}", value.type) for n, value in enumerate(end.operands))
    branch = Operation(op, (index,), results, (), branches)
    return _program(program, (*outside, branch, Operation("return", results)), index)


def _put_in_function(
    program: Program, op: str, given: tuple[tuple[str, str], ...], hoists: bool
) -> Program:
    assert not hoists, "functions see nothing around them"
    main = program.main
    names = [f"given.{n}" for n in range(len(main.arguments))]
    arguments = tuple(Value(n, v.type) for n, v in zip(names, main.arguments, strict=True))
    results = tuple(Value(f"result.{n}", of) for n, of in enumerate(main.result_types))
    body = Region(
        arguments, (Operation(op, arguments, results, given), Operation("return", results))
    )
    inner = Function("inner", main.body, main.result_types)
    return Program((Function("main", body, main.result_types), inner, *program.functions[1:]))


def _split(
    program: Program, hoists: bool
) -> tuple[tuple[Operation, ...], tuple[Operation, ...], Operation]:
    *operations, end = program.main.body.operations
    outside = tuple(one for one in operations if hoists and is_constant(one))
    return outside, tuple(one for one in operations if one not in outside), end


def _constant(name: str, of: object, number: int) -> Operation:
    assert isinstance(of, TensorType)
    array = np.full(of.static_shape, number).astype(of.storage)
    return Operation("constant", (), (Value(name, of),), (("value", Dense.of(array, of)),))


def _program(program: Program, operations: tuple[Operation, ...], more: Value) -> Program:
    main = program.main
    body = Region((*main.arguments, more), operations)
    return Program((Function("main", body, main.result_types), *program.functions[1:]))

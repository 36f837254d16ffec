"""Branches, loops, tuples, tokens, and operations whose callee defines them.

Inputs and attributes have the specification's names. `case`, `if` and `while` take their regions as
bodies, which see the values of the enclosing program.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from reference.ir.constraints import require
from reference.ir.errors import EvaluationError
from reference.ir.notation import same_shape
from reference.ir.op import (
    EACH,
    FIRST_OPERAND,
    FIRST_RESULT,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
    ValuePosition,
)
from reference.ir.program import (
    FutureType,
    Program,
    Region,
    TensorType,
    TokenType,
    TupleType,
    ValueType,
)
from reference.ir.regions import Body, argument_types, output_types
from reference.ir.tokens import TOKEN, Token
from reference.ir.types import ALL, ELEMENT_TYPES, Array

PREDICATE = TensorType((), ELEMENT_TYPES["i1"])
INDEX = TensorType((), ELEMENT_TYPES["si32"])

_NAMESPACED = re.compile(r"[a-zA-Z]\w*(\.[\w$]+)+", re.ASCII)
"""The pattern of `is_namespaced_op_name`; the specification leaves the characters to StableHLO."""


def same_type(first: ValueType, second: ValueType) -> bool:
    """Return whether two types are, or may be at run time, equal; unknown sizes agree with all."""
    if isinstance(first, TensorType) and isinstance(second, TensorType):
        return same_shape(first, second) and first.element_type == second.element_type
    if isinstance(first, TupleType) and isinstance(second, TupleType):
        return same_types(first.types, second.types)
    if isinstance(first, FutureType) and isinstance(second, FutureType):
        return same_types(first.types, second.types)
    return first == second


def same_types(first: tuple[ValueType, ...], second: tuple[ValueType, ...]) -> bool:
    """Return whether two lists of types have the same length and agree pairwise."""
    return len(first) == len(second) and all(map(same_type, first, second))


def join_types(*given: ValueType) -> str:
    """Return types as messages show them."""
    return ", ".join(str(of) for of in given) or "nothing"


def case_type(
    index: ValueType,
    *,
    branches: tuple[Region, ...],
    results: tuple[ValueType, ...] | None = None,
) -> tuple[ValueType, ...]:
    """Return the result types of `case`, which every branch returns.

    Raises:
        ConstraintViolation: I1 (index is no scalar of si32), C1 (no branch), C2 (a branch takes
            arguments), C3 (branches return different types), C4 (results have other types).
    """
    require("I1", index == INDEX, index)
    require("C2", not any(b.arguments for b in branches), "arguments")
    if not require("C1", len(branches) > 0, "no branch"):
        return results or ()
    given = [output_types(branch) for branch in branches]
    require("C3", all(same_types(given[0], of) for of in given), [join_types(*of) for of in given])
    if results is not None:
        require("C4", same_types(results, given[0]), join_types(*results))
    return results or given[0]


def case(index: Array, *, branches: tuple[Body, ...]) -> tuple[Any, ...]:
    """Evaluate `case`: the branch of that index, or the last branch if the index is out of
    range."""
    chosen = int(index)
    return branches[chosen if 0 <= chosen < len(branches) else -1]()


def if_type(
    pred: ValueType,
    *,
    true_branch: Region,
    false_branch: Region,
    results: tuple[ValueType, ...] | None = None,
) -> tuple[ValueType, ...]:
    """Return the result types of `if`, which both branches return.

    Raises:
        ConstraintViolation: I1 (no scalar of i1), C1 (a branch takes arguments), C2 (the branches
            return different types), C3 (results have other types).
    """
    require("I1", pred == PREDICATE, pred)
    require("C1", not (true_branch.arguments or false_branch.arguments), "arguments")
    one, other = output_types(true_branch), output_types(false_branch)
    require("C2", same_types(one, other), f"{join_types(*one)} and {join_types(*other)}")
    if results is not None:
        require("C3", same_types(results, one), join_types(*results))
    return results or one


def if_(pred: Array, *, true_branch: Body, false_branch: Body) -> tuple[Any, ...]:
    """Evaluate `if`: the branch that the predicate selects."""
    return true_branch() if pred else false_branch()


def while_type(
    operand: tuple[ValueType, ...],
    *,
    cond: Region,
    body: Region,
    results: tuple[ValueType, ...] | None = None,
) -> tuple[ValueType, ...]:
    """Return the result types of `while`, equal to the operands' types.

    Raises:
        ConstraintViolation: C1 (type of `cond`), C2 (type of `body`), C3 (type of results).
    """
    condition = same_types(argument_types(cond), operand)
    condition = condition and same_types(output_types(cond), (PREDICATE,))
    require("C1", condition, join_types(*argument_types(cond), *output_types(cond)))
    state = same_types(argument_types(body), operand) and same_types(output_types(body), operand)
    require("C2", state, join_types(*argument_types(body), *output_types(body)))
    if results is not None:
        require("C3", same_types(results, operand), join_types(*results))
    return results or operand


def while_(operand: tuple[Any, ...], *, cond: Body, body: Body) -> tuple[Any, ...]:
    """Evaluate `while`: iterate the body while the condition holds."""
    state, holds, turn = operand, cond.call, body.call
    while holds(*state)[0]:
        state = turn(*state)
    return state


def optimization_barrier_type(
    operand: tuple[ValueType, ...], *, results: tuple[ValueType, ...] | None = None
) -> tuple[ValueType, ...]:
    """Return the result types of `optimization_barrier`, equal to the operands' types.

    Raises:
        ConstraintViolation: C1 (types differ).
    """
    if results is not None:
        require("C1", same_types(operand, results), join_types(*operand, *results))
    return results or operand


def optimization_barrier(operand: tuple[Any, ...]) -> tuple[Any, ...]:
    """Evaluate `optimization_barrier`: return the operands unchanged."""
    return operand


def tuple_type(val: tuple[ValueType, ...], *, result: ValueType | None = None) -> ValueType:
    """Return the result type of `tuple`.

    Raises:
        ConstraintViolation: C1 (not the tuple of the operands' types).
    """
    if result is not None:
        require("C1", same_type(result, TupleType(val)), result)
    return result or TupleType(val)


def tuple_(val: tuple[Any, ...]) -> tuple[Any, ...]:
    """Evaluate `tuple`: return the values as a tuple."""
    return val


def get_tuple_element_type(
    operand: ValueType, *, index: int, result: ValueType | None = None
) -> ValueType:
    """Return the result type of `get_tuple_element`.

    Raises:
        ConstraintViolation: I1 (no tuple), C1 (no such element), C2 (another type).
    """
    types = operand.types if isinstance(operand, TupleType) else ()
    if not require("I1", isinstance(operand, TupleType), operand):
        return result or operand
    if not require("C1", 0 <= index < len(types), index):
        return result or operand
    if result is not None:
        require("C2", same_type(result, types[index]), result)
    return result or types[index]


def get_tuple_element(operand: tuple[Any, ...], *, index: int) -> Any:
    """Evaluate `get_tuple_element`: return the tuple's element at `index`."""
    return operand[index]


def after_all_type(inputs: tuple[ValueType, ...], *, result: ValueType | None = None) -> ValueType:
    """Return the result type of `after_all`: a token.

    Raises:
        ConstraintViolation: I1 (an input is no token).
    """
    require("I1", all(isinstance(of, TokenType) for of in inputs), join_types(*inputs))
    return result or TokenType()


def after_all(inputs: tuple[Token, ...]) -> Token:
    """Evaluate `after_all`: return a token that follows all inputs, if any."""
    del inputs
    return TOKEN


def create_token_type(*, result: ValueType | None = None) -> ValueType:
    """Return the result type of `create_token`, the former `after_all` without inputs."""
    return result or TokenType()


def create_token() -> Token:
    """Evaluate `create_token`: return a token."""
    return TOKEN


def composite_type(
    inputs: tuple[ValueType, ...],
    *,
    name: str,
    decomposition: str,
    composite_attributes: object = (),
    version: int = 0,
    regions: tuple[Region, ...] = (),
    results: tuple[ValueType, ...] | None = None,
    scope: Program | None = None,
) -> tuple[ValueType, ...]:
    """Return the result types of `composite`, equal to its decomposition's.

    Raises:
        ConstraintViolation: C1 (name without a namespace); if `scope` is known, C2 (no such
            function), C3 (argument types of the function differ), C4 (result types differ).
    """
    del composite_attributes, version, regions  # metadata
    require("C1", _NAMESPACED.fullmatch(name) is not None, name)
    if scope is None:
        return results or ()
    found = [function for function in scope.functions if function.name == decomposition]
    if not require("C2", len(found) > 0, decomposition):
        return results or ()
    takes = tuple(argument.type for argument in found[0].arguments)
    require("C3", same_types(inputs, takes), join_types(*inputs))
    if results is not None:
        require("C4", same_types(results, found[0].result_types), join_types(*results))
    return results or found[0].result_types


def composite(inputs: tuple[Any, ...], **given: object) -> tuple[Any, ...]:
    """Raise an error: the interpreter evaluates the decomposition within the program.

    Raises:
        EvaluationError: always.
    """
    raise EvaluationError(
        f"{given.get('name')} with {len(inputs)} inputs needs an enclosing program"
    )


def custom_call_type(
    inputs: tuple[ValueType, ...],
    *,
    results: tuple[ValueType, ...],
    **metadata: object,
) -> tuple[ValueType, ...]:
    """Return the result types of `custom_call`, which the program states; it has no constraints."""
    del inputs, metadata
    return results


def custom_call(inputs: tuple[Any, ...], **given: object) -> tuple[Any, ...]:
    """Raise an error: the target defines `custom_call`, and only the interpreter knows targets.

    Raises:
        EvaluationError: always.
    """
    target = given.get("call_target_name")
    raise EvaluationError(f"{target!r} with {len(inputs)} inputs needs an enclosing program")


_CUSTOM_CALL = (
    "has_side_effect", "backend_config", "api_version", "called_computations",
    "output_operand_aliases",
)  # fmt: skip


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.PASSES, rounding=Rounding.MOVES, lifts=False, values=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="after_all", type_function=after_all_type, evaluate=after_all, operands=("*inputs",),
        attributes=(), constraints=(), inputs=("I1",), structure=Structure.FORWARDS,
        needs_result=False,
    ),
    _op(
        name="case", type_function=case_type, evaluate=case, operands=("index",), attributes=(),
        regions=("*branches",), constraints=("C1", "C2", "C3", "C4"), inputs=("I1",),
        principal=FIRST_RESULT, structure=Structure.BRANCHES, needs_result=False, several=True,
    ),
    _op(
        name="composite", type_function=composite_type, evaluate=composite, operands=("*inputs",),
        attributes=("name", "composite_attributes", "decomposition", "version"),
        optional=("composite_attributes", "version"), regions=("*regions",),
        constraints=("C1", "C2", "C3", "C4"), structure=Structure.CALLS, callee="decomposition",
        needs_result=False, several=True, scoped=True,
    ),
    _op(
        name="create_token", specified=False, type_function=create_token_type,
        evaluate=create_token, operands=(), attributes=(), constraints=(), principal=FIRST_RESULT,
        structure=Structure.FORWARDS, needs_result=False,
    ),
    _op(
        name="custom_call", type_function=custom_call_type, evaluate=custom_call,
        operands=("*inputs",), attributes=("call_target_name", *_CUSTOM_CALL),
        optional=_CUSTOM_CALL, constraints=(), structure=Structure.CALLS_TARGET, needs_result=True,
        several=True,
    ),
    _op(
        name="get_tuple_element", type_function=get_tuple_element_type, evaluate=get_tuple_element,
        operands=("operand",), attributes=("index",), constraints=("C1", "C2"), inputs=("I1",),
        principal=FIRST_RESULT, structure=Structure.FORWARDS, needs_result=False,
    ),
    _op(
        name="if", type_function=if_type, evaluate=if_, operands=("pred",), attributes=(),
        regions=("true_branch", "false_branch"), constraints=("C1", "C2", "C3"), inputs=("I1",),
        principal=FIRST_RESULT, structure=Structure.BRANCHES, needs_result=False, several=True,
    ),
    _op(
        name="optimization_barrier", type_function=optimization_barrier_type,
        evaluate=optimization_barrier, operands=("*operand",), attributes=(), constraints=("C1",),
        structure=Structure.FORWARDS, needs_result=False, several=True, carries=EACH,
    ),
    _op(
        name="tuple", type_function=tuple_type, evaluate=tuple_, operands=("*val",), attributes=(),
        constraints=("C1",), structure=Structure.FORWARDS, needs_result=False,
    ),
    _op(
        name="while", type_function=while_type, evaluate=while_, operands=("*operand",),
        attributes=(), regions=("cond", "body"), constraints=("C1", "C2", "C3"),
        principal=ValuePosition(of_results=False, number=-1), structure=Structure.LOOPS,
        needs_result=False, several=True,
    ),
)  # fmt: skip
"""The ops of this family."""

"""Links of a chain: a case of an op's family with available values as operands.

The families' own builders choose attributes, regions and types for the shape of an available value.
The resulting case is added to the chain, with available values as operands if they have the same
type or can be reshaped.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from generators.case.case import Case
from generators.case.choices import NamedChoice
from generators.chains.chain import Chain, element, shape_of
from generators.chains.fitting import fit_shape
from generators.families.dynamism import bounds_of
from generators.families.table import BUILDERS
from generators.values.contents import PROFILES, is_stated
from reference.ir.op import Dialect, Op, Structure
from reference.ir.program import (
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TokenType,
    TupleType,
    Value,
    ValueType,
    tensor_of,
)
from reference.ir.types import ElementType
from reference.ops.structure import redirect_calls
from reference.ops.table import OPS

LARGEST_LINK = 1 << 13
"""Largest number of elements of a value in a link; single-operation cases cover larger values."""

_STRUCTURES = (
    Structure.COMPUTES,
    Structure.BRANCHES,
    Structure.LOOPS,
    Structure.CALLS,
    Structure.FORWARDS,
)


def can_be_in_chain(record: Op) -> bool:
    """Return whether an op may be in a chain: its results depend on neither run nor process.

    This includes XlaBuilder's ops, which `lower_program` lowers.
    """
    return record.structure in _STRUCTURES and not record.is_random and record.name in BUILDERS


def is_link(record: Op) -> bool:
    """Return whether cases of an op are links: all ops that may be in a chain, and custom calls.

    Custom calls have known targets. Ops to which only XlaBuilder's ops are lowered are excluded,
    because the latter represent them.
    """
    known = can_be_in_chain(record) or record.structure is Structure.CALLS_TARGET
    return known and record.dialect not in (Dialect.CHLO, Dialect.MHLO)


_REASONS = {
    Structure.CONSTANT: "constants are drawn as operands and initial values",
    Structure.STARTS: "the started computation is a program of its own",
    Structure.AWAITS: "no operation of a chain starts a computation",
    Structure.COMMUNICATES: "a chain is a program of one process",
    Structure.TRANSFERS: "a chain has no queues to the host",
}


def unlinked_ops() -> dict[str, str]:
    """Return the ops that multi-operation programs never contain, with the reason for each."""
    return {r.name: _reason(r) for r in OPS.values() if not is_link(r)}


def _reason(record: Op) -> str:
    if record.is_random:
        return "its results are random"
    return _REASONS.get(record.structure, "ops of XlaBuilder that are lowered to it represent it")


@cache
def linked_ops(element_type: ElementType, ops: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the ops that have cases of an element type, among `ops` if that is not empty.

    Ops that compile slowly occur once, those lowered to others (which also occur themselves) twice,
    other ops four times.
    """
    found = [r for r in OPS.values() if is_link(r) and element_type in r.element_types]
    names = [r.name for r in found for _ in range(1 if r.expensive else 2 if r.lower else 4)]
    return tuple(name for name in names if not ops or name in ops)


def link(chain: Chain, value: Value, ops: frozenset[str] = frozenset()) -> bool:
    """Add a case of some op that uses an available value; return whether an op was found.

    The results become available values.
    """
    of = element(value)
    names = linked_ops(of, ops)
    if not names:
        return False
    op = chain.guide.choose_op(chain.pick, names, chain.producer_of(value), of)
    case, asked = _build_case(chain, op, value)
    if not is_plain(case.program):
        return False
    chain.data += write_case(chain, case, _replacements(chain, value, case, OPS[op]))
    chain.guide.steps.append((op, of))
    chain.guide.asked += [(op, one) for one in asked]
    return True


def _build_case(chain: Chain, op: str, value: Value) -> tuple[Case, list[NamedChoice]]:
    """Return a case of an op built for the shape of a value, and its named choices."""
    pick = chain.pick
    before = len(pick.asked)
    pick.shape = shape_of(value)
    chain.guide.plan_rare_choice(pick, op)
    case = BUILDERS[op](element(value), pick)
    pick.shape = None
    pick.set_plan({})
    return case, pick.asked[before:]


def is_plain(program: Program, *, quantized: bool = False) -> bool:
    """Return whether main's parameters and results are static tensors and all values small.

    Quantized tensors are permitted if `quantized`. Tokens, tuples and bounded sizes may occur in
    between.
    """
    main = program.main
    *inside, end = main.body.operations
    outer = [value.type for value in (*main.arguments, *end.operands)]
    return (
        program.process_grid is None
        and all(isinstance(of, TensorType) and of.is_static for of in outer)
        and all(_is_small_value(of, quantized) for of in outer)
        and all(_is_small_value(value.type, quantized) for one in inside for value in one.results)
    )


def _is_small_value(of: ValueType, quantized: bool) -> bool:
    if isinstance(of, TupleType):
        return all(_is_small_value(one, quantized) for one in of.types)
    if not isinstance(of, TensorType):
        return isinstance(of, TokenType)
    known = of.is_static or bool(of.bounds)
    if isinstance(of.element_type, QuantizedType):
        known = known and quantized
    return known and math.prod(bounds_of(of)) <= LARGEST_LINK


def write_case(chain: Chain, case: Case, taken: Mapping[str, Value]) -> list[Value]:
    """Return the results of a case after adding it to the chain; `taken` replaces its values."""
    main = case.program.main
    functions = {f.name: f"f{next(chain.names)}" for f in case.program.functions if f is not main}
    prefix = f"s{next(chain.names)}_"
    renaming = _Renaming(prefix, taken, functions)
    of_functions = _Renaming(prefix, {}, functions)
    for operation in main.body.operations[:-1]:
        if not operation.results or operation.results[0].name not in taken:
            chain.operations.append(renaming.operation(operation))
    for function in case.program.functions:
        if function is not main:
            body = of_functions.region(function.body)
            chain.functions.append(replace(function, name=functions[function.name], body=body))
    return [renaming.value(result) for result in main.body.operations[-1].operands]


def _replacements(chain: Chain, value: Value, case: Case, record: Op) -> dict[str, Value]:
    """Return replacements for values of the case by name: available values or new parameters."""
    parameters = {
        parameter: tuple(recipe.profiles[index] for recipe in case.inputs)
        for index, parameter in enumerate(case.program.main.arguments)
    }
    free = [one for one, profiles in parameters.items() if not _hold_given_numbers(profiles)]
    first = _replaced_value(value, free, case, record)
    taken = {} if first is None else {first.name: fit_shape(chain, value, tensor_of(first))}
    if first in parameters and first.type == value.type and not chain.exact and chain.pick(2):
        chain.restrict_profiles(value, *dict.fromkeys(parameters[first]))
    for parameter, profiles in parameters.items():
        if parameter is first:
            continue
        there = [one for one in chain.data if one.type == parameter.type]
        if there and _is_any(profiles) and chain.pick(2):
            taken[parameter.name] = there[chain.pick(len(there))]
        else:
            taken[parameter.name] = chain.parameter(tensor_of(parameter), *dict.fromkeys(profiles))
    return taken


def _replaced_value(
    value: Value, parameters: Sequence[Value], case: Case, record: Op
) -> Value | None:
    """Return the value of the case that the available value replaces, or None.

    In order of preference: a parameter of the same type, a parameter of the same element type, the
    first operand if it is a constant.
    """
    of = element(value)
    fitting = [parameter for parameter in parameters if tensor_of(parameter).element == of]
    alike = [one for one in fitting if one.type == value.type]
    if alike or fitting:
        return (alike or fitting)[0]
    if record.structure is not Structure.COMPUTES or record.principal.of_results:
        return None  # an iota's operand holds its sizes
    operands = case.program.subject.operands
    taken = case.program.main.arguments
    constants = (operand for operand in operands[:1] if operand not in taken)
    return next((constant for constant in constants if tensor_of(constant).element == of), None)


def _hold_given_numbers(profiles: Collection[str]) -> bool:
    """Return whether an operand must hold given numbers, for example sizes of a result."""
    return all(map(is_stated, profiles))


def _is_any(profiles: Collection[str]) -> bool:
    """Return whether an operand may hold any number; indices and divisors have special profiles."""
    return all(name in PROFILES and PROFILES[name].general for name in profiles)


class _Renaming:
    """A copy of operations under new names, with some values replaced by `taken`."""

    def __init__(
        self, prefix: str, taken: Mapping[str, Value], functions: Mapping[str, str]
    ) -> None:
        self._prefix, self._taken, self._functions = prefix, taken, functions

    def value(self, value: Value) -> Value:
        """Return the replacement of a value."""
        return self._taken.get(value.name) or Value(self._prefix + value.name, value.type)

    def operation(self, operation: Operation) -> Operation:
        """Return an operation with the chain's names for its values and functions."""
        return replace(
            redirect_calls(operation, self._functions),
            operands=tuple(map(self.value, operation.operands)),
            results=tuple(map(self.value, operation.results)),
            regions=tuple(map(self.region, operation.regions)),
        )

    def region(self, region: Region) -> Region:
        """Return a region with all names replaced."""
        return Region(
            tuple(map(self.value, region.arguments)),
            tuple(map(self.operation, region.operations)),
        )

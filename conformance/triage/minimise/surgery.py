"""Fewer operations: fewer results, a later start, values replaced, regions simplified.

Programs that fail by operations whose results are unused keep these: all others are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from conformance.executors.limit import TooSlow, limit_evaluation
from conformance.pipeline.items import Inputs
from conformance.transforms.dead_code import remove_unused, restrict_to
from conformance.transforms.extract import replace_body, replace_main, replace_results
from conformance.transforms.substitute import (
    substitute_constant,
    substitute_parameter,
    substitute_value,
)
from conformance.transforms.values import can_be_result, used_values, working_operations
from conformance.triage.minimise.attempts import Minimisation
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, Region, Value
from reference.ir.substitution import replace_operands
from reference.ir.types import Array
from reference.ops.structure import is_constant

SECONDS = 2.0
"""Time limit of a reference evaluation, in seconds: simplified loops may not terminate."""


def reduce_results(attempts: Minimisation) -> bool:
    """Make main return only its earliest value that fails; return whether any was accepted."""
    program, inputs = attempts.program, attempts.inputs
    results = program.main.body.operations[-1].operands
    made = [v for operation in program.main.body.operations[:-1] for v in operation.results]
    earlier = takewhile(lambda value: value not in results, filter(can_be_result, made))
    values = [*(dict.fromkeys(results) if len(results) > 1 else ()), *earlier]
    return any(attempts.try_program(*tidy(restrict_to(program, [v]), inputs)) for v in values)


def drop_first_operations(attempts: Minimisation) -> bool:
    """Drop the first operations, by halves, then fewer; their results become parameters."""
    shrunk = False
    count = _operation_count(attempts.program) // 2
    while count >= 1 and not attempts.is_over:
        if _operation_count(attempts.program) > count and _drop_first(attempts, count):
            shrunk = True
            count = min(count, _operation_count(attempts.program) // 2)
        else:
            count //= 2
    return shrunk


def _operation_count(program: Program) -> int:
    return len(program.main.body.operations) - 1


def _drop_first(attempts: Minimisation, count: int) -> bool:
    program, values = attempts.program, reference_values(attempts)
    if values is None:
        return False
    dropped, rest = program.main.body.operations[:count], program.main.body.operations[count:]
    constants = [one for one in dropped if is_constant(one)]
    rest = (*constants, *rest)
    made = {v.name: v for one in dropped if not is_constant(one) for v in one.results}
    wanted = {v.name for one in rest for v in used_values(one)}
    new = [value for name, value in made.items() if name in wanted]
    if len(constants) == count or not all(map(can_be_result, new)):
        return False
    body = Region((*program.main.arguments, *new), rest)
    shorter = replace_main(program, replace(program.main, body=body))
    inputs = (*attempts.inputs, *(values[value.name] for value in new))
    return attempts.try_program(*tidy(shorter, inputs))


def reference_values(attempts: Minimisation) -> dict[str, Array] | None:
    """Return the reference's values of main by name, except values that a program cannot return.

    None if the reference cannot evaluate the program in time.
    """
    program = attempts.program
    made = [v for operation in program.main.body.operations[:-1] for v in operation.results]
    shown = list(filter(can_be_result, made))
    try:
        with limit_evaluation(SECONDS):
            arrays = evaluate(restrict_to(program, shown), attempts.inputs)
    except (EvaluationError, TooSlow):
        return None
    values = dict(zip((v.name for v in program.main.arguments), attempts.inputs, strict=True))
    return values | {value.name: array for value, array in zip(shown, arrays, strict=True)}


def replace_values(attempts: Minimisation) -> bool:
    """Replace each value by an operand of its type, a parameter, or a constant."""
    shrunk = False
    for name in [
        v.name
        for operation in reversed(working_operations(attempts.program))
        for v in operation.results
    ]:
        if attempts.is_over:
            break
        shrunk |= _bypass(attempts, name) or _replace_by_parameter(attempts, name)
    return shrunk


def _defining_operation(program: Program, name: str) -> Operation | None:
    makers = (o for o in program.main.body.operations if any(v.name == name for v in o.results))
    return next(makers, None)


def _bypass(attempts: Minimisation, name: str) -> bool:
    maker = _defining_operation(attempts.program, name)
    if maker is None:
        return False
    value = next(v for v in maker.results if v.name == name)
    return any(
        attempts.try_program(
            *tidy(substitute_value(attempts.program, name, operand), attempts.inputs)
        )
        for operand in dict.fromkeys(maker.operands)
        if operand.type == value.type
    )


def _replace_by_parameter(attempts: Minimisation, name: str) -> bool:
    program = attempts.program
    maker = _defining_operation(program, name)
    if maker is None:
        return False
    value = next(v for v in maker.results if v.name == name)
    used = any(value in used_values(operation) for operation in program.main.body.operations[:-1])
    values = reference_values(attempts) if used and can_be_result(value) else None
    if values is None:
        return False
    inputs = (*attempts.inputs, values[name])
    if attempts.try_program(*tidy(substitute_parameter(program, name), inputs)):
        return True
    constant = substitute_constant(program, name, values[name])
    return attempts.try_program(*tidy(constant, attempts.inputs))


def replace_constants(attempts: Minimisation) -> bool:
    """Replace constants by parameters if the program still fails."""
    shrunk = False
    for one in [o for o in attempts.program.main.body.operations[:-1] if is_constant(o)]:
        values = reference_values(attempts)
        if values is None or attempts.is_over:
            break
        name = one.results[0].name
        if name in values:
            program = substitute_parameter(attempts.program, name)
            shrunk |= attempts.try_program(*tidy(program, (*attempts.inputs, values[name])))
    return shrunk


# --- Within regions ------------------------------------------------------------------------------


def simplify_regions(attempts: Minimisation) -> bool:
    """Replace values in the regions of main's operations by others of their type."""
    return attempts.try_repeatedly(_programs_with_simpler_regions)


def _programs_with_simpler_regions(
    program: Program, inputs: Inputs
) -> Iterator[tuple[Program, Inputs]]:
    operations = program.main.body.operations
    for index, operation in enumerate(operations):
        for changed in _simpler_operations(operation):
            others = *operations[:index], changed, *operations[index + 1 :]
            yield tidy(replace_body(program, others), inputs)


def _simpler_operations(operation: Operation) -> Iterator[Operation]:
    for index, region in enumerate(operation.regions):
        for simpler in _simpler_region_variants(region):
            regions = (*operation.regions[:index], simpler, *operation.regions[index + 1 :])
            yield replace(operation, regions=regions)


def _simpler_region_variants(region: Region) -> Iterator[Region]:
    *operations, end = region.operations
    for number, operation in reversed([*enumerate(operations)]):
        if is_constant(operation):
            continue
        after = [*operations[number + 1 :], end]
        others = [*operation.operands, *region.arguments]
        for value in operation.results:
            for other in dict.fromkeys(o for o in others if o.type == value.type):
                rest = tuple(replace_operands(one, {value.name: other}) for one in after)
                yield _drop_dead(replace(region, operations=(*operations[: number + 1], *rest)))
        for simpler in _simpler_operations(operation):
            yield replace(region, operations=(*operations[:number], simpler, *after))


def _drop_dead(region: Region) -> Region:
    """Return the region without operations whose results it does not use."""
    kept: list[Operation] = [region.operations[-1]]
    wanted = {value.name for value in used_values(kept[0])}
    for operation in reversed(region.operations[:-1]):
        if any(value.name in wanted for value in operation.results):
            kept.append(operation)
            wanted |= {value.name for value in used_values(operation)}
    return replace(region, operations=tuple(reversed(kept)))


# --- Tidying -------------------------------------------------------------------------------------


def tidy(program: Program, inputs: Sequence[Array]) -> tuple[Program, Inputs]:
    """Return the program without unused operations, functions and parameters, and its inputs."""
    return prune_parameters(remove_unused(program), inputs)


def prune_parameters(program: Program, inputs: Sequence[Array]) -> tuple[Program, Inputs]:
    """Return the program without unused parameters and functions, and its inputs."""
    used = {v.name for operation in program.main.body.operations for v in used_values(operation)}
    kept = [
        (argument, array)
        for argument, array in zip(program.main.arguments, inputs, strict=True)
        if argument.name in used
    ]
    arguments: tuple[Value, ...] = tuple(argument for argument, _ in kept)
    body = replace(program.main.body, arguments=arguments)
    program = replace_main(program, replace(program.main, body=body))
    others = [f for f in program.functions[1:] if _is_named(f.name, program)]
    return replace(program, functions=(program.main, *others)), tuple(a for _, a in kept)


def _is_named(name: str, program: Program) -> bool:
    return any(
        value == name or (isinstance(value, tuple) and name in value)
        for operation in program.walk()
        for _, value in operation.attributes
    )


# --- Unused operations ---------------------------------------------------------------------------


def is_unused_to_blame(attempts: Minimisation) -> bool:
    """Return whether the program stops failing without its unused operations.

    If it still fails without them, the smaller program replaces it.
    """
    smaller = tidy(attempts.program, attempts.inputs)
    has_none = smaller[0] == attempts.program
    return not (has_none or attempts.try_program(*smaller))


def reduce_unused(attempts: Minimisation) -> bool:
    """Make main return a parameter, and drop unused operations from the last to the first.

    Return whether the program became smaller.
    """
    program = attempts.program
    given = next(filter(can_be_result, program.main.arguments), None)
    shrunk = given is not None and attempts.try_program(
        *prune_parameters(replace_results(program, [given]), attempts.inputs)
    )
    return attempts.try_repeatedly(_programs_without_one) or shrunk


def _programs_without_one(program: Program, inputs: Inputs) -> Iterator[tuple[Program, Inputs]]:
    """Yield the program without each operation whose results are unused."""
    body = program.main.body
    wanted = {value.name for operation in body.operations for value in used_values(operation)}
    for number in reversed(range(len(body.operations) - 1)):
        if any(value.name in wanted for value in body.operations[number].results):
            continue
        operations = body.operations[:number] + body.operations[number + 1 :]
        yield prune_parameters(replace_body(program, operations), inputs)

"""Simplifications that depend on regions or sizes, by the operation that they remove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from conformance.known.rewritings.simplified.inlining import (
    Replacement,
    inline_region,
    lift_region,
)
from conformance.known.rewritings.simplified.multiplication import multiply_instead
from conformance.known.rewritings.values import ObservedProgram
from conformance.transforms.outline import outline_region
from conformance.transforms.values import static_element_type, used_values
from reference.interpreter.evaluate import EvaluationError, evaluate, given_attributes
from reference.ir.monoid import ADD, AND, MAXIMUM, MINIMUM, OR
from reference.ir.program import Operation, Value, attributes, tensor_of
from reference.ir.regions import monoid_of
from reference.ir.types import Array

_APPLIED_TO_WINDOWS = (ADD, AND, MAXIMUM, MINIMUM, OR)

Step = Callable[[ObservedProgram, Operation], Replacement | None]
"""A function step(program so far, operation) that returns what replaces an operation; None if it
stays.

The types of the operation's operands and results are static.
"""


def _take_branch(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the branch that a constant index selects, or the only branch."""
    index, branches = shown.constant(operation.operands[0]), operation.regions
    if index is None and len(branches) > 1:
        return None
    number = 0 if index is None else int(index)
    if operation.name == "if":
        number = 1 - number
    taken = branches[number if 0 <= number < len(branches) else -1]
    return inline_region(operation, taken, ())


def _leave_loop_out(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the operands of a loop whose condition is false at first, whatever the inputs are."""
    condition = operation.regions[0]
    program, free = outline_region(condition)
    used = {value.name for one in condition.operations for value in used_values(one)}
    arguments = zip(condition.arguments, operation.operands, strict=True)
    inputs: list[Array] = []
    for argument, value in (*arguments, *zip(free, free, strict=True)):
        found = shown.constant(value)
        if found is None and argument.name in used:
            return None
        of = tensor_of(argument)
        inputs.append(np.zeros(of.static_shape, of.storage) if found is None else found)
    try:
        (goes_on,) = evaluate(program, inputs)
    except EvaluationError:
        return None
    return None if goes_on else Replacement((), operation.operands)


def values_kept_by_loop(operation: Operation) -> Mapping[Value, Value]:
    """Return the operands that a loop returns unchanged, by its results."""
    if operation.name != "while":
        return {}
    body = operation.regions[1]
    returned = body.operations[-1].operands
    given = zip(operation.results, operation.operands, body.arguments, returned, strict=True)
    return {
        result: operand
        for result, operand, argument, value in given
        if argument == value and operand.type == result.type
    }


def _apply_body(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the body of a map, applied to arrays."""
    del shown
    return _lift(operation, operation.operands)


def _apply_body_to_windows(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the body of a reduce_window, applied to the init value and windows of one element.

    None unless there is a window for each element, and the body is a sum, an extremum, a
    conjunction or a disjunction. XLA keeps windows with any other body.
    """
    del shown
    given = given_attributes(operation)
    if monoid_of(operation.regions[0]) not in _APPLIED_TO_WINDOWS:
        return None
    (operand, init), (result,) = operation.operands, operation.results
    numbers = ("window_dimensions", "window_strides", "base_dilations")
    is_single = all(set(given.get(name) or ()) <= {1} for name in numbers)
    padding = given.get("padding")
    if not is_single or operand.type != result.type or (padding and padding.array.any()):
        return None
    repeated = replace(result, name=f"{result.name}.init")
    made = Operation("broadcast_in_dim", (init,), (repeated,), attributes(broadcast_dimensions=()))
    found = _lift(operation, (repeated, operand))
    return found and replace(found, operations=(made, *found.operations))


def _apply_body_to_updates(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the body of a scatter, applied to the inputs and a single update of all elements."""
    count = len(operation.results)
    inputs, updates = operation.operands[:count], operation.operands[count + 1 :]
    indices = shown.constant(operation.operands[count])
    within = given_attributes(operation)["update_window_dims"]
    sizes = [tensor_of(value).static_shape for value in (inputs[0], updates[0])]
    is_one = all(size == 1 for d, size in enumerate(sizes[1]) if d not in within)
    if indices is None or indices.any() or not is_one or prod(sizes[0]) != prod(sizes[1]):
        return None
    reshaped = tuple(
        replace(one, name=f"{result.name}.update", type=result.type)
        for one, result in zip(updates, operation.results, strict=True)
    )
    made = (Operation("reshape", (a,), (b,)) for a, b in zip(updates, reshaped, strict=True))
    found = _lift(operation, (*inputs, *reshaped))
    return found and replace(found, operations=(*made, *found.operations))


def _lift(operation: Operation, arguments: tuple[Value, ...]) -> Replacement | None:
    """Return the body of an operation, applied to arrays of its results' sizes."""
    region = lift_region(operation.regions[0], tensor_of(operation.results[0]).static_shape)
    if region is None or [one.type for one in region.arguments] != [one.type for one in arguments]:
        return None
    return inline_region(operation, region, arguments)


def _single_elements(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the elements of a reduction of one element each, without init value and body."""
    del shown
    count = len(operation.results)
    pairs = list(zip(operation.operands[:count], operation.results, strict=True))
    sizes = tensor_of(operation.operands[0]).static_shape
    if any(sizes[d] != 1 for d in given_attributes(operation)["dimensions"]):
        return None
    if any(static_element_type(one) != static_element_type(result) for one, result in pairs):
        return None
    made = (Operation("reshape", (one,), (result,)) for one, result in pairs)
    return Replacement(tuple(made), operation.results)


def _leave_sort_out(shown: ObservedProgram, operation: Operation) -> Replacement | None:
    """Return the operands of a sort of one element each."""
    del shown
    sizes = tensor_of(operation.operands[0]).static_shape
    dimension = given_attributes(operation).get("dimension", -1)
    return Replacement((), operation.operands) if sizes[dimension] == 1 else None


STEPS: dict[str, Step] = {
    "if": _take_branch,
    "case": _take_branch,
    "while": _leave_loop_out,
    "map": _apply_body,
    "reduce": _single_elements,
    "reduce_window": _apply_body_to_windows,
    "scatter": _apply_body_to_updates,
    "sort": _leave_sort_out,
    "dot": multiply_instead,
    "dot_general": multiply_instead,
}
"""Simplifications by the operation that they remove."""

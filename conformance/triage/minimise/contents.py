"""Plainer data: elements of inputs and constants replaced by 0 and 1, as many as still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from conformance.transforms.extract import with_main
from conformance.triage.minimise.attempts import Attempts
from generators.regions.bodies import number_of
from reference.ir.program import Dense, Operation
from reference.ir.types import Array, element_type_of

Put = Callable[[Array], bool]
"""put(array): whether the program fails with this array in the place of the one looked at."""


def plainer(attempts: Attempts) -> bool:
    """Make every input, then every constant of main, as plain as it can be."""
    shrunk = False
    for number in range(len(attempts.inputs)):
        shrunk |= _plainer_input(attempts, number)
    operations = attempts.program.main.body.operations
    for number, operation in enumerate(operations):
        if isinstance(operation.attribute("value"), Dense):
            shrunk |= _plainer_constant(attempts, number)
    return shrunk


def _plainer_input(attempts: Attempts, number: int) -> bool:
    def put(array: Array) -> bool:
        before, after = attempts.inputs[:number], attempts.inputs[number + 1 :]
        return attempts.take(attempts.program, (*before, array, *after))

    return _simplified(attempts, lambda: attempts.inputs[number], put)


def _plainer_constant(attempts: Attempts, number: int) -> bool:
    def dense() -> Dense:
        value = attempts.program.main.body.operations[number].attribute("value")
        assert isinstance(value, Dense)
        return value

    def put(array: Array) -> bool:
        program = attempts.program
        operations = list(program.main.body.operations)
        operations[number] = _with_value(operations[number], Dense.of(array, dense().type))
        body = replace(program.main.body, operations=tuple(operations))
        return attempts.take(with_main(program, replace(program.main, body=body)), attempts.inputs)

    return _simplified(attempts, lambda: dense().array, put)


def _with_value(operation: Operation, value: Dense) -> Operation:
    return replace(
        operation,
        attributes=tuple((n, value if n == "value" else v) for n, v in operation.attributes),
    )


def _simplified(attempts: Attempts, array: Callable[[], Array], put: Put) -> bool:
    """All elements plain at once, else ever smaller parts of them."""
    shrunk = False
    size = array().size
    width = size
    while width >= 1 and not attempts.is_over:
        for start in range(0, size, width):
            for changed in _plain(array(), start, start + width):
                if attempts.is_over:
                    return shrunk
                if put(changed):
                    shrunk = True
                    break
        width //= 2
        if width < size // 64:  # the rest would take too long, and is seldom needed
            break
    return shrunk


def _plain(array: Array, start: int, stop: int) -> Iterator[Array]:
    """The array with these elements 0, or 1, where they are neither yet."""
    of = element_type_of(array)
    for number in (0, 1):
        if number == 0 and of.is_float and not of.float_format.has_zero:
            continue
        flat = array.copy().reshape(-1)
        one = np.broadcast_to(number_of(number, of), flat[start:stop].shape)
        if flat[start:stop].tobytes() == np.ascontiguousarray(one).tobytes():
            return
        flat[start:stop] = one
        yield flat.reshape(array.shape)

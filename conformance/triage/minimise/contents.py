"""Simpler data: as many elements of inputs and constants as possible are replaced by 0 and 1, and
integers by smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from conformance.transforms.extract import replace_body
from conformance.triage.minimise.attempts import Minimisation
from generators.regions.bodies import number_of
from reference.ir.program import Dense
from reference.ir.types import Array, element_type_of

Put = Callable[[Array], bool]
"""A function put(array): whether the program fails with the array replaced by the given array."""


def simplify_data(attempts: Minimisation) -> bool:
    """Simplify every input, then every constant of main."""
    shrunk = False
    for number in range(len(attempts.inputs)):
        shrunk |= _simplify_input(attempts, number)
    operations = attempts.program.main.body.operations
    for number, operation in enumerate(operations):
        if isinstance(operation.attribute("value"), Dense):
            shrunk |= _simplify_constant(attempts, number)
    return shrunk


def _simplify_input(attempts: Minimisation, number: int) -> bool:
    def put(array: Array) -> bool:
        before, after = attempts.inputs[:number], attempts.inputs[number + 1 :]
        return attempts.try_program(attempts.program, (*before, array, *after))

    return _simplify_array(attempts, lambda: attempts.inputs[number], put)


def _simplify_constant(attempts: Minimisation, number: int) -> bool:
    def dense() -> Dense:
        value = attempts.program.main.body.operations[number].attribute("value")
        assert isinstance(value, Dense)
        return value

    def put(array: Array) -> bool:
        operations = list(attempts.program.main.body.operations)
        value = type(dense()).of(array, dense().type)
        operations[number] = operations[number].with_attributes(value=value)
        return attempts.try_program(replace_body(attempts.program, operations), attempts.inputs)

    return _simplify_array(attempts, lambda: dense().array, put)


def _simplify_array(attempts: Minimisation, array: Callable[[], Array], put: Put) -> bool:
    """Simplify all elements at once, or else smaller and smaller parts."""
    shrunk = False
    size = array().size
    width = size
    while width >= 1 and not attempts.is_over:
        for start in range(0, size, width):
            for changed in _simpler_arrays(array(), start, start + width):
                if attempts.is_over:
                    return shrunk
                if put(changed):
                    shrunk = True
                    break
        width //= 2
        if width < size // 64:  # smaller parts would take too long, and are seldom needed
            break
    return _lower_integers(array, put) or shrunk


def _lower_integers(array: Callable[[], Array], put: Put) -> bool:
    """Limit the magnitudes of integers by the least bound with which the program fails."""
    if not array().size or array().dtype.kind not in "iu":
        return False
    first = largest = max(int(array().max()), -int(array().min()))
    passing = 1  # 0 and 1 were tried
    while largest - passing > 1:
        bound = (passing + largest) // 2
        if put(np.clip(array(), max(-bound, np.iinfo(array().dtype).min), bound)):
            largest = bound
        else:
            passing = bound
    return largest < first


def _simpler_arrays(array: Array, start: int, stop: int) -> Iterator[Array]:
    """Yield the array with these elements set to 0, then to 1, if that changes any."""
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

"""Smaller tensors: smaller sizes; inputs and constants of 0 and 1, or of smaller integers.

A size is replaced by a smaller one wherever it occurs. Dependencies among sizes are not computed:
the verifier decides which programs are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from conformance.pipeline.items import Inputs
from conformance.transforms.extract import replace_body
from conformance.triage.minimise.attempts import Minimisation
from generators.regions.bodies import number_of
from reference.ir.program import Dense, Program, TensorType
from reference.ir.resizing import Sizes, resize_dimensions, sizes_of
from reference.ir.types import Array, element_type_of

Put = Callable[[Array], bool]
"""A function put(array): whether the program fails with the array replaced by the given array."""


def simplify_data(attempts: Minimisation) -> bool:
    """Simplify every input, then every constant of main."""
    shrunk = False
    for number in range(len(attempts.inputs)):
        shrunk |= _simplify_input(attempts, number)
    operations = attempts.program.main.body.operations
    for index, operation in enumerate(operations):
        if isinstance(operation.attribute("value"), Dense):
            shrunk |= _simplify_constant(attempts, index)
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
    element_type = element_type_of(array)
    for number in (0, 1):
        if number == 0 and element_type.is_float and not element_type.float_format.has_zero:
            continue
        flat = array.copy().reshape(-1)
        one = np.broadcast_to(number_of(number, element_type), flat[start:stop].shape)
        if flat[start:stop].tobytes() == np.ascontiguousarray(one).tobytes():
            return
        flat[start:stop] = one
        yield flat.reshape(array.shape)


def shrink_shapes(attempts: Minimisation) -> bool:
    """Try each size smaller, by itself and with its multiples; return whether any was accepted."""
    return attempts.try_repeatedly(_programs_of_smaller_sizes)


def _programs_of_smaller_sizes(
    program: Program, inputs: Inputs
) -> Iterator[tuple[Program, Inputs]]:
    """Yield the program with smaller sizes, on the first and on the last elements."""
    for sizes in _changes(program):
        smaller = resize_dimensions(program, sizes)
        for last in (False, True):
            yield smaller, tuple(_crop(array, sizes, last=last) for array in inputs)


def _changes(program: Program) -> Iterator[Sizes]:
    """Yield replacements of sizes: all at once, then the largest sizes and steps first."""
    found = sorted(sizes_of(program), reverse=True)
    if len(found) > 1:
        for most in (1, 2, 3):
            yield {size: min(size, most) for size in found}
    for size in found:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if not 0 < smaller < size:
                continue
            yield {size: smaller}
            for other in found:
                if other > size and other % size == 0:
                    yield {size: smaller, other: other // size * smaller}
                    break
            for other in (size + 1, size - 1, 2 * size):
                if other in found and other != smaller:
                    yield {size: smaller, other: max(other + smaller - size, 1)}


def _crop(array: Array, sizes: Sizes, *, last: bool) -> Array:
    parts = tuple(
        slice(None)
        if size not in sizes
        else slice(size - sizes[size], None)
        if last
        else slice(0, sizes[size])
        for size in array.shape
    )
    shape = tuple(sizes[size] if size in sizes else size for size in array.shape)  # noqa: SIM401 - its type
    return np.ascontiguousarray(array[parts]).reshape(shape)


def count_elements(program: Program) -> int:
    """Return the number of elements of main's parameters and results.

    An unknown size counts 1.
    """
    types = [*(value.type for value in program.main.arguments), *program.main.result_types]
    return sum(
        math.prod(size for size in of.shape if size is not None)
        for of in types
        if isinstance(of, TensorType)
    )

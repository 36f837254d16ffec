"""Arrays of dynamic sizes become arrays of their bounds, and back."""

from __future__ import annotations

import numpy as np

from conformance.hlo.custom_calls.sizes import TARGETS
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, Value
from suites.meta.conformance.hlo.instructions import custom_call, shape, site_of, tuple_shape
from suites.meta.support.small_programs import array, tensor_of

BOUNDED = shape("si32", 4, is_dynamic_dimension=[1])


def evaluate_both(size: int) -> list[np.ndarray]:
    """Return the array of the bounds after slicing to a size, and the size."""
    x, count = Value("x", tensor_of(4, of="si32")), Value("n", tensor_of(of="si32"))
    slicing = site_of(custom_call("SliceToDynamic", BOUNDED), [x, count])
    part = TARGETS["SliceToDynamic"](slicing)
    result = tuple_shape(shape("si32", 4), shape("si32"))
    padding = site_of(custom_call("PadToStatic", result), [part])
    padding.building.operations[:] = slicing.building.operations
    padding.building.numbers = slicing.building.numbers
    results = TARGETS["PadToStatic"](padding)
    assert isinstance(results, tuple)
    body = padding.building.region([x, count], results)
    program = Program((Function("main", body, tuple(one.type for one in results)),))
    return list(evaluate(program, [array([1, 2, 3, 4], "si32"), array(size, "si32")]))


def test_elements_beyond_the_size_are_zeros() -> None:
    for size, found in ((2, [1, 2, 0, 0]), (4, [1, 2, 3, 4]), (0, [0, 0, 0, 0])):
        padded, count = evaluate_both(size)
        assert padded.tolist() == found
        assert count == size


def test_sliced_array_has_the_bounds_of_its_shape() -> None:
    x, count = Value("x", tensor_of(4, of="si32")), Value("n", tensor_of(of="si32"))
    part = TARGETS["SliceToDynamic"](site_of(custom_call("SliceToDynamic", BOUNDED), [x, count]))
    assert isinstance(part, Value)
    assert (part.type.shape, part.type.bounds) == ((None,), (4,))  # type: ignore[union-attr]

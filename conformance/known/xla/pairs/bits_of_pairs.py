"""Bits of a number of f64 as truth values, which on TPUs are the bits of its pair of f32.

`float_pairs.py` is about the pairs. `other_types.py` is about the bytes that i1 values have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.xla.memory import constant
from conformance.known.xla.other_types import bitcast_by_bytes
from conformance.transforms.extract import with_body, with_results
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import element_type

_WIDTH = 32


def concerns(operation: Operation) -> bool:
    """Return whether an operation gives bits of numbers of f64 as truth values."""
    if operation.name != "bitcast_convert":
        return False
    of, to = element_of(operation.operands[0]), element_of(operation.results[0])
    return of == element_type("f64") and to == element_type("i1")


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield a program, one such bitcast, that reads the bytes of pairs."""
    *before, subject, end = program.main.body.operations
    if end.operands != subject.results or not concerns(subject):
        return
    word, operations = _word_of_pair(subject.operands[0])
    others = [*operations, *bitcast_by_bytes(replace(subject, operands=(word,)))]
    whole = with_body(program, (*before, *others, end))
    yield (with_results(whole, others[-1].results),)


def _word_of_pair(given: Value) -> tuple[Value, list[Operation]]:
    """Return an integer whose high half is the bits of the larger number, and its operations."""
    of = given.type
    assert isinstance(of, TensorType)
    made: list[Operation] = []

    def add(name: str, kind: str, *operands: Value) -> Value:
        value = Value(f"{given.name}.pair{len(made)}", TensorType(of.shape, element_type(kind)))
        made.append(Operation(name, operands, (value,)))
        return value

    def constant_of(number: int, kind: str) -> Value:
        value = Value(f"{given.name}.pair{len(made)}", TensorType(of.shape, element_type(kind)))
        made.append(constant(value, np.full(of.static_shape, number, element_type(kind).storage)))
        return value

    high = add("convert", "f32", given)
    rest = add("subtract", "f64", given, add("convert", "f64", high))
    finite = add("is_finite", "i1", high)
    low = add("select", "f32", finite, add("convert", "f32", rest), constant_of(0, "f32"))
    words = [add("convert", "ui64", add("bitcast_convert", "ui32", part)) for part in (high, low)]
    shifted = add("shift_left", "ui64", words[0], constant_of(_WIDTH, "ui64"))
    return add("or", "ui64", shifted, words[1]), made

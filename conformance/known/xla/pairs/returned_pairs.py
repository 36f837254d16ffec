"""Numbers of f64 that a program only moves, as the pairs of f32 that represent them on a TPU.

Such programs do no arithmetic in f64: they return arguments and constants, also through a composite
or a selection of tuples. `float_pairs.py` is about operations that do arithmetic.

A comparison in total order compares first the larger numbers of pairs, and then the smaller ones,
by their bits. So it distinguishes pairs that have the same sum: the second number is -0 where a
negative remainder is too small for f32. Such a pair stands below the pair whose second number is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.known.xla.pairs.representation import round_to_pairs, split_into_pairs
from conformance.known.xla.pairs.written_pairs import pair_writer, write_pair
from conformance.transforms.extract import replace_main
from conformance.transforms.replacing import rewrite_ops
from conformance.transforms.retype import element_of
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value
from reference.ir.types import BOOLEAN, Array, element_type

_WIDE, _BITS, _LOW_BITS = (element_type(name) for name in ("f64", "ui64", "ui32"))

_SIGN, _NEGATIVE_ZERO = 63, 1 << 31
"""Position of the sign among the bits of f64; the bits of -0 in f32."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with f64 arguments and constants rounded to pairs, if it has any.

    If it compares in total order, the second program has numbers in the order of pairs.
    """
    yield from _replace_wide_values(program, round_to_pairs, _rounded_real)
    if any(one.attribute("compare_type") == "TOTALORDER" for one in program.walk()):
        yield from _replace_wide_values(program, pair_order_keys, _ordered_real)


def pair_order_keys(array: Array) -> Array:
    """Return numbers of f64, or of another type unchanged, that are ordered as their pairs are.

    A pair with the second number -0 is the next number below its sum.
    """
    if array.dtype != np.float64:
        return round_to_pairs(array)
    rounded, (_, low) = round_to_pairs(array), split_into_pairs(array)
    is_below = (low == 0) & np.signbit(low)
    with np.errstate(all="ignore"):
        return np.where(is_below, np.nextafter(rounded, -np.inf), rounded)


def _replace_wide_values(
    program: Program,
    of_constant: Callable[[Array], Array],
    of_value: Callable[[Value, Value], Iterator[Operation]],
) -> Iterator[tuple[Program]]:
    """Yield the program with its f64 constants and arguments replaced, if it has any."""

    def replaced(operation: Operation) -> tuple[Operation]:
        return (_replaced_constant(operation, of_constant),)

    rounded = rewrite_ops(program, {"constant": replaced})
    main = rounded.main
    wide = {
        value: Value(f"{value.name}.given", value.type)
        for value in main.arguments
        if _is_wide(value)
    }
    before = [one for value, given in wide.items() for one in _replaced(given, value, of_value)]
    if before or rounded != program:
        arguments = tuple(wide.get(value, value) for value in main.arguments)
        body = Region(arguments, (*before, *main.body.operations))
        yield (replace_main(rounded, replace(main, body=body)),)


def _is_wide(value: Value) -> bool:
    of = element_of(value)
    return of is not None and _WIDE in (of, of.part)


def _replaced_constant(operation: Operation, by: Callable[[Array], Array]) -> Operation:
    value = operation.attribute("value")
    if not isinstance(value, Dense) or not _is_wide(operation.results[0]):
        return operation
    return operation.with_attributes(value=Dense.of(by(value.array), value.type))


def _replaced(
    given: Value, result: Value, of_value: Callable[[Value, Value], Iterator[Operation]]
) -> Iterator[Operation]:
    """Yield operations that replace a value, a complex one by its rounded parts."""
    of = given.type
    assert isinstance(of, TensorType)
    if not of.stored.is_complex:
        yield from of_value(given, result)
        return
    part = TensorType(of.shape, of.stored.part)
    parts: list[Value] = []
    for name in ("real", "imag"):
        own = Value(f"{given.name}.{name}", part)
        parts.append(Value(f"{own.name}.pair", part))
        yield Operation(name, (given,), (own,))
        yield from _rounded_real(own, parts[-1])
    yield Operation("complex", tuple(parts), (result,))


def _rounded_real(given: Value, result: Value) -> Iterator[Operation]:
    """Yield operations that add the numbers of a pair; the second may be 0."""
    writer = pair_writer(given)
    _, wide_high, total, is_pair = _parts_and_sum(writer, given)
    yield from writer.operations
    yield Operation("select", (is_pair, total, wide_high), (result,))


def _ordered_real(given: Value, result: Value) -> Iterator[Operation]:
    """Yield operations that make `pair_order_keys` of a value.

    The number below a positive number has the next smaller bits, below a negative one the next
    larger.
    """
    writer = pair_writer(given)
    low, wide_high, total, is_pair = _parts_and_sum(writer, given)
    rounded = writer.add("select", (is_pair, total, wide_high), _WIDE)
    bits = writer.add("bitcast_convert", (rounded,), _BITS)
    sign, one = (writer.fill_like(given, number, _BITS) for number in (_SIGN, 1))
    is_negative = writer.add("shift_right_logical", (bits, sign), _BITS)
    twice = writer.add("add", (is_negative, is_negative), _BITS)
    step = writer.add("subtract", (twice, one), _BITS)
    below = writer.add("bitcast_convert", (writer.add("add", (bits, step), _BITS),), _WIDE)
    low_bits = writer.add("bitcast_convert", (low,), _LOW_BITS)
    negative_zero = writer.fill_like(given, _NEGATIVE_ZERO, _LOW_BITS)
    difference = writer.add("xor", (low_bits, negative_zero), _LOW_BITS)
    is_other = writer.add("convert", (difference,), BOOLEAN[0])
    yield from writer.operations
    yield Operation("select", (is_other, rounded, below), (result,))


def _parts_and_sum(writer: OperationWriter, given: Value) -> tuple[Value, Value, Value, Value]:
    """Return a pair's second number, its first in f64, their sum, and whether the second is not 0.

    The sum of -0 and +0 is +0.
    """
    high, low = write_pair(writer, given)
    wide_high, wide_low = (writer.add("convert", (part,), _WIDE) for part in (high, low))
    total = writer.add("add", (wide_high, wide_low), _WIDE)
    return low, wide_high, total, writer.add("convert", (low,), BOOLEAN[0])

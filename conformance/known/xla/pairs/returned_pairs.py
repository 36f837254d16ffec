"""Numbers of f64 that a program only moves, as the pairs of f32 that represent them on a TPU.

Such programs do no arithmetic in f64: they return arguments and constants, also through a composite
or a selection of tuples. `float_pairs.py` is about operations that do arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.known.xla.pairs.written_pairs import PairWriter
from conformance.transforms.extract import with_main
from conformance.transforms.replacing import with_operations
from conformance.transforms.retype import element_of
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value
from reference.ir.types import element_type

_WIDE = element_type("f64")


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with f64 arguments and constants rounded to pairs, if it has any."""
    rounded = with_operations(program, {"constant": _rounded_constant})
    main = rounded.main
    wide = {
        value: Value(f"{value.name}.given", value.type)
        for value in main.arguments
        if _is_wide(value)
    }
    before = [one for value, given in wide.items() for one in _round_to_pairs(given, value)]
    if before or rounded != program:
        arguments = tuple(wide.get(value, value) for value in main.arguments)
        body = Region(arguments, (*before, *main.body.operations))
        yield (with_main(rounded, replace(main, body=body)),)


def _is_wide(value: Value) -> bool:
    of = element_of(value)
    return of is not None and _WIDE in (of, of.part)


def _rounded_constant(operation: Operation) -> tuple[Operation]:
    value = operation.attribute("value")
    if not isinstance(value, Dense) or not _is_wide(operation.results[0]):
        return (operation,)
    return (operation.with_attributes(value=Dense.of(round_to_pairs(value.array), value.type)),)


def _round_to_pairs(given: Value, result: Value) -> Iterator[Operation]:
    """Yield operations that round a value to pairs, a complex one by its parts."""
    of = given.type
    assert isinstance(of, TensorType)
    if not of.stored.is_complex:
        yield from _rounded_real(given, result)
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
    writer = PairWriter(given)
    high, low = writer.split()
    wide_high, wide_low = (writer.add("convert", "f64", part) for part in (high, low))
    total = writer.add("add", "f64", wide_high, wide_low)
    is_pair = writer.add("convert", "i1", low)  # -0 + 0 is +0
    yield from writer.operations
    yield Operation("select", (is_pair, total, wide_high), (result,))

"""Numbers of f64 that a program only moves, as the pairs of f32 that represent them on a TPU.

`float_pairs.py` is about single operations. Here are programs whose results no operation of f64
makes: arguments and constants that are returned, or that a composite or a selection of tuples
returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.known.xla.pairs.representation import round_to_pairs
from conformance.transforms.extract import with_main
from conformance.transforms.replacing import with_operations
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value, attributes
from reference.ir.types import ElementType, element_type

_WIDE, _HALF = element_type("f64"), element_type("f32")


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
    of = value.type
    if not isinstance(of, TensorType) or not isinstance(of.element_type, ElementType):
        return False
    return _WIDE in (of.element_type, of.element_type.part)


def _rounded_constant(operation: Operation) -> tuple[Operation]:
    value = operation.attribute("value")
    if not isinstance(value, Dense) or not _is_wide(operation.results[0]):
        return (operation,)
    rounded = Dense.of(round_to_pairs(value.array), value.type)
    return (replace(operation, attributes=attributes(value=rounded)),)


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
    """Yield operations that add the nearest f32 number and the f32 number nearest to the rest."""
    of = given.type
    assert isinstance(of, TensorType)
    half, truth = TensorType(of.shape, _HALF), TensorType(of.shape, element_type("i1"))

    def value(name: str, kind: TensorType) -> Value:
        return Value(f"{given.name}.{name}", kind)

    high, wide_high, rest = value("high", half), value("wide_high", of), value("rest", of)
    low, wide_low, total = value("low", half), value("wide_low", of), value("sum", of)
    is_finite, has_rest, is_pair = value("finite", truth), value("has", truth), value("pair", truth)
    yield Operation("convert", (given,), (high,))
    yield Operation("convert", (high,), (wide_high,))
    yield Operation("subtract", (given, wide_high), (rest,))
    yield Operation("convert", (rest,), (low,))
    yield Operation("convert", (low,), (wide_low,))
    yield Operation("add", (wide_high, wide_low), (total,))
    yield Operation("is_finite", (high,), (is_finite,))
    yield Operation("convert", (wide_low,), (has_rest,))
    yield Operation("and", (is_finite, has_rest), (is_pair,))
    yield Operation("select", (is_pair, total, wide_high), (result,))

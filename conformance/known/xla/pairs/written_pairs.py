"""Pairs of f32 written as operations of a program."""

from __future__ import annotations

from conformance.known.writing import OperationWriter
from reference.ir.program import Value
from reference.ir.types import BOOLEAN, element_type

_F32, _F64 = element_type("f32"), element_type("f64")


def pair_writer(given: Value) -> OperationWriter:
    """Return a writer of operations on the pair of a value of f64."""
    return OperationWriter(f"{given.name}.pair")


def write_pair(writer: OperationWriter, given: Value) -> tuple[Value, Value]:
    """Write operations that split a value of f64 into a pair; return its numbers, the larger first.

    The second number is 0 beside an infinite one.
    """
    high = writer.add("convert", (given,), _F32)
    rest = writer.add("subtract", (given, writer.add("convert", (high,), _F64)), _F64)
    low, zero = writer.add("convert", (rest,), _F32), writer.fill_like(given, 0, _F32)
    is_finite = writer.add("is_finite", (high,), BOOLEAN[0])
    return high, writer.add("select", (is_finite, low, zero), _F32)

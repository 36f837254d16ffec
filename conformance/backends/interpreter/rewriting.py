"""Equivalent programs that the interpreter can run.

Some constructs crash it needlessly: complex numbers among the arguments or results of main, integer
division by zero, a sort with a comparator that is no order, and negative padding of a convolution
beyond the operand's size. Complex numbers are passed as parts. A zero divisor is replaced by 1,
because the quotient is unspecified. Sorts are made stable, as the specification permits. Padding is
limited to the operand's size. A scatter overwrites its inputs, so it gets copies.

These replacements are not among the transforms, because they work around faults of this backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.transforms.complex_parts import split_complex_signature
from conformance.transforms.replacing import rewrite_ops
from reference.ir.program import Dense, Operation, Program, TensorType, Value, attributes
from reference.ir.types import ELEMENT_TYPES, Array, ElementType


def adapt(program: Program) -> Program:
    """Return the program with parts of complex numbers as arguments and results, and without
    operations that crash the interpreter."""
    return split_complex_signature(rewrite_ops(program, _SAFE))


def _rewrite_division(operation: Operation) -> Iterator[Operation]:
    divisor = operation.operands[-1]
    of = divisor.type.element_type if isinstance(divisor.type, TensorType) else None
    if isinstance(of, ElementType) and of.is_integer:
        assert isinstance(divisor.type, TensorType)
        if divisor.type.is_static:
            yield from _divisor(operation, divisor, divisor.type)
            return
    yield operation


def _divisor(operation: Operation, divisor: Value, of: TensorType) -> Iterator[Operation]:
    stem = f"divisor.{operation.results[0].name}"
    zero, one, other = (Value(f"{stem}.{name}", of) for name in ("zero", "one", "safe"))
    is_zero = Value(f"{stem}.is_zero", TensorType(of.shape, ELEMENT_TYPES["i1"]))
    for value, number in ((zero, 0), (one, 1)):
        array = np.full(of.static_shape, number, of.storage)
        yield Operation("constant", (), (value,), attributes(value=Dense.of(array, of)))
    equal = attributes(comparison_direction="EQ", compare_type=_compare_type(of))
    yield Operation("compare", (divisor, zero), (is_zero,), equal)
    yield Operation("select", (is_zero, one, divisor), (other,))
    yield replace(operation, operands=(*operation.operands[:-1], other))


def _compare_type(of: TensorType) -> str:
    return "SIGNED" if of.stored.is_signed else "UNSIGNED"


def _stably_sorted(operation: Operation) -> Iterator[Operation]:
    """Yield a stable sort, as the specification permits.

    Other sorts loop for ever, or read beyond their elements, if the comparator is no order, as with
    NaNs.
    """
    yield operation.with_attributes(is_stable=True)


def _rewrite_padding(operation: Operation) -> Iterator[Operation]:
    """Yield a convolution whose padding attribute crops at most the whole image."""
    padding, most = operation.attribute("padding"), _most_taken(operation)
    if isinstance(padding, Dense) and len(most) == len(padding.array):
        array = padding.array.copy()
        array[:, 1] = np.maximum(array[:, 1], -most - array[:, 0])
        operation = operation.with_attributes(padding=Dense.of(array, padding.type))
    yield operation


def _dynamically_padded(operation: Operation) -> Iterator[Operation]:
    """Yield a convolution whose padding operand (si64) crops at most the whole image."""
    padding, most = operation.operands[2], _most_taken(operation)
    if not isinstance(padding.type, TensorType) or padding.type.shape != (len(most), 2):
        yield operation
        return
    stem = f"padding.{operation.results[0].name}"
    si64 = ELEMENT_TYPES["si64"]
    both, column = TensorType((len(most), 2), si64), TensorType((len(most), 1), si64)
    wide, safe = Value(f"{stem}.wide", both), Value(f"{stem}.safe", both)
    low, high, there, least, kept = (
        Value(f"{stem}.{name}", column) for name in ("low", "high", "there", "least", "kept")
    )
    yield Operation("convert", (padding,), (wide,))
    for index, edge in enumerate((low, high)):
        start, limit = (0, index), (len(most), index + 1)
        places = attributes(start_indices=start, limit_indices=limit, strides=(1, 1))
        yield Operation("slice", (wide,), (edge,), places)
    constant = Dense.of(-most.reshape(-1, 1), column)
    yield Operation("constant", (), (there,), attributes(value=constant))
    yield Operation("subtract", (there, low), (least,))
    yield Operation("maximum", (high, least), (kept,))
    yield Operation("concatenate", (low, kept), (safe,), attributes(dimension=1))
    yield replace(operation, operands=(*operation.operands[:2], safe))


def _most_taken(operation: Operation) -> Array:
    """Return the dilated sizes of a convolution's left operand, to which cropping is limited; empty
    if unknown.
    """
    lhs, given = operation.operands[0].type, dict[str, Any](operation.attributes)
    if not isinstance(lhs, TensorType) or not lhs.is_static:
        return np.zeros(0, np.int64)
    dimensions = given["input_spatial_dimensions"]
    steps = given.get("lhs_dilation", (1,) * len(dimensions))
    sizes = [lhs.static_shape[d] for d in dimensions]
    if len(steps) != len(sizes):  # an invalid program, which the verifier lets through
        return np.zeros(0, np.int64)
    dilated = [(n - 1) * step + 1 if n else 0 for n, step in zip(sizes, steps, strict=True)]
    return np.array(dilated, np.int64)


def _copy_inputs(operation: Operation) -> Iterator[Operation]:
    """Yield a scatter of copies of its inputs, because it overwrites its inputs with the
    results."""
    count = len(operation.results)
    copies: list[Value] = []
    for index, value in enumerate(operation.operands[:count]):
        if not (isinstance(value.type, TensorType) and value.type.is_static):
            yield operation
            return
        copies.append(Value(f"copy.{index}.{operation.results[0].name}", value.type))
    for value, copy in zip(operation.operands, copies, strict=False):
        yield Operation("reshape", (value,), (copy,))
    yield replace(operation, operands=(*copies, *operation.operands[count:]))


_SAFE: dict[str, Callable[[Operation], Iterator[Operation]]] = {
    "scatter": _copy_inputs,
    "chlo.broadcast_divide": _rewrite_division,
    "chlo.broadcast_remainder": _rewrite_division,
    "convolution": _rewrite_padding,
    "divide": _rewrite_division,
    "dynamic_conv": _dynamically_padded,
    "remainder": _rewrite_division,
    "sort": _stably_sorted,
}
"""Ops that crash the interpreter in some cases, each with the function that replaces them."""

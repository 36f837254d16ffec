"""What XLA's CPU computes where it gives results of other types or shapes than are stated.

- A body of a wider element type than the operands is not translated: the operation has the body in
  the operands' type, and so are its results.
- An i1 has a byte. So a bitcast from or to i1 has the shape that 8 bits for each give it, and its
  results are the operand's bytes as they lie in memory.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.transforms.extract import with_main
from conformance.transforms.values import evaluated
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, Region, TensorType, Value, single_op
from reference.ir.types import (
    ELEMENT_TYPES,
    Array,
    ElementType,
    bits_dtype,
    element_type_of,
    from_bits,
    to_bits,
)

_BYTE = 8


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Another program, its inputs and results, and actual results in the same types."""

    program: Program
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]


def in_other_types(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> Otherwise | None:
    """Return what is computed in place of a program whose results are of other types.

    None if the program is not known to have such results, or has results of other types still.
    """
    try:
        found = _in_narrow_body(program, inputs, actual) or _by_bytes(program, inputs, actual)
    except EvaluationError:
        return None
    if found is None or len(found.expected) != len(found.actual):
        return None
    pairs = zip(found.expected, found.actual, strict=True)
    return found if all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs) else None


def _in_narrow_body(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> Otherwise | None:
    *before, subject, end = program.main.body.operations
    narrow = _narrowed(subject)
    if narrow is None or end.operands != subject.results:
        return None
    end = replace(end, operands=narrow.results)
    body = replace(program.main.body, operations=(*before, narrow, end))
    types = tuple(value.type for value in narrow.results)
    other = with_main(program, replace(program.main, body=body, result_types=types))
    return Otherwise(other, inputs, evaluate(other, inputs), actual)


def _narrowed(operation: Operation) -> Operation | None:
    """Return an operation with its body in the operands' element types; None if it is.

    Nothing is known of operations with two bodies, nor of loops over updates of narrow numbers,
    whose bits the body reads as those of other numbers.
    """
    if len(operation.regions) != 1:
        return None
    (region,), count = operation.regions, len(operation.results)
    folds = len(operation.operands) in (count, 2 * count)
    changed: dict[ElementType, ElementType] = {}
    for argument, operand in zip(region.arguments, operation.operands[:count], strict=False):
        wide, narrow = _element(argument), _element(operand)
        if wide is None or narrow is None or changed.get(wide, narrow) != narrow:
            return None
        if not folds and narrow.is_float and narrow.bits <= _BYTE:
            return None
        changed[wide] = narrow
    if all(wide == narrow for wide, narrow in changed.items()):
        return None
    body = _region_in(region, changed)
    if body is None:
        return None
    results = tuple(_value_in(value, changed) for value in operation.results)
    return replace(operation, regions=(body,), results=results)


def _region_in(region: Region, changed: Mapping[ElementType, ElementType]) -> Region | None:
    """Return a region in other element types; None if it makes values of some other type."""
    boolean = ELEMENT_TYPES["i1"]
    made = [*region.arguments, *(value for one in region.operations for value in one.results)]
    if not {_element(value) for value in made} <= {*changed, boolean}:
        return None
    if any(one.regions or not one.operands for one in region.operations):
        return None
    operations = tuple(
        replace(
            one,
            operands=tuple(_value_in(value, changed) for value in one.operands),
            results=tuple(_value_in(value, changed) for value in one.results),
        )
        for one in region.operations
    )
    return Region(tuple(_value_in(one, changed) for one in region.arguments), operations)


def _element(value: Value) -> ElementType | None:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return of if isinstance(of, ElementType) else None


def _value_in(value: Value, changed: Mapping[ElementType, ElementType]) -> Value:
    of = _element(value)
    if of is None or of not in changed:
        return value
    return replace(value, type=replace(value.type, element_type=changed[of]))


def _by_bytes(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> Otherwise | None:
    """Return the bytes that a bitcast from or to i1 gives, with those of the actual results."""
    *_, subject, end = program.main.body.operations
    if subject.name != "bitcast_convert" or end.operands != subject.results or len(actual) != 1:
        return None
    of, to = _element(subject.operands[0]), _element(subject.results[0])
    if of is None or to is None or not (of.is_boolean or to.is_boolean):
        return None
    if to.is_complex or any(one.bits < _BYTE and _BYTE % one.bits for one in (of, to)):
        return None
    operand = evaluated(program, inputs)[subject.operands[0].name]
    memory, each = _packed(operand), _bits(to)
    shape = _shape(operand.shape, _bits(of), each)
    if shape is None or actual[0].shape != shape or each * actual[0].size > _BYTE * memory.size:
        return None
    predicted = _unpacked(memory, to)[: actual[0].size].reshape(shape)
    got = (
        actual[0].view(np.uint8) != 0 if to.is_boolean else actual[0]
    )  # true may be any other bits
    type_ = TensorType(shape, to)
    moved = single_op("optimization_barrier", (Value("x", type_),), (type_,))
    return Otherwise(moved, [predicted], [predicted], [got])


def _bits(of: ElementType) -> int:
    """Return how many bits an element has for XLA."""
    return _BYTE if of.is_boolean else of.bits


def _packed(array: Array) -> Array:
    """Return the bytes of an array in memory: elements under a byte are packed, low bits first."""
    each = _bits(element_type_of(array))
    found = np.ascontiguousarray(to_bits(array)).reshape(-1).view(np.uint8)
    if each >= _BYTE:
        return found
    many = _BYTE // each
    padded = np.zeros(-(-found.size // many) * many, np.uint8)
    padded[: found.size] = found & np.uint8((1 << each) - 1)
    shifts = np.arange(0, _BYTE, each, dtype=np.uint8)
    return np.bitwise_or.reduce(padded.reshape(-1, many) << shifts, axis=-1).astype(np.uint8)


def _unpacked(memory: Array, to: ElementType) -> Array:
    """Return the elements of a type, 1-D, that such bytes are."""
    if to.is_boolean:
        return memory != 0
    if to.bits < _BYTE:
        parts = [memory >> np.uint8(shift) for shift in range(0, _BYTE, to.bits)]
        memory = np.stack(parts, axis=-1).reshape(-1) & np.uint8((1 << to.bits) - 1)
    return from_bits(memory.view(bits_dtype(to)), to)


def _shape(shape: tuple[int, ...], of: int, to: int) -> tuple[int, ...] | None:
    """Return the shape of a bitcast by the bits of its elements; None where there is none."""
    if to <= of:
        return shape if to == of else (*shape, of // to)
    return shape[:-1] if shape and shape[-1] == to // of else None

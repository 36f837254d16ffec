"""Bodies of a wider element type than the operands, which XLA does not translate.

The results have the operands' element type, and the body is computed in one of two ways:

- In the operands' type: each operation of the body takes the type of its operands.
- XLA's CPU compiler computes the updates of a scatter in f16 or f32 if it has no arithmetic of the
  operands' type. It rounds the result of an operation in bf16 to bf16, and writes its 16 bits into
  the memory of an f16 or f32 number. They replace a whole f16 number, whose bits are then read as
  another number, and the lower half of an f32 number.

Source: jaxlib 0.10.2 and 0.12.0, measured; the LLVM modules of fusions with a scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.known.xla.indexing.treated_windows import treated_scatters
from conformance.known.xla.windows.expanded_selection import as_scatter, orders_of
from conformance.transforms.inferred import inferred_programs
from conformance.transforms.retype import element_of, retype, with_element_type
from reference.ir.program import (
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    attributes,
    tensor_of,
)
from reference.ir.types import BOOLEAN, ELEMENT_TYPES, ElementType

LABEL = "body in the operands' type"
"""The class of results that have the operands' type, where the body has a wider one."""

_F16, _BF16, _F32 = (ELEMENT_TYPES[name] for name in ("f16", "bf16", "f32"))
_HALF, _WORD = ELEMENT_TYPES["ui16"], ELEMENT_TYPES["ui32"]
_UPPER_HALF = 0xFFFF0000


def concerns(operation: Operation) -> bool:
    """Return whether an operation has a body of another element type than its operands."""
    return bool(_replaced_types(operation))


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with all bodies in the operands' types, and the types that follow."""
    return inferred_programs(program, _narrow_body)


def rewrite_updates(program: Program) -> Iterator[tuple[Program]]:
    """Yield the programs whose scatters write results of bf16 into the memory of other numbers.

    A select_and_scatter may visit a window in several orders, and a scatter may treat windows out
    of bounds, and index vectors of no components, as XLA does (`treated_windows.py`).
    """
    updating = [one for one in program.walk() if _updated_type(one)]
    for number in range(max((len(_expansions(one)) for one in updating), default=0)):
        yield from inferred_programs(program, partial(_replace_updates, number=number))


def _narrow_body(operation: Operation) -> Sequence[Operation]:
    types = _replaced_types(operation)
    return [replace(retype(operation, types), operands=operation.operands)] if types else []


def _replaced_types(operation: Operation) -> Mapping[ElementType, ElementType]:
    """Return the operands' type for each type of the last region; empty if both are the same, or if
    the region does not compute in these types alone.
    """
    changed: dict[ElementType, ElementType] = {}
    if not operation.regions:
        return {}
    arguments, count = operation.regions[-1].arguments, len(operation.results)
    for argument, operand in zip(arguments, operation.operands[:count], strict=False):
        wide, narrow = element_of(argument), element_of(operand)
        if wide is None or narrow is None or changed.get(wide, narrow) != narrow:
            return {}
        changed[wide] = narrow
    if all(wide == narrow for wide, narrow in changed.items()):
        return {}
    if any(one.regions or not one.operands for one in operation.regions[-1].operations):
        return {}
    return changed if _made(operation) <= {*changed, *BOOLEAN} else {}


def _made(operation: Operation) -> set[ElementType | None]:
    """Return the element types of all values of the last region."""
    region = operation.regions[-1]
    made = [*region.arguments, *(value for one in region.operations for value in one.results)]
    return {element_of(value) for value in made}


# --- Updates in memory ----------------------------------------------------------------------------


def _updated_type(operation: Operation) -> ElementType | None:
    """Return the type of the operands of a scatter with a body in bf16, if the compiler converts
    them; else None.
    """
    count = len(operation.results)
    types = _replaced_types(operation)
    if set(types) != {_BF16} or len(operation.operands) in (count, 2 * count):
        return None
    if not all(
        isinstance(one.type, TensorType) and one.type.is_static for one in operation.operands
    ):
        return None
    narrow = types[_BF16]
    is_converted = narrow.is_float and narrow.bits < _BF16.bits
    return narrow if is_converted and _made(operation) == {_BF16} else None


def _memory_type(narrow: ElementType) -> ElementType:
    """Return the type in which the compiler computes in place of a narrow one."""
    return _F16 if narrow.float_format.smallest >= _F16.float_format.smallest else _F32


Expansion = Callable[[], list[Operation]]
"""A function that returns operations in place of an operation, a scatter among them."""


def _expansions(operation: Operation) -> list[Expansion]:
    """Return the forms in which XLA may compute a scatter or a select_and_scatter."""
    if operation.name == "select_and_scatter":
        return [partial(as_scatter, operation, order) for order in orders_of(operation)]
    treated = treated_scatters(operation)
    return [lambda: [operation], *(partial(list[Operation], one) for one in treated)]


def _replace_updates(operation: Operation, number: int) -> Sequence[Operation]:
    expansions = _expansions(operation) if _updated_type(operation) else []
    if not expansions:
        return []
    made: list[Operation] = []
    for one in expansions[min(number, len(expansions) - 1)]():
        made += _write_to_memory(one) if _updated_type(one) else [one]
    return made


def _write_to_memory(scatter: Operation) -> Iterator[Operation]:
    """Yield a scatter on converted operands, which applies window after window, and its converted
    results.
    """
    narrow, count = _updated_type(scatter), len(scatter.results)
    assert narrow is not None
    wide, writer = _memory_type(narrow), OperationWriter(f"{scatter.results[0].name}.memory")
    given: dict[str, Any] = dict(scatter.attributes)
    window_dims: tuple[int, ...] = given["update_window_dims"]
    inputs = [writer.add("convert", (value,), wide) for value in scatter.operands[:count]]
    updates = [
        writer.add("convert", (_windows_last(writer, value, window_dims),), wide)
        for value in scatter.operands[count + 1 :]
    ]
    yield from writer.operations
    operands = (*inputs, scatter.operands[count], *updates)
    rank = tensor_of(updates[-1]).rank
    last = tuple(range(rank - len(window_dims), rank))
    results = tuple(
        Value(f"{value.name}.made", replace(tensor_of(value), element_type=wide))
        for value in scatter.results
    )
    body = _bit_writing_body(scatter.regions[-1], wide)
    ordered = attributes(**given | {"update_window_dims": last})
    yield Operation("scatter", operands, results, ordered, (body,))
    for made, value in zip(results, scatter.results, strict=True):
        yield Operation("convert", (made,), (with_element_type(value, narrow),))


def _windows_last(writer: OperationWriter, value: Value, window_dims: tuple[int, ...]) -> Value:
    """Return transposed updates, with the dimensions of windows behind all others."""
    shape = tensor_of(value).shape
    others = tuple(d for d in range(len(shape)) if d not in window_dims)
    order = (*others, *window_dims)
    sizes = [shape[d] for d in order]
    return writer.add("transpose", (value,), tensor_of(value).element, sizes, permutation=order)


def _bit_writing_body(body: Region, memory: ElementType) -> Region:
    """Return a body in bf16 on values in memory of a wider type, into which it writes bits."""
    arguments = tuple(with_element_type(value, memory) for value in body.arguments)
    writer = OperationWriter(f"{arguments[0].name}.memory")
    known = {value.name: writer.add("convert", (value,), _F32) for value in arguments}
    *operations, end = body.operations
    for one in operations:
        (result,) = one.results
        given, exact = tuple(known[v.name] for v in one.operands), with_element_type(result, _F32)
        writer.operations.append(replace(one, operands=given, results=(exact,)))
        rounded = writer.add("convert", (exact,), _BF16)
        known[result.name] = writer.add("convert", (rounded,), _F32)
    written: list[Value] = []
    for target, value in zip(arguments, end.operands, strict=False):
        if value.name in {one.name for one in arguments}:  # handed on as it is
            written.append(with_element_type(value, memory))
            continue
        rounded = writer.add("convert", (known[value.name],), _BF16)
        bits = writer.add("bitcast_convert", (rounded,), _HALF)
        if memory.bits > _HALF.bits:
            bits = _below_upper_half(writer, target, bits)
        written.append(writer.add("bitcast_convert", (bits,), memory))
    return Region(arguments, (*writer.operations, replace(end, operands=tuple(written))))


def _below_upper_half(writer: OperationWriter, before: Value, bits: Value) -> Value:
    """Return 16 bits below the upper half of a number of 32 bits."""
    old = writer.add("bitcast_convert", (before,), _WORD)
    mask = writer.constant(np.array(_UPPER_HALF), _WORD)
    upper = writer.add("and", (old, mask), _WORD)
    lower = writer.add("convert", (bits,), _WORD)
    return writer.add("or", (upper, lower), _WORD)

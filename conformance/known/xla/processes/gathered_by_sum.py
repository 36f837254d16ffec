"""all_gather as a sum over processes: each adds its operand to zeros, at its own position.

So -0 becomes +0. f8E8M0FNU has no zero: its smallest number is added once for each other process,
in the order of processes, and 2^-127 becomes 2^-126 or more.
The process groups may be misread beside that (misread_groups.py, process_order.py).

Source: libtpu 0.0.50, measured: an all-reduce of a dynamic-update-slice of zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.known.xla.processes import gathered_first, misread_groups, process_order
from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of
from reference.ir.types import BOOLEAN, Array, ElementType
from reference.ops.table import OPS

LABEL = "gathered by a sum"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with a zero added to gathered values, with groups as stated or misread."""
    misread = (one.rewrite(program) for one in (misread_groups, process_order, gathered_first))
    for (one,) in chain([(program,)], *misread):
        gathers = [each for each in collectives_of(one) if each.name == "all_gather"]
        added = [(each, tuple(_add_zeros(each))) for each in gathers]
        if any(len(others) > 1 for _, others in added):
            yield (replace_operations(one, added),)


def _add_zeros(gather: Operation) -> list[Operation]:
    """Return the gather, and a sum of each result with zero."""
    sums = [one for one in gather.results if _has_signed_zeros(one)]
    parts = {one.name: replace(one, name=f"{one.name}.gathered") for one in sums}
    writer = OperationWriter(gather.results[0].name)
    results = tuple(parts.get(one.name, one) for one in gather.results)
    writer.operations.append(replace(gather, results=results))
    for operand, one in zip(gather.operands, gather.results, strict=True):
        if one not in sums:
            continue
        of, part = tensor_of(one), parts[one.name]
        if of.element.part.float_format.has_zero:
            zero = writer.constant(np.zeros(of.static_shape), of.element)
            writer.define(one, "add", (part, zero))
        else:
            total = _add_smallest(writer, gather, operand, part)
            writer.define(one, "optimization_barrier", (total,))
    return writer.operations


def _add_smallest(writer: OperationWriter, gather: Operation, operand: Value, part: Value) -> Value:
    """Add sums of the parts with the smallest number for each other process.

    The part of the process at position k comes after a sum of k such numbers.
    """
    axis: Any = gather.attribute("all_gather_dim")
    of = tensor_of(part)
    size = max(tensor_of(operand).static_shape[axis], 1)
    position = np.arange(of.static_shape[axis]) // size
    count = int(position.max(initial=0)) + 1
    smallest = np.zeros((), np.uint8).view(of.storage)
    before = [smallest]
    for _ in range(count):
        before.append(np.asarray(OPS["add"].evaluate(before[-1], smallest)))
    shape = [1] * of.rank
    shape[axis] = -1

    def constant(row: Array, element: ElementType) -> Value:
        return writer.constant(np.broadcast_to(row.reshape(shape), of.static_shape), element)

    total = part
    for step in range(1, count):
        first = np.array([before[max(k - 1, 0)] for k in position], of.storage)
        added = first if step == 1 else np.full(position.shape, smallest)
        is_added = (position == 0) | (step <= count - np.maximum(position, 1))
        more = writer.add("add", (total, constant(added, of.element)))
        total = writer.add("select", (constant(is_added, BOOLEAN[0]), more, total), of.element)
    return total


def _has_signed_zeros(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.element.part.is_float

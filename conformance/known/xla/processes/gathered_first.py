"""Several operands of one all_gather, gathered along their first dimension.

The contribution of each process is then a block in the result's memory, in order. So elements have
wrong positions, unless the stated dimension is the first. The blocks may also be in XLA's order of
the process group (misread_groups.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from conformance.known.xla.processes import misread_groups, process_order
from conformance.transforms.collective import collective_of
from conformance.transforms.replacing import replace_operation
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of

LABEL = "gathered along the first dimension"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program of several processes with its operands gathered along the first dimension,
    for the stated groups and for misread groups.
    """
    misread = (misread_groups.rewrite(program), process_order.rewrite(program))
    for (one,) in chain([(program,)], *misread):
        collective = collective_of(one)
        if collective is None or not collective.attribute("all_gather_dim", 0):
            continue
        if len(collective.operands) > 1:
            yield (replace_operation(one, collective, *_blocks(collective)),)


def _blocks(operation: Operation) -> Iterator[Operation]:
    """Yield an all_gather along the first dimension, with results in the stated shapes."""
    count = _group_size(operation)
    blocks = tuple(
        Value(f"{result.name}.blocks", _along_the_first(tensor_of(operand), count))
        for operand, result in zip(operation.operands, operation.results, strict=True)
    )
    yield replace(operation.with_attributes(all_gather_dim=0), results=blocks)
    for block, result in zip(blocks, operation.results, strict=True):
        yield Operation("reshape", (block,), (result,))


def _group_size(operation: Operation) -> int:
    """Return the number of processes in a group, by operands with elements; 0 if none has."""
    dimension: Any = operation.attribute("all_gather_dim", 0)
    whole, own = (
        sum(tensor_of(one).static_shape[dimension] for one in values)
        for values in (operation.results, operation.operands)
    )
    return whole // max(1, own)


def _along_the_first(operand: TensorType, count: int) -> TensorType:
    first, *others = operand.static_shape
    return TensorType((first * count, *others), operand.element_type)

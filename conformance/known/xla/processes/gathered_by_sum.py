"""all_gather as a sum over processes: each adds its operand to zeros, at its own position.

So -0 becomes +0. f8E8M0FNU has no zero: its smallest number is added, and 2^-127 becomes 2^-126.
The process groups may be misread beside that (misread_groups.py, process_order.py).

Source: libtpu 0.0.50, measured: an all-reduce of a dynamic-update-slice of zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from conformance.known.xla.memory import constant
from conformance.known.xla.processes import gathered_first, misread_groups, process_order
from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value

LABEL = "gathered by a sum"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with a zero added to gathered values, with groups as stated or misread."""
    misread = (one.rewrite(program) for one in (misread_groups, process_order, gathered_first))
    for (one,) in chain([(program,)], *misread):
        gathers = [each for each in collectives_of(one) if each.name == "all_gather"]
        added = [(each, tuple(_with_zeros(each))) for each in gathers]
        if any(len(others) > 1 for _, others in added):
            yield (replace_operations(one, added),)


def _with_zeros(gather: Operation) -> Iterator[Operation]:
    """Yield the gather, and a sum of each result with zero."""
    sums = [one for one in gather.results if _has_signed_zeros(one)]
    parts = {one.name: replace(one, name=f"{one.name}.gathered") for one in sums}
    results = tuple(parts.get(one.name, one) for one in gather.results)
    yield replace(gather, results=results)
    for one in sums:
        assert isinstance(one.type, TensorType)
        zero = Value(f"{one.name}.zero", one.type)
        zeros = np.zeros(one.type.static_shape, np.uint8)
        has_zero = one.type.element.part.float_format.has_zero
        array = zeros.astype(one.type.storage) if has_zero else zeros.view(one.type.storage)
        yield constant(zero, array)
        yield Operation("add", (parts[one.name], zero), (one,))


def _has_signed_zeros(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.element.part.is_float

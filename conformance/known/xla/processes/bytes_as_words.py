"""reduce_scatter of numbers of 8 bits in 16 bits: the bytes of two numbers are read as one number.

The computation may reduce in a wider type (reduce_scatter, C7). The TPU's compiler packs four rows
of bytes into words and splits each word in two, as if the rows had that wider type. Then it unpacks
bytes again, so that it returns numbers of the operand's type.

Source: libtpu 0.0.50, measured: an all-reduce of the operand's words of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.transforms.extract import replace_body, replace_results
from conformance.transforms.retype import with_element_type
from reference.ir.program import Operation, Program, Region, TensorType, Value, tensor_of

LABEL = "bytes reduced as words"

_BYTE, _WORD = 8, 16


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program that reduces pairs of rows of bytes as rows of wider numbers, and returns
    bytes.
    """
    *before, subject, end = program.main.body.operations
    if _is_promoting(subject) and end.operands == subject.results:
        others = _reduce_words(subject)
        yield (replace_results(replace_body(program, (*before, *others, end)), others[-1].results),)


def _is_promoting(operation: Operation) -> bool:
    """Return whether an operation reduces arrays of bytes in 16 bits."""
    if operation.name != "reduce_scatter" or len(operation.operands) != 1:
        return False
    of, to = tensor_of(operation.operands[0]), tensor_of(operation.results[0])
    if of.rank <= 1 or (of.element.bits, to.element.bits) != (_BYTE, _WORD):
        return False
    return of.element.is_float and of.element.float_format.has_zero


def _reduce_words(operation: Operation) -> list[Operation]:
    """Return an all_reduce of words, and a reduce_scatter that chooses the process's own part."""
    (operand,), (result,) = operation.operands, operation.results
    byte, word = tensor_of(operand).element, tensor_of(result).element
    *lead, rows, columns = tensor_of(operand).static_shape
    odd, half, rank = rows % 2, (rows + 1) // 2, len(lead)
    turn = (*range(rank), rank, rank + 2, rank + 1)
    writer, none = OperationWriter(result.name), (0,) * (rank + 2)
    zero = writer.constant(np.zeros(()), byte)
    even = writer.add(
        "pad", (operand, zero), byte, (*lead, rows + odd, columns),
        edge_padding_low=none, edge_padding_high=(*(0,) * rank, odd, 0), interior_padding=none,
    )  # fmt: skip
    pairs = writer.add("reshape", (even,), byte, (*lead, half, 2, columns))
    turned = writer.add("transpose", (pairs,), byte, (*lead, half, columns, 2), permutation=turn)
    words = writer.add("bitcast_convert", (turned,), word, (*lead, half, columns))
    kept = tuple(one for one in operation.attributes if one[0] != "scatter_dimension")
    sums = replace(words, name=f"{writer.prefix}.sums")
    writer.operations.append(Operation("all_reduce", (words,), (sums,), kept, operation.regions))
    parts = writer.add("bitcast_convert", (sums,), byte, (*lead, half, columns, 2))
    again = writer.add("transpose", (parts,), byte, (*lead, half, 2, columns), permutation=turn)
    whole = writer.add("reshape", (again,), byte, (*lead, rows + odd, columns))
    own = writer.slice(whole, none, (*lead, rows, columns))
    share = with_element_type(result, byte)
    first, second = (Value(f"{result.name}.{name}", TensorType((), byte)) for name in "ab")
    choice = Region((first, second), (Operation("return", (first,)),))
    own_part = replace(operation, operands=(own,), results=(share,), regions=(choice,))
    return [*writer.operations, own_part]

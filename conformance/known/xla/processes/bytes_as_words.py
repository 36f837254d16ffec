"""reduce_scatter of numbers of 8 bits in 16 bits: the bytes of two numbers are read as one number.

The computation may reduce in a wider type (reduce_scatter, C7). The TPU's compiler packs four rows
of bytes into words and splits each word in two, as if the rows had that wider type. Then it unpacks
bytes again, so that it returns numbers of the operand's type.

Source: libtpu 0.0.50, measured: an all-reduce of the operand's words of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.known.xla.memory import zeros
from conformance.transforms.extract import replace_body, replace_results
from reference.ir.program import (
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    attributes,
    tensor_of,
)
from reference.ir.types import ElementType

LABEL = "bytes reduced as words"

_BYTE, _WORD = 8, 16


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program that reduces pairs of rows of bytes as rows of wider numbers, and returns
    bytes.
    """
    *before, subject, end = program.main.body.operations
    if _is_promoting(subject) and end.operands == subject.results:
        others = tuple(_reduce_words(subject))
        yield (replace_results(replace_body(program, (*before, *others, end)), others[-1].results),)


def _is_promoting(operation: Operation) -> bool:
    """Return whether an operation reduces arrays of bytes in 16 bits."""
    if operation.name != "reduce_scatter" or len(operation.operands) != 1:
        return False
    of, to = tensor_of(operation.operands[0]), tensor_of(operation.results[0])
    if of.rank <= 1 or (of.element.bits, to.element.bits) != (_BYTE, _WORD):
        return False
    return of.element.is_float and of.element.float_format.has_zero


def _reduce_words(operation: Operation) -> Iterator[Operation]:
    """Yield an all_reduce of words, and a reduce_scatter that chooses the process's own part."""
    (operand,), (result,) = operation.operands, operation.results
    byte, word = tensor_of(operand).element, tensor_of(result).element
    *lead, rows, columns = tensor_of(operand).static_shape
    odd, half, rank = rows % 2, (rows + 1) // 2, len(lead)
    turn = (*range(rank), rank, rank + 2, rank + 1)

    def value(what: str, of: ElementType, *shape: int) -> Value:
        return Value(f"{result.name}.{what}", TensorType(shape, of))

    zero, even = value("zero", byte), value("even", byte, *lead, rows + odd, columns)
    yield zeros(zero)
    high = (*(0,) * rank, odd, 0)
    padding = {"edge_padding_low": (0,) * (rank + 2), "edge_padding_high": high}
    given = attributes(**padding, interior_padding=(0,) * (rank + 2))
    yield Operation("pad", (operand, zero), (even,), given)
    pairs = value("pairs", byte, *lead, half, 2, columns)
    turned = value("turned", byte, *lead, half, columns, 2)
    words, sums = (value(what, word, *lead, half, columns) for what in ("words", "sums"))
    yield Operation("reshape", (even,), (pairs,))
    yield Operation("transpose", (pairs,), (turned,), attributes(permutation=turn))
    yield Operation("bitcast_convert", (turned,), (words,))
    kept = tuple(one for one in operation.attributes if one[0] != "scatter_dimension")
    yield Operation("all_reduce", (words,), (sums,), kept, operation.regions)
    parts = value("parts", byte, *lead, half, columns, 2)
    rows_again = value("rows", byte, *lead, half, 2, columns)
    whole, own = (
        value("whole", byte, *lead, rows + odd, columns),
        value("cut", byte, *lead, rows, columns),
    )
    yield Operation("bitcast_convert", (sums,), (parts,))
    yield Operation("transpose", (parts,), (rows_again,), attributes(permutation=turn))
    yield Operation("reshape", (rows_again,), (whole,))
    limits = {"start_indices": (0,) * (rank + 2), "limit_indices": (*lead, rows, columns)}
    yield Operation("slice", (whole,), (own,), attributes(**limits, strides=(1,) * (rank + 2)))
    share = replace(result, type=replace(tensor_of(result), element_type=byte))
    first, second = (value(f"argument{number}", byte) for number in range(2))
    choice = Region((first, second), (Operation("return", (first,)),))
    yield replace(operation, operands=(own,), results=(share,), regions=(choice,))

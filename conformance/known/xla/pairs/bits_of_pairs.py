"""Bits of a number of f64, which on TPUs are the bits of its pair of f32.

`float_pairs.py` is about the pairs. `other_types.py` is about the bytes that i1 values have. The
bits that a program returns as they are have an entry that states them (`tpu-f64-bits-of-pairs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from conformance.known.xla.pairs.written_pairs import pair_writer, write_pair
from conformance.known.xla.result_types.other_types import bitcast_by_bytes
from conformance.transforms.extract import replace_body, replace_results
from conformance.transforms.replacing import replace_operations
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, Program, Value, tensor_of
from reference.ir.types import element_type

_WORD, _WIDE_WORD = element_type("ui32"), element_type("ui64")


def concerns(operation: Operation) -> bool:
    """Return whether an operation gives bits of numbers of f64 as truth values."""
    if operation.name != "bitcast_convert":
        return False
    of, to = element_of(operation.operands[0]), element_of(operation.results[0])
    return of == element_type("f64") and to == element_type("i1")


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with its last operation, a bitcast of f64 to i1, reading the bytes of
    pairs.
    """
    *before, end = program.main.body.operations
    subject = before.pop() if before else None
    if subject is None or end.operands != subject.results or not concerns(subject):
        return
    word, operations = _pair_word(subject.operands[0])
    others = [*operations, *bitcast_by_bytes(replace(subject, operands=(word,)))]
    whole = replace_body(program, (*before, *others, end))
    yield (replace_results(whole, others[-1].results),)


def has_bits(operation: Operation) -> bool:
    """Return whether an operation gives bits of numbers of f64, but not as truth values."""
    return (
        operation.name == "bitcast_convert"
        and element_of(operation.operands[0]) == element_type("f64")
        and not concerns(operation)
    )


def rewrite_inner_bitcasts(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program that computes with the bits of pairs, if it has such a bitcast before its
    last operation.
    """
    *before, _, _ = (None, *program.main.body.operations)
    bitcasts = [one for one in before if one is not None and has_bits(one)]
    if not bitcasts or not all(map(_is_bounded, bitcasts)):
        return
    yield (replace_operations(program, [(one, _pair_bitcast(one)) for one in bitcasts]),)


def _is_bounded(bitcast: Operation) -> bool:
    of = tensor_of(bitcast.operands[0])
    sizes = zip_longest(of.shape, of.bounds)
    return all(size is not None or bound is not None for size, bound in sizes)


def _pair_bitcast(bitcast: Operation) -> tuple[Operation, ...]:
    word, operations = _pair_word(bitcast.operands[0])
    return (*operations, replace(bitcast, operands=(word,)))


def _pair_word(given: Value) -> tuple[Value, list[Operation]]:
    """Return an integer whose high half is the bits of the larger number, and its operations."""
    writer = pair_writer(given)
    words = [
        writer.add("convert", (writer.add("bitcast_convert", (part,), _WORD),), _WIDE_WORD)
        for part in write_pair(writer, given)
    ]
    width = writer.fill_like(given, _WORD.bits, _WIDE_WORD)
    shifted = writer.add("shift_left", (words[0], width), _WIDE_WORD)
    return writer.add("or", (shifted, words[1]), _WIDE_WORD), writer.operations

"""Fragments of two to eight operations cut out of programs, with small sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from conformance.transforms.extract import extract
from conformance.transforms.values import can_be_result, definition_index, used_values
from generators.chains.links import can_be_in_chain
from generators.chains.seeds.fragment import Fragment, is_usable, rename_values
from reference.interpreter.verify import check
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.resizing import Sizes, resize_dimensions, sizes_of
from reference.ops.structure import is_constant
from reference.ops.table import OPS

LENGTHS = (2, 3, 5, 8)
"""Largest numbers of operations of the fragments, not counting constants."""

MOST_OF_A_FILE = 200
"""Largest number of fragments per file; their last operations are spread evenly over the file."""

SMALL = 256
"""Largest number of elements that values of a fragment should have."""


def cuts(program: Program) -> Iterator[Fragment]:
    """Yield fragments of main: for operations spread over it, the operations that lead to each."""
    makers = definition_index(program)
    operations = program.main.body.operations[:-1]
    ends = [index for index, operation in enumerate(operations) if _can_be_cut(operation)]
    step = max(1, math.ceil(len(ends) * len(LENGTHS) / MOST_OF_A_FILE))
    for end in ends[::-step]:
        before: set[int] = set()
        for length in LENGTHS:
            kept = _preceding_operations(operations, makers, end, length)
            if len(kept) < LENGTHS[0] or kept == before:
                continue
            before = kept
            piece = _piece(program, kept, makers)
            if piece is not None:
                yield piece


def fragment_ending_with(program: Program, end: int, length: int) -> Fragment | None:
    """Return the fragment of an operation of main, and up to `length` operations that lead to it;
    None if a chain cannot contain it.
    """
    operations = program.main.body.operations[:-1]
    makers = definition_index(program)
    if not _can_be_cut(operations[end]):
        return None
    return _piece(program, _preceding_operations(operations, makers, end, length), makers)


def _can_be_cut(operation: Operation) -> bool:
    record = OPS.get(operation.name)
    return record is not None and can_be_in_chain(record) and not is_constant(operation)


def _preceding_operations(
    operations: Sequence[Operation], makers: dict[str, int], end: int, length: int
) -> set[int]:
    """Return `length` operations that lead to an operation, the nearest first, not counting
    constants.
    """
    kept, waiting = {end}, [end]
    while waiting and len(kept) < length:
        for value in used_values(operations[waiting.pop(0)]):
            maker = makers.get(value.name)
            new = maker is not None and maker not in kept and _can_be_cut(operations[maker])
            if maker is not None and new and len(kept) < length:
                kept.add(maker)
                waiting.append(maker)
    return kept


def _piece(program: Program, kept: set[int], makers: dict[str, int]) -> Fragment | None:
    """Return the operations as a program of small sizes; None if that program is not valid."""
    operations = program.main.body.operations
    inside = [operations[number] for number in sorted(kept)]
    taken = {value.name for one in inside for value in used_values(one)}
    ends: list[Value] = [v for one in inside for v in one.results if v.name not in taken]
    if not ends or not all(map(can_be_result, ends)):
        return None
    whole = extract(program, kept, ends, makers)
    small = _shrink_sizes(Program((whole.main,)))
    return None if small is None or not is_usable(small) else rename_values(small, "v")


def _shrink_sizes(piece: Fragment) -> Fragment | None:
    """Return the fragment with its largest sizes reduced until its values are small; None if that
    is impossible.
    """
    if check(piece):
        return None
    while _largest_size(piece) > SMALL:
        smaller = (resize_dimensions(piece, sizes) for sizes in _changes(piece))
        shrunk = next((one for one in smaller if not check(one)), None)
        if shrunk is None:
            return piece  # whether it is too large, `fits` says
        piece = shrunk
    return piece


def _changes(piece: Fragment) -> Iterator[Sizes]:
    """Yield sizes to be reduced, the largest first: each by itself, then with a multiple."""
    found = sorted(sizes_of(piece), reverse=True)
    for size in found:
        for smaller in dict.fromkeys((8, 4, size // 2, size // 3, 3, 2)):
            if 1 < smaller < size:
                yield {size: smaller}
                multiples = (one for one in found if one > size and one % size == 0)
                for other in multiples:
                    yield {size: smaller, other: other // size * smaller}


def _largest_size(piece: Fragment) -> int:
    values = [*piece.main.arguments]
    values += [v for operation in piece.main.body.operations for v in operation.results]
    types = [v.type for v in values]
    return max((math.prod(of.static_shape) for of in types if isinstance(of, TensorType)
                and of.is_static), default=0)  # fmt: skip

"""Indices of unsigned types, which the interpreter sign-extends.

XLA also sign-extends constant indices of slices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

from conformance.known.hypothesis import Results, any_outcome_hypothesis, exact_hypothesis
from conformance.transforms.replacing import rewrite_ops
from conformance.transforms.values import operations_within
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array, ElementType, element_type, element_type_of, from_bits, to_bits


def reinterpret_as_signed(indices: Array) -> Array:
    """Return unsigned integers as signed integers of the same bits; others unchanged."""
    of = element_type_of(indices)
    return from_bits(to_bits(indices), element_type(f"si{of.bits}")) if of.is_unsigned else indices


def has_negative_pattern(index: Array) -> bool:
    """Return whether sign extension changes an index."""
    return element_type_of(index).is_unsigned and bool((reinterpret_as_signed(index) < 0).any())


_POSITIONS: dict[str, Callable[[int], range]] = {
    "dynamic_gather": lambda _: range(1, 2),
    "dynamic_slice": lambda count: range(1, count),
    "dynamic_update_slice": lambda count: range(2, count),
    "gather": lambda _: range(1, 2),
    "scatter": lambda count: range(count // 2, count // 2 + 1),
}
"""Positions of the index operands by op, given the number of operands."""


def index_positions(operation: Operation) -> range:
    """Return the positions of the operands that are indices of slices."""
    positions = _POSITIONS.get(operation.name, lambda _: range(0))
    return positions(len(operation.operands))


def _changed_indices(operation: Operation, operands: tuple[Array, ...]) -> list[int]:
    """Return the positions of the indices that sign extension changes."""
    return [n for n in index_positions(operation) if has_negative_pattern(operands[n])]


def _apply_sign_extended(
    operation: Operation, operands: tuple[Array, ...], numbers: Collection[int]
) -> Results:
    """Return the results with the operands at these positions sign-extended."""
    return apply(
        operation,
        tuple(reinterpret_as_signed(x) if n in numbers else x for n, x in enumerate(operands)),
    )


def sign_extend_all_indices(
    operation: Operation, operands: tuple[Array, ...], expected: Results
) -> Results | None:
    """Return the results with all indices sign-extended; None if that changes no index."""
    del expected
    changed = _changed_indices(operation, operands)
    return _apply_sign_extended(operation, operands, changed) if changed else None


def _sign_extend_indices(
    operation: Operation, operands: tuple[Array, ...], *, all_of_them: bool
) -> Iterator[Results]:
    """Yield the results with some or all indices sign-extended.

    Indices that sign extension does not change are not counted. With `all_of_them`, yield only the
    result with all sign-extended.
    """
    changed = _changed_indices(operation, operands)
    for count in range(max(1, len(changed) * all_of_them), len(changed) + 1):
        for numbers in combinations(changed, count):
            yield _apply_sign_extended(operation, operands, numbers)


LABEL = "unsigned index taken for signed"

UNSIGNED_START = exact_hypothesis(LABEL, sign_extend_all_indices)
UNSIGNED = any_outcome_hypothesis(LABEL, partial(_sign_extend_indices, all_of_them=True))
SOME_UNSIGNED = any_outcome_hypothesis(LABEL, partial(_sign_extend_indices, all_of_them=False))
"""The class of results with some, but not necessarily all, unsigned indices sign-extended."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with all unsigned indices read as signed, if it has any."""
    changed = rewrite_ops(program, dict.fromkeys(_POSITIONS, _sign_extended))
    if changed != program:
        yield (changed,)


def concerns(operation: Operation) -> bool:
    """Return whether an operation has unsigned indices, or contains such an operation."""
    return any(
        _signed_type(one.operands[number])
        for one in operations_within(operation)
        for number in index_positions(one)
    )


def _sign_extended(operation: Operation) -> Iterator[Operation]:
    operands = list(operation.operands)
    for number in index_positions(operation):
        signed_type = _signed_type(operands[number])
        if signed_type is not None:
            taken = Value(f"{operation.results[0].name}.index{number}", signed_type)
            yield Operation("bitcast_convert", (operands[number],), (taken,))
            operands[number] = taken
    yield replace(operation, operands=tuple(operands))


def _signed_type(value: Value) -> TensorType | None:
    """Return the signed type that an unsigned index is read as."""
    of = value.type
    if not isinstance(of, TensorType) or not isinstance(of.element_type, ElementType):
        return None
    if not of.element_type.is_unsigned:
        return None
    return replace(of, element_type=element_type(f"si{of.element_type.bits}"))

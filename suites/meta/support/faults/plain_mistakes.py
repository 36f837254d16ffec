"""Plain mistakes in an operation's results, such as changed signs, for any operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from conformance.transforms.extract import replace_main
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ir.types import Array, element_type_of
from reference.ops.structure import CONTROL_FLOW

Results = tuple[Array, ...]


def _negate_array(array: Array) -> Array:
    element_type = element_type_of(array)
    return ~array if element_type.is_boolean else np.negative(array)


def _fill_array(array: Array, number: float) -> Array:
    element_type = element_type_of(array)
    if np.isnan(number) and not (element_type.is_float or element_type.is_complex):
        return array
    return np.full(array.shape, number, array.dtype)


def _roll_array(array: Array) -> Array:
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def _move_numbers(array: Array) -> Array:
    element_type = element_type_of(array)
    if element_type.is_boolean:
        return ~array
    if element_type.is_integer:
        return array + np.ones((), array.dtype)
    with np.errstate(all="ignore"):
        return (array * 1.25).astype(array.dtype)


CHANGES: dict[str, Callable[[Array], Array]] = {
    "sign lost": _negate_array,
    "zero": partial(_fill_array, number=0),
    "one": partial(_fill_array, number=1),
    "NaN": partial(_fill_array, number=np.nan),
    "neighbouring element": _roll_array,
    "neighbouring number": _move_numbers,
}
"""Mistakes by name: functions that replace every element."""

OPERANDS_SWAPPED = "operands swapped"
OTHER_ZERO = "other zero"
"""The results of `sign lost` for zeros."""


def plain_mistakes(
    program: Program, inputs: Sequence[Array], expected: Results
) -> Iterator[tuple[str, Results]]:
    """Yield each mistake by its name with the results that it makes of the expected results."""
    for name, change in CHANGES.items():
        yield name, tuple(map(change, expected))
    swapped = _swap_operands(program)
    if swapped is None:
        return
    try:
        yield OPERANDS_SWAPPED, tuple(evaluate(swapped, inputs))
    except EvaluationError:
        return


def _swap_operands(program: Program) -> Program | None:
    """Return the program with the first two operands of its subject exchanged; None if they differ
    in type. None for a loop, which might not end.
    """
    subject, main = program.subject, program.main
    if subject.name in CONTROL_FLOW or len(subject.operands) < 2:
        return None
    if subject.operands[0].type != subject.operands[1].type:
        return None
    one, other, *rest = subject.operands
    swapped = replace(subject, operands=(other, one, *rest))
    operations = tuple(swapped if o is subject else o for o in main.body.operations)
    return replace_main(program, replace(main, body=replace(main.body, operations=operations)))

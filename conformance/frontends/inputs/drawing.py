"""Inputs of a program to check, drawn by type and by the uses of each parameter.

Inputs outside the intended range (a negative variance, an index out of range) make results NaN, and
comparing NaN with NaN shows nothing. The intended range of each parameter comes from
`conformance.frontends.inputs.uses`. If most results are not finite nevertheless, milder inputs are
tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from conformance.frontends.arguments import InputsError
from conformance.frontends.extensions import unpermitted_violations
from conformance.frontends.inputs.drawn_numbers import array_of
from conformance.frontends.inputs.uses import needs_of
from conformance.needs.need import ANY, Need
from generators.values.contents import fill
from reference.interpreter.evaluate import EvaluationError, check
from reference.ir.program import Program, TensorType, ValueType
from reference.ir.types import Array, element_type_of

PROFILES = ("within:-1:1", "unit", "within:-2:2")
"""Value profiles of drawn inputs, one for each input set: whole numbers first, as arithmetic on
them is often exact.

They are small, so that intermediate results (exponentials of sums of products) stay within range;
other values can be given with `--inputs`.
"""

_INTEGERS = ("within:0:3", "small_integers", "within:-4:12")
"""Value profiles of integer inputs, which are mostly indices or classes."""

_TAMER = ("eighths", "positive", "increasing")
"""Versions of inputs with smaller numbers, tried if results are not finite."""

ENOUGH = 0.9
"""The share of floating-point results that should be finite."""

MANY = 3000
"""Number of operations of a program above which only the first input set is evaluated and improved.
"""

SECONDS = 10.0
"""Seconds of evaluations after which no better inputs are searched for, in any program."""

MOST_ELEMENTS = 1 << 24
"""Largest number of elements of an input that is drawn."""

SIZES = (3, 4, 8, 2, 5, 1)
"""Values tried for unknown dimension sizes, all sizes alike, until a program can be evaluated."""

Inputs = tuple[Array, ...]
Evaluate = Callable[[Inputs], Sequence[Array]]
"""evaluate(inputs): the program's results; raises EvaluationError."""


def is_dynamic(program: Program) -> bool:
    """Return whether a parameter has a dimension of unknown size."""
    types = (parameter.type for parameter in program.main.arguments)
    return any(isinstance(of, TensorType) and not of.is_static for of in types)


def draw_inputs(program: Program, seed: int, evaluate: Evaluate) -> list[Inputs]:
    """Draw several input sets for a single-function program; a single empty set without parameters.

    All dimensions of unknown size get the same size: the first in `SIZES` that the program accepts.
    If there are any, integer parameters of rank 0 get it too, because jax passes symbolic sizes as
    such parameters. The same seed gives the same inputs, unless the search for better inputs runs
    out of time.

    Raises:
        InputsError: for a parameter whose contents cannot be drawn.
        EvaluationError: when the program takes none of the sizes.
    """
    if not program.main.arguments:
        return [()]
    broken, _ = unpermitted_violations(check(program))
    needs = (ANY,) * len(program.main.arguments) if broken else needs_of(program)
    if not is_dynamic(program):
        sets = _Sets(program, needs, seed)
        return (
            [sets.of(n) for n in range(len(PROFILES))] if broken else _improve_sets(sets, evaluate)
        )
    reasons: list[EvaluationError] = []
    for size in SIZES:
        sets = _Sets(program, needs, seed, size)
        try:
            evaluate(sets.of(0))
        except EvaluationError as error:
            reasons.append(error)
        else:
            return _improve_sets(sets, evaluate)
    raise reasons[0]


class _Sets:
    """The input sets of a program by number, each in several versions.

    If they are `alike`, all processes have the same integers and i1 values of rank 0. These decide
    the control flow, and processes that wait for each other must take the same branches.
    """

    def __init__(
        self, program: Program, needs: Sequence[Need], seed: int, size: int | None = None
    ) -> None:
        arguments = program.main.arguments
        self._types = [_resized_type(index, a.type, size) for index, a in enumerate(arguments)]
        self._needs, self._seed, self._size = needs, seed, size
        self.processes = program.process_count
        self.alike = False
        self.operations = sum(1 for _ in program.walk())

    def of(self, number: int, tamer: str = "") -> Inputs:
        return tuple(
            self._array(position, number, tamer, process << 96)
            for process in range(self.processes)
            for position in range(len(self._types))
        )

    def _array(self, position: int, number: int, tamer: str, offset: int) -> Array:
        of, need = self._types[position], self._needs[position]
        if self.alike and of.rank == 0 and of.stored.is_integer:
            offset = 0
        seed = self._seed + (number << 32) + (position << 64) + offset
        if self._size is not None and of.rank == 0 and of.stored.is_integer and of.stored.bits >= 8:
            return fill(of, f"values:{self._size}", seed)
        array = array_of(of, need, number, tamer, seed)
        return fill(of, _profile(of, number), seed) if array is None else array


def _resized_type(number: int, value_type: ValueType, size: int | None) -> TensorType:
    if not isinstance(value_type, TensorType):
        raise InputsError(f"parameter {number} is not a tensor")
    shape = tuple(size if one is None else one for one in value_type.shape)
    if math.prod(one or 0 for one in shape) > MOST_ELEMENTS:
        raise InputsError(f"parameter {number} is {value_type}: too large to be drawn")
    return TensorType(shape, value_type.stored)


def _profile(tensor_type: TensorType, number: int) -> str:
    """Return the profile of a parameter whose values are unrestricted."""
    element = tensor_type.element
    if element.is_boolean:
        return "bits"
    if not element.is_integer:
        return PROFILES[number]
    if element.bits < 4:
        return "within:0:1"
    if number == 0 or element.bits < 8:
        return "within:0:3"
    return "within:0:12" if element.is_unsigned else _INTEGERS[number]


def _improve_sets(sets: _Sets, evaluate: Evaluate) -> list[Inputs]:
    """Return each set in the version that gives the most finite numbers, within the time limit."""
    until = time.monotonic() + SECONDS
    kept = ""
    found: list[Inputs] = []
    for number in range(len(PROFILES)):
        if number == 0 or (sets.operations <= MANY and time.monotonic() < until):
            kept = _best_version(sets, number, evaluate, until)
        found.append(sets.of(number, kept))
    return found


def _best_version(sets: _Sets, number: int, evaluate: Evaluate, until: float) -> str:
    """Return the version of a set that gives enough finite results, or else the most."""
    best, most = _most_finite_version(sets, number, evaluate, until)
    if most < 0 and sets.processes > 1 and not sets.alike:
        sets.alike = True
        best, most = _most_finite_version(sets, number, evaluate, until)
        sets.alike = most >= 0
    return best


def _most_finite_version(
    sets: _Sets, number: int, evaluate: Evaluate, until: float
) -> tuple[str, float]:
    """Return the version with the most numbers, or the first with enough, and their share.

    The share is negative if no version can be evaluated.
    """
    best, most = "", -1.0
    for tamer in ("", *_TAMER):
        try:
            share = finite_share(evaluate(sets.of(number, tamer)))
        except EvaluationError:
            share = -1.0  # perhaps of these numbers alone: a solver that gives up, say
        if share > most:
            best, most = tamer, share
        if most >= ENOUGH or time.monotonic() > until:
            break
    return best, most


def finite_share(results: Sequence[Array]) -> float:
    """Return the share of finite numbers among floating-point results; 1 without such results."""
    finite = total = 0
    for array in results:
        element_type = element_type_of(array)
        if element_type.is_float or element_type.is_complex:
            finite += int(np.isfinite(array).sum())
            total += array.size
    return finite / total if total else 1.0

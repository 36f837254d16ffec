"""Prediction of an expectation entry with `computes`: parsed, evaluated and compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from conformance.catalog import column_of, rule_of
from conformance.known.crashing_operations import describes
from conformance.known.hypothesis import Hypothesis, predict_nothing, predict_where
from conformance.known.template import TemplateError, has_constants, module_text
from conformance.known.window_order import order_dependent_elements
from conformance.stablehlo.emit import EmitError, spell_operation
from conformance.text import matches_any
from conformance.tolerance.ulp import ulps_from_prediction
from reference.interpreter.evaluate import EvaluationError, apply, evaluate
from reference.ir.op import Rounding
from reference.ir.program import Operation, Program
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.alike import equal_elements, flush_subnormals
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS

ROUNDING = "rounding"
"""The `within` of an entry whose operations may round as operations of any program may."""

RESULT_TYPE = "$E"
"""The `sums` of an entry whose sums are accumulated in the result's element type."""

_ULPS = re.compile(r"\s*(\d+(?:\.\d+)?)\s*ulps?\s*")
_KEPT = 256
"""Largest number of cached instantiations; the most recently used are kept."""


def label(entry: str) -> str:
    """Return the class of the elements that an entry predicts."""
    return f"as computed by {entry}"


def ulps(within: str) -> float:
    """Return the distance in ulp that `within` permits; 0 if it is empty or `ROUNDING`.

    Raises:
        ValueError: if the text cannot be parsed.
    """
    found = _ULPS.fullmatch(within)
    if within not in ("", ROUNDING) and found is None:
        raise ValueError(f"'within' must be '2 ulp' or the like, or '{ROUNDING}', not {within!r}")
    return float(found[1]) if found else 0.0


@dataclass(frozen=True, slots=True)
class EntryPrediction:
    """Results that a backend computes for an op, as an expectation entry states them.

    `text` is in the language of template.py. A result may differ from its predicted value by
    `within` ulp; if that is 0, both have the same bits. If it `rounds`, a result may be any that
    the text permits as a program. If it `flushes`, subnormal operands and results of its arithmetic
    are zeros. `constants` are the operands that must be constants to a compiler, by name or glob.
    If there is `where`, any of its texts must describe the operation. If `unpredictable`, elements
    that the text's mask omits may have any value, if all others are as predicted; if `any_value`,
    whatever the others are. `sums` instead of a text is the type in which products are added up.
    `reorders` instead of a text: elements that depend on the order of a window's elements may have
    any value.
    """

    entry: str
    ops: tuple[str, ...]
    element_types: tuple[str, ...]
    text: str
    within: float = 0.0
    flushes: bool = False
    constants: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    unpredictable: bool = False
    any_value: bool = False
    rounds: bool = False
    sums: str = ""
    reorders: bool = False

    @property
    def label(self) -> str:
        """The class of the elements that it predicts."""
        return label(self.entry)

    def applies(self, operation: Operation, folded: Sequence[bool] | None = None) -> bool:
        """Return whether the prediction is about an operation.

        `folded` says which operands are constants to a compiler; None if unknown.
        """
        return (
            matches_any(operation.name, self.ops)
            and matches_any(column_of(operation), self.element_types)
            and has_constants(operation, self.constants, folded)
            and (not self.where or self._is_described(spell_operation(operation)))
        )

    def _is_described(self, operation: str) -> bool:
        return any(describes(pattern, operation) for pattern in self.where)

    def hypothesis(self, folded: Sequence[bool] | None = None) -> Hypothesis:
        """Return the class of predicted results, with the distance from the prediction."""
        del folded
        if self.sums:
            return Hypothesis(self.label, self._errors_of_sums, stated=True)
        if self.reorders:
            return Hypothesis(self.label, self._errors_of_orders, stated=True)
        return Hypothesis(
            self.label,
            self._errors,
            self._distances,
            unsteady=self.unpredictable,
            stated=True,
            program=partial(_program, self.text) if self.rounds else None,
            flushes=self.flushes,
        )

    def predicted(self, operation: Operation, operands: Sequence[Any]) -> tuple[Array, ...] | None:
        """Return the predicted results; None if the text does not apply to this operation."""
        program = _program(self.text, operation)
        if program is None or not all(isinstance(operand, np.ndarray) for operand in operands):
            return None
        try:
            if self.flushes:
                return _evaluate_with_flushing(program, operands)
            return evaluate(program, operands)
        except EvaluationError:
            return None

    def _errors_of_sums(
        self,
        operation: Operation,
        operands: tuple[Any, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """Return errors in units of the bound of sums that are accumulated in the stated type."""
        rule, element_type = rule_of(operation), element_type_of(expected[0])
        if (
            rule is None
            or rule.measure_in is None
            or not (element_type.is_float or element_type.is_complex)
        ):
            return predict_nothing(expected)
        sums = element_type.part if self.sums == RESULT_TYPE else ELEMENT_TYPES[self.sums]
        return rule.measure_in(sums)(operation, operands, expected, actual)

    def _errors_of_orders(
        self,
        operation: Operation,
        operands: tuple[Any, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """Return 0 for elements that depend on the order of a window's elements, else infinity."""
        del actual
        try:
            return predict_where(*order_dependent_elements(operation, operands))
        except EvaluationError:
            return predict_nothing(expected)

    def _errors(
        self,
        operation: Operation,
        operands: tuple[Any, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """Return the distances from the prediction in units of `within`."""
        off = self._distances(operation, operands, expected, actual)
        if self.within:
            errors = tuple(one / self.within for one in off)
        else:
            errors = tuple(np.where(one == 0, 0.0, np.inf) for one in off)
        return self._without_masked(operation, operands, errors)

    def _without_masked(
        self, operation: Operation, operands: tuple[Any, ...], errors: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Return errors of 0 for elements that the mask excludes and that may have any value.

        If they are unpredictable, no other element may be wrong.
        """
        accepts = self.unpredictable or self.any_value
        found = self.predicted(operation, operands) if accepts else None
        if found is None:
            return errors
        _, mask = _without_mask(found, len(errors))
        if self.unpredictable and any((mask & (error > 1)).any() for error in errors):
            return errors
        return tuple(np.where(mask, error, 0.0) for error in errors)

    def _distances(
        self,
        operation: Operation,
        operands: tuple[Any, ...],
        expected: tuple[Array, ...],
        actual: tuple[Array, ...],
    ) -> tuple[Array, ...]:
        """Return the distances from the prediction in ulp, infinite if there is no prediction."""
        found = self.predicted(operation, operands)
        others, mask = _without_mask(found or (), len(actual))
        if list(map(_form, others)) != list(map(_form, actual)):
            return predict_nothing(expected)
        off = (prediction_distances(other, got) for other, got in zip(others, actual, strict=True))
        return tuple(np.where(mask, one, np.inf) for one in off)


def _without_mask(found: tuple[Array, ...], count: int) -> tuple[tuple[Array, ...], Array]:
    """Return the first `count` predictions, and the elements that they predict."""
    if len(found) == count + 1:
        return found[:-1], found[-1].astype(np.bool_)
    return found, np.ones((), np.bool_)


def _form(array: Array) -> tuple[Any, ...]:
    return array.dtype, array.shape


def prediction_distances(other: Array, got: Array) -> Array:
    """Return the distance in ulp between elements and predicted elements; infinite between zeros of
    different sign.
    """
    element_type, off = element_type_of(got), ulps_from_prediction(other, got)
    if not (element_type.is_float or element_type.is_complex):
        return off
    signs = is_negative(other) != is_negative(got)
    wrong = (
        (signs & is_zero(other) & is_zero(got)).any(axis=-1) if element_type.is_complex else signs
    )
    return np.where(equal_elements(other, got), 0.0, np.where(wrong, np.inf, off))


def instantiate(text: str, operation: Operation) -> Program:
    """Return the program that computes a `computes` text in place of an operation.

    Raises:
        TemplateError: if the text has no meaning for this operation.
    """
    from conformance.stablehlo.parse import ParseError, parse_module  # loads jaxlib

    try:
        return parse_module(module_text(text, operation))
    except ParseError as error:
        raise TemplateError(_shift_line_numbers(str(error))) from None
    except EmitError as error:
        raise TemplateError(str(error)) from None


_PLACE = re.compile(r"line (\d+), column \d+: ")


def _shift_line_numbers(reason: str) -> str:
    """Return MLIR's message with line numbers of the text, which begins in the second line of the
    module.
    """
    return _PLACE.sub(lambda found: f"line {int(found[1]) - 1}: ", reason)


@lru_cache(_KEPT)
def _program(text: str, operation: Operation) -> Program | None:
    try:
        return instantiate(text, operation)
    except TemplateError:
        return None


def _evaluate_with_flushing(program: Program, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Evaluate a program whose arithmetic treats subnormal operands and results as zeros."""
    *operations, end = program.main.body.operations
    known = dict(zip((argument.name for argument in program.main.arguments), inputs, strict=True))
    for operation in operations:
        record = OPS.get(operation.name)
        moves = record is None or record.rounding is Rounding.MOVES
        taken = [known[value.name] for value in operation.operands]
        given = apply(
            operation, taken if moves else list(map(_flush_if_array, taken)), known, program
        )
        results = given if moves else tuple(map(_flush_if_array, given))
        known |= zip((value.name for value in operation.results), results, strict=True)
    return tuple(known[value.name] for value in end.operands)


def _flush_if_array(value: Any) -> Any:
    return flush_subnormals(value) if isinstance(value, np.ndarray) else value

"""Swept functions: an elementwise op of one or two operands, on one element type, in one form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from conformance.catalog import RULED, column_of, match_names, rule_of
from conformance.errors import UsageError, describe_unknown
from conformance.sweep.variants import Variant, variants_of
from conformance.tolerance.rule import Rule
from reference.ir.constraints import ConstraintViolation
from reference.ir.op import Op, Structure
from reference.ir.program import Attribute, Operation, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, ElementType
from reference.numerics.elementary.functions import Real, function_of
from reference.ops.table import OPS

_OPERANDS = 2
"""Largest number of operands of a swept op."""


@dataclass(frozen=True, slots=True)
class Function:
    """An op on operands of one element type.

    Types are held by name: a worker process has objects of its own for them.
    """

    op: str
    operand: str
    result: str
    label: str = ""
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def record(self) -> Op:
        """The record of the op."""
        return OPS[self.op]

    @property
    def arity(self) -> int:
        """The number of operands."""
        return len(self.record.operands)

    @property
    def operand_type(self) -> ElementType:
        """The element type of the operands."""
        return ELEMENT_TYPES[self.operand]

    @property
    def result_type(self) -> ElementType:
        """The element type of the result."""
        return ELEMENT_TYPES[self.result]

    @property
    def name(self) -> str:
        """The function in words: op, operand type, and the form where the op has several."""
        return " ".join(filter(None, (self.op, self.operand, self.label)))

    @property
    def real(self) -> Real | None:
        """The elementary function that the op computes on real numbers; None where it is none."""
        is_real = self.operand_type.is_float and self.result == self.operand
        return function_of(self.op) if is_real else None

    def evaluate(self, operands: tuple[Array, ...]) -> Array:
        """Return the reference's results for vectors of arguments."""
        given: dict[str, Any] = dict(self.attributes)
        if self.record.needs_result:
            given["result"] = TensorType((len(operands[0]),), self.result_type)
        with np.errstate(all="ignore"):
            return np.asarray(self.record.evaluate(*operands, **given))

    def program(self, size: int) -> Program:
        """Return the program that applies the function to vectors of a size."""
        return _program(self, size)

    def operation(self, size: int) -> Operation:
        """Return the operation of `program`."""
        return self.program(size).subject

    @property
    def column(self) -> str:
        """The element type of the op's cell, which expectations match."""
        return column_of(self.operation(1))

    @property
    def rule(self) -> Rule:
        """The rule that judges the op."""
        rule = rule_of(self.operation(1))
        assert rule is not None, self.op
        return rule


@cache
def _program(function: Function, size: int) -> Program:
    operands = tuple(
        Value(name, TensorType((size,), function.operand_type)) for name in function.record.operands
    )
    result = TensorType((size,), function.result_type)
    return single_op(function.op, operands, (result,), dict(function.attributes))


def is_sweepable(record: Op) -> bool:
    """Return whether a sweep takes an op: elementwise, of one or two operands, without regions."""
    return (
        record.lifts
        and record.lower is None
        and record.structure is Structure.COMPUTES
        and not record.regions
        and 1 <= len(record.operands) <= _OPERANDS
        and record.name in RULED
        and bool(_any_form(record))
    )


@cache
def sweepable_ops() -> tuple[str, ...]:
    """Return the names of all ops that a sweep takes."""
    return tuple(name for name, record in OPS.items() if is_sweepable(record))


def functions_of(
    ops: Sequence[str], element_types: Sequence[str] = (), to: Sequence[str] = (), arity: int = 0
) -> list[Function]:
    """Return the functions that patterns of ops and element types choose.

    Args:
        ops: names or globs of ops.
        element_types: names or globs of operand types, all where empty.
        to: names or globs of the result types of conversions, those up to 32 bits where empty.
        arity: the number of operands, 0 for any.

    Raises:
        UsageError: when a pattern matches nothing.
    """
    chosen = _matching_names("op", ops, sweepable_ops(), OPS)
    types = _matching_names("element type", element_types, ELEMENT_TYPES, ELEMENT_TYPES)
    targets = _matching_names("element type", to, ELEMENT_TYPES, ELEMENT_TYPES) if to else []
    return [
        function
        for op in chosen
        if arity in (0, len(OPS[op].operands))
        for of in OPS[op].element_types
        if of.name in types
        for function in _forms(OPS[op], of, targets)
    ]


def _matching_names(
    what: str, patterns: Sequence[str], names: Sequence[str] | dict[str, ElementType],
    known: dict[str, Op] | dict[str, ElementType],
) -> list[str]:  # fmt: skip
    try:
        return match_names(patterns, list(names))
    except LookupError as error:
        pattern = str(error.args[0])
        if pattern in known:
            record = OPS[pattern]
            hint = f"sweep {record.twin!r} instead, as which it is computed" if record.twin else (
                "a sweep takes elementwise ops of one or two operands"
            )  # fmt: skip
            raise UsageError(f"{pattern!r} cannot be swept: {hint}") from None
        raise UsageError(describe_unknown(what, pattern, names)) from None


def _forms(record: Op, element_type: ElementType, to: Sequence[str]) -> Iterator[Function]:
    for variant in variants_of(record.name, element_type, to):
        result = _result(record, element_type, variant)
        if result is not None:
            yield Function(
                record.name, element_type.name, result.name, variant.label, variant.attributes
            )


def _result(record: Op, element_type: ElementType, variant: Variant) -> ElementType | None:
    """Return the result type of a form; None where the form is not valid."""
    operands = (TensorType((1,), element_type),) * len(record.operands)
    stated = None if variant.result is None else TensorType((1,), variant.result)
    given: dict[str, Any] = dict(variant.attributes)
    try:
        found = record.infer(*operands, result=stated, **given)
    except ConstraintViolation:
        return None
    found = stated or found
    is_plain = isinstance(found, TensorType) and isinstance(found.element_type, ElementType)
    return found.element if is_plain else None


def _any_form(record: Op) -> Function | None:
    forms = (form for of in record.element_types for form in _forms(record, of, ()))
    return next(forms, None)

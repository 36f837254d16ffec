"""What a model says that an operation's result becomes, and whether a result is that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.compare import Judgement
from conformance.judging.perturbation.error_model import tolerances
from conformance.judging.perturbation.hull import within
from conformance.known.in_force import with_hypotheses
from conformance.transforms.values import folded, makers_of
from conformance.verdict import Verdict
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import alike, without_subnormals
from reference.numerics.rounding import to_float64
from reference.ops.structure import is_constant


@dataclass(frozen=True)
class Shown:
    """A program of one function, and the values of it that a backend has, by name."""

    program: Program
    values: Mapping[str, Array]

    @cached_property
    def _makers(self) -> dict[str, int]:
        return makers_of(self.program)

    def maker(self, value: Value) -> Operation | None:
        """The operation of main that makes a value."""
        place = self._makers.get(value.name)
        return None if place is None else self.program.main.body.operations[place]

    def is_folded(self, value: Value) -> bool:
        """Whether a value is a constant to a compiler."""
        return value.name in self._folded

    def constant(self, value: Value) -> Array | None:
        """What a value is that is a constant to a compiler; None of any other."""
        return self.known(value) if self.is_folded(value) else None

    def known(self, value: Value) -> Array | None:
        """What a value is: as the backend has it, or as the constant that it is; None if neither
        is known."""
        array, maker = self.values.get(value.name), self.maker(value)
        if array is None and maker is not None and is_constant(maker):
            (array,) = apply(maker, ())
        return array

    def is_all(self, value: Value, number: float) -> bool:
        """Whether a value is a constant to a compiler, all elements of which are that number."""
        constant = self.constant(value)
        return constant is not None and bool((constant == number).all())

    @cached_property
    def _folded(self) -> frozenset[str]:
        return folded(self.program)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What the result of an operation may be, and by how much it may be off: by `error`, an
    absolute one (of both parts of complex numbers), or within the operation's own tolerance.

    `undefined` are the elements for which generated code reads no defined value: any may stand
    there, and another when the program is executed again.
    """

    result: Array
    error: Array | None = None
    undefined: Array | bool = False


def near(
    operation: Operation, values: Mapping[str, Array], predicted: Predicted, got: Array
) -> Array:
    """Which elements of a result are as predicted, `values` being what the operation was given."""
    return _as_predicted(operation, values, predicted, got) | predicted.undefined


def _as_predicted(
    operation: Operation, values: Mapping[str, Array], predicted: Predicted, got: Array
) -> Array:
    other, of = predicted.result, element_type_of(got)
    if not (of.is_float or of.is_complex):
        return alike(other, got)
    error = _own(operation, values, other) if predicted.error is None else predicted.error
    if error is None:
        return alike(other, got)
    with np.errstate(all="ignore"):
        samples = [other, *(_moved(other, way * error) for way in (1, -1))]
    return alike(other, got) | within(samples, got, of, margin=0.0)


def is_modelled(operation: Operation, judgement: Judgement, platform: str) -> bool:
    """Whether models of the op itself predict all that is wrong with its results, beside what is
    flushed: it need not go wrong alone then, where compilers may choose another way to compute
    it."""
    rule = rule_of(operation)
    if rule is None:
        return False
    kinds = {kind for verdict, kind in judgement.findings if verdict is not Verdict.FLUSHED}
    return bool(kinds) and with_hypotheses(rule.on(platform), operation).models >= kinds


def _own(operation: Operation, values: Mapping[str, Array], other: Array) -> Array | None:
    rule = rule_of(operation)
    operands = tuple(values[value.name] for value in operation.operands if value.name in values)
    if rule is None or len(operands) < len(operation.operands):
        return None
    with np.errstate(all="ignore"):
        (error,) = tolerances(operation, operands, (other,), rule, "cpu")
    return error


def _moved(array: Array, by: Array) -> Array:
    if element_type_of(array).is_complex:
        return (array + (by + 1j * by)).astype(array.dtype)
    return (to_float64(array) + by).astype(array.dtype)


def flushed(predicted: Predicted) -> Predicted:
    """The same, subnormal results taken for zeros."""
    return Predicted(without_subnormals(predicted.result), predicted.error)

"""What compilers are known to rewrite operations into that is not the same: classes with a name.

Each is modelled: from the operands that an operation had it is computed what the rewriting makes of
them, and only elements that this predicts are of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.compare import Judgement
from conformance.judging.perturbation.error_model import tolerances
from conformance.judging.perturbation.hull import within
from conformance.judging.perturbation.separate_uses import hands_on
from conformance.transforms.extract import alone
from conformance.transforms.values import makers_of
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.alike import alike
from reference.ops.table import OPS

SELECTION = "truth value as a selection"
NEGATION = "negation moved out of a sum"

LABELS = (SELECTION, NEGATION)
"""The classes: an operation that is of one of them goes wrong with those around it, not alone."""

Rewriting = Callable[[Program, Operation, Mapping[str, Array]], Iterator[Array]]
"""rewriting(program, operation, values): what the operation's result may become, as often as the
pattern is met; `values` are those that the backend has, by name."""


def rewritten(
    program: Program,
    operation: Operation,
    values: Mapping[str, Array],
    expected: tuple[Array, ...],
    got: tuple[Array, ...],
    judgement: Judgement,
) -> Judgement:
    """The judgement on an operation, with the class of the rewriting that explains all of it."""
    rewritings = REWRITINGS.get(operation.name, ())
    if len(got) != 1 or got[0].shape != expected[0].shape:
        return judgement
    wrong = ~alike(expected[0], got[0])
    for label, rewriting in rewritings:
        for other in rewriting(program, operation, values):
            if not (wrong & ~_near(operation, values, other, got[0])).any():
                message = f"{label}: {judgement.message}"
                found = ((Verdict.DIVERGENT, label),)
                return replace(
                    judgement, verdict=Verdict.DIVERGENT, kind=label, message=message,
                    findings=found,
                )  # fmt: skip
    return judgement


def _near(operation: Operation, values: Mapping[str, Array], other: Array, got: Array) -> Array:
    """Which elements are those that a rewriting gives, within the operation's tolerance."""
    rule, of = rule_of(operation), element_type_of(got)
    operands = tuple(values[value.name] for value in operation.operands if value.name in values)
    if rule is None or len(operands) < len(operation.operands) or not (of.is_float):
        return alike(other, got)
    with np.errstate(all="ignore"):
        (error,) = tolerances(operation, operands, (other,), rule, "cpu")
    if error is None:
        return alike(other, got)
    wide = other.astype(np.float64)
    samples = [other, *((wide + way * error).astype(other.dtype) for way in (1, -1))]
    return alike(other, got) | within(samples, got, of, margin=0.0)


def _source(program: Program, value: Value) -> Operation | None:
    """The operation that made a value, before it was handed on by broadcasts and the like."""
    operations, makers = program.main.body.operations, makers_of(program)
    while True:
        number = makers.get(value.name)
        maker = None if number is None else operations[number]
        if maker is None or OPS[maker.name].lifts or not hands_on(maker):
            return maker
        value = maker.operands[0]


def _selection(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Array]:
    """multiply(convert(p), x) as select(p, x, 0): 0 * -1, 0 * inf and 0 * NaN become 0."""
    for one, other in (operation.operands, operation.operands[::-1]):
        source = _source(program, one)
        if source is None or source.name != "convert" or not _is_boolean(source.operands[0]):
            continue
        if one.name in values and other.name in values:
            factor, kept = values[one.name], values[other.name]
            yield np.where(factor != 0, kept, np.zeros((), kept.dtype)).astype(kept.dtype)


def _selected_quotient(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Array]:
    """divide(convert(p), x) as select(p, 1 / x, 0), a product with 1 / x: 0 / 0 becomes 0."""
    one, other = operation.operands
    source = _source(program, one)
    if source is None or source.name != "convert" or not _is_boolean(source.operands[0]):
        return
    if one.name in values and other.name in values:
        factor = values[one.name]
        quotient = OPS["divide"].evaluate(factor, values[other.name])
        yield np.where(factor != 0, quotient, np.zeros((), factor.dtype)).astype(factor.dtype)


def _is_boolean(value: Value) -> bool:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return isinstance(of, ElementType) and of.is_boolean


def _negation(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Array]:
    """sum(-x * y) as -sum(x * y): a sum that is +0 becomes -0."""
    taken = alone(program, operation, values)
    if taken is None:
        return
    for value in operation.operands:
        source = _source(program, value)
        if source is None or source.name != "negate" or value.name not in values:
            continue
        names = [argument.name for argument in taken[0].main.arguments]
        negate = OPS["negate"].evaluate
        inputs = [
            negate(array) if name == value.name else array
            for name, array in zip(names, taken[1], strict=True)
        ]
        try:
            (result,) = evaluate(taken[0], inputs)
        except EvaluationError:
            continue
        yield negate(result)


REWRITINGS: dict[str, tuple[tuple[str, Rewriting], ...]] = {
    "multiply": ((SELECTION, _selection),),
    "divide": ((SELECTION, _selected_quotient),),
    **dict.fromkeys(
        ("convolution", "dot", "dot_general", "einsum", "reduce", "reduce_window"),
        ((NEGATION, _negation),),
    ),
}
"""The rewritings by the operation that goes wrong."""

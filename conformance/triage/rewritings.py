"""What compilers are known to rewrite operations into that is not the same: classes with a name.

Each is modelled: from the operands that an operation had it is computed what the rewriting makes of
them, and only elements that this predicts are of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from conformance.judging.classify import is_iota, without_signed_zeros
from conformance.judging.compare import Judgement
from conformance.judging.perturbation.judge import LEFT_OUT
from conformance.transforms.extract import alone
from conformance.transforms.values import makers_of, used_by
from conformance.triage import algebra, contraction, exponentials
from conformance.triage.algebra import ADDED, FACTOR, MERGED, REGROUPED, UNDONE, ZEROS
from conformance.triage.contraction import CONTRACTED, QUOTIENT, TAKEN_APART
from conformance.triage.exponentials import (
    EXPONENTIAL,
    INVERSE,
    LOGARITHM,
    MAGNITUDE,
    OF_EXPONENTIAL,
    OF_NAN,
    POWER,
    PRODUCT,
    ROOT,
    UNROUNDED,
)
from conformance.triage.narrow import KEPT, NEGATIVE, beside_negatives, in_eight_bits
from conformance.triage.prediction import Predicted, Shown, near
from conformance.triage.reductions import MADE_ONE, of_reduction
from conformance.triage.roundings import of_rounding
from conformance.triage.signs import NOT_NEGATIVE, of_comparison, of_quotient
from conformance.triage.slices import ADDED_UP, of_slice
from conformance.triage.updates import IN_PLACE, of_update
from conformance.verdict import Verdict
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array, ElementType
from reference.numerics.alike import alike
from reference.ops.table import OPS

SELECTION = "truth value as a selection"
NEGATION = "negation moved out of a sum"
IOTA = "taken for iota"

LABELS = (
    SELECTION,
    NEGATION,
    IOTA,
    CONTRACTED,
    QUOTIENT,
    TAKEN_APART,
    REGROUPED,
    MERGED,
    ADDED,
    FACTOR,
    UNDONE,
    LOGARITHM,
    INVERSE,
    EXPONENTIAL,
    POWER,
    ROOT,
    OF_EXPONENTIAL,
    OF_NAN,
    PRODUCT,
    MAGNITUDE,
    UNROUNDED,
    KEPT,
    NEGATIVE,
    ZEROS,
    NOT_NEGATIVE,
    ADDED_UP,
    IN_PLACE,
    MADE_ONE,
    LEFT_OUT,
)
"""The classes: an operation that is of one of them goes wrong with those around it, not alone."""

Rewriting = Callable[[Program, Operation, Mapping[str, Array]], Iterator[Predicted]]
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
    """The judgement on an operation, with the class of the rewriting that explains all of it.

    Elements that are as expected, but for the operation's own tolerance, need no explanation.
    """
    if len(got) != 1 or got[0].shape != expected[0].shape:
        return judgement
    unlike = ~alike(expected[0], got[0])
    beyond = unlike & ~near(operation, values, Predicted(expected[0]), got[0])
    for label, rewriting in rewritings_of(operation):
        wrong = beyond.copy() if beyond.any() else unlike.copy()
        for predicted in rewriting(program, operation, values):
            if beyond.any():
                wrong &= ~near(operation, values, predicted, got[0])
            else:  # such as zeros of the other sign, which are near each other
                wrong &= ~alike(predicted.result, got[0])
            if not wrong.any():
                return of_class(judgement, label)
    return judgement


def rewritings_of(operation: Operation) -> tuple[tuple[str, Rewriting], ...]:
    """The rewritings that an operation may have met, with their classes."""
    return (*REWRITINGS.get(operation.name, ()), *OF_ANY)


def of_class(judgement: Judgement, label: str) -> Judgement:
    """The judgement, of a class."""
    message = f"{label}: {judgement.message}"
    found = ((Verdict.DIVERGENT, label),)
    return replace(
        judgement, verdict=Verdict.DIVERGENT, kind=label, message=message, findings=found
    )


def _source(program: Program, value: Value) -> Operation | None:
    """Return the operation that made a value, before broadcasts, slices and the like moved it."""
    operations, makers = program.main.body.operations, makers_of(program)
    while True:
        number = makers.get(value.name)
        maker = None if number is None else operations[number]
        if maker is None or not _moves_one_operand(maker):
            return maker
        value = maker.operands[0]


def _moves_one_operand(operation: Operation) -> bool:
    """Whether all elements of the result are elements of the first operand."""
    record = OPS.get(operation.name)
    return record is not None and record.moves_elements and record.carries == (0,)


def _selection(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """multiply(convert(p), x) as select(p, x, 0): 0 * -1, 0 * inf and 0 * NaN become 0."""
    for one, other in (operation.operands, operation.operands[::-1]):
        source = _source(program, one)
        if source is None or source.name != "convert" or not _is_boolean(source.operands[0]):
            continue
        if one.name in values and other.name in values:
            factor, kept = values[one.name], values[other.name]
            zero = np.zeros((), kept.dtype)
            yield Predicted(np.where(factor != 0, kept, zero).astype(kept.dtype))


def _selected_quotient(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """divide(convert(p), x) as select(p, 1 / x, 0), a product with 1 / x: 0 / 0 becomes 0."""
    one, other = operation.operands
    source = _source(program, one)
    if source is None or source.name != "convert" or not _is_boolean(source.operands[0]):
        return
    if one.name in values and other.name in values:
        factor = values[one.name]
        quotient = OPS["divide"].evaluate(factor, values[other.name])
        zero = np.zeros((), factor.dtype)
        yield Predicted(np.where(factor != 0, quotient, zero).astype(factor.dtype))


def _is_boolean(value: Value) -> bool:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return isinstance(of, ElementType) and of.is_boolean


def _negation(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
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
        yield Predicted(negate(result))


def _of_iota(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """An operation on constants -0, 1, 2, ... as one on an iota, which begins with +0."""
    shown, given = Shown(program, values), alone(program, operation, values)
    if given is None:
        return
    whole, inputs = given
    taken = {value.name for value in used_by(operation) if shown.is_folded(value)}
    names = [one.name for one in whole.main.arguments]
    is_taken = [name in taken and is_iota(one) for name, one in zip(names, inputs, strict=True)]
    if not any(is_taken):
        return
    others = [
        without_signed_zeros(one) if other else one
        for one, other in zip(inputs, is_taken, strict=True)
    ]
    try:
        (result,) = evaluate(whole, others)
    except EvaluationError:
        return
    yield Predicted(result)


def _contracted(model: Callable[..., Iterator[Predicted]]) -> tuple[tuple[str, Rewriting], ...]:
    """A model of what a sum takes unrounded: of products alone first."""
    return (CONTRACTED, model), (QUOTIENT, partial(model, quotients=True))


_OF_SUMS: tuple[tuple[str, Rewriting], ...] = (
    (NEGATION, _negation),
    *_contracted(contraction.of_many),
    (TAKEN_APART, contraction.of_many_taken_apart),
)

REWRITINGS: dict[str, tuple[tuple[str, Rewriting], ...]] = {
    "multiply": (
        (SELECTION, _selection),
        (REGROUPED, algebra.of_product),
        (PRODUCT, exponentials.of_exponentials),
    ),
    "divide": (
        (SELECTION, _selected_quotient),
        (REGROUPED, algebra.of_quotient),
        (EXPONENTIAL, partial(exponentials.of_inverse, name="exponential")),
        (POWER, partial(exponentials.of_inverse, name="power")),
        (ROOT, exponentials.of_root_divisor),
        (MERGED, algebra.of_quotients),
        (PRODUCT, exponentials.of_exponentials),
        (NOT_NEGATIVE, of_quotient),
    ),
    "remainder": ((NOT_NEGATIVE, of_quotient),),
    **dict.fromkeys(("convert", "reduce_precision"), ((LEFT_OUT, of_rounding),)),
    "log": ((LOGARITHM, exponentials.of_logarithm), (INVERSE, exponentials.of_argument)),
    "exponential": ((OF_NAN, exponentials.of_constant_nan),),
    "power": (
        (OF_EXPONENTIAL, exponentials.of_power),
        (OF_NAN, exponentials.of_constant_nan),
        (MAGNITUDE, exponentials.of_root),
    ),
    "dynamic_slice": ((ADDED_UP, of_slice),),
    **dict.fromkeys(("dynamic_update_slice", "reshape"), ((IN_PLACE, of_update),)),
    "compare": ((NOT_NEGATIVE, of_comparison),),
    "sqrt": ((MAGNITUDE, exponentials.of_root),),
    **dict.fromkeys(("clamp", "maximum", "minimum"), ((ZEROS, algebra.of_folded_extremum),)),
    "add": (
        *_contracted(contraction.of_sum),
        (UNROUNDED, exponentials.of_sum),
        (ADDED, algebra.of_added),
        (FACTOR, algebra.of_common_factor),
        (UNDONE, algebra.of_difference_undone),
    ),
    "subtract": (
        *_contracted(contraction.of_difference),
        (UNROUNDED, partial(exponentials.of_sum, sign=-1)),
        (ADDED, partial(algebra.of_added, sign=-1)),
        (UNDONE, algebra.of_difference_undone),
    ),
    **dict.fromkeys(("convolution", "dot", "dot_general", "einsum"), ((NEGATION, _negation),)),
    "reduce": (*_OF_SUMS, (MADE_ONE, of_reduction)),
    "reduce_window": _OF_SUMS,
}
"""The rewritings by the operation that goes wrong."""

OF_ANY: tuple[tuple[str, Rewriting], ...] = (
    (KEPT, in_eight_bits),
    (NEGATIVE, beside_negatives),
    (IOTA, _of_iota),
)
"""The rewritings of whatever operation."""

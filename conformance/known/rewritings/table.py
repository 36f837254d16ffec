"""Table of the rewritings by compilers that change results, each a class.

Each predicts results from the backend's own values. Identities are patterns (identities.py). This
table adds other rewritings and lists all of them by the operation that goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from conformance.known.in_force import stated_rewritings
from conformance.known.iota import IOTA, as_iotas
from conformance.known.rewritings import exponentials
from conformance.known.rewritings.contraction import sums
from conformance.known.rewritings.contraction.sums import TAKEN_APART
from conformance.known.rewritings.contraction.unrounded_terms import (
    CONTRACTED,
    CONTRACTIBLE,
    QUOTIENT,
)
from conformance.known.rewritings.exponentials import CONSTANT_NAN, UNROUNDED
from conformance.known.rewritings.identities import FORMS, IDENTITIES, SELECTION
from conformance.known.rewritings.narrow.floats import (
    KEPT_IN_F16,
    KEPT_IN_F32,
    excess_f16_results,
    excess_f32_results,
)
from conformance.known.rewritings.narrow.integers import (
    KEPT,
    NEGATIVE,
    beside_negatives,
    untruncated_integer_results,
)
from conformance.known.rewritings.patterns import predictions
from conformance.known.rewritings.products import (
    IN_PARTS,
    masked_sums,
    split_contractions,
)
from conformance.known.rewritings.reductions import MADE_ONE, merged_reductions
from conformance.known.rewritings.simplified.simplify import SimplifiedProgram, simplify
from conformance.known.rewritings.slices import ADDED_STARTS, merged_gathers, merged_slices
from conformance.known.rewritings.sorts import IN_TOTAL_ORDER, leading_sorted_elements
from conformance.known.rewritings.updates import IN_PLACE, overlapping_updates
from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from conformance.known.rewritings.windows import (
    CUT_ELEMENTS_RETURNED,
    ONE_FOR_ALL,
    element_for_all_windows,
    merged_paddings,
)
from conformance.transforms.extract import extract_operation
from conformance.transforms.values import used_values
from reference.interpreter.evaluate import EvaluationError, apply, evaluate
from reference.ir.program import Operation

COLUMNS = "columns of a product taken from before"

_COLUMN_BYTES, _TILE_BYTES = 1 << 17, (1 << 9, 1 << 8, 1 << 7)
"""Columns of a matrix product that lie beyond the first `_COLUMN_BYTES` bytes of a row repeat the
columns that are a tile before them; the width of a tile in bytes depends on the CPU.
"""

Rewriting = Callable[[ObservedProgram, Operation], Predictions]
"""A function rewriting(observed program, operation) that yields possible results of an operation,
once per match.
"""

Among = Callable[[Operation], Iterable[tuple[str, Rewriting]]]
"""A function among(operation) that returns rewritings with their classes, in the order of trial."""


def _predict_iota(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield an operation on constants -0, 1, 2, ... as an operation on an iota from +0."""
    given = extract_operation(shown.program, operation, shown.values)
    if given is None:
        return
    whole, inputs = given
    taken = {value.name for value in used_values(operation) if shown.is_folded(value)}
    names = [one.name for one in whole.main.arguments]
    others = as_iotas(inputs, [name in taken for name in names])
    if others is None:
        return
    try:
        (result,) = evaluate(whole, others)
    except EvaluationError:
        return
    yield ValuePrediction(result)


def sums_of_squares(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield sums of squares of a matrix product's columns, with later columns replaced by earlier
    columns.
    """
    squares = shown.maker(operation.operands[0])
    operands = shown.known_values(operation.operands)
    if squares is None or squares.name != "multiply" or operands is None:
        return
    first, second = squares.operands
    product = shown.maker(first)
    if first != second or product is None or product.name != "dot_general":
        return
    (result,) = apply(operation, operands)
    begin, *backs = (size // result.dtype.itemsize for size in (_COLUMN_BYTES, *_TILE_BYTES))
    if result.ndim == 1 and len(result) > begin:
        for back in backs:
            yield ValuePrediction(np.concatenate([result[:begin], result[begin - back : -back]]))


def _contraction_models(
    model: Callable[..., Predictions],
) -> tuple[tuple[str, Rewriting], ...]:
    """Return labelled models of the unrounded terms of a sum.

    Products come first, and products that rewritings compute last.
    """
    others = (QUOTIENT, *CONTRACTIBLE)
    return (CONTRACTED, model), *((one, partial(model, label=one)) for one in others)


_OF_SUMS: tuple[tuple[str, Rewriting], ...] = (
    *_contraction_models(sums.unrounded_element_sums),
    (TAKEN_APART, sums.decomposed_sums),
)

MODELS: dict[str, tuple[tuple[str, Rewriting], ...]] = {
    **dict.fromkeys(
        ("exponential", "exponential_minus_one", "logistic", "power"),
        ((CONSTANT_NAN, exponentials.exponentials_of_constant_nan),),
    ),
    "dynamic_slice": ((ADDED_STARTS, merged_slices),),
    "gather": ((ADDED_STARTS, merged_gathers),),
    **dict.fromkeys(("dynamic_update_slice", "reshape"), ((IN_PLACE, overlapping_updates),)),
    "add": (
        *_contraction_models(sums.contracted_sums),
        (UNROUNDED, exponentials.sums_with_unrounded_exponential),
    ),
    "subtract": (
        *_contraction_models(sums.contracted_sums),
        (UNROUNDED, partial(exponentials.sums_with_unrounded_exponential, sign=-1)),
    ),
    "convolution": ((CUT_ELEMENTS_RETURNED, merged_paddings),),
    **dict.fromkeys(
        ("dot", "dot_general"), ((SELECTION, masked_sums), (IN_PARTS, split_contractions))
    ),
    "einsum": ((SELECTION, masked_sums),),
    "reduce": (*_OF_SUMS, (MADE_ONE, merged_reductions), (COLUMNS, sums_of_squares)),
    "reduce_window": (
        *_OF_SUMS,
        (CUT_ELEMENTS_RETURNED, merged_paddings),
        (ONE_FOR_ALL, element_for_all_windows),
    ),
    "slice": ((IN_TOTAL_ORDER, leading_sorted_elements),),
}
"""Rewritings that are not patterns, by the operation that goes wrong."""

ANY_OP: tuple[tuple[str, Rewriting], ...] = (
    (KEPT, untruncated_integer_results),
    (NEGATIVE, beside_negatives),
    (KEPT_IN_F32, excess_f32_results),
    (KEPT_IN_F16, excess_f16_results),
    (IOTA, _predict_iota),
)
"""Rewritings that apply to any operation."""


def stated_of(operation: Operation) -> Iterator[tuple[str, Rewriting]]:
    """Yield the rewritings of an operation that expectations in force state, with their classes."""
    yield from ((o.label, o.predictions) for o in stated_rewritings() if o.acts_on(operation))


def rewritings_of(operation: Operation) -> Iterator[tuple[str, Rewriting]]:
    """Yield the rewritings that may apply to an operation, with their classes.

    Rewritings that expectations in force state come first. `exponentials_of_constant_nan` comes
    after the identities, because an identity that explains a power of an exponential is more
    specific.
    """
    yield from stated_of(operation)
    models = MODELS.get(operation.name, ())
    yield from (one for one in models if one[0] is not CONSTANT_NAN)
    for label in dict.fromkeys(one.label for one in IDENTITIES if one.acts_on(operation)):
        yield label, partial(_predict_identities, label=label)
    yield from (one for one in models if one[0] is CONSTANT_NAN)
    yield from ANY_OP


def rewriting_predictions(
    shown: ObservedProgram,
    operation: Operation,
    among: Among = rewritings_of,
    simplified: SimplifiedProgram | None = None,
) -> Iterator[tuple[str, Predictions]]:
    """Yield the classes of the rewritings of an operation, each with its predictions.

    First the program's operation is rewritten, then its counterpart in the simplified program.
    """
    yield from ((label, one(shown, operation)) for label, one in among(operation))
    simple = simplify(shown.program) if simplified is None else simplified
    counterpart = simple.operation(operation.results[0].name) if simple.is_changed else None
    if counterpart is None:
        return
    known = ObservedProgram(simple.program, simple.complete_values(shown.values))
    yield from ((label, one(known, counterpart)) for label, one in among(counterpart))


def _predict_identities(shown: ObservedProgram, operation: Operation, *, label: str) -> Predictions:
    """Yield the results that the algebraic identities of a class give for an operation."""
    for one in IDENTITIES:
        if one.label == label and one.acts_on(operation):
            yield from predictions(shown, one, FORMS, operation)


def is_rewriting(label: str) -> bool:
    """Return whether a class belongs to a rewriting: known, or stated by an expectation in force.

    An operation of such a class fails together with the operations around it, not in isolation.
    """
    return label in LABELS or any(one.label == label for one in stated_rewritings())


LABELS = tuple(
    dict.fromkeys(
        (
            *(label for each in (*MODELS.values(), ANY_OP) for label, _ in each),
            *(one.label for one in IDENTITIES),
        )
    )
)
"""The classes of the known rewritings."""

"""Products with a concatenation, computed as a sum of products with its parts.

XLA's algebraic simplifier splits a product that contracts the concatenated dimension, if the other
operand is a constant. Each product is rounded to the result's type, and so is each sum: a part may
overflow where the whole sum does not.

Source: pass `algsimp` of libtpu 0.0.42 and 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import accumulate

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, ValuePrediction
from conformance.tolerance.bounds.contraction import dimensions_of
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from reference.numerics import arithmetic

IN_PARTS = "products with parts added"


def sums_of_parts(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[ValuePrediction]:
    """Yield the sum of the products with each part of a concatenated operand."""
    shown = ObservedProgram(program, values)
    for side in (0, 1):
        found = _parts(shown, operation, side)
        if found is None:
            continue
        try:
            products = [apply(operation, one)[0] for one in found]
        except EvaluationError:
            continue
        yield ValuePrediction(reduce(arithmetic.add, products))


def _parts(
    shown: ObservedProgram, operation: Operation, side: int
) -> list[tuple[Array, Array]] | None:
    """Return the operands of each product, with operand `side` taken apart.

    None if it is no concatenation along a contracting dimension, or the other is no constant.
    """
    maker = shown.maker(operation.operands[side])
    other = shown.constant(operation.operands[1 - side])
    if maker is None or maker.name != "concatenate" or other is None:
        return None
    known = [shown.known_value(one) for one in maker.operands]
    pieces = [one for one in known if one is not None]
    if len(pieces) < len(known):
        return None
    of = dimensions_of(operation, pieces[0] if side == 0 else other)
    mine, others = of.lhs_contracting, of.rhs_contracting
    if side == 1:
        mine, others = others, mine
    dimension = maker.attribute("dimension")
    if not isinstance(dimension, int) or dimension not in mine:
        return None
    ends = list(accumulate(one.shape[dimension] for one in pieces))[:-1]
    along = others[mine.index(dimension)]
    rest = np.split(other, ends, axis=along)
    pairs = zip(pieces, rest, strict=True)
    return [(one, two) if side == 0 else (two, one) for one, two in pairs]

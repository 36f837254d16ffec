"""The former op einsum as a dot_general whose result is transposed, as XLA computes it."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.known.hypothesis import Operands, Results, predict_nothing
from conformance.tolerance.rule import Measure
from reference.ir.program import Operation, attributes
from reference.ir.types import Array

_CONFIG = "einsum_config"


def over_einsums(measure: Measure) -> Measure:
    """Return a measure of dot_general as a measure of einsum, too.

    It predicts nothing for an einsum that is no dot_general.
    """

    def measure_any(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        config = operation.attribute(_CONFIG)
        if config is None:
            return measure(operation, operands, expected, actual)
        form = _as_dot_general(operation, str(config))
        if form is None:
            return predict_nothing(expected)
        product, made, wanted = form
        given = (_transposed(some, wanted, made) for some in (expected, actual))
        return _transposed(measure(product, operands, *given), made, wanted)

    return measure_any


def _as_dot_general(operation: Operation, config: str) -> tuple[Operation, str, str] | None:
    """Return a dot_general, the indices of its result and of the einsum's result; None if the
    einsum is none.
    """
    sides, arrow, result = config.replace(" ", "").partition("->")
    lhs, comma, rhs = sides.partition(",")
    if not (arrow and comma) or any(not _is_plain(one) for one in (lhs, rhs, result)):
        return None
    batch, sums = (
        [one for one in lhs if one in rhs and (one in result) is kept] for kept in (True, False)
    )
    made = "".join([*batch, *(one for one in lhs + rhs if one not in (*batch, *sums))])
    if sorted(made) != sorted(result):  # an index of one operand is summed
        return None
    numbers = {
        f"{side}_{kind}_dimensions": tuple(indices.index(one) for one in some)
        for side, indices in (("lhs", lhs), ("rhs", rhs))
        for kind, some in (("batching", batch), ("contracting", sums))
    }
    given = attributes(**numbers)
    product = Operation("dot_general", operation.operands, operation.results, given)
    return product, made, result


def _is_plain(indices: str) -> bool:
    """Return whether indices are letters, each once."""
    return all(map(str.isalpha, indices)) and len(set(indices)) == len(indices)


def _transposed(arrays: Sequence[Array], before: str, after: str) -> Results:
    """Return arrays with their dimensions in another order of indices."""
    return tuple(one.transpose([before.index(index) for index in after]) for one in arrays)

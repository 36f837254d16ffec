"""Sums and products of f64 in bodies, whose zeros are +0 on TPUs.

A result on pairs of f32 is the sum of its larger and its smaller part. A product of zero and a
negative number has the parts -0 and +0, so that it is +0. So is the sum of -0 and -0.

Source: libtpu 0.0.42 and 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.known.hypothesis import Operands, Results, exact_hypothesis
from conformance.known.xla.memory import zeros
from conformance.known.xla.pairs.float_pairs import LABEL
from conformance.transforms.retype import element_of
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Region, Value
from reference.ir.types import element_type

_WIDE = element_type("f64")
_SUMMED = ("add", "multiply")


def _predict_positive_zeros(
    operation: Operation, operands: Operands, expected: Results
) -> Results | None:
    del expected
    regions = tuple(map(_add_positive_zeros, operation.regions))
    if regions == operation.regions:
        return None
    return apply(replace(operation, regions=regions), operands)


def _add_positive_zeros(region: Region) -> Region:
    """Return a body in which +0 is added to each sum and product of f64."""
    made = (other for one in region.operations for other in _add_zero(one))
    return replace(region, operations=tuple(made))


def _add_zero(operation: Operation) -> Iterator[Operation]:
    if operation.name not in _SUMMED or element_of(operation.results[0]) is not _WIDE:
        yield operation
        return
    (result,) = operation.results
    parts, zero = (Value(f"{result.name}.{what}", result.type) for what in ("parts", "zero"))
    yield replace(operation, results=(parts,))
    yield zeros(zero)
    yield Operation("add", (parts, zero), (result,))


POSITIVE_ZEROS = exact_hypothesis(LABEL, _predict_positive_zeros)

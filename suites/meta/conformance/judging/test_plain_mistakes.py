"""No model explains plain mistakes in the results of its op, except the results that it predicts.

A model is what gives an element a class of known divergences: the hypotheses about an op on any
hardware, and the mistakes of whole programs. All are found by way of the catalog, so that a new
model is tested without a line here. Rewritings of several operations are not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from conformance.catalog import CATALOG, Cell
from conformance.judging import compare
from conformance.judging.differences import DifferingElements
from conformance.judging.questions import ElementClasses
from conformance.known.any_op import hypotheses_of_any_op
from conformance.known.programs import PROGRAM_LABELS
from conformance.known.table import hypotheses_of_op
from conformance.tolerance.hardware import Hardware
from generators.cells.plan import cases, valid_columns
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array
from reference.numerics.zeros import is_zero
from reference.ops.table import OPS
from suites.meta.support.faults.plain_mistakes import OTHER_ZERO, plain_mistakes

TYPES = ("f32", "f64", "complex<f32>", "si32")
"""Types of so many digits that a wrong number is hardly ever the predicted number by chance."""

CASES = 2

OF_ANY_OP = {one.label for one in hypotheses_of_any_op((True,))}
"""Classes that apply to any op, such as ties rounded the wrong way."""
ROUNDED = {"zero", "one", "neighbouring element", "neighbouring number"}
"""Mistakes whose numbers may be next to the right numbers, as second rounding gives."""

_CANCELS = "where digits cancel, the error of the other formula is larger than the number"
_CHOICE = "predicts elements of the operands, zeros or sums of few of them, which mistakes hit, too"
_ZERO = "predicts a zero of the other sign"

PREDICTED: dict[tuple[str, str], str] = {
    ("triangular_solve", "product with an inverse"): _ZERO,  # right, in an equation that is not
    ("add", "zero left out"): _ZERO,
    ("subtract", "zero left out"): _ZERO,
    ("all_reduce", "summed from +0"): _ZERO,
    ("reduce_scatter", "summed from +0"): _ZERO,
    ("reduce_scatter", "zeros taken for equal"): _ZERO,
    ("atan2", "of a subnormal operand"): "predicts NaN of two subnormal operands",
    ("atan2", "textbook formula"): "predicts NaN of operands that overflow on the way",
    ("exponential_minus_one", "textbook formula"): _CANCELS,
    ("divide", "reciprocal"): "predicts 0 where the reciprocal underflows, of complex parts alone",
    ("sign", "overflow or underflow on the way"): "predicts 0 where a sum of squares overflows",
    ("reduce_window", "dilation left out"): _CHOICE,
    ("select_and_scatter", "order of the elements"): _CHOICE,
}
"""Models, by op and class, that explain plain mistakes, each with the reason."""

ZEROS_ALONE = frozenset(one for one, reason in PREDICTED.items() if reason is _ZERO)
"""Models that may explain zeros of the other sign, and no other mistake."""


def _has_model(op: str) -> bool:
    return any(hypotheses_of_op(op, hardware, is_complex=True) for hardware in Hardware)


ASKED = [op for op in CATALOG if OPS[op].lower is None and _has_model(op)]


def _explaining_classes(
    found: list[tuple[DifferingElements, ElementClasses]], mistake: str
) -> Iterator[tuple[str, str]]:
    """Yield the class of each model that explains elements, with the mistake there."""
    for differing, findings in found:
        for code, (verdict, kind) in enumerate(findings.table):
            where = findings.codes == code
            models = {one.label for one in differing.hypotheses}
            if not verdict.fails or kind not in models or not where.any():
                continue
            zeros = is_zero(differing.want[where]) & is_zero(differing.got[where])
            yield kind, OTHER_ZERO if zeros.all() else mistake


def _classes_of_mistakes(op: str, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Return the classes that explain mistakes in an op's cases, each with the mistake."""
    seen: list[tuple[DifferingElements, ElementClasses]] = []
    find = compare.classify_elements

    def find_and_note(differing: DifferingElements) -> ElementClasses:
        findings = find(differing)
        seen.append((differing, findings))
        return findings

    monkeypatch.setattr(compare, "classify_elements", find_and_note)
    explained: set[tuple[str, str]] = set()
    for column in valid_columns(op):
        if column.name not in TYPES:
            continue
        for case in cases(op, column, 0, CASES):
            inputs = materialise(case.program, case.inputs[0])
            expected: tuple[Array, ...] = tuple(evaluate(case.program, inputs))
            rule = Cell(op, column, "reference").rule
            for name, wrong in plain_mistakes(case.program, inputs, expected):
                for hardware in (Hardware.CPU, Hardware.INTERPRETER):
                    seen.clear()
                    with np.errstate(all="ignore"):
                        judgement = compare.judge(
                            case.program, inputs, expected, wrong, rule, platform=hardware
                        )
                    explained |= set(_explaining_classes(seen, name))
                    if judgement.kind in PROGRAM_LABELS:
                        explained.add((judgement.kind, name))
    return explained


@pytest.mark.slow
@pytest.mark.parametrize("op", ASKED)
def test_model_explains_only_the_plain_mistakes_that_it_predicts(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _classes_of_mistakes(op, monkeypatch)
    found = {one for one in asked if one[0] not in OF_ANY_OP or (op, one[0]) in PREDICTED}
    assert {mistake for _, mistake in asked - found} <= ROUNDED
    labels = {(op, label) for label, _ in found}
    listed = {one for one in PREDICTED if one[0] == op}
    assert labels <= listed, f"explained, but not as a model predicts: {sorted(found)}"
    assert listed <= labels, f"explains no plain mistake any more: {sorted(listed - labels)}"
    beyond = {(a, b) for a, b in found if (op, a) in ZEROS_ALONE and b != OTHER_ZERO}
    assert not beyond


def test_every_model_of_the_catalog_is_tried() -> None:
    assert {op for op, _ in PREDICTED} <= {*ASKED}

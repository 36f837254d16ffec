"""No hypothesis explains plain mistakes in the results of its op, except those that it predicts.

The hypotheses are those that the shipped expectations state about an op, and those of any op. A new
entry with `computes` is tested without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from conformance.catalog import CATALOG, Cell
from conformance.gate.expectations import hypotheses_of
from conformance.gate.reading import load
from conformance.judging import compare
from conformance.judging.differences import DifferingElements
from conformance.judging.questions import ElementClasses
from conformance.known.any_op import HYPOTHESES
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.text import matches_any
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

OF_ANY_OP = {hypothesis.label for hypothesis in HYPOTHESES}
"""Classes that apply to any op, such as ties rounded the wrong way."""
ROUNDED = {"zero", "one", "neighbouring element", "neighbouring number"}
"""Mistakes whose numbers may be next to the right numbers, as second rounding gives."""

STATED = {
    of: [one for one in hypotheses_of(load(None, (of,), {}), of) if not one.any_value]
    for of in (Hardware.CPU, Hardware.INTERPRETER)
}
"""The hypotheses that the shipped expectations state, by backend, if they predict values."""

PREDICTED: dict[tuple[str, str], str] = {
    ("atan2", "as computed by atan2-of-subnormals"): "NaN for two subnormal operands",
    ("atan2", "as computed by atan2-of-subnormals-in-f64"): "NaN for two subnormal operands",
    (
        "chlo.next_after",
        "as computed by chlo-neighbours-of-subnormals-in-f64",
    ): "a zero of the other sign, where y is that zero",
    ("convert", "as computed by double-rounding-of-integers"): "the number next to the right one",
    ("divide", "reciprocal"): "NaN or 0 where the reciprocal overflows or underflows",
    ("reduce_window", "as computed by ynn-extremum-of-zeros"): "a zero of the other sign",
    ("sign", "as computed by sign-of-negative-zero"): "a zero of the other sign",
}
"""Hypotheses, by op and class, that explain plain mistakes, each with the reason."""


def _is_stated(op: str) -> bool:
    each = (one for stated in STATED.values() for one in stated)
    return any(isinstance(one, EntryPrediction) and matches_any(op, one.ops) for one in each)


ASKED = [op for op in CATALOG if OPS[op].lower is None and _is_stated(op)]


def _explaining_classes(
    found: list[tuple[DifferingElements, ElementClasses]], mistake: str
) -> Iterator[tuple[str, str]]:
    """Yield the class of each hypothesis that explains elements, with the mistake there."""
    for differing, findings in found:
        for code, (verdict, kind) in enumerate(findings.table):
            where = findings.codes == code
            labels = {hypothesis.label for hypothesis in differing.hypotheses}
            if verdict.fails and kind in labels and where.any():
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
                for hardware, stated in STATED.items():
                    seen.clear()
                    with np.errstate(all="ignore"), in_force(stated):
                        compare.judge(
                            case.program, inputs, expected, wrong, rule, platform=hardware
                        )
                    explained |= set(_explaining_classes(seen, name))
    return explained


@pytest.mark.slow
@pytest.mark.parametrize("op", ASKED)
def test_hypothesis_explains_only_the_plain_mistakes_that_it_predicts(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _classes_of_mistakes(op, monkeypatch)
    found = {one for one in asked if one[0] not in OF_ANY_OP or (op, one[0]) in PREDICTED}
    assert {mistake for _, mistake in asked - found} <= ROUNDED
    labels = {(op, label) for label, _ in found}
    listed = {one for one in PREDICTED if one[0] == op}
    assert labels <= listed, f"explained, but not as predicted: {sorted(found)}"
    assert listed <= labels, f"explains no plain mistake any more: {sorted(listed - labels)}"


def test_every_listed_hypothesis_is_tried() -> None:
    assert ASKED
    assert {op for op, _ in PREDICTED} <= {*ASKED}

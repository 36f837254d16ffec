"""No rewriting explains the plainest wrong results, but for those that it predicts.

Asked are all operations of the counterexamples of shipped entries that name a rewriting: there its
pattern is met. Hypotheses about single operations are asked in suites/meta/conformance/judging.
"""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation
from conformance.gate.files import SHIPPED
from conformance.gate.reading import read
from conformance.judging.compare import judge
from conformance.known.rewritings.table import LABELS
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import extract_operation
from conformance.triage.rewritings import add_rewriting_class
from reference.interpreter.evaluate import evaluate
from suites.meta.support.checking import values_of
from suites.meta.support.faults.plain_mistakes import plain_mistakes

ENTRIES = {
    one.id: one
    for one in read(SHIPPED / "cpu.toml")
    if one.counterexample and not set(LABELS).isdisjoint(one.kinds)
}

PREDICTED: dict[str, set[str]] = {
    # truth values and numbers of two bits: there are few others
    "comparison-of-what-is-not-negative": {"neighbouring number", "one", "sign lost"},
    "comparison-of-what-wraps": {"neighbouring number", "operands swapped", "sign lost", "zero"},
    "padded-element-for-every-window": {"neighbouring number", "one", "sign lost"},
    "truth-added-to-itself": {"neighbouring number", "sign lost", "zero"},
    # the counterexample shows that number in place of another
    "atan2-of-zeros-found-late": {"NaN"},
    "complex-difference-undone": {"zero"},
    "product-of-exponentials": {"one"},
    "quotient-of-integers-by-a-power": {"zero"},
    "slice-of-a-slice": {"neighbouring number"},
    "update-in-place-by-its-own-slice": {"one"},
    # a zero, or the smallest integer, whose negative it is
    "first-of-a-sort": {"sign lost", "zero"},
    "narrow-integers-kept-in-eight-bits": {"sign lost"},
    "negation-out-of-a-sum": {"sign lost"},
    "quotient-by-an-exponential": {"sign lost"},
    "truth-value-as-a-selection": {"sign lost", "zero"},
    "ynn-zeros-before-an-extremum": {"sign lost", "zero"},
    # terms that cancel, one of them so large that any number is within its rounding
    "reduction-of-a-reduction": {"NaN", "sign lost", "zero"},
    "sum-of-products-taken-apart": {"neighbouring number", "sign lost", "zero"},
    # what stands in memory
    "exponential-of-a-constant-nan": {"one", "zero"},
}
"""Mistakes, by entry, that the rewriting of its counterexample predicts."""


def _explaining_classes(entry: Expectation) -> set[tuple[str, str]]:
    """Return the classes of rewritings that explain mistakes, each with the mistake."""
    assert entry.counterexample is not None
    program = parse_module(entry.counterexample.program)
    inputs = parse_inputs(program, entry.counterexample.inputs)
    if program.process_count > 1:  # judged process by process, where no rewriting is asked
        return set()
    values, found = values_of(program, inputs), set[tuple[str, str]]()
    for operation in program.main.body.operations[:-1]:
        taken, rule = extract_operation(program, operation, values), rule_of(operation)
        if taken is None or rule is None or not operation.operands:
            continue
        expected = tuple(evaluate(*taken))
        for name, wrong in plain_mistakes(*taken, expected):
            with np.errstate(all="ignore"):
                judgement = judge(*taken, expected, wrong, rule)
                if judgement.verdict.fails:
                    given = (program, operation, values, expected, wrong, judgement)
                    found.add((add_rewriting_class(*given).kind, name))
    return {(label, name) for label, name in found if label in LABELS}


@pytest.mark.parametrize("id_", ENTRIES)
def test_rewriting_explains_only_the_plain_mistakes_that_it_predicts(id_: str) -> None:
    found = _explaining_classes(ENTRIES[id_])
    assert {mistake for _, mistake in found} == PREDICTED.get(id_, set()), sorted(found)


def test_predictions_belong_to_shipped_entries() -> None:
    assert PREDICTED.keys() <= ENTRIES.keys()

"""The rewritings that are reported for the last operation of a program."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.triage.rewritings import add_rewriting_class

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import extract_operation
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array
from suites.meta.support.checking import values_of


def kind_of(text: str, inputs: Sequence[Array], got: Array) -> str:
    """Return the class of the last operation's result in a program, given the values before it."""
    program = parse_module(text)
    values = values_of(program, inputs)
    *_, last, _ = program.main.body.operations
    taken, rule = extract_operation(program, last, values), rule_of(last)
    assert taken is not None
    assert rule is not None
    expected = evaluate(*taken)
    judgement = judge(*taken, expected, (got,), rule)
    assert judgement.verdict.fails, "nothing that a class is needed for"
    return add_rewriting_class(program, last, values, expected, (got,), judgement).kind

"""Which expectations know a program that gives no results at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.catalog import column
from conformance.check.outcome import Outcome
from conformance.gate.expectations import Expectation, Failure, matching_entry
from reference.ir.program import Program


def known_loss(
    program: Program, expectations: Sequence[Expectation], backend: str, outcome: Outcome
) -> Outcome:
    """The outcome with the expectations that know of some operation that it fails in this way.

    Of a program that ends its process, or is refused, nobody says which operation does it.
    """
    said = (outcome.verdict, outcome.kind, outcome.message)
    ids = (
        matching_entry(expectations, Failure(one.name, column(one), backend, *said, operation=one))
        for one in program.walk()
    )
    return replace(outcome, known=tuple(dict.fromkeys(filter(None, ids))))

"""Which expectations know a program that gives no results at all."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.gate.expectations import Expectation, Failure, known_by
from conformance.triage.columns import column
from conformance.verdict import Verdict
from reference.ir.program import Program


def known_loss(
    program: Program,
    expectations: Sequence[Expectation],
    backend: str,
    verdict: Verdict,
    kind: str,
    message: str,
) -> tuple[str, ...]:
    """The expectations that know of some operation of a program that it fails in this way.

    Of a program that ends its process, or is refused, nobody says which operation does it.
    """
    ids = (
        known_by(expectations, Failure(one.name, column(one), backend, verdict, kind, message))
        for one in program.walk()
    )
    return tuple(dict.fromkeys(filter(None, ids)))

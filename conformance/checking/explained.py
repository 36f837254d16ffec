"""Failures of a stored run in the scope of an expectation: matched and not matched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import UsageError
from conformance.gate.expectations import Expectation
from conformance.results.known_elements import KnownElements, known_elements
from conformance.results.store import CellKey
from conformance.results.summary import load
from conformance.verdict import Record


@dataclass(frozen=True, slots=True)
class MatchedFailures:
    """The failures that an expectation matches in a run. `programs` counts the programs with a
    match, `elements` the matched elements of their results. `not_predicted` counts the elements of
    its ops and element types that fail and that it does not predict: it does not match them, or
    they are over 2 ulp off.
    """

    programs: int
    elements: KnownElements
    not_predicted: int

    def __str__(self) -> str:
        """Return the numbers in a line for people."""
        programs = f"{self.programs:,} program{'s' if self.programs != 1 else ''}"
        found = f"matches {programs} and {self.elements.count:,} elements of the run"
        near = f"{self.elements.predicted:,} of them predicted within 2 ulp"
        return f"{found}, {near}; does not predict {self.not_predicted:,} that fail in its scope"


Failures = dict[CellKey, list[Record]]
"""The failing records of a run, by cell."""


def failures_in(db: Path, backend: str) -> Failures:
    """Read the records of a backend that fail in a stored run.

    Raises:
        StoreError: when there is no such run, or it cannot be read.
        UsageError: when the run has nothing of that backend.
    """
    run = load(db)
    found: Failures = {}
    if not any(cell[2] == backend for cell in (*run.planned, *map(_cell, run.records))):
        has = ", ".join(dict.fromkeys(cell[2] for cell in run.planned)) or "nothing"
        raise UsageError(
            f"--db: the run in {db} has no results of {backend}; it has results of {has} only: "
            "give a --backend of the run"
        )
    for record in run.records:
        if record.backend == backend and record.verdict.fails:
            found.setdefault(_cell(record), []).append(record)
    return found


def _cell(record: Record) -> CellKey:
    return record.op, record.element_type, record.backend


def count_matched(expectation: Expectation, failures: Failures) -> MatchedFailures:
    """Count the failures that an expectation matches, and the elements that it does not predict."""
    id_ = expectation.id
    matched = [r for records in failures.values() for r in records if id_ in r.expectation_ids]
    elements = known_elements(matched, id_)
    scope = [r for cell, records in failures.items() if expectation.applies(cell) for r in records]
    missed = _elements(scope) - known_elements(scope, id_).predicted
    return MatchedFailures(len(matched), elements, missed)


def _elements(records: Iterable[Record]) -> int:
    return sum(map(_count_failing, records))


def _count_failing(record: Record) -> int:
    """Return the number of failing elements of a case."""
    if record.failing:
        return sum(one.wrong for one in record.failing)
    return record.detail.wrong if record.detail else 0

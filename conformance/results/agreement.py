"""Agreement of a run's backends on unspecified results.

A case with the verdict `unspecified` on one backend is compared with the same case (op, column,
index: the same program on the same inputs) on every other backend. A record stores the elements
that differ from the reference. A backend that passed has the reference's elements.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from conformance.results.summary import RunData
from conformance.verdict import Element, Record, Verdict

Place = tuple[int, tuple[int, ...]]
"""The number of a result, and an index in the result."""


@dataclass(frozen=True, slots=True)
class UnspecifiedCase:
    """A case with unspecified results, on several backends.

    `kind` is its class. `answers` are (backend, decimal) at the first element at which backends
    differ, or at the first unspecified element if they agree.
    """

    op: str
    element_type: str
    index: int
    kind: str
    agree: bool
    answers: tuple[tuple[str, str], ...]


def unspecified_cases(run: RunData) -> list[UnspecifiedCase]:
    """Return every unspecified case that ran on several backends, those with differences first."""
    together: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for record in run.records:
        if record.verdict in (Verdict.PASS, Verdict.UNSPECIFIED):
            together[record.op, record.element_type, record.index].append(record)
    found = [
        _compare_backends(records)
        for records in together.values()
        if len(records) > 1 and any(r.verdict is Verdict.UNSPECIFIED for r in records)
    ]
    return sorted(found, key=lambda case: (case.agree, case.op, case.element_type, case.index))


def _compare_backends(records: list[Record]) -> UnspecifiedCase:
    first = next(r for r in records if r.verdict is Verdict.UNSPECIFIED)
    by_backend = {record.backend: _elements(record) for record in records}
    places = list(dict.fromkeys(place for at in by_backend.values() for place in at))
    chosen, agree = places[:1], True
    for place in places:
        if len({answer[1] for answer in _values_by_backend(by_backend, place).values()}) > 1:
            chosen, agree = [place], False
            break
    answers = _values_by_backend(by_backend, chosen[0]) if chosen else {}
    shown = tuple((backend, decimal) for backend, (decimal, _) in answers.items())
    return UnspecifiedCase(first.op, first.element_type, first.index, first.kind, agree, shown)


def _elements(record: Record) -> dict[Place, Element]:
    kept = record.detail.elements if record.detail else ()
    return {(element.result, element.index): element for element in kept}


def _values_by_backend(
    by_backend: dict[str, dict[Place, Element]], place: Place
) -> dict[str, tuple[str, str]]:
    """Return the value of each backend at a position, as decimal and bits.

    If no element is stored, the value is the reference's.
    """
    known = next(elements[place] for elements in by_backend.values() if place in elements)
    given: dict[str, tuple[str, str]] = {}
    for backend, elements in by_backend.items():
        element = elements.get(place)
        given[backend] = (
            (known.expected, known.expected_hex)
            if element is None
            else (element.actual, element.actual_hex)
        )
    return given

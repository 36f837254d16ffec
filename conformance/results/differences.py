"""Cases on which the backends of a run differ, and by vote the one that differs from all others.

The same case on several backends is the same program on the same inputs. Its answers are compared
by verdict, by class and by the worst element. A backend that passed has the reference's results,
within the op's tolerance. The reference votes, too: where all backends agree on other results, it
is the odd one out, and may be wrong. A backend that does not support a case has no vote.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from conformance.results.summary import RunData
from conformance.verdict import Element, Record, Verdict

REFERENCE = "the reference"
"""The reference's name among those who vote."""


@dataclass(frozen=True, slots=True)
class BackendVerdict:
    """The part of a `Record` in which backends are compared: verdict, class and worst element.

    `given` is that element in decimal, "" if none is stored. `known` says whether an expectation
    matches the failure.
    """

    verdict: Verdict
    kind: str
    given: str
    known: bool


@dataclass(frozen=True)
class Difference:
    """A case on which backends differ.

    `lone_backend` is the backend that differs from all others and from the reference while they
    agree, or `REFERENCE`, "" if there is none. `answers` are in the order of the run's backends.
    """

    op: str
    element_type: str
    index: int
    lone_backend: str
    answers: Mapping[str, BackendVerdict]

    @property
    def fails(self) -> bool:
        """Whether any backend fails the case."""
        return any(answer.verdict.fails for answer in self.answers.values())

    @property
    def severity(self) -> int:
        """The severity of the worst verdict."""
        return max(answer.verdict.severity for answer in self.answers.values())

    @property
    def is_of_support(self) -> bool:
        """Whether backends differ only in whether they support the case, or it could be judged."""
        verdicts = {answer.verdict for answer in self.answers.values()}
        return verdicts > {Verdict.PASS} == {verdict for verdict in verdicts if verdict.is_tested}


@dataclass(frozen=True)
class Differences:
    """All cases on which backends differ; `compared` counts the cases that ran on several."""

    compared: int
    cases: tuple[Difference, ...]

    @cached_property
    def lone_backends(self) -> Mapping[str, int]:
        """The number of cases in which only this backend differs, or the reference, the largest
        first.
        """
        found = _count_lone(self.cases)
        return dict(found.most_common())


def _count_lone(cases: Iterable[Difference]) -> Counter[str]:
    """Count, by backend, the cases in which only this backend differs."""
    return Counter(case.lone_backend for case in cases if case.lone_backend)


def differences(run: RunData) -> Differences:
    """Return the cases on which backends differ, grouped by the backend that differs from all
    others.

    The backend with most such cases comes first, and its failing cases before the others.
    """
    together: dict[tuple[str, str, int, str], list[Record]] = defaultdict(list)
    for record in run.records:
        together[record.op, record.element_type, record.index, record.digest].append(record)
    groups = [records for records in together.values() if len(records) > 1]
    found = [case for records in groups if (case := _compare(records)) is not None]
    often = _count_lone(found)
    place = {cell: index for index, cell in enumerate(run.cells)}

    def order(case: Difference) -> tuple[bool, bool, int, str, int, int, int]:
        cell = (case.op, case.element_type, next(iter(case.answers)))
        return (
            case.is_of_support, not case.lone_backend, -often[case.lone_backend], case.lone_backend,
            -case.severity, place.get(cell, len(place)), case.index,
        )  # fmt: skip

    return Differences(len(groups), tuple(sorted(found, key=order)))


_Signature = tuple[Verdict, str, int, tuple[int, ...], str]
"""Verdict, class, and the number, index and bits of the worst element."""

_PASSES: _Signature = (Verdict.PASS, "", -1, (), "")


def _compare(records: Sequence[Record]) -> Difference | None:
    first = records[0]
    alone = _odd_one_out(records)
    if len({_signature(record) for record in records}) == 1 and alone != REFERENCE:
        return None
    answers = {record.backend: _answer(record) for record in records}
    return Difference(first.op, first.element_type, first.index, alone, answers)


def _odd_one_out(records: Sequence[Record]) -> str:
    """Return who differs from all others that have a vote, "" if there is none."""
    votes = {record.backend: _signature(record) for record in records if record.verdict.is_tested}
    if all(record.verdict is not Verdict.UNSPECIFIED for record in records):
        votes[REFERENCE] = _PASSES
    counts = Counter(votes.values())
    if len(votes) < 3 or len(counts) != 2 or min(counts.values()) > 1:
        return ""
    odd = min(counts, key=lambda signature: counts[signature])
    return next(name for name, signature in votes.items() if signature == odd)


def _worst_element(record: Record) -> Element | None:
    kept = record.detail.elements if record.detail else ()
    return kept[0] if kept else None


def _signature(record: Record) -> _Signature:
    element = _worst_element(record)
    if element is None:
        return (record.verdict, record.kind, -1, (), "")
    at = (element.result, element.index, element.actual_hex)
    return (record.verdict, record.kind, *at)


def _answer(record: Record) -> BackendVerdict:
    element = _worst_element(record)
    given = "" if element is None else element.actual
    return BackendVerdict(record.verdict, record.kind, given, bool(record.known))

"""Divergences of the page: groups of one class, some cases in full, others as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.judging.messages import additional_failure_line
from conformance.text import one_line
from conformance.verdict import Element
from reports import findings, text
from reports.findings import CaseGroup, ShownCase
from reports.page.cells import STATES, Tables

FULL_PER_GROUP = 6
"""Number of cases of a class that are shown in full; others are listed by their id for `replay`."""
FULL_PER_REPORT = 400
LINES_PER_GROUP = 60
LINES_PER_REPORT = 4_000
PROGRAM_LIMIT, MESSAGE_LIMIT, LINE = 4_000, 2_000, 120
PROGRAM_CHARACTERS = 900_000
"""The approximate size of all programs of a page, in characters; later programs are left to
`replay`.
"""

STATUSES = (findings.NEW, findings.KNOWN, findings.OPEN)


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A class of divergences on the page: cases in full, cases as a line, the number of others."""

    group: CaseGroup
    whole: tuple[ShownCase, ...]
    brief: tuple[ShownCase, ...]
    omitted: int


def list_groups(groups: Sequence[CaseGroup]) -> list[ListedGroup]:
    """Divide the page's space for cases: first a case for each class, then more."""
    allotted = _share_of_groups([len(g.findings) for g in groups], FULL_PER_GROUP, FULL_PER_REPORT)
    rests = [len(g.findings) - n for g, n in zip(groups, allotted, strict=True)]
    lines = _share_of_groups(rests, LINES_PER_GROUP, LINES_PER_REPORT)
    return [
        ListedGroup(
            group,
            group.findings[:full],
            group.findings[full : full + brief],
            len(group.findings) - full - brief,
        )
        for group, full, brief in zip(groups, allotted, lines, strict=True)
    ]


def _share_of_groups(wanted: Sequence[int], most: int, room: int) -> list[int]:
    """Return the number of cases of each group to list: one per group in order, then a second per
    group, until there is no room.
    """
    given = [0] * len(wanted)
    for turn in range(most):
        for index, want in enumerate(wanted):
            if room and want > turn:
                given[index] += 1
                room -= 1
    return given


def programs_of(groups: Sequence[ListedGroup]) -> list[str]:
    """Return the programs of the cases that are shown in full, each once."""
    found: dict[str, None] = {}
    for group in groups:
        for finding in group.whole:
            if finding.record.detail is not None:
                found[finding.record.detail.program] = None
    return list(found)


class Programs:
    """The texts of programs; cases with equal programs share one text."""

    def __init__(self, pretty: Mapping[str, str]) -> None:
        """Store the pretty forms of programs, by their generic form; a program may have none."""
        self.texts: list[list[Any]] = []
        self._pretty = pretty
        self._numbers: dict[str, int] = {}
        self._left = PROGRAM_CHARACTERS

    def number(self, program: str) -> int:
        """Return the number of a program; -1 if it is not shown."""
        if not program or self._left <= 0:
            return self._numbers.get(program, -1)
        if program not in self._numbers:
            shown = [_clip(self._pretty.get(program, program), PROGRAM_LIMIT)]
            if program in self._pretty:
                shown.append(_clip(program, PROGRAM_LIMIT))
            self._left -= sum(len(text) for text, _ in shown)
            self._numbers[program] = len(self.texts)
            self.texts.append([part for pair in shown for part in pair])
        return self._numbers[program]


def _clip(given: str, limit: int) -> tuple[str, int]:
    return text.clip_lines(text.escape_controls(given), limit)


def group_rows(
    tables: Tables, groups: Sequence[ListedGroup], programs: Programs
) -> list[dict[str, Any]]:
    """Return the page's data of each class, with its cases."""
    return [_group_row(tables, group, programs) for group in groups]


def _group_row(tables: Tables, one: ListedGroup, programs: Programs) -> dict[str, Any]:
    group = one.group
    row: dict[str, Any] = {
        "status": STATUSES.index(group.status), "backend": tables.backend(group.backend),
        "state": STATES.index(group.verdict), "kind": text.clip_line(group.kind),
        "known": text.clip_line(group.known), "count": len(group.findings),
        "ops": [tables.op(op) for op in group.ops],
        "types": [tables.column(of) for of in group.element_types],
        "whole": [_case(tables, finding, programs) for finding in one.whole],
        "brief": [_line(tables, finding) for finding in one.brief],
        "omitted": one.omitted,
    }  # fmt: skip
    if group.reason:
        row["reason"] = _clip(group.reason, MESSAGE_LIMIT)[0]
    if group.link:
        is_safe = bool(text.web_link(group.link))
        row["link" if is_safe else "inert"] = text.clip_line(group.link, 2_000)
    return row


def _line(tables: Tables, finding: ShownCase) -> list[Any]:
    record = finding.record
    cell = tables.number_of[record.op, record.element_type, record.backend]
    return [cell, record.index, text.clip_line(record.message, LINE)]


def _case(tables: Tables, finding: ShownCase, programs: Programs) -> dict[str, Any]:
    record, detail = finding.record, finding.record.detail
    message, omitted = _clip(one_line(record.message), MESSAGE_LIMIT)
    case: dict[str, Any] = {
        "cell": tables.number_of[record.op, record.element_type, record.backend],
        "index": record.index, "message": message,
    }  # fmt: skip
    if omitted:
        case["cut"] = omitted
    if record.worst_ulp is not None:
        case["worst"] = text.ulp(record.worst_ulp)
        if record.budget_ulp is not None:
            case["budget"] = text.ulp(record.budget_ulp)
    if detail is not None:
        case["program"] = programs.number(detail.program)
        if detail.wrong:
            case["wrong"] = [detail.wrong, detail.total]
        case["elements"] = _elements(detail.elements)
    if finding.inputs:
        case["inputs"] = [[text.escape_controls(part) for part in row] for row in finding.inputs]
    if record.further_failures:
        case["beside"] = [
            text.clip_line(additional_failure_line(failure)) for failure in record.further_failures
        ]
    return case


def _elements(elements: Sequence[Element]) -> list[list[Any]]:
    several = len({element.result for element in elements}) > 1
    return [
        [
            f"{f'#{one.result} ' if several else ''}[{', '.join(map(str, one.index))}]",
            [[text.clip_line(part) for part in given] for given in one.inputs],
            text.clip_line(one.expected, 80), text.clip_line(one.expected_hex, 80),
            text.clip_line(one.actual, 80), text.clip_line(one.actual_hex, 80), text.ulp(one.ulp),
        ]
        for one in elements
    ]  # fmt: skip

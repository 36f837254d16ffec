"""Cases on which backends differ, in groups of one op that differ in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.results.differences import BackendVerdict, Difference
from reports import text
from reports.page.cells import STATES, Tables

MOST_GROUPS = 4_000
EXAMPLES = 4
"""Number of cases of a group that are listed; the others are counted."""
_SHORT = 60


def difference_rows(tables: Tables) -> dict[str, Any]:
    """Return the groups ordered by the backend that differs from all others, and the number of
    compared cases.

    A group has the number of the backend that differs from all others (of the reference, the number
    of backends), or -1; the op; its columns; the verdict and class of each backend; how many cases
    it has, and some of these cases with the elements that differ.
    """
    found = tables.seen.differences
    groups: dict[tuple[Any, ...], list[Difference]] = {}
    for case in found.cases:
        answers = tuple((name, a.verdict, a.kind, a.known) for name, a in case.answers.items())
        groups.setdefault((case.lone_backend, case.op, answers), []).append(case)
    shown = list(groups.items())[:MOST_GROUPS]
    return {
        "compared": found.compared,
        "differing": len(found.cases),
        "of_support": sum(case.is_of_support for case in found.cases),
        "alone": [[tables.voter(name), count] for name, count in found.lone_backends.items()],
        "groups": [_group(tables, key[0], key[1], cases) for key, cases in shown],
        "omitted": len(groups) - len(shown),
    }


def _group(tables: Tables, alone: str, op: str, cases: Sequence[Difference]) -> list[Any]:
    first = cases[0]
    columns = dict.fromkeys(tables.column(case.element_type) for case in cases)
    answers = [
        [
            tables.backend(name),
            STATES.index(a.verdict),
            text.clip_line(a.kind, _SHORT),
            int(a.known),
        ]
        for name, a in first.answers.items()
    ]
    examples = [_example(tables, case) for case in cases[:EXAMPLES]]
    return [
        tables.voter(alone) if alone else -1, tables.op(op), list(columns), answers, len(cases),
        examples, int(first.is_of_support),
    ]  # fmt: skip


def _example(tables: Tables, case: Difference) -> list[Any]:
    """Return the column and index of a case, and the worst element of each backend."""
    given = [_clip_answer(answer) for answer in case.answers.values()]
    return [tables.column(case.element_type), case.index, *([given] if any(given) else [])]


def _clip_answer(answer: BackendVerdict) -> str:
    return text.clip_line(answer.given, _SHORT)

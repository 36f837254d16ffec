"""What changed between two runs: the cells whose verdict, or whose count of new failures, moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.store import CellKey
from conformance.results.summary import RunData
from conformance.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """A cell that is not what it was in the baseline.

    `before` and `after` are its worst verdicts, "untested" where a run has none of it; `new_before`
    and `new_after` count its new failures. `worse` is None where neither run is the better one: a
    cell was not tested, both verdicts are harmless, or more cases were run and more of them fail.
    """

    op: str
    element_type: str
    backend: str
    before: str
    after: str
    worse: bool | None
    new_before: int = 0
    new_after: int = 0

    @property
    def key(self) -> CellKey:
        """Op, element type, backend."""
        return (self.op, self.element_type, self.backend)


def changes(run: RunData, baseline: RunData) -> list[Change]:
    """Every cell that changed, what became worse first, then by how bad it is now.

    A cell that the filters of either run left out is not compared: it was not asked for.
    """
    now, then = run.cells, baseline.cells
    found = [
        change
        for key in dict.fromkeys((*now, *then))
        if (change := _change(key, then.get(key), now.get(key))) is not None
    ]
    return sorted(found, key=_urgency)


def _change(key: CellKey, before: CellResults | None, after: CellResults | None) -> Change | None:
    before = before or CellResults(*key, UNTESTED)
    after = after or CellResults(*key, UNTESTED)
    states = (before.state, after.state)
    counts = (before.new, after.new)
    if FILTERED in states or (states[0] == states[1] and counts[0] == counts[1]):
        return None
    return Change(*key, *states, _is_worse(before, after), *counts)


def _is_worse(before: CellResults, after: CellResults) -> bool | None:
    if UNTESTED in (before.state, after.state):
        return None
    then, now = _standing(before), _standing(after)
    if then != now:
        return now > then
    if before.new == after.new or len(before.records) != len(after.records):
        return None
    return after.new > before.new


def _standing(cell: CellResults) -> tuple[bool, int]:
    """How bad a tested cell is: whether it makes the run fail, then its worst verdict."""
    verdict = Verdict(cell.state)
    harmless = verdict in (Verdict.PASS, Verdict.UNSPECIFIED)
    return (cell.new > 0, 0 if harmless else verdict.severity)


def _urgency(change: Change) -> tuple[int, bool, int, int, CellKey]:
    severity = -1 if change.after == UNTESTED else Verdict(change.after).severity
    rank = (True, None, False).index(change.worse)
    return (rank, change.new_after == 0, -severity, -change.new_after, change.key)


def tally(found: Sequence[Change]) -> tuple[int, int, int]:
    """How many cells became worse, became better, changed otherwise."""
    worse = sum(change.worse is True for change in found)
    better = sum(change.worse is False for change in found)
    return worse, better, len(found) - worse - better


def in_words(found: Sequence[Change]) -> str:
    """The tally as prose: 3 worse, 1 better, 2 other; the last only where there are any."""
    worse, better, other = tally(found)
    return f"{worse} worse, {better} better" + (f", {other} other" if other else "")


def differences(run: RunData, baseline: RunData) -> list[tuple[str, str, str]]:
    """In what the runs themselves differ, as (name, baseline's, this run's); "" for absent."""
    then, now = dict(_circumstances(baseline)), dict(_circumstances(run))
    return [
        (name, then.get(name, ""), now.get(name, ""))
        for name in dict.fromkeys((*now, *then))
        if then.get(name) != now.get(name)
    ]


def _circumstances(run: RunData) -> Iterator[tuple[str, str]]:
    yield "start", run.started
    yield "profile", run.profile
    yield "seed", str(run.seed)
    yield from sorted(run.versions.items())
    for backend in run.backends:
        yield f"{backend.name}: device", backend.device
        for name, version in backend.versions:
            yield f"{backend.name}: {name}", version

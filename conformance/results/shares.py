"""The planned cells of each backend by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from conformance.outputs.run import Shares
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.verdict import Verdict

CONFORMS, KNOWN, NEW, UNSUPPORTED = "conforms", "known", "new", "unsupported"


def outcome_of(cell: CellResults) -> str:
    """Return the outcome of a planned cell: the name of the field of `Shares` that counts it."""
    return outcome(cell.state, cell.new, cell.known)


def outcome(state: str, new: int, known: int) -> str:
    """Return the outcome of a cell from its state and its numbers of new and known failures.

    A new failure outweighs known failures.
    """
    if new:
        return NEW
    if known:
        return KNOWN
    if state in (UNTESTED, Verdict.NOT_JUDGED):
        return UNTESTED
    return UNSUPPORTED if state == Verdict.UNSUPPORTED else CONFORMS


def shares_of(cells: Iterable[CellResults], backends: Iterable[str] = ()) -> tuple[Shares, ...]:
    """Count the planned cells of each backend; backends in `backends` come first."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in backends}
    for cell in cells:
        if cell.state != FILTERED:
            counts.setdefault(cell.backend, Counter())[outcome_of(cell)] += 1
    return tuple(_shares(backend, found) for backend, found in counts.items())


def _shares(backend: str, found: Counter[str]) -> Shares:
    planned = found.total()
    return Shares(
        backend=backend,
        planned=planned,
        conforms=found[CONFORMS],
        known=found[KNOWN],
        new=found[NEW],
        unsupported=found[UNSUPPORTED],
        untested=found[UNTESTED],
        conforms_percent=int(1000 * found[CONFORMS] / planned) / 10 if planned else None,
    )

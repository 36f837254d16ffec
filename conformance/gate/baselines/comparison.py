"""Comparison of a run with a baseline, case by case.

Two cases are the same if seed, cell, index and program are equal. Cells without a common case are
compared as a whole. The same wrong elements as in the baseline are known. Others are a change,
whatever entries match them, unless these say that values vary. On another backend an entry may
predict them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.text_file import (
    DIGEST,
    Baseline,
    BaselineError,
    Case,
    CaseOutcome,
)
from conformance.results.cells import FILTERED
from conformance.results.left_out import LeftOut
from conformance.results.store import CellKey
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict


class Kind(StrEnum):
    """The kind of a change since the baseline, in the order of reports."""

    OTHER_VALUES = "changed"
    """A case has other wrong elements, and nothing predicts them or the backend is the same."""
    NEW = "new"
    """A case fails, no expectation matches it, and it did not fail in this way before."""
    LOST = "lost"
    """The backend had results, and now has none, or the case was not run."""
    FIXED = "fixed"
    """A case that failed passes now."""
    GAINED = "gained"
    """The backend did not support a case, and now has results."""
    CHANGED = "changed in error"
    """A case that failed fails in another way, which does not fail the run."""


REGRESSIONS = (Kind.OTHER_VALUES, Kind.NEW, Kind.LOST)
"""Kinds of changes that fail a run."""

_ERROR_GROWTH = 2.0
"""The smallest factor by which an error counts as changed; instruction sets cause smaller
changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed case, or a changed cell as a whole, whose index is None.

    `after` is None if the case was not run. `record` is the record of this run, if it was run.
    """

    kind: Kind
    op: str
    element_type: str
    backend: str
    index: int | None
    before: CaseOutcome | None
    after: CaseOutcome | None
    record: Record | None = None

    @property
    def key(self) -> CellKey:
        """The cell: op, element type, backend."""
        return (self.op, self.element_type, self.backend)

    @property
    def has_same_end(self) -> bool:
        """Whether verdict, class, error and wrong elements are as before, so that only an
        expectation changed.
        """
        before, after = self.before, self.after
        return (
            before is not None
            and after is not None
            and (before.failure, before.error) == (after.failure, after.error)
            and not before.has_other_values(after)
        )

    @property
    def has_other_values(self) -> bool:
        """Whether the case gives results on the same inputs, with other wrong elements."""
        before, after = self.before, self.after
        return (
            before is not None
            and after is not None
            and (self.kind in (Kind.OTHER_VALUES, Kind.CHANGED) and before.has_other_values(after))
        )

    @property
    def cause(self) -> str:
        """The explanation of the failure: rewritings, else entries, else the class."""
        if self.record is None:
            return ""
        explained = self.record.causes or self.record.expectation_ids
        return "; ".join(explained) or self.record.kind


@dataclass
class Comparison:
    """All changes in the order of reports, and the extent of the comparison."""

    path: str
    differences: tuple[tuple[str, str, str], ...]
    """Differences of the runs themselves: name, the baseline's value, this run's value."""
    same_backends: frozenset[str]
    """Names of the backends that are as in the baseline, with the same hlo-conformance."""
    changes: tuple[Change, ...] = ()
    same: int = 0
    """Number of cases compared individually."""
    wholes: int = 0
    """Number of cells compared as a whole."""
    unmatched: int = 0
    """Number of cases of the baseline without a counterpart in this run."""
    added: int = 0
    """Number of cases of this run without a counterpart in the baseline."""
    unexplained: int = 0
    """Number of cases that fail as in the baseline and that no expectation matches."""
    left_out: int = 0
    """Number of cases for which the time of `--budget` was not enough; they are not lost."""
    varying: tuple[Change, ...] = ()
    """Cases on the same backends that differ from the baseline: they differ from run to run."""
    recorded: dict[str, CaseOutcome] = field(default_factory=dict[str, CaseOutcome])
    """The baseline's outcome of each case with the same wrong elements, by the record's id."""

    @cached_property
    def counts(self) -> dict[Kind, int]:
        """The number of changed cases, or whole cells, of each kind."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in Kind}

    @property
    def is_failure(self) -> bool:
        """Whether a change fails a run."""
        return any(self.counts[kind] for kind in REGRESSIONS)

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)

    @cached_property
    def changes_by_cell(self) -> dict[CellKey, list[Change]]:
        """The changes by cell."""
        found: dict[CellKey, list[Change]] = {}
        for change in self.changes:
            found.setdefault(change.key, []).append(change)
        return found


def compare(run: RunData, given: ReadBaseline) -> Comparison:
    """Compare a run with a baseline.

    Raises:
        BaselineError: if they have no cell in common.
    """
    names = [backend.name for backend in run.backends]
    names += [backend for _, _, backend in run.cells]
    baseline = rename_backends(given, tuple(dict.fromkeys(names)), run.planned)
    matching = _Matching(run, baseline, given)
    changes = sorted(matching.changes(), key=_order_in(run))
    return replace(matching.found, changes=tuple(changes))


def rename_backends(
    given: ReadBaseline, backends: Sequence[str], planned: Iterable[CellKey]
) -> Baseline:
    """Return the baseline under the names of a run's backends.

    A run of one backend can be compared with a baseline of one other.

    Raises:
        BaselineError: if nothing in it can be compared with these cells.
    """
    baseline = given.baseline
    cells = baseline.cells
    if len(backends) == 1 and len(baseline.backends) == 1:
        cells = {(op, of, backends[0]): cases for (op, of, _), cases in cells.items()}
    if cells.keys().isdisjoint(planned):
        theirs, ours = ", ".join(baseline.backends) or "nothing", ", ".join(backends)
        raise BaselineError(
            f"nothing can be compared with the baseline {given.path}: none of its "
            f"{len(cells)} cells, on {theirs}, are in this run, on {ours}; "
            "give a baseline of the same backends, ops and element types"
        )
    return replace(baseline, cells=cells)


class _Matching:
    """Two runs compared cell by cell; `found` counts the compared cases."""

    def __init__(self, run: RunData, baseline: Baseline, given: ReadBaseline) -> None:
        self._run, self._then = run, baseline
        self._now = baseline_of(run)
        self._left_out = {one.key: one for one in run.left_out}
        has_same_build = baseline.build == self._now.build
        self._has_same_seed = baseline.seed == run.seed
        self._has_same_plan = (
            self._has_same_seed and has_same_build and baseline.profile == run.profile
        )
        self._unchanged = frozenset(
            name
            for name, versions in self._now.backends.items()
            if versions.get(DIGEST)
            and versions[DIGEST] == baseline.backends.get(name, {}).get(DIGEST)
        )
        same = self._unchanged if has_same_build else frozenset[str]()
        self.found = Comparison(given.path, (*_differences(self._now, given.baseline),), same)

    def changes(self) -> Iterator[Change]:
        """Yield the changes in all planned cells."""
        for key, cell in self._run.cells.items():
            if cell.state == FILTERED:
                self.found.unmatched += len(self._then.cells.get(key, {}))
                continue
            records = {record.index: record for record in cell.records}
            yield from self._cell(key, self._then.cells.get(key, {}), records)
        absent = self._then.cells.keys() - self._run.cells.keys()  # the catalog has them no more
        self.found.unmatched += sum(len(self._then.cells[key]) for key in absent)

    def _cell(
        self, key: CellKey, before: Mapping[int, Case], records: Mapping[int, Record]
    ) -> Iterator[Change]:
        after = self._now.cells.get(key, {})
        shared = [index for index in before if self._is_same(before[index], after.get(index))]
        self.found.same += len(shared)
        for index in shared:
            outcomes = (before[index].outcome, after[index].outcome)
            yield from self._change(key, index, *outcomes, records[index])
        left = self._left_out.get(key, LeftOut(*key, ()))
        absent = [index for index in before if index not in after]
        missing = [index for index in absent if index not in left]
        self.found.left_out += len(absent) - len(missing)
        others = [index for index in after if index not in shared]
        if self._has_same_plan:
            for index in missing:
                yield from self._change(key, index, before[index].outcome, None, None)
            missing = []
        elif before and not shared and (after or not left.cases):
            self.found.wholes += 1
            yield from self._whole(key, before, after, records)
        apart = len(before) - len(shared) - (len(absent) - len(missing))
        self.found.unmatched += apart if not self._has_same_plan else 0
        self.found.added += len(others)
        alike = {} if shared else {case.outcome.failure: case.outcome for case in before.values()}
        for index in others:
            outcome = after[index].outcome
            if outcome.is_unexplained:
                known_before = alike.get(outcome.failure)
                yield from self._change(key, index, known_before, outcome, records[index])

    def _is_same(self, before: Case, after: Case | None) -> bool:
        return self._has_same_seed and after is not None and before.digest == after.digest

    def _change(
        self,
        key: CellKey,
        index: int,
        before: CaseOutcome | None,
        after: CaseOutcome | None,
        record: Record | None,
    ) -> Iterator[Change]:
        is_same = key[2] in self.found.same_backends
        if before is None or after is None or record is None:
            kind = kind_of(before, after, is_same_backend=is_same)
        else:
            if before.has_same_values(after):
                self.found.recorded[record.id] = before
            has_same_digest = key[2] in self._unchanged
            kind = kind_by_values(before, after, record, has_same_digest, is_same_backend=is_same)
        if kind is not None:
            change = Change(kind, *key, index, before, after, record)
            if is_same and _is_chance(change):
                self.found.varying += (change,)
            else:
                yield change
        elif after is not None and after.is_unexplained:
            self.found.unexplained += 1

    def _whole(
        self,
        key: CellKey,
        before: Mapping[int, Case],
        after: Mapping[int, Case],
        records: Mapping[int, Record],
    ) -> Iterator[Change]:
        """Compare two runs of a cell without common cases, by whether the backend supports it.

        That other cases pass does not show that a failure is fixed.
        """
        then = [case.outcome for case in before.values()]
        now = [case.outcome for case in after.values()]
        kind: Kind | None = None
        if any(o.verdict.has_results for o in then) and not any(o.verdict.has_results for o in now):
            kind = Kind.LOST
        elif not any(o.verdict.is_tested for o in then):
            kind = Kind.GAINED if any(_is_accepted(o) for o in now) else None
        if kind is not None:
            shown = max(records.values(), key=lambda r: r.verdict.severity, default=None)
            yield Change(kind, *key, None, _worst_outcome(then), _worst_outcome(now), shown)


def kind_of(
    before: CaseOutcome | None, after: CaseOutcome | None, *, is_same_backend: bool = False
) -> Kind | None:
    """Return the kind of a change, or None if the outcome is unchanged or a flaky entry excuses it.

    `before` is None for a case that the baseline lacks, `after` for a case that was not run.
    """
    if after is None:
        return Kind.LOST if before is not None and before.verdict.is_tested else None
    if before is not None and _is_excused(before, after, is_same_backend=is_same_backend):
        return None
    if before is not None and before.verdict.has_results and not after.verdict.has_results:
        return Kind.LOST
    if after.is_unexplained:
        return _kind_of_unexplained(before, after)
    if before is None:
        return None
    if not before.verdict.is_tested and after.verdict.has_results:
        return Kind.GAINED
    if after.verdict is Verdict.PASS:
        return Kind.FIXED if before.verdict.fails else None
    if after.flaky and not after.varies and (before.varies or before.verdict is Verdict.PASS):
        return Kind.NEW  # it fails every time now
    has_moved = before.failure != after.failure or _growth(before, after) != 0
    return Kind.CHANGED if has_moved else None


def kind_by_values(
    before: CaseOutcome,
    after: CaseOutcome,
    record: Record,
    has_same_digest: bool,
    *,
    is_same_backend: bool = False,
) -> Kind | None:
    """Return the kind of a change of a case, whose wrong elements are compared with the baseline's.

    On a backend with the same digest, other wrong elements are a regression. On another backend
    they are one if neither an entry nor the growth of the error limits the values.
    """
    if before.has_same_values(after):
        return None
    kind = kind_of(before, after, is_same_backend=is_same_backend)
    if kind in REGRESSIONS or not before.has_other_values(after):
        return kind
    is_limited = after.known or after.verdict is Verdict.INACCURATE
    is_stated = is_limited and not record.unpredicted and not has_same_digest
    return Kind.CHANGED if is_stated else Kind.OTHER_VALUES


def _is_excused(before: CaseOutcome, after: CaseOutcome, *, is_same_backend: bool) -> bool:
    """Return whether a flaky entry excuses a change: a case that fails now and then may pass.

    On another backend, it does not excuse a case that fails every time, if it did not in the
    baseline. On the same backend that is chance, too.
    """
    if not after.verdict.fails:
        return before.flaky and (after.verdict.has_results or is_same_backend)
    if not after.flaky or not before.verdict.is_tested:
        return False
    return is_same_backend or after.varies or (before.flaky and not before.varies)


def _is_chance(change: Change) -> bool:
    """Return whether a change on the same backend is one from run to run.

    A case that does not fail every time is one, unless a flaky entry matched it in the baseline and
    no longer does. So is a change that would not fail a run.
    """
    before, after = change.before, change.after
    if change.kind not in REGRESSIONS:
        return True
    was_flaky = before is not None and (before.flaky or before.varies)
    return after is not None and after.varies and not was_flaky


def _kind_of_unexplained(before: CaseOutcome | None, after: CaseOutcome) -> Kind | None:
    """Return the kind of a change whose failure no expectation matches."""
    if before is None or not before.is_unexplained or before.failure != after.failure:
        return Kind.NEW
    growth = _growth(before, after)
    if growth > 0:
        return Kind.NEW
    return Kind.CHANGED if growth < 0 else None


def _growth(before: CaseOutcome, after: CaseOutcome) -> int:
    """Return 1 if the error has grown by the factor that counts, -1 if it has shrunk, otherwise
    0."""
    then, now = before.error, after.error
    if then is None or now is None or then == now:
        return 0
    if now >= then * _ERROR_GROWTH:
        return 1
    return -1 if then >= now * _ERROR_GROWTH else 0


def _is_accepted(outcome: CaseOutcome) -> bool:
    return outcome.verdict.has_results and not outcome.is_unexplained


def _worst_outcome(outcomes: Sequence[CaseOutcome]) -> CaseOutcome | None:
    return max(outcomes, key=lambda outcome: outcome.verdict.severity, default=None)


def _order_in(run: RunData) -> Callable[[Change], tuple[int, int, int]]:
    """Return the sort key of changes: by kind, then in the order of the run's cells."""
    place = {key: index for index, key in enumerate(run.cells)}
    kinds = list(Kind)

    def order(change: Change) -> tuple[int, int, int]:
        return kinds.index(change.kind), place[change.key], change.index or 0

    return order


def _differences(now: Baseline, then: Baseline) -> Iterator[tuple[str, str, str]]:
    """Yield the differences of the runs themselves: their scopes and versions.

    Versions are compared per backend. A single backend is compared with a single other backend.
    """
    yield from _differing("", _circumstances(now), _circumstances(then))
    are_single = len(now.backends) == len(then.backends) == 1
    pairs = (
        [("backend", *now.backends.values(), *then.backends.values())]
        if are_single
        else [(n, now.backends[n], then.backends[n]) for n in now.backends if n in then.backends]
    )
    for name, ours, theirs in pairs:
        yield from (
            one
            for one in _differing(f"{name}: ", ours, theirs)
            if one[1:] != tuple(run.versions.get(one[0].removeprefix(f"{name}: "), "")
                                for run in (then, now))  # told already
        )  # fmt: skip


def _differing(
    prefix: str, ours: Mapping[str, str], theirs: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, the baseline's value and this run's value of all that differ."""
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name, "") != theirs.get(name, ""):
            yield f"{prefix}{name}", theirs.get(name, ""), ours.get(name, "")


def _circumstances(run: Baseline) -> dict[str, str]:
    return {
        "backends": ", ".join(sorted(run.backends)),
        "profile": run.profile,
        "seed": str(run.seed),
        "build of hlo-conformance": run.build,
        **run.versions,
    }

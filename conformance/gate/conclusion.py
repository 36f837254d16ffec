"""The conclusion of a run: its exit code, and losses and gains against a baseline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.errors import NOTHING_TESTED, UsageError
from conformance.gate.baselines.comparison import REGRESSIONS, Change, Comparison, Kind
from conformance.gate.baselines.text_file import CaseOutcome
from conformance.outputs import comparison as output
from conformance.results.cells import FILTERED, UNTESTED
from conformance.results.summary import RunData
from conformance.text import one_line, plural

MOST_TOLD = 10
"""The number of groups of changes of each kind that are printed."""


def exit_code(
    run: RunData,
    *,
    strict: bool = False,
    comparison: Comparison | None = None,
    at_least: float | None = None,
) -> int:
    """Return exit code 0 if the backends conform, 1 if a result is worse, 4 if nothing was tested.

    Without a baseline, a divergence that no expectation matches is worse. With a baseline, other
    wrong values, new divergences and lost results are worse; `strict` also counts divergences in
    the baseline that no expectation matches. These count as worse, too:

    - a planned cell that was not run, unless the time of `--budget` was over;
    - incidents: a case without a verdict because of a defect of the harness, or a worker crash or
      timeout without a culprit among its cases;
    - with `strict`, expectations without effect, and known failures whose values are neither
      predicted nor as in the baseline;
    - a share of tested cells below `at_least`.
    """
    if run.incidents:
        return 1
    unexplained = any(record.is_new_failure for record in run.records)
    if comparison is not None and not strict:
        unexplained = False
    if unexplained or (comparison is not None and comparison.is_failure):
        return 1
    if not any(record.verdict.is_tested for record in run.records):
        return NOTHING_TESTED
    if strict and (run.stale or run.unpredicted):
        return 1
    left = {one.key for one in run.left_out}
    untested = any(c.state == UNTESTED and c.key not in left for c in run.cells.values())
    return 1 if untested or (at_least is not None and backends_below(run, at_least)) else 0


@dataclass(frozen=True, slots=True)
class Share:
    """The planned cells of a backend, and how many were tested."""

    backend: str
    tested: int
    planned: int


def backends_below(run: RunData, at_least: float) -> list[Share]:
    """Return the backends with a smaller share of tested cells than required."""
    planned = [cell for cell in run.cells.values() if cell.state != FILTERED]
    counts = Counter(cell.backend for cell in planned)
    tested = Counter(cell.backend for cell in planned if cell.is_tested)
    shares = [Share(backend, tested[backend], count) for backend, count in counts.items()]
    return [share for share in shares if share.tested < at_least * share.planned]


def parse_share(stated: str) -> float:
    """Return a share given as a percentage, such as 95%, or a part of 1, such as 0.95.

    Raises:
        UsageError: when it is neither.
    """
    try:
        number = float(stated.removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if stated.endswith("%") else number
    if not 0 <= share <= 1:
        raise UsageError(f"--at-least takes a share such as 95% or 0.95, not {stated!r}")
    return share


def floor_lines(run: RunData, at_least: float | None) -> list[str]:
    """Return a line for each backend that misses the floor of tested cells."""
    if at_least is None:
        return []
    return [
        f"too few cells: {share.tested} of {share.planned} planned cells tested on "
        f"{share.backend} ({100 * share.tested / share.planned:.1f} %), "
        f"--at-least asks for {100 * at_least:g} %"
        for share in backends_below(run, at_least)
    ]


def closing_lines(
    run: RunData, comparison: Comparison | None, at_least: float | None, replay: str
) -> list[str]:
    """Return the printed lines about a comparison, if there is one, and about a missed floor."""
    compared = [] if comparison is None else comparison_lines(comparison, replay)
    return [*compared, *floor_lines(run, at_least)]


def tally_words(comparison: Comparison) -> str:
    """Return the counts of changes in words, in the order of reports."""
    return ", ".join(f"{count} {kind.value}" for kind, count in comparison.counts.items())


def scope_line(comparison: Comparison) -> str:
    """Return one line about the compared runs, and the parts that could not be compared."""
    differing = ", ".join(
        f"{what.removeprefix('backend: ')} {then or 'none'} → {now or 'none'}"
        for what, then, now in comparison.differences
    )
    compared = [f"{comparison.same} cases one by one"]
    if comparison.wholes:
        compared.append(f"{comparison.wholes} whole cells, because their cases differ")
    apart = (
        f"{count} cases {where}"
        for count, where in (
            (comparison.unmatched, "of the baseline that this run lacks"),
            (comparison.added, "of this run that the baseline lacks"),
            (comparison.left_out, "that were not run, as the time of --budget was over"),
            (len(comparison.varying), "that differ from run to run on the same backend"),
        )
        if count
    )
    left = ", ".join(apart)
    return (
        f"compared with {comparison.path}: {' and '.join(compared)}"
        + (f"; not compared: {left}" if left else "")
        + (f"; changed since the baseline: {differing}" if differing else "")
    )


def comparison_lines(comparison: Comparison, replay: str) -> list[str]:
    """Return the printed lines of a comparison; in `replay`, a command, {} is a case's id."""
    lines = [f"against the baseline: {tally_words(comparison)}", scope_line(comparison)]
    if comparison.varying:
        first = comparison.varying[0]
        lines.append(
            f"same library as the baseline: {plural(len(comparison.varying), 'case')} "
            f"differ{'s' if len(comparison.varying) == 1 else ''} from run to run, such as "
            f"{first.op} {first.element_type}: {outcome_words(first.before)} → "
            f"{outcome_words(first.after)}; `hlo-conformance expectations update RUN --runs 3` "
            "writes flaky entries"
        )
    if comparison.unexplained:
        lines.append(
            f"{plural(comparison.unexplained, 'new case fails', 'new cases fail')} as in the "
            f"baseline; --strict fails on {'it' if comparison.unexplained == 1 else 'them'}"
        )
    for kind in Kind:
        groups = group_changes(comparison.of(kind))
        told = groups[:MOST_TOLD] if kind in REGRESSIONS else groups[:3]
        lines += [_group_line(group, replay) for group in told]
        left = len(groups) - len(told)
        if left:
            lines.append(f"{kind.value}: {left} more group{'s'[left == 1 :]} in the report")
    return lines


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Changes of one kind and op, or one cause, on one backend, with the same outcomes."""

    kind: Kind
    backend: str
    before: str
    after: str
    changes: tuple[Change, ...]

    @property
    def op(self) -> str:
        """The op of the changes; several with commas."""
        return ", ".join(dict.fromkeys(change.op for change in self.changes))

    @property
    def element_types(self) -> tuple[str, ...]:
        """The element types of the changes, in the run's order."""
        return tuple(dict.fromkeys(change.element_type for change in self.changes))

    @property
    def cases(self) -> str:
        """The number of changed cases, or of cells that changed as a whole."""
        count = len(self.changes)
        what = "whole cell" if self.changes[0].index is None else "case"
        return f"{count} {what}{'' if count == 1 else 's'}"

    @property
    def message(self) -> str:
        """The message of the first change."""
        record = self.changes[0].record
        return "" if record is None else one_line(record.message or record.kind)


def group_changes(changes: tuple[Change, ...]) -> list[ChangeGroup]:
    """Return changes grouped by kind, op, backend and outcomes, in the order of first changes.

    Cases with other wrong values are grouped by what explains them.
    """
    found: dict[tuple[Kind, str, str, str, str, bool], list[Change]] = {}
    for change in changes:
        if change.has_other_values:  # one cause changes many ops
            key = (
                change.kind,
                "",
                change.backend,
                "recorded values",
                f"other values, {change.cause}",
                False,
            )
        else:
            words = (outcome_words(change.before), outcome_words(change.after))
            key = (change.kind, change.op, change.backend, *words, change.index is None)
        found.setdefault(key, []).append(change)
    return [ChangeGroup(key[0], *key[2:5], tuple(changes)) for key, changes in found.items()]


def outcome_words(outcome: CaseOutcome | None) -> str:
    """Return an outcome in a few words."""
    if outcome is None:
        return "not run"
    verdict = outcome.verdict.value.replace("_", " ")
    if not outcome.verdict.fails:
        return verdict
    kind = f" ({outcome.kind})" if outcome.kind and outcome.kind != verdict else ""
    return f"{'known ' if outcome.known else ''}{verdict}{kind}"


def _group_line(group: ChangeGroup, replay: str) -> str:
    types = group.element_types
    shown = ", ".join(types[:4]) + (f" and {len(types) - 4} more types" if len(types) > 4 else "")
    said = f": {group.message[:160]}" if group.message else ""
    record = group.changes[0].record
    see = "" if record is None else f"; {replay.format(record.id)}"
    before = "" if group.changes[0].before is None else f"{group.before} → "
    return (
        f"{group.kind.value}: {group.op} {shown} on {group.backend}, {group.cases}: "
        f"{before}{group.after}{said}{see}"
    )


def comparison_json(comparison: Comparison) -> output.Comparison:
    """Return the part of summary.json about a comparison."""
    return output.Comparison(
        baseline=comparison.path,
        counts={kind.value: count for kind, count in comparison.counts.items()},
        compared_cases=comparison.same,
        compared_cells=comparison.wholes,
        not_in_this_run=comparison.unmatched,
        left_out=comparison.left_out,
        not_in_the_baseline=comparison.added,
        unexplained_as_before=comparison.unexplained,
        varying=len(comparison.varying),
        differences=tuple(
            output.Difference(what=what, baseline=then, run=now)
            for what, then, now in comparison.differences
        ),
        changes=tuple(map(_describe_change, comparison.changes)),
    )


def _describe_change(change: Change) -> output.Change:
    return output.Change(
        change=change.kind.value,
        op=change.op,
        element_type=change.element_type,
        backend=change.backend,
        index=change.index,
        before=None if change.before is None else outcome_words(change.before),
        after=outcome_words(change.after) + ", other values" * change.has_other_values,
    )

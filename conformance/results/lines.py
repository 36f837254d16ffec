"""The results of a run in a few lines of text, printed at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.results.differences import differences
from conformance.results.known_elements import KnownElements
from conformance.results.read_back import read_back_of
from conformance.results.standings import PREDICATES, CellStatus, Standing, standings
from conformance.results.summary import RunData
from conformance.text import one_line, plural
from generators.cells.coverage_report import CoverageReport

MOST_NEW = 10
"""Number of new divergences, and of incidents, that are printed."""


def lines_of(run: RunData, replay: str, *, is_compared: bool = False) -> list[str]:
    """Return a run's results in lines; `replay` is the command that replays a record, {} its id.

    New failures of a run that is compared with a baseline are left to the comparison.
    """
    summary = run.summary
    counts = summary["denominators"]
    verdicts = [f"{name} {count}" for name, count in summary["verdicts"].items() if count]
    cells = f"{counts['cells_tested']} of {counts['cells_planned']} cells tested"
    work = f"{summary['cases']} programs, {summary['pairs']} input sets, {summary['values']} values"
    lines = [
        f"{cells}, {work} in {run.seconds:.0f} s",
        *(_coverage(name, one) for name, one in run.coverage_by_dialect.items()),
        f"{', '.join(verdicts)}; {_count_known(summary)}, {summary['new_failures']} new",
        *_describe_predicted(run.known_elements),
        *_describe_unpredicted(run),
        *map(standing_line, standings(run)),
        *_describe_vote(run),
        *(one.line for one in read_back_of(run)),
        *(() if is_compared else _new_lines(run, replay)),
        *_first_lines("incident: ", run.incidents),
        *(f"note: {remark}" for remark in run.remarks),
    ]
    return [*lines, *_describe_cases_not_run(run), *_unsteady_lines(run), *_stale_lines(run)]


def _describe_vote(run: RunData) -> list[str]:
    """Return who differs from all others in how many cases, if several backends ran."""
    if len(run.backends) < 2:
        return []
    found = differences(run)
    alone = ", ".join(f"{name} in {count}" for name, count in found.lone_backends.items())
    compared = plural(found.compared, "case")
    return [f"by vote, of {compared} on several backends: alone are {alone or 'none'}"]


def _first_lines(prefix: str, messages: Sequence[str]) -> list[str]:
    """Return messages as lines, the first of many."""
    left = len(messages) - MOST_NEW
    more = [f"{prefix}{left} more in the report"] if left > 0 else []
    return [*(f"{prefix}{one_line(message)}" for message in messages[:MOST_NEW]), *more]


_MOST_CELLS = 4
"""Number of left-out cells that are named."""


def _describe_cases_not_run(run: RunData) -> list[str]:
    """Return the lines about cases from a cache and cases left out by a budget."""
    lines: list[str] = []
    if run.from_cache:
        lines.append(
            f"from the cache: {run.from_cache} of {len(run.records)} programs, "
            "which did not fail before, or failed as known"
        )
    if run.left_out:
        none = [one for one in run.left_out if not run.cells[one.key].records]
        shown = (none or run.left_out)[:_MOST_CELLS]
        named = ", ".join(f"{one.op} {one.element_type} on {one.backend}" for one in shown)
        more = len(none or run.left_out) - len(shown)
        lines.append(
            f"left out by --budget: up to {sum(one.cases for one in run.left_out)} programs of "
            f"{len(run.left_out)} cells ({len(none)} cells were not tested at all), such as {named}"
            + (f" and {more} more" if more else "")
            + "; with a larger --budget, or without, the same command continues"
        )
    return lines


def _unsteady_lines(run: RunData) -> list[str]:
    """Return the lines about cases that did not fail every time, and about lost batches that do not
    fail the run: batches matched by an entry, and batches refused as not implemented.
    """
    repeated = sum(record.repeats is not None for record in run.records)
    lines = [f"not deterministic: {repeated} cases did not fail every time"] if repeated else []
    for id_ in dict.fromkeys(batch.known for batch in run.lost_batches if batch.known):
        known = [batch for batch in run.lost_batches if batch.known == id_]
        more = f", and {len(known) - 1} more lost batches" if len(known) > 1 else ""
        lines.append(f"known by {id_}: {one_line(known[0].line)}{more}")
    refused = [batch for batch in run.lost_batches if not batch.verdict.fails]
    if refused:
        lines.append(
            f"note: {len(refused)} batches were refused as not implemented though each of their "
            f"cases is supported, such as {refused[0].name}: {refused[0].message[:160]}"
        )
    return lines


def standing_line(standing: Standing) -> str:
    """Return whether a backend conforms, and its planned cells by status, in one line."""
    counts = [
        f"{count:,} {PREDICATES[status]}"
        for status, count in standing.cells.items()
        if status is not CellStatus.CONFORMS and count
    ]
    conforming = f"{standing.cells[CellStatus.CONFORMS]:,} of {standing.planned:,} cells conform"
    cells = "; ".join([f"{conforming} ({standing.share})", *counts])
    return f"{standing.backend} {standing.verdict}. {cells}"


def _stale_lines(run: RunData) -> list[str]:
    """Return the lines about entries that no longer reproduce: fixed entries, and others."""
    other = [id_ for id_ in run.stale if id_ not in run.fixed]
    told = (
        (run.fixed, "fixed, as their counterexamples pass now (--strict fails)"),
        (other, "expectations whose counterexamples do not reproduce (--strict fails)"),
    )
    return [f"{words}: {', '.join(ids)}" for ids, words in told if ids]


def _count_known(summary: Mapping[str, Any]) -> str:
    """Return the number of cases that fail as known, with unpredictable cases counted
    separately.
    """
    names = ("unpredictable", "flaky", "value_not_predicted")
    words = (f"{summary[name]} {name.replace('_', ' ')}" for name in names if summary[name])
    apart = ", ".join(words)
    return f"{summary['known']} known" + (f" (of these {apart})" if apart else "")


def _describe_predicted(known: KnownElements) -> list[str]:
    if not known.count:
        return []
    share = "" if known.percent is None else f" ({known.percent:g} %)"
    of = f"{known.predicted:,} of {known.predictable:,}{share} predicted within 2 ulp"
    apart = f"; {known.unpredictable:,} more may have any value" if known.unpredictable else ""
    return [f"elements of entries that predict values: {of}{apart}"]


def _describe_unpredicted(run: RunData) -> list[str]:
    if not run.unpredicted:
        return []
    first = run.unpredicted[0]
    id_ = next(one.known for one in first.failing if one.unpredicted)
    cases = plural(len(run.unpredicted), "known case")
    strict = "--strict fails, unless a baseline has these values"
    return [f"value not predicted: {cases}, such as {first.id} (by {id_}); {strict}"]


def _coverage(dialect: str, reached: CoverageReport) -> str:
    values = f"{reached.values:,} of {reached.declared_values:,} values"
    apart = f" ({reached.out_of_reach} out of reach)" if reached.out_of_reach else ""
    pairs = f"{reached.pairs:,} of {reached.declared_pairs:,} pairs of them"
    return f"coverage of {dialect}: {values} of dimensions of variation{apart}, {pairs}"


def _new_lines(run: RunData, replay: str) -> list[str]:
    new = [record for record in run.records if record.is_new_failure]
    lines = [
        f"new: {record.id}: {record.verdict.value}: {one_line(record.message or record.kind)}"
        for record in new[:MOST_NEW]
    ]
    if new:
        more = f"{len(new) - MOST_NEW} more in the report; " if len(new) > MOST_NEW else ""
        lines.append(f"{more}{replay.format(new[0].id)} shows one again")
    return lines

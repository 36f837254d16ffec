"""The command `expectations`: known divergences of a backend, and whether they still reproduce."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from conformance.backends.base import Description
from conformance.backends.registry import parse
from conformance.checking.calls import REPLAY_BATCH
from conformance.checking.counterexamples import replay_counterexamples
from conformance.checking.explained import MatchedFailures, count_matched, failures_in
from conformance.checking.settings import ReplayedCounterexample
from conformance.errors import NOTHING_TESTED, UsageError, describe_unknown
from conformance.executors.backend_workers import describe, executor_of, workers
from conformance.gate import remarks
from conformance.gate.expectations import Expectation, Versions
from conformance.gate.files import Given
from conformance.gate.formatting import NotFormatted, format_text
from conformance.gate.reading import load_applicable, paths_of, read
from conformance.gate.remarks import Shadowed, files_about_others, shadowed_in_files
from conformance.gate.versions import given_versions, versions_text
from conformance.judging.messages import verdict_text
from conformance.results.versions import versions
from conformance.text import one_line, plural


def select_expectations(
    given: Given, name: str, ids: Sequence[str], own_versions: Sequence[str] = ()
) -> tuple[Expectation, ...]:
    """Return the expectations of a backend for the installed versions: all, or only those in `ids`.
    `own_versions` are the backend's versions, as `--backend-version` takes them.

    Raises:
        ExpectationError: when an expectation file is invalid.
        UsageError: when there is no such backend, or any of `ids` is not among them.
        NotAvailable: when an entry depends on the backend's version, and it is not available.
    """
    choice = parse(name)
    backend = choice.name
    by_hand = given_versions(own_versions, (backend,))

    def describe_backend() -> Description:
        with executor_of(choice, jobs=1) as executor:
            return describe(executor, choice)

    loaded = load_applicable(given, backend, versions(), describe_backend, by_hand)
    return select_by_id([one for one in loaded if one.matches_backend(backend)], backend, ids)


def select_by_id(
    entries: Sequence[Expectation], backend: str, ids: Sequence[str]
) -> tuple[Expectation, ...]:
    """Return the entries of these ids, or all where none are given.

    Raises:
        UsageError: if any of `ids` is not among them.
    """
    found = {entry.id: entry for entry in entries}
    for id_ in ids:
        if id_ not in found:
            unknown = describe_unknown("expectation", id_, found)
            raise UsageError(f"{unknown} (among the entries that apply to {backend} here)")
    return tuple(found[id_] for id_ in ids) if ids else tuple(found.values())


def expectation_json(expectation: Expectation) -> dict[str, Any]:
    """Return an expectation as a JSON object."""
    shown = expectation.counterexample
    return {
        "id": expectation.id,
        "op": list(expectation.op),
        "element_types": list(expectation.element_types),
        "verdicts": list(expectation.verdicts),
        "kinds": list(expectation.kinds),
        "words": list(expectation.words),
        "where": list(expectation.where),
        "versions": _versions(expectation.versions),
        "isa": expectation.isa,
        "unpredictable": expectation.unpredictable,
        "flaky": expectation.flaky,
        "reason": expectation.reason,
        "link": expectation.link,
        "program": shown.program if shown else "",
        "inputs": list(shown.inputs) if shown else [],
    }


def find_shadowed(
    given: Given, name: str, expectations: Sequence[Expectation]
) -> tuple[Shadowed, ...]:
    """Return the entries of a backend that earlier entries shadow.

    Raises:
        ExpectationError: when a file cannot be read.
    """
    return shadowed_in_files(given, (parse(name).name,), expectations)


def warn_about_other_backends(given: Given, name: str) -> None:
    """Write a line to standard error for each file whose entries are all about other backends.

    Raises:
        ExpectationError: when a file cannot be read.
    """
    for line in files_about_others(given, (parse(name).name,)):
        sys.stderr.write(f"{line}\n")


def check_finished(given: Given, name: str, expectations: Sequence[Expectation]) -> None:
    """Check that each entry has a reason and a counterexample.

    Raises:
        ExpectationError: if either is missing.
    """
    remarks.check_finished(expectations, paths_of(given, (parse(name).name,)))


def _versions(found: str | Versions) -> str | dict[str, str]:
    if isinstance(found, str):
        return found
    return {name: text for name, text in structs.asdict(found).items() if text}


def expectation_line(expectation: Expectation) -> str:
    """Return an expectation on one line."""
    where = ", ".join(filter(None, (versions_text(expectation.versions), expectation.isa)))
    of = f" ({where})" if where else ""
    ops, verdicts = ", ".join(expectation.op), "|".join(expectation.verdicts)
    return f"{expectation.id}{of}: {ops}: {verdicts}: {expectation.reason}"


def check(
    expectations: Sequence[Expectation],
    name: str,
    *,
    as_json: bool,
    jobs: int,
    db: Path | None = None,
    clashing: Sequence[Shadowed] = (),
) -> int:
    """Replay the counterexamples, print the outcome of each, and return the exit code.

    1 if a counterexample of an entry that is not `flaky` does not reproduce, 4 if there are no
    counterexamples, 0 otherwise. The failures that each entry matches in the run stored in `db` are
    printed, too.

    Raises:
        UsageError: when a counterexample cannot be read, or the run is of other backends.
        StoreError: when there is no such run, or it cannot be read.
        NotAvailable: when the backend is not available.
    """
    asked = {one.id for one in expectations}
    for one in clashing:
        if one.later in asked and not as_json:
            sys.stderr.write(f"{one}\n")
    backend = parse(name)
    failures = None if db is None else failures_in(db, backend.name)
    jobs = jobs or workers(backend)
    with executor_of(backend, jobs=jobs, functions=(REPLAY_BATCH,)) as executor:
        describe(executor, backend)
        ended = replay_counterexamples(executor, expectations, backend.spelling, jobs)
        seen = {one.id: one for one in ended if one is not None}
    for expectation in expectations:
        line = _entry_json if as_json else _entry_line
        about = None if failures is None else count_matched(expectation, failures)
        beside = [one for one in clashing if one.later == expectation.id]
        sys.stdout.write(line(expectation.id, seen.get(expectation.id), about, beside) + "\n")
    states = Counter(one.state for one in seen.values())
    kinds = ReplayedCounterexample
    flaky = {one.id for one in expectations if one.flaky}
    stale = any(not one.reproduces and one.id not in flaky for one in seen.values())
    sys.stderr.write(
        f"{plural(len(expectations), 'expectation')} of {backend.name}: "
        f"{states[kinds.SHOWN]} reproduce, {states[kinds.FIXED]} fixed, "
        f"{states[kinds.OTHERWISE]} do not reproduce, "
        f"{len(expectations) - len(seen)} have no counterexample\n"
    )
    return 1 if stale else 0 if seen else NOTHING_TESTED


def _entry_line(
    id_: str,
    seen: ReplayedCounterexample | None,
    about: MatchedFailures | None,
    beside: Sequence[Shadowed],
) -> str:
    del beside  # told before all else
    of_run = f"; {about}" if about else ""
    if seen is None:
        return f"{id_}: no counterexample{of_run}"
    told = verdict_text(seen.verdict.value, seen.kind, one_line(seen.message))
    return f"{id_}: {seen.state}{of_run}: {told}"


def _entry_json(
    id_: str,
    seen: ReplayedCounterexample | None,
    about: MatchedFailures | None,
    beside: Sequence[Shadowed],
) -> str:
    shown: dict[str, Any] = {"id": id_, "reproduces": None if seen is None else seen.reproduces}
    if seen is not None:
        shown |= {
            "state": seen.state,
            "verdict": seen.verdict.value,
            "class": seen.kind,
            "message": seen.message,
        }
    if beside:
        shown["shadowed_by"] = [one.earlier for one in beside]
    if about is not None:
        shown["run"] = {
            "programs": about.programs,
            "elements": about.elements.count,
            "predicted": about.elements.predicted,
            "not_predicted_in_scope": about.not_predicted,
        }
    return json.dumps(shown)


def format_files(files: Sequence[Path], *, check_only: bool) -> int:
    """Put files in canonical layout, say which changed, and return the exit code.

    1 where `check_only` and a file would change, 0 otherwise.

    Raises:
        ExpectationError: when a file cannot be read, or has no expectations in it.
        UsageError: when a file cannot be written, or cannot be put in canonical layout.
    """
    changed = 0
    for file in files:
        read(file)
        before = file.read_text(encoding="utf-8")
        try:
            after = format_text(before)
        except NotFormatted as error:
            raise UsageError(f"{file}: {error}") from None
        if after == before:
            continue
        changed += 1
        sys.stdout.write(f"{file}: {'would change' if check_only else 'formatted'}\n")
        if not check_only:
            _write(file, after)
    return 1 if check_only and changed else 0


def _write(file: Path, text: str) -> None:
    try:
        partial = file.with_name(f"{file.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error

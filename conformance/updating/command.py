"""The command `expectations update`: entries for new failures of a run, added to a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path

from msgspec import structs

from conformance.backends.registry import Choice, names_of, parse
from conformance.checking.calls import REPLAY_BATCH
from conformance.errors import UsageError, describe_unknown
from conformance.executors.backend_workers import describe, executor_of
from conformance.gate.expectations import Expectation, match_record
from conformance.gate.files import (
    NONE,
    SHIPPED,
    as_tuple,
    files_for_name,
    is_shipped_backend,
    shipped_backends,
)
from conformance.gate.reading import load, paths_of, read
from conformance.gate.versions import applicable_entries
from conformance.judging.messages import verdict_text
from conformance.limits import Limits
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData
from conformance.results.summary import read_store as read_run
from conformance.updating.files import EntryWriter, Reasons
from conformance.updating.groups import (
    FailureGroup,
    comments_of,
    entries_of_batches,
    entry_of,
    group_failures,
    group_varying,
    is_predicted_otherwise,
)
from conformance.updating.smallest import MINIMISE_RECORDED, Search, counterexample
from conformance.verdict import LostBatch, Record

_NAMED = 6
"""Number of ops or element types that a line names."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `hlo-conformance expectations update`: what to write, and where.

    The cases of the run are run until there are `runs` of them. `reasons` are as `Reasons` reads
    them.
    """

    run: Path
    out: Path
    backends: tuple[str, ...] = ()
    seconds: float = 10.0
    runs: int = 1
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _StoredRun:
    """A stored run: its data, its backends, and its expectations. `further` are more runs of the
    same cases.
    """

    data: RunData
    choices: tuple[Choice, ...]
    given: tuple[str, ...] | None
    further: tuple[RunData, ...] = ()


def update(options: Options) -> int:
    """Add entries for new failures of a run to a file, print them, and return the exit code.

    1 if no entry can match some failure, 0 otherwise.

    Raises:
        StoreError: when there is no such run, or it cannot be read.
        UsageError: when the file cannot be written, or the run has no such backend.
        ExpectationError: when the file or the run's own expectations cannot be read.
        NotAvailable: when a backend of the run cannot be had here.
    """
    if options.out.is_dir():
        raise UsageError(f"--out: {options.out} is a folder: name a file in it, such as mine.toml")
    reasons = Reasons.parse(options.reasons)
    stored = _load_stored_run(options)
    files = _files(stored, options.out)
    known = _load(files, stored)
    reasons.fill(options.out)
    if options.runs > 1:
        stored = replace(stored, further=_run_again(options, stored, files))
    taken = {*paths_of(files, [choice.name for choice in stored.choices])}
    writer = EntryWriter(options.out, _include(stored, options.out), reasons)
    flaky = _add_flaky(writer, stored, known, taken)
    known = (*flaky, *known)
    found = group_failures(_judge_stored(stored, known))
    groups = [one for one in found if not is_predicted_otherwise(one)]
    batches = _lost_batches(stored, known)
    if not groups and not batches and not flaky:
        sys.stdout.write(f"nothing is new in {options.run}: {options.out} is left as it is\n")
        return _report_rest(options, stored, files, len(found))
    for entry, comments in _entries(stored, groups, known, taken, options.seconds):
        writer.add(entry, comments)
    for entry, comment in entries_of_batches(batches, taken):
        sys.stdout.write(f"{entry.id}: {comment}\n")
        writer.add(entry, [comment])
    added = [str(options.out)] if options.out.exists() else []
    return _report_rest(options, stored, [*dict.fromkeys([*files, *added])], len(groups) or 1)


def _run_again(options: Options, stored: _StoredRun, files: Sequence[str]) -> tuple[RunData, ...]:
    """Run the cases of a stored run again, in folders beside its results, and return the runs."""
    from conformance.campaign import planning
    from conformance.campaign.progress import Watcher
    from conformance.campaign.runner import run

    data, folder = stored.data, options.run if options.run.is_dir() else options.run.parent
    identity = data.identity
    part, _, parts = identity["shard"].partition("/")
    again = planning.Options(
        folder,
        tuple(choice.spelling for choice in stored.choices),
        tuple(data.filters.get("op", ())),
        tuple(data.filters.get("element_type", ())),
        data.profile,
        data.seed,
        shard=(int(part), int(parts)),
        limits=Limits(
            **{field.name: identity[field.name.replace("_", " ")] for field in fields(Limits)}
        ),
        repeats=identity["repeats"],
        expectations=tuple(files) or NONE,
        budget=data.seconds if data.left_out else None,
        fresh=True,
    )
    found: list[RunData] = []
    for number in range(2, options.runs + 1):
        sys.stdout.write(f"run {number} of {options.runs}\n")
        sys.stdout.flush()
        found.append(run(replace(again, out=folder / f"run-{number}"), Watcher()))
    return tuple(found)


def _add_flaky(
    writer: EntryWriter, stored: _StoredRun, known: Sequence[Expectation], taken: set[str]
) -> list[Expectation]:
    """Add a flaky entry for each group of failures that not all runs have; return these."""
    runs = [stored, *(replace(stored, data=data) for data in stored.further)]
    added: list[Expectation] = []
    for group in group_varying([_judge_stored(run, known) for run in runs]):
        entry = entry_of(group, stored.data.records, taken)
        taken.add(entry.id)
        types = " ".join(group.element_types)
        sys.stdout.write(f"{entry.id}: {types}: not in all of {len(runs)} runs\n")
        writer.add(entry, [*comments_of(group)[:1], f"not in all of {len(runs)} runs"])
        added.append(entry)
    return added


def _load_stored_run(options: Options) -> _StoredRun:
    path = options.run / FILE_NAME if options.run.is_dir() else options.run
    with Store(path, read_only=True) as store:
        data, meta = read_run(store), store.meta()
    spellings: dict[str, str] = meta.get("spellings", {})
    names = [parse(name).name for name in options.backends] or list(spellings)
    for name in names:
        if name not in spellings:
            raise UsageError(
                f"--backend: {describe_unknown('backend', name, spellings)} (in {options.run})"
            )
    given = as_tuple(meta.get("expectation_file"))
    by_hand = {parse(name).name: parse(name) for name in options.backends}
    choices = tuple(by_hand.get(name) or parse(spellings[name]) for name in names)
    return _StoredRun(data, choices, given)


def _files(stored: _StoredRun, out: Path) -> list[str]:
    """Return the expectations of the run, and the output file if it exists."""
    given = [one for one in stored.given or (str(SHIPPED),) if one != NONE]
    return [*given, *([str(out)] if out.exists() else [])]


def _load(files: Sequence[str], stored: _StoredRun) -> tuple[Expectation, ...]:
    names = [choice.name for choice in stored.choices]
    loaded = load(list(files) or NONE, names, stored.data.versions)
    return applicable_entries(loaded, stored.data.backends)


def _judge_stored(stored: _StoredRun, known: Sequence[Expectation]) -> list[Record]:
    """Return the records of the chosen backends, matched with these entries."""
    names = {choice.name for choice in stored.choices}
    return [
        match_record(record, known) for record in stored.data.records if record.backend in names
    ]


def _lost_batches(stored: _StoredRun, known: Sequence[Expectation]) -> list[LostBatch]:
    """Return the batches that failed as a whole and that none of these entries matches."""
    names = {choice.name for choice in stored.choices}
    return [
        batch
        for data in (stored.data, *stored.further)
        for batch in data.lost_batches
        if batch.verdict.fails and batch.backend in names
        if not any(entry.matches_batch(batch) for entry in known)
    ]


def _entries(
    stored: _StoredRun,
    groups: Sequence[FailureGroup],
    known: Sequence[Expectation],
    taken: set[str],
    seconds: float,
) -> Iterator[tuple[Expectation, list[str]]]:
    """Yield the entry of each group with its comments, and print the result."""
    bare: list[Expectation] = []
    for group in groups:
        bare.append(entry_of(group, stored.data.records, taken))
        taken.add(bare[-1].id)
    with ExitStack() as stack:
        searches: dict[str, Search] = {}
        for choice in stored.choices:
            if any(group.backend == choice.name for group in groups):
                executor = stack.enter_context(
                    executor_of(choice, jobs=1, functions=(MINIMISE_RECORDED, REPLAY_BATCH))
                )
                describe(executor, choice)
                searches[choice.name] = Search(executor, choice, (*known, *bare), seconds)
        for index, (group, entry) in enumerate(zip(groups, bare, strict=True), 1):
            shown = counterexample(searches[group.backend], group, entry)
            comments = comments_of(group)
            if shown is None and group.has_broken_heap:  # it depends on what memory holds
                entry = structs.replace(entry, flaky=True, rare=False)
            if shown is None:
                comments.append("no counterexample: no program of the run fails in isolation")
            _say(index, len(groups), group, entry, is_shown=shown is not None)
            yield structs.replace(entry, counterexample=shown), comments


def _say(
    number: int, total: int, group: FailureGroup, entry: Expectation, *, is_shown: bool
) -> None:
    what = verdict_text("|".join(group.verdicts), "|".join(group.kinds), group.words)
    ops, types = _shorten(group.ops), _shorten(group.element_types)
    without = "" if is_shown else ", without a counterexample"
    sys.stdout.write(f"{number}/{total} {entry.id}: {ops}: {types}: {what}{without}\n")
    sys.stdout.flush()


def _shorten(names: Sequence[str]) -> str:
    """Return names in a line, only the first if they are many."""
    more = len(names) - _NAMED
    return " ".join(names) if more <= 1 else f"{' '.join(names[:_NAMED])} and {more} more"


def _include(stored: _StoredRun, out: Path) -> list[str]:
    """Return the `include` of a new file: the backends and files of the run's expectations.

    If several backends were run with the shipped entries, these are omitted: each is about some
    backends, and an included entry would apply to all.
    """
    names = [choice.name for choice in stored.choices]
    found: list[str] = []
    for given in stored.given or (str(SHIPPED),):
        if given == str(SHIPPED):
            own = names_of(names[0]) if len(names) == 1 else ()
            found += [name for name in own if name in shipped_backends()]
        elif is_shipped_backend(given):
            found.append(given)
        elif given != NONE:
            beside = out.resolve().parent
            found += [
                os.path.relpath(one.resolve(), beside) for one in files_for_name(given, names)
            ]
    return list(dict.fromkeys(found))


def _report_rest(options: Options, stored: _StoredRun, files: Sequence[str], count: int) -> int:
    """Judge the run by the files as they are now, and print the failures that are still new."""
    if not count:
        return 0
    known = _load(files, stored)
    left = group_failures(_judge_stored(stored, known))
    for group in left:
        what = verdict_text(group.verdict.value, group.kind, group.words)
        sys.stdout.write(f"not matched: {group.cases[0]}: {what}\n")
    batches = _lost_batches(stored, known)
    sys.stdout.write("".join(f"not matched: {batch.line}\n" for batch in batches))
    if batches and not left:
        return 1
    if left:
        sys.stdout.write(
            f"{len(left)} of {count} groups of failures are still new: see "
            f"hlo-conformance expectations why CASE --db {shlex.quote(str(options.run))}\n"
        )
        return 1
    alone = _load([str(options.out)], stored)
    is_enough = not group_failures(_judge_stored(stored, alone)) and not _lost_batches(
        stored, alone
    )
    needed = [str(options.out)] if is_enough else list(files)
    shown = " ".join(f"--expectations {shlex.quote(one)}" for one in needed if one != str(SHIPPED))
    sys.stdout.write(f"{options.out}: with {shown} the run has no new divergence\n")
    sys.stdout.write("replace each TODO by a reason: --strict refuses them\n")
    bare = [e for e in read(options.out) if e.counterexample is None and e.needs_counterexample]
    if bare:
        what = "entry has" if len(bare) == 1 else "entries have"
        sys.stdout.write(
            f"{len(bare)} {what} no counterexample, such as {bare[0].id}: write one by hand, as "
            "--strict refuses these, too\n"
        )
    return 0

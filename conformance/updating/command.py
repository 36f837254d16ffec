"""The command `expectations update`: entries for new failures of a run, added to a file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from conformance.backends.registry import Choice, names_of, parse
from conformance.check.calls import REPLAY_BATCH
from conformance.errors import UsageError, describe_unknown
from conformance.executors.backend_workers import describe, executor_of
from conformance.gate.expectations import Expectation, match_record
from conformance.gate.files import (
    NONE,
    SHIPPED,
    ExpectationError,
    as_tuple,
    files_for_name,
    is_shipped,
)
from conformance.gate.layout import entry_text, value_text
from conformance.gate.reading import load, paths_of, read
from conformance.gate.versions import applicable_entries
from conformance.judging.messages import verdict_text
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData
from conformance.results.summary import read_store as read_run
from conformance.updating.groups import (
    FailureGroup,
    comments_of,
    entries_of_batches,
    entry_of,
    group_failures,
    is_predicted_otherwise,
)
from conformance.updating.smallest import MINIMISE_RECORDED, Search, counterexample
from conformance.verdict import LostBatch, Record


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `hlo-conformance expectations update`: what to write, and where."""

    run: Path
    out: Path
    backends: tuple[str, ...] = ()
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class _StoredRun:
    """A stored run: its data, its backends, and its expectations."""

    data: RunData
    choices: tuple[Choice, ...]
    given: tuple[str, ...] | None


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
    stored = _load_stored_run(options)
    files = _files(stored, options.out)
    known = _load(files, stored)
    records = _judge_stored(stored, known)
    found = group_failures(records)
    groups = [one for one in found if not is_predicted_otherwise(one)]
    batches = _lost_batches(stored, known)
    if not groups and not batches:
        sys.stdout.write(f"nothing is new in {options.run}: {options.out} is left as it is\n")
        return _report_rest(options, stored, files, len(found))
    taken = {*paths_of(files, [choice.name for choice in stored.choices])}
    include = _include(stored, options.out)
    for text in _entries(stored, groups, known, taken, options.seconds):
        _add(options.out, include, text)
    for entry, comment in entries_of_batches(batches, taken):
        sys.stdout.write(f"{entry.id}: {comment}\n")
        _add(options.out, include, entry_text(as_table(entry), [comment]))
    added = [str(options.out)] if options.out.exists() else []
    return _report_rest(options, stored, [*dict.fromkeys([*files, *added])], len(groups) or 1)


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
    return [match_record(one, known) for one in stored.data.records if one.backend in names]


def _lost_batches(stored: _StoredRun, known: Sequence[Expectation]) -> list[LostBatch]:
    """Return the batches that failed as a whole and that none of these entries matches."""
    names = {choice.name for choice in stored.choices}
    return [
        one
        for one in stored.data.lost_batches
        if one.verdict.fails and one.backend in names
        if not any(entry.matches_batch(one) for entry in known)
    ]


def _entries(
    stored: _StoredRun,
    groups: Sequence[FailureGroup],
    known: Sequence[Expectation],
    taken: set[str],
    seconds: float,
) -> Iterator[str]:
    """Yield the text of an entry for each group, and print the result."""
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
        for number, (group, entry) in enumerate(zip(groups, bare, strict=True), 1):
            shown = counterexample(searches[group.backend], group, entry)
            comments = comments_of(group)
            if shown is None and group.has_broken_heap:  # it depends on what memory holds
                entry = structs.replace(entry, flaky=True, rare=False)
            if shown is None:
                comments.append("no counterexample: no program of the run fails in isolation")
            table = as_table(structs.replace(entry, counterexample=shown))
            _say(number, len(groups), group, entry, is_shown=shown is not None)
            yield entry_text(table, comments)


def _say(
    number: int, total: int, group: FailureGroup, entry: Expectation, *, is_shown: bool
) -> None:
    what = verdict_text("|".join(group.verdicts), group.kind, group.words)
    types = " ".join(group.element_types)
    without = "" if is_shown else ", without a counterexample"
    sys.stdout.write(f"{number}/{total} {entry.id}: {group.op} {types}: {what}{without}\n")
    sys.stdout.flush()


def as_table(entry: Expectation) -> dict[str, object]:
    """Return the keys of an entry as in a file, without empty values."""
    usual = Expectation("", (), "")
    table: dict[str, object] = {}
    for key, value in structs.asdict(entry).items():
        if value != getattr(usual, key):
            table[key] = list(value) if isinstance(value, tuple) else value
    if len(entry.op) == 1:
        table["op"] = entry.op[0]
    if entry.counterexample is not None:
        shown = entry.counterexample
        table["counterexample"] = {"program": shown.program, "inputs": list(shown.inputs)}
    return table


def _include(stored: _StoredRun, out: Path) -> list[str]:
    """Return the `include` of a new file: the files of expectations that the run used.

    If several shipped files apply, they are omitted: each is about one backend, and an included
    file would apply to all.
    """
    names = [choice.name for choice in stored.choices]
    if stored.given is None:
        own = {one for name in names for one in names_of(name)}
        shipped = [one.stem for one in sorted(SHIPPED.glob("*.toml")) if one.stem in own]
        return shipped if len(names) == 1 else []
    found = [path for one in stored.given if one != NONE for path in files_for_name(one, names)]
    return [
        one.stem if is_shipped(one) else os.path.relpath(one.resolve(), out.resolve().parent)
        for one in dict.fromkeys(found)
    ]


def _add(out: Path, include: Sequence[str], entry: str) -> None:
    """Append an entry to a file in one step, keeping its content and comments.

    So nothing is lost when the command is stopped. An entry that cannot be read back is reported
    and left out.
    """
    partial = out.with_name(f"{out.name}.partial")
    try:
        before = out.read_text(encoding="utf-8") if out.exists() else ""
        head = f"include = {value_text(list(include))}\n" if include and not out.exists() else ""
        gap = "\n" if before and not before.endswith("\n") else ""
        out.parent.mkdir(parents=True, exist_ok=True)
        whole = "\n".join(filter(None, (f"{before}{gap}{head}", entry)))
        partial.write_text(whole, encoding="utf-8")
        read(partial)
        partial.replace(out)
    except ExpectationError as error:
        partial.unlink()
        said = str(error).removeprefix(f"{partial}: ")
        sys.stdout.write(f"left out, because it could not be parsed again: {said}\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from error


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
    sys.stdout.write("".join(f"not matched: {one.line}\n" for one in batches))
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
    shown = " ".join(
        f"--expectations {shlex.quote(_name(one))}" for one in needed if one != str(SHIPPED)
    )
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


def _name(file: str) -> str:
    """Return a shipped file's name, or another file's path."""
    return Path(file).stem if is_shipped(Path(file)) else file

"""A run: from options, through planned tasks in workers, to a store with the results.

The parent plans, stores and shows. It never loads a backend, and leaves all computation to workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.registry import Choice, parse_all
from conformance.campaign.budget import cut_into_rounds
from conformance.campaign.cache.digests import BackendDigests, backend_digest
from conformance.campaign.cache.entries import Entries
from conformance.campaign.coverage import coverage_of
from conformance.campaign.planning import PROFILES, Options, Plan, plan
from conformance.campaign.progress import Watcher
from conformance.campaign.repetition import repeat_changed_cases
from conformance.campaign.session import RunSession, SessionSetting
from conformance.campaign.stale_entries import find_stale
from conformance.campaign.tasks import peak_rss_mb, run_tasks
from conformance.errors import UsageError
from conformance.executors.backend_workers import describe, executor_of, libraries
from conformance.executors.executor import LOCAL, Executor
from conformance.gate.baselines.baseline import ReadBaseline, apply_recordings
from conformance.gate.baselines.comparison import compare, rename_backends
from conformance.gate.conclusion import exit_code
from conformance.gate.expectations import Expectation, match_record
from conformance.gate.files import Given, as_tuple
from conformance.gate.reading import load, paths_of
from conformance.gate.remarks import (
    check_finished,
    files_about_others,
    shadowed_in_files,
    shadowed_line,
)
from conformance.gate.versions import (
    add_given_version,
    applicable_entries,
    given_versions,
    needs_backend_version,
)
from conformance.limits import identity_of
from conformance.results.database import discard
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import KnownReason, RunData, read_store
from conformance.results.versions import build, versions
from conformance.text import list_differences

_DIGITS = 16
"""Number of digits of a backend's digest that a run stores."""


def run(options: Options, watcher: Watcher | None = None) -> RunData:
    """Run the selected cases, or the rest of them, and return the data of the whole run.

    Raises:
        UsageError: see `plan`; also for a folder that holds a run with other options.
        NotAvailable: when a backend is not available here.
        ExpectationError: when an expectation file is invalid.
        StoreError: when the results cannot be stored.
        BaselineError: when nothing of the run is in the baseline.
    """
    begun = monotonic()
    planned = plan(options)
    chosen = parse_all(options.backends)
    found, names = versions(), [choice.name for choice in chosen]
    given = given_versions(options.backend_versions, names)
    watcher = watcher or Watcher()
    if options.baseline is not None:  # before hours of work that nothing could be compared with
        rename_backends(options.baseline, names, [cell.key for cell in planned.cells])
    expectations = _load_expectations(options, names, found, watcher)
    path = options.out / FILE_NAME
    if options.fresh:
        discard(path)
    with ExitStack() as stack:
        opened = {
            choice: stack.enter_context(
                executor_of(
                    choice,
                    jobs=options.jobs,
                    limits=options.limits,
                    functions=(run_tasks,),
                    engine=options.engine,
                    notice=watcher.say,
                )
            )
            for choice in chosen
        }
        described = None
        if needs_backend_version(expectations) or not path.exists():
            described = _describe(opened, given)
            expectations = applicable_entries(expectations, [*described])
        store = stack.enter_context(Store(path))
        _identify(store, options, planned, found)
        finished = store.finished_tasks()
        tasks = cut_into_rounds(planned.tasks) if store.meta().get("in_helpings") else planned.tasks
        unfinished = any(task.id not in finished for task in tasks)
        if described or unfinished:
            described = described or _describe(opened, given)
            _same_backends(store, [*described], options)
        entries = _cache(options, watcher, stack)
        is_local = options.engine.name is LOCAL.name  # libraries of other machines cannot be read
        find_digests = partial(_digests, opened, (described if is_local else {}) or {}, entries)
        digests = None if entries is None else BackendDigests(find_digests(), entries)
        if digests is None:  # reading libraries takes up to a second: beside the workers' work
            find_digests = stack.enter_context(ThreadPoolExecutor(1)).submit(find_digests).result
        store.set_meta(
            {
                "spellings": {choice.name: choice.spelling for choice in chosen},
                "expectation_file": _absolute_paths(options.expectations),
            }
        )
        _assign(store, expectations)
        if unfinished:
            store.set_meta({"coverage": {}})  # of fewer cases than now: computed at the end
            session = RunSession(
                SessionSetting(options, tasks, expectations, store, watcher, digests, begun)
            )
            session.work(opened, finished)
            store.set_meta({"left_out": [asdict(one) for one in session.left_out()]})
        _store_digests(store, digests.by_name if digests else find_digests())
        return _close(store, options, expectations, opened, watcher, digests)


def _load_expectations(
    options: Options, names: Sequence[str], found: Mapping[str, str], watcher: Watcher
) -> tuple[Expectation, ...]:
    """Return the entries of the given files. Say which are shadowed or about other backends.

    Raises:
        ExpectationError: when a file is invalid, or `strict` refuses an entry.
    """
    expectations = load(options.expectations, names, found)
    if options.strict:
        check_finished(expectations, paths_of(options.expectations, names))
    if hint := shadowed_line(shadowed_in_files(options.expectations, names, expectations)):
        watcher.say(hint)
    for line in files_about_others(options.expectations, names):
        watcher.say(line)
    return expectations


def _absolute_paths(given: Given) -> list[str] | None:
    """Return expectations with absolute paths of files, so that `load` finds them from any
    folder.
    """
    asked = as_tuple(given)
    if asked is None:
        return None
    return [str(Path(one).resolve()) if Path(one).exists() else one for one in asked]


def _describe(
    workers: dict[Choice, Executor], given: Mapping[str, str]
) -> dict[Description, list[str]]:
    """Return descriptions of all backends with the libraries that they have loaded, before anything
    runs on any. Only the first backend's workers are kept. `given` are versions that backends do
    not report themselves, by their names.
    """
    found: dict[Description, list[str]] = {}
    for index, (choice, executor) in enumerate(workers.items()):
        described = add_given_version(describe(executor, choice), given)
        found[described] = libraries(executor, choice)
        if index:
            executor.end_workers()
    return found


def _digests(
    chosen: Iterable[Choice], described: Mapping[Description, list[str]], entries: Entries | None
) -> dict[str, str]:
    """Return the digests of backends by name."""
    choices = {choice.name: choice for choice in chosen}
    return {
        one.name: backend_digest(choices[one.name], one, loaded, entries)
        for one, loaded in described.items()
    }


def _store_digests(store: Store, found: Mapping[str, str]) -> None:
    """Store the digests of backends, or "" for a backend that had another before."""
    before: dict[str, str] = store.meta().get("digests", {})
    now = {name: digest[:_DIGITS] for name, digest in found.items()}
    changed = {name for name, digest in now.items() if before.get(name, digest) != digest}
    store.set_meta({"digests": {**before, **now, **dict.fromkeys(changed, "")}})


def _identify(store: Store, options: Options, planned: Plan, found: dict[str, str]) -> None:
    """Write this run's identity to the store, or check that the store has it.

    Raises:
        UsageError: when the store has another identity; the message names all differences.
    """
    identity = {
        "backend": [choice.name for choice in parse_all(options.backends)],
        "op": list(options.ops),
        "element type": list(options.element_types),
        "profile": f"{options.profile} ({PROFILES[options.profile]} cases a cell)",
        **identity_of(options),
        "shard": f"{options.shard[0]}/{options.shard[1]}",
        **{f"version of {name}": number for name, number in found.items()},
        **isa.identity(choice.name for choice in parse_all(options.backends)),
        "build of hlo-conformance": build(),
    }
    stored = store.meta()
    before = stored.get("identity")
    if before is not None:
        differing = list_differences(before, identity)
        if differing:
            raise UsageError(_other_run(options, differing))
        return
    store.set_meta(
        {
            "identity": identity,
            "seed": options.seed,
            "profile": options.profile,
            "versions": found,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": options.command,
            "planned": [cell.key for cell in planned.cells],
            "filtered": planned.filtered,
            "filters": _filters(options),
            "in_helpings": options.budget is not None,
        }
    )


def _cache(options: Options, watcher: Watcher, stack: ExitStack) -> Entries | None:
    """Open the cache, if the options request it."""
    if options.cache is None:
        return None
    if options.engine.name is not LOCAL.name:
        raise UsageError(
            "a cache works only on this machine: add --no-cache, or leave out --executor"
        )
    return stack.enter_context(Entries(options.cache, watcher.say))


def _other_run(options: Options, differing: list[str]) -> str:
    return (
        f"{options.out} holds a run with {'; '.join(differing)}: "
        "choose another --out, or start over with --fresh"
    )


def _filters(options: Options) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if options.ops:
        given["op"] = list(options.ops)
    if options.element_types:
        given["element_type"] = list(options.element_types)
    if options.shard[1] > 1:
        given["shard"] = f"{options.shard[0]}/{options.shard[1]}"
    return given


def _same_backends(store: Store, described: list[Description], options: Options) -> None:
    now = [asdict(description) for description in described]
    # as it comes back from the store: tuples are lists there
    before = store.meta().get("backends")
    store.set_meta({"backends": now})
    after = store.meta()["backends"]
    if before is not None and before != after:
        store.set_meta({"backends": before})
        raise UsageError(_other_run(options, [f"backends {before} instead of {after}"]))


def _store_expectation(expectation: Expectation) -> dict[str, Any]:
    """Return the stored form of an expectation that applied to a cell of the run."""
    one = expectation
    return asdict(KnownReason(one.reason, one.link, one.unpredictable, one.flaky))


def _assign(store: Store, expectations: Sequence[Expectation]) -> None:
    """Match the stored records with the expectations of this session."""
    before = store.records()
    after = [match_record(record, expectations) for record in before]
    store.settle([new for old, new in zip(before, after, strict=True) if new != old])


def _assign_batches(store: Store, expectations: Sequence[Expectation]) -> None:
    """Store for each batch that failed only as a whole which expectation matches it."""
    known = [
        (batch, next((e.id for e in expectations if e.matches_batch(batch)), ""))
        for batch in store.lost_batches()
    ]
    store.keep_lost([replace(one, known=id_) for one, id_ in known if id_ != one.known])


def _apply_recordings(
    store: Store, run: RunData, baseline: ReadBaseline, expectations: Sequence[Expectation]
) -> RunData:
    """Store which failures are as in the baseline, and return the run with them."""
    applied = apply_recordings(
        run, compare(run, baseline).recorded, [expectation.id for expectation in expectations]
    )
    pairs = zip(run.records, applied.records, strict=True)
    store.settle([after for before, after in pairs if after != before])
    store.set_meta({"recorded": applied.recorded})
    return applied


def _close(
    store: Store,
    options: Options,
    expectations: Sequence[Expectation],
    workers: dict[Choice, Executor],
    watcher: Watcher,
    digests: BackendDigests | None,
) -> RunData:
    _assign_batches(store, expectations)
    tested = {(r.op, r.element_type, r.backend) for r in store.records()}
    applying = [e for e in expectations if any(map(e.applies, tested))]
    store.set_meta({"expectations": {e.id: _store_expectation(e) for e in applying}})
    repeat_changed_cases(store, options, expectations, workers, watcher)
    run = read_store(store)
    if options.baseline is not None:
        run = _apply_recordings(store, run, options.baseline, expectations)
    found = find_stale(store, applying, run.records, workers, watcher.say, digests)
    if found.problem:
        watcher.say(found.problem)
        if options.strict:
            raise UsageError(found.problem)
    reached = run.coverage or coverage_of(
        run.records, run.seed, None if digests is None else digests.entries
    )
    parent = max(peak_rss_mb(), run.peak_rss_mb["parent"])
    store.set_meta(
        {
            "stale": found.stale,
            "fixed": found.fixed,
            "coverage": {op: asdict(one) for op, one in reached.items()},
            "peak_rss_mb": {"parent": parent},
            "exit_code": exit_code(
                replace(run, stale=found.stale),
                strict=options.strict,
                comparison=None if options.baseline is None else compare(run, options.baseline),
                at_least=options.at_least,
            ),
        }
    )
    return read_store(store)

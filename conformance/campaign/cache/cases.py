"""Cases of earlier runs, taken from a cache: cases that passed, and cases that failed as known.

A passed case is identified by everything that its outcome depends on: our sources and libraries,
the backend on this machine, seed, profile, cell, index and plan. Expectations do not affect it.

A case that failed in the same way in every run in isolation is cached, too. It is taken from the
cache if entries of this run match every failure in it, and none of these entries is for failures
that vary: a new failure is always run again. Such records also depend on all our sources, on
hypotheses of expectations, and on the options that control how cases are run.

Cases whose outcome varies are always run. So are the cases of a batch that failed only as a batch:
they would be in other batches, which might not fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from conformance.campaign.cache.entries import Entries, key_of
from conformance.campaign.planning import CASES_PER_MODULE, drop_unneeded_cases, make_batches
from conformance.campaign.tasks import PartialTask, Task, TaskBatch, TaskResult, join_results
from conformance.catalog import Cell
from conformance.pipeline.records import CaseResult
from conformance.verdict import Errors, LostBatch, Record, Timing
from generators.case.columns import Invalid
from generators.cells.coverage_report import CoverageReport

Case = tuple[str, str, int]
"""Op, element type and index."""

_Content = tuple[bytes, bytes]
"""The key of a cached case, and the value that is stored for it."""

Keep = Callable[[Task, TaskResult], None]
"""A function that is called with a finished task and its result."""

_UNSTEADY = b"-"
"""The cached value of a case whose outcome changed between runs: such a case is always run."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The digests on which the outcome of cases on one backend depends.

    `own` is the digest of the sources that decide which cases pass, `whole` of all our sources,
    `backend` of the backend. `manner` are the settings by which cases are run and judged.
    """

    own: str
    whole: str
    backend: str
    profile: str
    manner: str


@dataclass(frozen=True)
class CachedCases:
    """The cases of a run on one backend that a cache has.

    `name` is the backend's name in records. `is_known` returns whether no failure in a record is
    new. `keep` is called with each task whose cases are all cached, `count` with the number of
    cached cases of any other task.
    """

    entries: Entries
    name: str
    on: Dependencies
    is_known: Callable[[Record], bool]
    keep: Keep
    count: Callable[[Task, int], None]
    _partial: dict[Task, PartialTask] = field(default_factory=dict["Task", "PartialTask"])
    _suspected: set[Case] = field(default_factory=set["Case"])
    _held: dict[Case, _Content] = field(default_factory=dict["Case", "_Content"])
    _new: dict[Case, bytes] = field(default_factory=dict["Case", bytes])

    def plan(self, task: Task) -> Task:
        """Return a drafted task with its plans, and without the cases that its cell does not need.

        The cache spares the plan, which would cover all cells of an op.
        """
        if isinstance(task.cell.element_type, Invalid):
            return task
        cell = (task.cell.op, task.cell.element_type.name)
        key = key_of("plan", self.on.own, *cell, task.seed, self.on.profile, task.start, task.stop)
        stored = self.entries.get([key]).get(key)
        if stored is not None:
            plans = tuple(json.loads(stored))
            return replace(task, stop=task.start + len(plans), plans=plans)
        made = drop_unneeded_cases(task, self.on.profile).plan_cases()
        self.entries.put(key, json.dumps(made.plans or ()).encode())
        return made

    def uncached_batches(
        self, given: Iterable[TaskBatch], apart: Container[Cell] = ()
    ) -> Generator[TaskBatch]:
        """Yield the batches that must be run, without the cases that the cache has. A batch without
        cached cases is not changed. The rest of other batches is batched anew, because a module
        takes as long to begin as a case to compile.
        """
        rest: list[Task] = []
        for batch in given:
            found = [self._cached_results(task) for task in batch]
            if not any(found):
                yield batch
                continue
            if rest and (rest[0].cell.op, rest[0].cell.backend) != _op_of(batch):
                yield from make_batches(rest, apart)
                rest = []
            for task, one in zip(batch, found, strict=True):
                rest += self._rest_of(task, one)
            if sum(map(len, rest)) >= CASES_PER_MODULE:
                yield from make_batches(rest, apart)
                rest = []
        yield from make_batches(rest, apart)

    def _cached_results(self, task: Task) -> dict[int, TaskResult]:
        """Return the cached results of a task's cases, by index."""
        indices = range(task.start, task.stop)
        keys = {self._key(task, index): index for index in indices}
        stored = self.entries.get([*keys])
        found = {
            keys[key]: _result(content) for key, content in stored.items() if content != _UNSTEADY
        }
        unknown = [index for key, index in keys.items() if key not in stored]
        failures = {self._failure_key(task, index): index for index in unknown}
        for key, content in self.entries.get([*failures]).items():
            result = _result(content)
            if all(map(self.is_known, result.records)):
                found[failures[key]] = result
            else:
                self._new[_case(result.records[0])] = content
        return found

    def _rest_of(self, task: Task, found: Mapping[int, TaskResult]) -> list[Task]:
        """Return tasks for the uncached cases of a task; if there are none, finish the task."""
        self.count(task, len(found))
        results = [found[index] for index in sorted(found)]
        if len(results) == len(task):
            self.keep(task, join_results(results))
            return []
        parts = _runs(task, found)
        if results:
            self._partial.update(dict.fromkeys(parts, PartialTask(task, results, len(parts))))
        return parts

    def finish_task(self, task: Task, result: TaskResult) -> list[tuple[Task, TaskResult]]:
        """Cache the cases of a finished task; return the planned tasks that are complete now."""
        concluded = {one.record.index: one for one in result.by_case}
        for record in result.records:
            self._remember(task, record, concluded.get(record.index), result)
        partial = self._partial.pop(task, None)
        return [(task, result)] if partial is None else partial.add(result)

    def _remember(
        self, task: Task, record: Record, concluded: CaseResult | None, result: TaskResult
    ) -> None:
        """Cache one case; after a crash or a timeout there may be only a record."""
        content = None if concluded is None else _encode_record((record, concluded.errors))
        before = self._new.pop(_case(record), None)
        if record.repeats is not None or before not in (None, content):
            self.entries.forget([self._failure_key(task, record.index)])
            self.entries.put(self._key(task, record.index), _UNSTEADY)
        elif content is not None and not record.verdict.fails:
            self._put(record, self._key(task, record.index), content, result)
        elif content is not None and concluded is not None and concluded.is_steady:
            self._put(record, self._failure_key(task, record.index), content, result)

    def _put(self, record: Record, key: bytes, content: bytes, result: TaskResult) -> None:
        case = _case(record)
        if case in self._suspected:
            self._held[case] = key, content
        elif not result.is_of_lost_batch:
            self.entries.put(key, content)

    def suspect(self, batches: Iterable[LostBatch]) -> None:
        """Keep cases of these batches out of the cache until the culprit is known."""
        for batch in batches:
            if batch.backend == self.name:
                self._suspected.update(batch.cases)

    def release(self, lost: Iterable[LostBatch]) -> None:
        """Cache the held cases, except cases of batches that failed only as a batch."""
        guilty = {case for batch in lost if batch.backend == self.name for case in batch.cases}
        for case, (key, content) in self._held.items():
            if case not in guilty:
                self.entries.put(key, content)
        self._held.clear()

    def _key(self, task: Task, index: int) -> bytes:
        return key_of("case", self.on.own, *self._parts_of_key(task, index))

    def _failure_key(self, task: Task, index: int) -> bytes:
        parts = self._parts_of_key(task, index)
        return key_of("failure", self.on.whole, self.on.manner, *parts)

    def _parts_of_key(self, task: Task, index: int) -> tuple[object, ...]:
        cell = (task.cell.op, task.cell.element_type.name, task.cell.backend)
        plan = None if task.plans is None else dict(task.plans[index - task.start])
        return self.on.backend, *cell, task.seed, self.on.profile, index, plan


def cached_coverage(
    entries: Entries, own: str, op: str, seed: int, cases: Mapping[str, set[int]]
) -> tuple[bytes, CoverageReport | None]:
    """Return the cached coverage of an op's cases, and its key."""
    indices = {name: sorted(found) for name, found in cases.items()}
    key = key_of("coverage", own, op, seed, indices)
    stored = entries.get([key]).get(key)
    if stored is None:
        return key, None
    return key, msgspec.json.decode(stored, type=CoverageReport)


def written_coverage(reached: CoverageReport) -> bytes:
    """Return the cached form of a coverage."""
    return msgspec.json.encode(reached)


def _case(record: Record) -> Case:
    return record.op, record.element_type, record.index


def _op_of(batch: TaskBatch) -> tuple[str, str]:
    return batch[0].cell.op, batch[0].cell.backend


def _runs(task: Task, found: Container[int]) -> list[Task]:
    """Return the uncached cases as tasks of consecutive cases."""
    parts: list[Task] = []
    for single in task.singles():
        if single.start in found:
            continue
        before = parts[-1] if parts else None
        if before is None or before.stop != single.start:
            parts.append(single)
            continue
        plans = None if single.plans is None else (*(before.plans or ()), *single.plans)
        parts[-1] = replace(before, stop=single.stop, plans=plans)
    return parts


def _encode_record(content: object) -> bytes:
    """Return the cached form of a record, with the other cached data of its case."""
    return msgspec.msgpack.encode(content, enc_hook=float)  # of numpy's floats


def _result(content: bytes) -> TaskResult:
    """Return the result of a cached case as the result of a task of one case."""
    record, errors = msgspec.msgpack.decode(content, type=tuple[Record, Errors])
    return TaskResult((record,), errors, Timing(), 0, 0.0)

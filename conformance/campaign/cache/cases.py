"""Cases that did not fail before are taken from a cache; those that do not fail now are put there.

Such a case is known by all that its outcome depends on: our sources and libraries, the backend on
this machine, seed, profile, cell, index and plan. Expectations are none of that: they speak of what
fails. What fails is run again, and so are the cases of a batch that failed as a whole alone: they
would be in other batches, which might not fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from conformance.campaign.cache.entries import Entries, key_of
from conformance.campaign.planning import CASES_PER_MODULE, bundles, shortened
from conformance.campaign.tasks import Task, TaskResult, joined
from conformance.catalog import Cell
from conformance.verdict import Errors, LostBatch, Record, Timing
from generators.case.columns import Invalid
from generators.cells.coverage import Reached

Bundle = tuple[Task, ...]

Case = tuple[str, str, int]
"""Op, element type and index."""

_Content = tuple[bytes, bytes]
"""A key, and what is kept by it."""

Keep = Callable[[Task, TaskResult], None]
"""What is done with a task that has ended."""

_UNSTEADY = b"-"
"""What stands in the place of a case that did not end in the same way every time: it is run."""


@dataclass(slots=True)
class _Partly:
    """A task of which some cases are from the cache, the others in `left` tasks of their own."""

    task: Task
    results: list[TaskResult]
    left: int


@dataclass(frozen=True)
class CachedCases:
    """The cases of a run on one backend, as far as a cache has them.

    `own` is the digest of our sources, `backend` that of the backend called `name`. `keep` is
    called with tasks all of whose cases are from the cache, `count` with how many of a task's are.
    """

    entries: Entries
    own: str
    name: str
    backend: str
    profile: str
    keep: Keep
    count: Callable[[Task, int], None]
    _partly: dict[Task, _Partly] = field(default_factory=dict["Task", "_Partly"])
    _suspected: set[Case] = field(default_factory=set["Case"])
    _held: dict[Case, _Content] = field(default_factory=dict["Case", "_Content"])

    def planned(self, task: Task) -> Task:
        """Return a drafted task with its plans, and without the cases that its cell does not need.

        A plan is of all cells of an op: what the cache knows need not be made again.
        """
        if isinstance(task.cell.element_type, Invalid):
            return task
        cell = (task.cell.op, task.cell.element_type.name)
        key = key_of("plan", self.own, *cell, task.seed, self.profile, task.start, task.stop)
        stored = self.entries.get([key]).get(key)
        if stored is not None:
            plans = tuple(json.loads(stored))
            return replace(task, stop=task.start + len(plans), plans=plans)
        made = shortened(task, self.profile).planned()
        self.entries.put(key, json.dumps(made.plans or ()).encode())
        return made

    def left_of(self, given: Iterable[Bundle], apart: Container[Cell] = ()) -> Generator[Bundle]:
        """Yield the bundles that must be run, without the cases that the cache has.

        A bundle of which the cache has nothing stays as it is. What is left of others is bundled
        anew, as a module takes as long to begin as a case to compile.
        """
        rest: list[Task] = []
        for bundle in given:
            found = [self._found(task) for task in bundle]
            if not any(found):
                yield bundle
                continue
            if rest and (rest[0].cell.op, rest[0].cell.backend) != _op_of(bundle):
                yield from bundles(rest, apart)
                rest = []
            for task, results in zip(bundle, found, strict=True):
                rest += self._rest_of(task, results)
            if sum(map(len, rest)) >= CASES_PER_MODULE:
                yield from bundles(rest, apart)
                rest = []
        yield from bundles(rest, apart)

    def _found(self, task: Task) -> dict[int, TaskResult]:
        """Return what the cache has of a task's cases, by index."""
        keys = {self._key(task, index): index for index in range(task.start, task.stop)}
        stored = self.entries.get([*keys])
        return {
            keys[key]: _read(content) for key, content in stored.items() if content != _UNSTEADY
        }

    def _rest_of(self, task: Task, found: dict[int, TaskResult]) -> list[Task]:
        """Return the tasks that are left of a task; where none is, the task has ended."""
        self.count(task, len(found))
        results = [found[index] for index in sorted(found)]
        if len(found) == len(task):
            self.keep(task, joined(results))
            return []
        parts = _runs(task, found)
        if found:
            self._partly.update(dict.fromkeys(parts, _Partly(task, results, len(parts))))
        return parts

    def ended(self, task: Task, result: TaskResult) -> list[tuple[Task, TaskResult]]:
        """Put what passed in the cache; return the planned tasks that have ended with this."""
        self._remember(task, result)
        partly = self._partly.pop(task, None)
        if partly is None:
            return [(task, result)]
        partly.results.append(result)
        partly.left -= 1
        return [] if partly.left else [(partly.task, joined(partly.results))]

    def _remember(self, task: Task, result: TaskResult) -> None:
        pictures = dict(result.by_case)
        for record in result.records:
            key = self._key(task, record.index)
            if record.repeats is not None:
                self.entries.put(key, _UNSTEADY)
            elif not record.verdict.fails and record.index in pictures:
                content = _written(record, pictures[record.index])
                case = (record.op, record.element_type, record.index)
                if case in self._suspected:
                    self._held[case] = key, content
                elif not result.is_of_lost_batch:
                    self.entries.put(key, content)

    def suspect(self, batches: Iterable[LostBatch]) -> None:
        """Keep cases of these batches out of the cache, until it is known who is to blame."""
        for batch in batches:
            if batch.backend == self.name:
                self._suspected.update(batch.cases)

    def release(self, lost: Iterable[LostBatch]) -> None:
        """Put the cases in the cache that no batch lost alone has."""
        guilty = {case for batch in lost if batch.backend == self.name for case in batch.cases}
        for case, (key, content) in self._held.items():
            if case not in guilty:
                self.entries.put(key, content)
        self._held.clear()

    def _key(self, task: Task, index: int) -> bytes:
        cell = (task.cell.op, task.cell.element_type.name, task.cell.backend)
        plan = None if task.plans is None else dict(task.plans[index - task.start])
        return key_of("case", self.own, self.backend, *cell, task.seed, self.profile, index, plan)


def cached_coverage(
    entries: Entries, own: str, op: str, seed: int, cases: Mapping[str, set[int]]
) -> tuple[bytes, Reached | None]:
    """Return what the cache has of what cases of an op reach, with the key to put it there by."""
    indices = {name: sorted(found) for name, found in cases.items()}
    key = key_of("coverage", own, op, seed, indices)
    stored = entries.get([key]).get(key)
    if stored is None:
        return key, None
    return key, msgspec.json.decode(stored, type=Reached)


def written_coverage(reached: Reached) -> bytes:
    """Return what the cache keeps of what cases reach."""
    return msgspec.json.encode(reached)


def _op_of(bundle: Bundle) -> tuple[str, str]:
    return bundle[0].cell.op, bundle[0].cell.backend


def _runs(task: Task, found: Container[int]) -> list[Task]:
    """Return the cases that are not found as tasks, each of consecutive cases."""
    parts: list[Task] = []
    for one in task.singles():
        if one.start in found:
            continue
        if parts and parts[-1].stop == one.start:
            before = parts[-1]
            plans = None if one.plans is None else (*(before.plans or ()), *one.plans)
            parts[-1] = replace(before, stop=one.stop, plans=plans)
        else:
            parts.append(one)
    return parts


def _written(record: Record, errors: Errors) -> bytes:
    """Return what the cache keeps of a case that did not fail."""
    return msgspec.msgpack.encode((record, errors), enc_hook=float)  # of numpy's floats


def _read(content: bytes) -> TaskResult:
    """Return the result of a case that did not fail, as a task of its own."""
    record, errors = msgspec.msgpack.decode(content, type=tuple[Record, Errors])
    return TaskResult((record,), errors, Timing(), 0, 0.0)

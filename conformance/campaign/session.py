"""One call of `run`: the unfinished tasks, run in workers and stored one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, perf_counter

from conformance.backends.registry import Choice, only_compiles
from conformance.campaign.budget import Deadline, count_left_out, rounds
from conformance.campaign.cache.cases import CachedCases, Dependencies
from conformance.campaign.cache.digests import BackendDigests, own_digest, whole_digest
from conformance.campaign.planning import (
    PROFILES,
    Options,
    drop_unneeded_cases,
    harmful_cells,
    make_batches,
)
from conformance.campaign.progress import Tally, Watcher
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Manner, Task, TaskBatch, TaskResult, join_results
from conformance.catalog import Cell
from conformance.executors.executor import Executor
from conformance.executors.interrupt import raise_if_seen
from conformance.gate.expectations import (
    Expectation,
    hypotheses_of,
    match_record,
)
from conformance.results.left_out import LeftOut
from conformance.results.lost_batches import unexplained_batches
from conformance.results.store import Store
from conformance.text import one_line
from conformance.verdict import LostBatch, Record


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """The setting of a session: its options, the tasks of the whole run, and where output goes.
    `digests` are the digests of the backends, if there is a cache. `begun` is the time at which the
    command began, by the monotonic clock.
    """

    options: Options
    tasks: Sequence[Task]
    expectations: Sequence[Expectation]
    store: Store
    watcher: Watcher
    digests: BackendDigests | None
    begun: float


class RunSession:
    """The session of one call of `run`: tasks in progress, and totals."""

    def __init__(self, setting: SessionSetting) -> None:
        """Continue from the stored results."""
        self._setting, self._options = setting, setting.options
        self._store, self._watcher = setting.store, setting.watcher
        self._left: dict[Cell, int] = {}
        self._tally = Tally()
        before = setting.store.meta()
        self._seconds: float = before.get("seconds", 0.0)
        self._storage: float = before.get("storage_seconds", 0.0)
        self._planning: float = before.get("planning_seconds", 0.0)
        self._incidents: list[str] = before.get("incidents", [])
        self._remarks: list[str] = before.get("remarks", [])
        self._from_cache: dict[str, int] = {}
        self._begun = setting.begun
        self._varying = {e.id for e in setting.expectations if e.unpredictable or e.flaky}
        self._cached: dict[str, CachedCases] = {}
        self._planned: set[str] = set()
        self._crashing, self._overwriting = harmful_cells(setting.tasks, setting.expectations)
        left = None
        if self._options.budget is not None:
            left = max(0.0, self._options.budget - self._seconds)
        self._deadline = Deadline(setting.begun, left, self._options.limits.timeout)

    def work(self, workers: Mapping[Choice, Executor], finished: set[str]) -> None:
        """Run the unfinished tasks, backend by backend; under a budget in rounds."""
        self._count(finished)
        self._watcher.start(self._tally)
        todo = [task for task in self._setting.tasks if task.id not in finished]
        has_limit = self._options.budget is not None
        try:
            for part in rounds(todo, self._options.seed) if has_limit else [todo]:
                for choice, executor in workers.items():
                    tasks = [task for task in part if task.cell.backend == choice.name]
                    if not tasks or self._deadline.is_over:
                        continue
                    self._run_tasks(tasks, executor, self._manner(choice), self._cases(choice))
                    if len(workers) > 1 or not has_limit or self._deadline.is_over:
                        executor.end_workers()
        finally:
            self._release()
            self._watcher.stop()

    def left_out(self) -> list[LeftOut]:
        """Return the cases that were left out when the time was over."""
        finished = self._store.finished_tasks()
        tasks = [task for task in self._setting.tasks if task.id not in finished]
        profile, ops = self._options.profile, self._planned
        # of other ops nobody knows how many cases they need, and to find out takes as long again
        return count_left_out(
            drop_unneeded_cases(t, profile) if t.cell.op in ops else t for t in tasks
        )

    def _run_tasks(
        self,
        tasks: Sequence[Task],
        executor: Executor,
        manner: Manner,
        cached: CachedCases | None,
    ) -> None:
        """Run tasks of one backend: plan, execute in batches, store."""
        apart = self._crashing | self._overwriting
        batches: Iterable[TaskBatch] = make_batches(self._planned_tasks(tasks, cached), apart)
        if cached is not None:
            batches = cached.uncached_batches(batches, apart)
        runner = TaskRunner(
            self._options.limits, self._incident, manner, self._lose, self._crashing,
            self._overwriting, self._is_known, self._remark,
        )  # fmt: skip
        for done in runner.run(executor, batches):
            if done is not None:
                for ended in [done] if cached is None else cached.finish_task(*done):
                    self._keep(*ended)
            self._watcher.update(self._tally)
            if self._deadline.is_long_over:
                return

    def _planned_tasks(self, tasks: Sequence[Task], cached: CachedCases | None) -> Generator[Task]:
        """Yield the tasks with their plans, on demand of workers."""
        for task in tasks:
            if self._deadline.is_over:
                return
            begun = perf_counter()
            if cached is None:
                planned = drop_unneeded_cases(task, self._options.profile).plan_cases()
            else:
                planned = cached.plan(task)
            self._planning += perf_counter() - begun
            if task.stop > PROFILES[self._options.profile]:
                self._planned.add(task.cell.op)
            self._tally.cases_planned -= len(task) - len(planned)
            if len(planned):
                yield planned
            else:
                self._keep(planned, join_results([]))

    def _manner(self, choice: Choice) -> Manner:
        known = hypotheses_of(self._setting.expectations, choice.name)
        has_cache = self._setting.digests is not None
        repeats = self._options.repeats
        if only_compiles(choice.name):  # one more run shows whether a compiler varies
            repeats = min(repeats, 1)
        return Manner(known, repeats, by_case=has_cache)

    def _cases(self, choice: Choice) -> CachedCases | None:
        """Return the cached cases of a backend, or None without a cache."""
        digests = self._setting.digests
        digest = None if digests is None else digests.by_name.get(choice.name)
        if digests is None or digest is None:
            return None
        if choice.name not in self._cached:
            options = self._options
            manner = repr((self._manner(choice), options.limits))
            on = Dependencies(own_digest(), whole_digest(), digest, options.profile, manner)
            told = (self._is_surely_known, self._keep_cached, self._count_cached)
            cached = CachedCases(digests.entries, choice.name, on, *told)
            cached.suspect(self._store.lost_batches())
            self._cached[choice.name] = cached
        return self._cached[choice.name]

    def _keep_cached(self, task: Task, result: TaskResult) -> None:
        raise_if_seen()
        self._keep(task, result)
        self._watcher.update(self._tally)

    def _count_cached(self, task: Task, cases: int) -> None:
        self._from_cache[task.id] = cases

    def _is_surely_known(self, record: Record) -> bool:
        """Return whether expectations match all failures of a case, and none is about varying
        results.
        """
        matched = match_record(record, self._setting.expectations)
        return not (matched.is_new_failure or self._varying & {*matched.expectation_ids})

    def _is_known(self, record: Record) -> bool:
        """Return whether expectations match all failures of a case."""
        return not match_record(record, self._setting.expectations).is_new_failure

    def _release(self) -> None:
        """Cache the cases held back, except in batches that failed only as a whole."""
        if not self._cached:
            return
        lost = unexplained_batches(self._store.lost_batches(), self._store.records())
        for cached in self._cached.values():
            cached.release(lost)

    def _count(self, finished: set[str]) -> None:
        tally = self._tally
        tally.cases = tally.cases_planned = self._store.count_records()
        for task in self._setting.tasks:
            left = task.id not in finished
            tally.cases_planned += len(task) if left else 0
            self._left[task.cell] = self._left.get(task.cell, 0) + left
        tally.cells_planned = len(self._left)
        tally.cells = sum(not left for left in self._left.values())

    def _keep(self, task: Task, result: TaskResult) -> None:
        records = [match_record(record, self._setting.expectations) for record in result.records]
        begun = perf_counter()
        self._store.add_task(
            task.id,
            task.cell.key,
            records,
            result.errors,
            result.timing,
            modules=result.modules,
            peak_rss_mb=result.peak_rss_mb,
            meta={
                "seconds": self._seconds + monotonic() - self._begun,
                "storage_seconds": self._storage,
                "planning_seconds": self._planning,
            },
            from_cache=self._from_cache.pop(task.id, 0),
            lost=result.lost,
        )
        for batch in result.lost:
            self._watcher.say(batch.line)
        self._storage += perf_counter() - begun
        tally = self._tally
        self._left[task.cell] -= 1
        tally.cells += not self._left[task.cell]
        tally.cases += len(records)
        tally.pairs += sum(record.pairs for record in records)
        tally.known += sum(bool(record.known) for record in records)
        tally.new += sum(record.is_new_failure for record in records)

    def _lose(self, batch: LostBatch) -> None:
        """Store a batch whose worker crashed or timed out, until a case is found to blame."""
        self._store.keep_lost([batch])
        for cached in self._cached.values():
            cached.suspect([batch])

    def _remark(self, line: str) -> None:
        """Report an event that does not fail the run."""
        self._remarks.append(one_line(line))
        self._store.set_meta({"remarks": self._remarks})
        self._watcher.say(one_line(line))

    def _incident(self, line: str) -> None:
        line = one_line(line)
        if line not in self._incidents:
            self._incidents.append(line)
            self._store.set_meta({"incidents": self._incidents})
        self._watcher.say(line)

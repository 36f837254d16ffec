"""The cells of an op in a test session on one backend, in batches as `run` compiles them.

A module costs as much to begin as a case costs to compile, so a test asks for its cell and gets the
records that the cell's batch left. A case that fails in a batch is run again in isolation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.campaign.planning import harmful_cells, make_batches
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Manner, Task, TaskBatch
from conformance.catalog import Cell
from conformance.executors.executor import Executor
from conformance.gate.expectations import Expectation, hypotheses_of, match_record
from conformance.limits import Limits
from conformance.results.lost_batches import unexplained_batches
from conformance.verdict import LostBatch, Record
from suites.ops.failures import TIMEOUT

REPEATS = 1
"""A failure is repeated once instead of three times: each known crash ends a worker."""


class CellBatches:
    """The batches of cells of a backend. Each runs when a test first asks for one of its cells."""

    def __init__(
        self, tasks: Iterable[Task], backend: str, executor: Executor, known: Sequence[Expectation]
    ) -> None:
        """Batch the tasks of cells that the tests of this session are about."""
        given = list(tasks)
        self._crashing, self._overwriting = harmful_cells(given, known)
        self._manner = Manner(hypotheses_of(known, backend), repeats=REPEATS)
        self._executor, self._known = executor, known
        self._batches: dict[Cell, list[TaskBatch]] = {}
        for batch in make_batches(given, self._crashing | self._overwriting):
            for cell in dict.fromkeys(task.cell for task in batch):
                self._batches.setdefault(cell, []).append(batch)
        self._records: dict[Cell, list[Record]] = {cell: [] for cell in self._batches}
        self._done: set[TaskBatch] = set()

    def records_of(self, cell: Cell) -> tuple[list[Record], list[str]]:
        """Return the records of a cell, and notices about batches that were run for it.

        Raises:
            NotAvailable: if the backend is not available.
        """
        notices: list[str] = []
        for batch in self._batches[cell]:
            if batch not in self._done:
                self._run(batch, notices)
        return self._records[cell], notices

    def _run(self, tasks: TaskBatch, notices: list[str]) -> None:
        lost: dict[str, LostBatch] = {}
        records: list[Record] = []

        def lose(batch: LostBatch) -> None:
            lost[batch.name] = batch

        runner = TaskRunner(
            Limits(TIMEOUT),
            notices.append,
            self._manner,
            lose,
            self._crashing,
            self._overwriting,
            is_known=lambda record: not match_record(record, self._known).is_new_failure,
        )
        for ended in runner.run(self._executor, [tasks]):
            if ended is not None:
                task, result = ended
                for batch in result.lost:
                    lose(batch)
                matched = [match_record(record, self._known) for record in result.records]
                self._records[task.cell] += matched
                records += matched
        notices += [
            batch.line
            for batch in unexplained_batches([*lost.values()], records)
            if batch.verdict.fails and not any(one.matches_batch(batch) for one in self._known)
        ]
        self._done.add(tasks)

"""Running of a sweep: blocks in worker processes, stored as they end, and added up.

Workers have the backend open, and evaluate the reference too: while one worker executes on the
backend, another evaluates. Only counts pass between processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import cast

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.registry import Choice, parse
from conformance.campaign.progress import Watcher
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.expectations import Expectation, hypotheses_of
from conformance.gate.reading import load
from conformance.gate.versions import add_given_version, applicable_entries, given_versions
from conformance.limits import identity_of
from conformance.pipeline.splitting import BatchCall, run_in_parts
from conformance.results.versions import build, versions
from conformance.sweep.block import Block, lost_outcome, run_block
from conformance.sweep.journal import FILE_NAME, Header, Journal, Line
from conformance.sweep.outcome import NOTHING, SweepOutcome, add_outcomes
from conformance.sweep.planning import Options, Plan, plan
from conformance.sweep.properties import properties_of

_GIVEN_UP = 3
"""Number of blocks in which a function may crash its process; its other blocks are then left out.
"""


@dataclass(slots=True)
class Tally:
    """The progress of a sweep: values done in this session, and in earlier sessions."""

    done: float = 0
    total: float = 0
    functions: int = 0
    begun: float = field(default_factory=monotonic)
    before: float = 0

    def line(self) -> str:
        """Return the progress in one line."""
        rate = (self.done - self.before) / max(monotonic() - self.begun, 1e-3)
        return f"{self.functions} functions, {self.done:,.0f} values, {rate / 1e6:,.1f} M values/s"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep: an outcome for each function of the plan."""

    options: Options
    plan: Plan
    outcomes: tuple[SweepOutcome, ...]
    backend: Description
    name: str
    expectations: tuple[Expectation, ...]
    started: str
    command: str
    seconds: float


def sweep(options: Options, watcher: Watcher | None = None) -> SweepResult:
    """Sweep the functions that the options select, or the rest of them.

    Raises:
        UsageError: for invalid options, or a folder with another sweep.
        NotAvailable: when the backend is not available.
        ExpectationError: when an expectation file is invalid.
    """
    planned, choice = plan(options), parse(options.backend)
    watcher = watcher or Watcher()
    given = given_versions(options.backend_versions, [choice.name])
    entries = load(options.expectations, [choice.name], versions())
    if options.fresh:
        (options.out / FILE_NAME).unlink(missing_ok=True)
    with executor_of(
        choice,
        jobs=options.jobs,
        limits=options.limits,
        functions=(run_block,),
        engine=options.engine,
        notice=watcher.say,
    ) as executor:
        described = add_given_version(describe(executor, choice), given)
        expectations = applicable_entries(entries, [described])
        header = Header(
            identity=_identity(options, planned, choice, described),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=options.command,
            request=options.request,
            backend=described,
        )
        with Journal(options.out, header) as journal:
            session = _Session(options, planned, choice, executor, journal, watcher)
            session.work(hypotheses_of(expectations, choice.name))
            done, header = journal.finished_blocks(), journal.header
    return SweepResult(
        options, planned, add_up(planned, done), described, choice.name, expectations,
        header.started, header.command, sum(line.seconds for line in done),
    )  # fmt: skip


def _identity(
    options: Options, planned: Plan, choice: Choice, described: Description
) -> dict[str, str]:
    """Return the identity of a sweep: a sweep is resumed only if all of it is equal."""
    part, parts = options.shard
    return {
        "functions": planned.names,
        "backend": choice.name,
        "arguments": f"up to {options.sample}{' or all' if options.exhaustive else ''}",
        **{name: str(value) for name, value in identity_of(options).items()},
        "shard": f"{part}/{parts}",
        **{f"version of {name}": number for name, number in versions().items()},
        **{f"{choice.name}'s {name}": number for name, number in described.versions},
        **{name: str(value) for name, value in isa.identity([choice.name]).items()},
        "build of hlo-conformance": build(),
    }


class _Session:
    """One session of a sweep: distributes blocks and stores their outcomes."""

    def __init__(
        self,
        options: Options,
        planned: Plan,
        choice: Choice,
        executor: Executor,
        journal: Journal,
        watcher: Watcher,
    ) -> None:
        self._options, self._plan, self._choice = options, planned, choice
        self._executor, self._journal, self._watcher = executor, journal, watcher
        self._lost: Counter[int] = Counter()
        self._tally = Tally(functions=len(planned.functions))
        self._last = monotonic()

    def work(self, hypotheses: Sequence[object]) -> None:
        """Run all unfinished blocks."""
        finished = finished_parts(self._journal.finished_blocks())
        left = [block for block in self._plan.blocks if not is_done(block, finished)]
        tally = self._tally
        tally.total = sum(block.values for block in self._plan.blocks)
        tally.done = tally.before = tally.total - sum(block.values for block in left)
        self._watcher.start(tally)
        try:
            calls = self._calls(left, finished, hypotheses)
            for ended in run_in_parts(self._executor, calls):
                if ended is not None:
                    self._keep(ended.call, ended.value)
                self._watcher.update(tally)
        finally:
            self._watcher.stop()

    def _calls(
        self, blocks: Sequence[Block], finished: set[tuple[int, int]], hypotheses: Sequence[object]
    ) -> Iterator[Call]:
        for block in blocks:
            for one in _remaining_blocks(block, finished):
                if len(one.indices) == 1 and self._lost[one.indices[0]] >= _GIVEN_UP:
                    continue
                yield self._call(one, hypotheses)

    def _call(self, block: Block, hypotheses: Sequence[object]) -> BatchCall:
        """Return the call of a block.

        If its worker crashes or times out, each function gets a call of its own.
        """
        return BatchCall(
            block,
            run_block,
            (self._choice.spelling, block, hypotheses),
            self._options.limits.timeout,
            parts=lambda: [
                self._call(block.single(number), hypotheses) for number in range(len(block.indices))
            ],
        )

    def _keep(self, call: Call, value: object) -> None:
        block: Block = call.name
        if isinstance(value, WorkerCrash | WorkerTimeout):
            (index,) = block.indices
            verdict, kind, message = crash_verdict(value)
            self._lost[index] += 1
            self._watcher.say(f"{block.domains[0].function.name}: {message}")
            value = (lost_outcome(block, verdict, kind, message),)
        if isinstance(value, BaseException):
            raise value
        outcomes = cast("tuple[SweepOutcome, ...]", value)
        now = monotonic()
        self._journal.add(
            Line(
                indices=block.indices,
                start=block.start,
                outcomes=outcomes,
                seconds=now - self._last,
            )
        )
        self._last = now
        self._tally.done += block.values


def finished_parts(lines: Sequence[Line]) -> set[tuple[int, int]]:
    """Return function and first argument of each finished part of a block."""
    return {(index, line.start) for line in lines for index in line.indices}


def is_done(block: Block, finished: set[tuple[int, int]]) -> bool:
    """Return whether all functions of a block are finished."""
    return all((index, block.start) in finished for index in block.indices)


def _remaining_blocks(block: Block, finished: set[tuple[int, int]]) -> list[Block]:
    """Return the unfinished rest of a block: all of it, or single functions."""
    left = [n for n, index in enumerate(block.indices) if (index, block.start) not in finished]
    if len(left) == len(block.indices):
        return [block]
    return [block.single(number) for number in left]


def add_up(planned: Plan, lines: Sequence[Line]) -> tuple[SweepOutcome, ...]:
    """Return the outcome of each function, added over its blocks in the order of arguments.

    Neighbours are compared across blocks only where no block between them is missing.
    """
    ends = {(index, block.start): block.stop for block in planned.blocks for index in block.indices}
    totals, reached = [NOTHING] * len(planned.functions), [0] * len(planned.functions)
    for line in sorted(lines, key=lambda one: one.start):
        for index, outcome in zip(line.indices, line.outcomes, strict=True):
            known = properties_of(planned.functions[index])
            directions = (known.positive, known.negative) if reached[index] == line.start else ()
            totals[index] = add_outcomes(totals[index], outcome, *directions)
            reached[index] = ends[index, line.start]
    return tuple(totals)

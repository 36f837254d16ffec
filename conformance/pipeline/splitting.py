"""Splitting of calls whose worker crashes or times out.

A crash or a timeout says nothing about which program of a call caused it. So the call is replaced
by calls of its parts, down to a single program. A single program whose worker crashes or times out
is called again, to see whether it does so every time. So is a call whose worker crashes although
the workers of its parts do not. A single program that times out because its worker waited for a
processor is called again at the end, by itself, and that call counts. Every command that makes
calls about several programs does it here. Within a worker, a batch that the backend refuses is
split in `batch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from conformance.errors import NotAvailable
from conformance.executors.executor import Executor
from conformance.executors.local import (
    Call,
    CallEnd,
    WorkerCrash,
    WorkerTimeout,
    is_starved,
)

_A = TypeVar("_A")


@dataclass(frozen=True, slots=True)
class BatchCall(Call):
    """A call about programs, and how it is split and repeated if its worker crashes or times out.

    `parts()` returns the calls that replace it; it cannot be split if there are fewer than two. A
    call that `splits_errors` is also replaced if its function raises. `question(value)` returns a
    call about a program that crashed its worker, or None; it is made in another worker. Its value
    may be None, which changes nothing. `repeats`
    has the time limits, in seconds, of further calls: about a single program that crashed its
    worker, or about the whole if none of its parts did. There are none if `is_expected(value)`.
    """

    parts: Callable[[], Sequence[Call]] = tuple
    splits_errors: bool = False
    question: Callable[[WorkerCrash | WorkerTimeout], Call | None] | None = None
    repeats: Sequence[float] = ()
    is_expected: Callable[[WorkerCrash | WorkerTimeout], bool] | None = None


@dataclass(frozen=True, slots=True)
class RepeatedEnd(CallEnd):
    """The end of a call about a single program whose worker crashed or timed out.

    `further` are the values of the calls that repeated it.
    """

    further: tuple[Any, ...] = ()


@dataclass(slots=True)
class SplitCall:
    """A call that was replaced by calls of its parts; `left` is the number of unfinished parts.

    `value` is how it ended. It `has_culprit` if a part crashed its worker or raised an error. If
    not, it is repeated: in `failed` of `runs` runs, the worker crashed or timed out. `outer` is the
    split call that it is a part of.
    """

    call: BatchCall
    value: object
    left: int
    outer: SplitCall | None = None
    has_culprit: bool = False
    failed: int = 1
    runs: int = 1


Notice = Callable[[SplitCall], None]
"""notice(split): called when a call is split, when its parts have ended, and after each repeat."""

Postponed = Callable[[Call, WorkerTimeout], None]
"""postponed(call, value): called when a call will be made again at the end, by itself."""


def answers_of(
    ended: CallEnd, of_lost: Callable[[WorkerCrash | WorkerTimeout], tuple[_A, ...]]
) -> tuple[_A, ...]:
    """Return the answers that a call gave, or `of_lost` if its worker crashed or timed out.

    Raises:
        NotAvailable: when the call did not begin.
        Exception: when the call raised it.
    """
    value: object = ended.value
    if isinstance(value, tuple):
        return cast("tuple[_A, ...]", value)
    if isinstance(value, (WorkerCrash, WorkerTimeout)):
        return of_lost(value)
    raise value if isinstance(value, Exception) else NotAvailable(str(value))


def run_in_parts(
    executor: Executor,
    calls: Iterable[Call],
    notice: Notice | None = None,
    postponed: Postponed | None = None,
) -> Generator[CallEnd | None]:
    """Make calls and yield the end of each, except of calls that are split.

    `notice` is called for calls that are split, `postponed` for calls that are made again at the
    end. The answer to a call's question becomes its value; if the question crashes its worker, too,
    the value stays. Yields None now and then, while no call ends.

    Raises:
        NotAvailable: if the backend is not available, or no worker can be started.
    """
    splitter = _Splitter(executor, notice or (lambda _: None), postponed or (lambda *_: None))
    made = calls
    while True:
        for ended in executor.results(made):
            if ended is None:
                yield None
            elif isinstance(ended.value, NotAvailable):
                raise ended.value
            elif isinstance(ended.value, _FAILURES) or id(ended.call) in splitter.pushed:
                if (final := splitter.end(ended)) is not None:
                    yield final
            else:
                yield ended
        if not splitter.resume():
            return
        made = ()  # the call that was postponed is pushed


_LOST = (WorkerCrash, WorkerTimeout)
_FAILURES = (*_LOST, Exception)

_FollowUp = Callable[[CallEnd], CallEnd | None]
"""A function follow_up(ended) that handles the end of a call and returns the end to yield, if any.
"""


@dataclass(frozen=True, slots=True)
class _Splitter:
    """The pending calls by identity, each with the function that handles its end."""

    executor: Executor
    notice: Notice
    postponed: Postponed
    waiting: list[tuple[BatchCall, SplitCall | None]] = field(
        default_factory=list["tuple[BatchCall, SplitCall | None]"]
    )
    """Calls that are made again at the end, each with the split call that it is a part of."""
    pushed: dict[int, tuple[Call, _FollowUp]] = field(
        default_factory=dict[int, tuple[Call, _FollowUp]]
    )

    def end(self, ended: CallEnd) -> CallEnd | None:
        """Return the end of a call if it is final; None if other calls follow from it."""
        _, follow_up = self.pushed.pop(id(ended.call), (None, self._end_part))
        return follow_up(ended)

    def resume(self) -> bool:
        """Make the next postponed call, if any; return whether there was a postponed call."""
        if not self.waiting:
            return False
        call, outer = self.waiting.pop(0)
        self._push(call, partial(self._end_part, outer=outer, is_last=True))
        return True

    def _push(self, call: Call, follow_up: _FollowUp) -> None:
        self.pushed[id(call)] = call, follow_up
        self.executor.push(call)

    def _end_part(
        self, ended: CallEnd, outer: SplitCall | None = None, *, is_last: bool = False
    ) -> CallEnd | None:
        """Follow up a call that may be a part of another call; it is not postponed if it is the
        last attempt.
        """
        call, value = ended.call, ended.value
        if not isinstance(call, BatchCall) or not isinstance(value, _FAILURES):
            return self._finish(ended, outer)
        is_lost = isinstance(value, _LOST)
        parts = call.parts() if is_lost or call.splits_errors else ()
        if len(parts) > 1:
            split = SplitCall(call, value, len(parts), outer)
            for part in parts:
                self._push(part, partial(self._end_part, outer=split))
            self.notice(split)
            return None
        if is_starved(value) and not is_last:
            self.waiting.append((call, outer))
            self.postponed(call, value)
            return None
        if is_lost and call.question and (asking := call.question(value)):
            self._push(asking, partial(self._end_question, ended, outer))
            return None
        return self._repeat_if_lost(call, ended, outer) if is_lost else self._finish(ended, outer)

    def _end_question(
        self, about: CallEnd, outer: SplitCall | None, ended: CallEnd
    ) -> CallEnd | None:
        if ended.value is None and isinstance(about.call, BatchCall):
            return self._repeat_if_lost(about.call, about, outer)
        is_answered = not isinstance(ended.value, _LOST)
        final = replace(about, value=ended.value) if is_answered else about
        return self._finish(final, outer, is_culprit=True)

    def _repeat_if_lost(
        self, call: BatchCall, ended: CallEnd, outer: SplitCall | None
    ) -> CallEnd | None:
        """Repeat a call about a single program whose worker crashed, unless that is expected."""
        if not call.repeats or (call.is_expected and call.is_expected(ended.value)):
            return self._finish(ended, outer)
        return self._repeat(call, RepeatedEnd(call, ended.value, ended.seconds), outer)

    def _repeat(
        self, call: BatchCall, first: RepeatedEnd, outer: SplitCall | None
    ) -> CallEnd | None:
        """Repeat a call about a single program whose worker crashed, if further runs are left."""
        if len(first.further) == len(call.repeats):
            return self._finish(first, outer)

        def follow_up(ended: CallEnd) -> CallEnd | None:
            return self._repeat(call, replace(first, further=(*first.further, ended.value)), outer)

        self._push(replace(call, timeout=call.repeats[len(first.further)]), follow_up)
        return None

    def _finish(
        self, ended: CallEnd, outer: SplitCall | None, *, is_culprit: bool = False
    ) -> CallEnd:
        """Return the end of a call, after it is counted as a part of an outer call."""
        if outer is not None:
            self._count_part(outer, is_culprit or isinstance(ended.value, _FAILURES))
        return ended

    def _count_part(self, split: SplitCall, is_culprit: bool) -> None:
        split.has_culprit |= is_culprit
        split.left -= 1
        if split.left:
            return
        self.notice(split)
        is_telling = isinstance(split.value, _LOST) and not is_starved(split.value)
        if is_telling and not split.has_culprit:
            for seconds in split.call.repeats:
                self._push(replace(split.call, timeout=seconds), partial(self._count_run, split))
        if split.outer is not None:
            self._count_part(split.outer, split.has_culprit)

    def _count_run(self, split: SplitCall, ended: CallEnd) -> None:
        """Count a further run of a whole call, none of whose parts crashed its worker."""
        split.runs += 1
        split.failed += isinstance(ended.value, _LOST)
        self.notice(split)

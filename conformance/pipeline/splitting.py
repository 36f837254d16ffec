"""Splitting of calls whose worker crashes or times out.

A crash or a timeout says nothing about which program of a call caused it. So the call is replaced
by calls of its parts, down to a single program. Every command that makes calls about several
programs does it here. Within a worker, a batch that the backend refuses is split in `batch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from conformance.errors import NotAvailable
from conformance.executors.executor import Executor
from conformance.executors.local import Call, CallEnd, Died, TimedOut

_A = TypeVar("_A")

Parts = Callable[[Call, Any], Sequence[Call]]
"""A function parts(call, value): the calls that replace a call that ended with `value`; none if the
end is final.
"""

Question = Callable[[Call, Any], Call | None]
"""A function question(call, value): a further call about a program whose worker crashed or timed
out; None for no call.
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The name of a question: the original call, and how it ended."""

    call: Call
    value: Died | TimedOut


def answers_of(
    ended: CallEnd, of_lost: Callable[[Died | TimedOut], tuple[_A, ...]]
) -> tuple[_A, ...]:
    """Return the answers that a call gave, or `of_lost` if its worker crashed or timed out.

    Raises:
        NotAvailable: when the call did not begin.
        Exception: when the call raised it.
    """
    value: object = ended.value
    if isinstance(value, tuple):
        return cast("tuple[_A, ...]", value)
    if isinstance(value, (Died, TimedOut)):
        return of_lost(value)
    raise value if isinstance(value, Exception) else NotAvailable(str(value))


def run_in_parts(
    executor: Executor, calls: Iterable[Call], parts: Parts, question: Question | None = None
) -> Generator[CallEnd | None]:
    """Make calls and yield the end of each, except of calls that `parts` replaces.

    The `question` is asked about a call whose worker crashed or timed out, if it is not replaced.
    The answer becomes its value; if the question crashes, too, the value stays.

    Yields None now and then, while no call ends.

    Raises:
        NotAvailable: if the backend is not available, or no worker can be started.
    """
    for ended in executor.results(calls):
        if ended is None:
            yield None
            continue
        call, value = ended.call, ended.value
        if isinstance(value, NotAvailable):
            raise value
        if isinstance(call.name, _Asked):
            asked = call.name
            is_lost = isinstance(value, (Died, TimedOut))
            yield replace(ended, call=asked.call, value=asked.value if is_lost else value)
            continue
        if not isinstance(value, (Died, TimedOut, Exception)):
            yield ended
            continue
        if replacing := parts(call, value):
            for part in replacing:
                executor.push(part)
        elif not isinstance(value, Exception) and question and (asking := question(call, value)):
            executor.push(replace(asking, name=_Asked(call, value)))
        else:
            yield ended

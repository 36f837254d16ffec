"""Calls that are split where they lose their worker.

A crash or a timeout says nothing about which program of a call caused it. So the call is replaced
by calls of its parts, down to a single program. Every command that makes calls about several
programs does it here. Within a worker, a batch that the backend refuses is split in `batch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.errors import NotAvailable
from conformance.executors.executor import Executor
from conformance.executors.local import Call, Died, Ended, TimedOut

Parts = Callable[[Call, Any], Sequence[Call]]
"""parts(call, value): the calls that replace one which lost its worker or raised an error; none
where it stands as it is. `value` is how it ended."""

Question = Callable[[Call, Any], Call | None]
"""question(call, value): a call about a program that lost its worker, made in another worker; None
where nothing is to be asked."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The name of a question: the call that it is about, and how that ended."""

    call: Call
    value: Died | TimedOut


def run_in_parts(
    executor: Executor, calls: Iterable[Call], parts: Parts, question: Question | None = None
) -> Generator[Ended | None]:
    """Make calls and yield how each ended; those that `parts` replaces are not among them.

    A lost call that is not replaced has the answer to the `question` about it as its value, if
    there is one; if that loses its worker, too, it has the value that it had.

    Yields None now and then, while nothing ends.

    Raises:
        NotAvailable: when the backend cannot be had, or no worker can be started.
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

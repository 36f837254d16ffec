"""An executor without workers: a function answers every call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Self

from conformance.executors.local import Call, CallEnd


class AnsweringExecutor:
    """Calls end at once, in order, with the values that `answer` returns; `calls` has them all."""

    jobs = 1

    def __init__(self, answer: Callable[[Call], Any]) -> None:
        """Answer with this function."""
        self._answer = answer
        self._pushed: list[Call] = []
        self.calls: list[Call] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def end_workers(self) -> None:
        """Do nothing: there are no workers."""

    def push(self, call: Call) -> None:
        """Add a call before those that have not begun."""
        self._pushed.append(call)

    def results(self, calls: Iterable[Call], *, tick: float = 0.5) -> Generator[CallEnd | None]:
        """Yield how each call ended."""
        del tick
        for call in calls:
            yield CallEnd(call, self.one(call))
            while self._pushed:
                pushed = self._pushed.pop(0)
                yield CallEnd(pushed, self.one(pushed))

    def one(self, call: Call) -> Any:
        """Return the answer to a call."""
        self.calls.append(call)
        return self._answer(call)

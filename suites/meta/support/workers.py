"""Workers without processes: a function decides how each call ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from conformance.backends.base import Description
from conformance.executors.local import Call, CallEnd

CPU = Description("cpu", "cpu", "a processor", (("jaxlib", "1.2"),))
"""XLA's CPU, as workers describe it."""


class Workers:
    """An executor whose calls end with what `value` returns. It yields None before each end."""

    jobs = 2

    def __init__(self, value: Callable[[Call], Any]) -> None:
        self.value, self.made = value, list[Call]()
        self._urgent: deque[Call] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def push(self, call: Call) -> None:
        self._urgent.append(call)

    def results(self, calls: Iterable[Call]) -> Iterator[CallEnd | None]:
        waiting = iter(calls)
        while (call := self._urgent.popleft() if self._urgent else next(waiting, None)) is not None:
            yield None
            yield CallEnd(call, self.one(call))

    def one(self, call: Call) -> Any:
        self.made.append(call)
        return self.value(call)

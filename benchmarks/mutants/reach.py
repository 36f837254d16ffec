"""Which lines of the reference a computation reaches, and which of them for an op's own sake."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar

from benchmarks.mutants.swapping import files, forget, name_of
from reference.ops.table import OPS, Op

T = TypeVar("T")

Lines = frozenset[tuple[str, int]]
"""Lines of files."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The lines that are reached, and of these the op's own.

    What other operations of a program reach, those in bodies too, is not its own. Between the
    operations, checking and evaluating have lines that are nobody's: `between`.
    """

    every: Lines
    own: Lines
    between: Lines


NOTHING = Reach(frozenset(), frozenset(), frozenset())


class Tracer:
    """Follows computations, of programs about one op, with empty caches each time."""

    def __init__(self, op: str) -> None:
        self._op = op
        self._names = {str(path): name_of(path) for path in files()}
        self._kept: dict[Lines, Lines] = {}
        self._running: list[str] = []
        self._right = dict(OPS)
        self._told = {name: self._telling(record) for name, record in OPS.items()}

    def _telling(self, record: Op) -> Op:
        """An op that tells when it is checked or evaluated."""
        told = {"type_function": record.type_function, "evaluate": record.evaluate}
        if record.check_values is not None:
            told["check_values"] = record.check_values
        functions = {key: self._wrapped(record.name, function) for key, function in told.items()}
        return replace(record, **functions)  # type: ignore[arg-type]

    def _wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def telling(*operands: Any, **attributes: Any) -> Any:
            self._running.append(name)
            try:
                return function(*operands, **attributes)
            finally:
                self._running.pop()

        return telling

    def follow(self, compute: Callable[[], T]) -> tuple[T, Reach]:
        """What it computes, and what this reaches."""
        forget()
        by_op: dict[str, set[tuple[str, int]]] = {}
        with self._following(by_op):
            result = compute()
        every = frozenset[tuple[str, int]]().union(*by_op.values())
        own, between = (frozenset(by_op.get(name, ())) for name in (self._op, ""))
        return result, Reach(*(self._kept.setdefault(some, some) for some in (every, own, between)))

    @contextmanager
    def _following(self, by_op: dict[str, set[tuple[str, int]]]) -> Generator[None]:
        def on_call(frame: FrameType, event: str, _: Any) -> Any:
            name = self._names.get(frame.f_code.co_filename)
            if event != "call" or name is None:
                return None
            seen = by_op.setdefault(self._running[-1] if self._running else "", set())

            def on_line(inner: FrameType, event: str, _: Any) -> Any:
                if event == "line":
                    seen.add((name, inner.f_lineno))
                return on_line

            return on_line

        before = sys.gettrace()
        OPS.update(self._told)
        sys.settrace(on_call)
        try:
            yield
        finally:
            sys.settrace(before)
            OPS.update(self._right)
            self._running.clear()

"""The lines of the reference that a computation reaches, and those that it reaches for its own
op."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar

from benchmarks.mutants.swapping import files, forget, name_of
from conformance.catalog import CATALOG
from reference.ops.table import OPS, Op

T = TypeVar("T")

Lines = frozenset[tuple[str, int]]
"""Lines of source files, by file."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The reached lines, and the op's own among them.

    Lines that only other operations of a program reach, also in bodies, are not its own. Lines
    between operations, in checking and evaluating, are `between`.
    """

    every: Lines
    own: Lines
    between: Lines


NOTHING = Reach(frozenset(), frozenset(), frozenset())

_running: ContextVar[str] = ContextVar("running", default="")
"""The op that is being checked, lowered or evaluated, separate for each process of a grid."""


def own_records(op: str) -> tuple[Op, ...]:
    """Return the op's record, and the record of the instruction it is lowered to if no other op
    uses that.
    """
    record = OPS[op]
    alone = bool(record.twin) and record.twin not in CATALOG
    return (record, OPS[record.twin]) if alone else (record,)


class Tracer:
    """Traces computations of programs about one op, each with empty caches."""

    def __init__(self, op: str) -> None:
        self._own = [record.name for record in own_records(op)]
        self._names = {str(path): name_of(path) for path in files()}
        self._kept: dict[Lines, Lines] = {}
        self._right = dict(OPS)
        self._told = {name: self._reporting_op(record) for name, record in OPS.items()}

    def _reporting_op(self, record: Op) -> Op:
        """Return an op that reports when it is checked, lowered or evaluated."""
        told = {"type_function": record.type_function, "evaluate": record.evaluate}
        if record.check_values is not None:
            told["check_values"] = record.check_values
        if record.lower is not None:
            told["lower"] = record.lower
        functions = {
            key: self._wrap_function(record.name, function) for key, function in told.items()
        }
        return replace(record, **functions)  # type: ignore[arg-type]

    def _wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call_and_note(*operands: Any, **attributes: Any) -> Any:
            before = _running.set(name)
            try:
                return function(*operands, **attributes)
            finally:
                _running.reset(before)

        return call_and_note

    def follow(self, compute: Callable[[], T]) -> tuple[T, Reach]:
        """Return the result of a computation, and the source lines that it executes."""
        forget()
        by_op: dict[str, set[tuple[str, int]]] = {}
        with self._trace_calls(by_op):
            result = compute()
        every = frozenset[tuple[str, int]]().union(*by_op.values())
        own = frozenset[tuple[str, int]]().union(*(by_op.get(name, ()) for name in self._own))
        between = frozenset(by_op.get("", ()))
        return result, Reach(*(self._kept.setdefault(some, some) for some in (every, own, between)))

    @contextmanager
    def _trace_calls(self, by_op: dict[str, set[tuple[str, int]]]) -> Generator[None]:
        def on_call(frame: FrameType, event: str, _: Any) -> Any:
            name = self._names.get(frame.f_code.co_filename)
            if event != "call" or name is None:
                return None
            seen = by_op.setdefault(_running.get(), set())

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

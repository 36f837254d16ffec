"""Checks of an op's constraints, by the ids that the specification gives them (I1, C1, C2, ...).

Type inference functions call `require` for each id. Normally the first violation raises. Inside
`collect_violations` all violated ids are collected instead, so that a near miss (a program that
violates exactly one constraint) can be distinguished from a program that violates several.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


class ConstraintViolation(ValueError):
    """A program violates a constraint: the op, the id, and the offending value."""

    def __init__(self, op: str, id: str, given: str = "") -> None:  # noqa: A002 - the spec's word
        """Record which op violates which id; `given` is the offending value."""
        super().__init__(op, id, given)
        self.op, self.id, self.given = op, id, given

    def __str__(self) -> str:
        return f"{self.op} breaks {self.id}" + (f": {self.given}" if self.given else "")


@dataclass(slots=True)
class CollectedViolations:
    """The ids violated within a `collect_violations` block, in order, without repetition."""

    ids: list[str] = field(default_factory=list[str])


_collected: ContextVar[CollectedViolations | None] = ContextVar("collected", default=None)
_op: ContextVar[str] = ContextVar("op", default="?")
_restated: ContextVar[Mapping[str, str]] = ContextVar("restated", default={})  # noqa: B039 - no one writes it


@contextmanager
def collect_violations() -> Generator[CollectedViolations]:
    """Collect violated ids instead of raising at the first violation."""
    token = _collected.set(CollectedViolations())
    try:
        found = _collected.get()
        assert found is not None
        yield found
    finally:
        _collected.reset(token)


@contextmanager
def name_checked_op(op: str) -> Generator[None]:
    """Name the op whose constraints are checked, for error messages."""
    token = _op.set(op)
    try:
        yield
    finally:
        _op.reset(token)


@contextmanager
def restate_ids(ids: Mapping[str, str]) -> Generator[None]:
    """Report violated ids under other ids; ignore violations of an id mapped to "".

    `ids` maps the ids of a twin's constraints to ids of the op that is lowered to it.
    """
    token = _restated.set(ids)
    try:
        yield
    finally:
        _restated.reset(token)


def require(id: str, condition: bool, given: object = "") -> bool:  # noqa: A002 - the spec's word
    """Require that constraint `id` holds; `given` is the offending value if it does not.

    Return the condition, so that code that depends on it can run only if it holds.

    Raises:
        ConstraintViolation: if it does not hold, outside of `collect_violations`.
    """
    if not condition:
        id = _restated.get().get(id, id)  # noqa: A001 - the spec's word
        if not id:
            return condition
        collected = _collected.get()
        if collected is None:
            raise ConstraintViolation(_op.get(), id, str(given))
        if id not in collected.ids:
            collected.ids.append(id)
    return condition

"""The interface between callers and the engines that make calls in workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:  # loads the pool, which the command line need not wait for
    from conformance.executors.local import Call, CallEnd


class Executor(Protocol):
    """Workers that make calls. Use as a context manager; leaving it ends the workers."""

    @property
    def jobs(self) -> int:
        """The number of workers."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def end_workers(self) -> None:
        """End the workers; the next call starts new workers."""
        ...

    def push(self, call: Call) -> None:
        """Add a call to a `results` in progress, before those that have not begun."""
        ...

    def results(
        self, calls: Iterable[Call], *, tick: float = 0.5
    ) -> Generator[CallEnd | None, None, None]:
        """Make the calls and yield how each ended, in the order of ending.

        Each end has the call itself, not a copy. Yields None every `tick` seconds in which nothing
        ended.

        Raises:
            NotAvailable: when workers cannot be started.
        """
        ...

    def one(self, call: Call) -> Any:
        """Make a single call and return its value: see `CallEnd`."""
        ...


class EngineName(StrEnum):
    """The name of an engine: where workers run."""

    LOCAL = "local"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Engine:
    """The place where workers run: this machine, or the nodes of a Ray cluster.

    `address` is the address of the cluster, None for a cluster that Ray finds or starts by itself.
    `fingerprint` returns by name the versions and the build, which must be equal on all nodes for
    records to be equal. It is called on each node, by its name.
    """

    name: EngineName = EngineName.LOCAL
    address: str | None = None
    fingerprint: Callable[[], dict[str, str]] = dict[str, str]


LOCAL = Engine()
"""The engine with worker processes on this machine."""

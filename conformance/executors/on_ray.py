"""Calls in worker processes of the nodes of a Ray cluster.

Ray carries calls to agents, one on each node, and carries their outcomes back. An agent has local
workers: its crash is reported as on this machine. Ray retries nothing. A call whose node is lost is
made again on another node. A call that has lost several nodes gets a node of its own. If that node
is lost too, the call counts as a worker crash.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep
from typing import Any, Self

from conformance.executors.agent import WorkerSpec
from conformance.executors.executor import Engine
from conformance.executors.interrupt import raise_if_seen
from conformance.executors.local import Call, CallEnd, WorkerCrash
from conformance.executors.nodes import Node, Nodes, Notice, load_ray, words_of
from conformance.executors.serialised_calls import TransferredFile, serialise_call

_SUSPECT, _BLAMED = 2, 4
"""Nodes that a call may lose before it gets a node of its own, and before it counts as a crash."""

_FILES = 100
"""Largest number of files of calls that Ray's store holds."""

_LOOK = 0.1
"""Seconds between two searches for nodes while there are none."""


@dataclass(frozen=True, slots=True)
class _SentCall:
    """A call in progress: its node, and the number of nodes that it has lost before."""

    call: Call
    losses: int = 0
    node: Node | None = None

    def to(self, node: Node) -> _SentCall:
        """Return the call, marked as sent to this node."""
        node.in_flight += 1
        return replace(self, node=node)

    def release(self) -> Node:
        """Return the node, which has room for another call again."""
        assert self.node is not None
        self.node.in_flight -= 1
        if self.losses >= _SUSPECT:
            self.node.is_reserved = False
        return self.node


class RayExecutor:
    """Workers on the nodes of a cluster. Use as a context manager; leaving it ends the workers."""

    def __init__(self, nodes: Nodes, opening: WorkerSpec, leave: Callable[[], None]) -> None:
        """Prepare a pool of workers, each started by `opening`; `leave` is called when the pool
        closes.
        """
        self._ray = load_ray()
        self._nodes, self._leave = nodes, leave
        self._opening = pickle.dumps(opening)
        self._urgent: deque[_SentCall] = deque()
        self._suspects: deque[_SentCall] = deque()
        self._contents: dict[TransferredFile, Any] = {}

    @property
    def jobs(self) -> int:
        """The number of workers."""
        return self._nodes.workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def end_workers(self) -> None:
        """End the workers; the next call starts new workers."""
        self._nodes.rest(self._opening)

    def push(self, call: Call) -> None:
        """Add a call to a `results` in progress, before those that have not begun."""
        self._urgent.append(_SentCall(call))

    def results(
        self, calls: Iterable[Call], *, tick: float = 0.5
    ) -> Generator[CallEnd | None, None, None]:
        """Make the calls and yield how each ended, in the order in which they end.

        Yields None every `tick` seconds in which nothing ended. Twice as many calls as a node has
        workers are queued there at any time.

        Raises:
            NotAvailable: when no node of the cluster can work.
        """
        waiting = iter(calls)
        pending: dict[Any, _SentCall] = {}
        try:
            while True:
                raise_if_seen()
                ready = self._nodes.ready(self._opening)
                for sent in self._assign_calls(ready, waiting):
                    pending[self._send(sent)] = sent
                if not pending and not self._has_more(waiting):
                    return
                done = self._wait(pending, tick)
                if not done:
                    yield None
                for ref in done:
                    ended = self._end_of_call(ref, pending.pop(ref))
                    if ended is not None:
                        yield ended
        finally:
            for sent in pending.values():
                sent.release()

    def one(self, call: Call) -> Any:
        """Make a single call and return its value: see `CallEnd`."""
        return next(ended for ended in self.results([call]) if ended is not None).value

    def _next(self, waiting: Iterator[Call]) -> _SentCall | None:
        if self._urgent:
            return self._urgent.popleft()
        call = next(waiting, None)
        return None if call is None else _SentCall(call)

    def _has_more(self, waiting: Iterator[Call]) -> bool:
        """Return whether calls wait for a node."""
        if not self._suspects and (following := self._next(waiting)):
            self._urgent.appendleft(following)
        return bool(self._suspects or self._urgent)

    def _wait(self, pending: Collection[Any], tick: float) -> list[Any]:
        """Return the calls that ended within `tick` seconds."""
        if not pending:
            sleep(min(tick, _LOOK))
            return []
        done, _ = self._ray.wait([*pending], num_returns=1, timeout=tick)
        if done:
            done, _ = self._ray.wait([*pending], num_returns=len(pending), timeout=0)
        return done

    def _assign_calls(self, ready: Iterable[Node], waiting: Iterator[Call]) -> Iterator[_SentCall]:
        """Yield calls with a node that has room for each, the emptiest node first."""
        nodes = [node for node in ready if not node.is_reserved]
        if self._suspects and nodes:
            emptiest = min(nodes, key=lambda one: one.in_flight)
            nodes.remove(emptiest)  # nothing else until the suspect has had it
            if not emptiest.in_flight:
                emptiest.is_reserved = True
                yield self._suspects.popleft().to(emptiest)
        while room := [node for node in nodes if node.in_flight < 2 * node.workers]:
            sent = self._next(waiting)
            if sent is None:
                return
            yield sent.to(min(room, key=lambda one: one.in_flight / one.workers))

    def _send(self, sent: _SentCall) -> Any:
        assert sent.node is not None
        given = sent.call
        call = serialise_call(given.function, given.arguments, ends_worker=given.ends_worker)
        contents = [self._content(file) for file in call.files]
        make = sent.node.agent.make.remote
        return make(self._opening, call, sent.call.timeout, *contents)

    def _content(self, file: TransferredFile) -> Any:
        """Return the content of a file in Ray's store, from which a node fetches it once."""
        if file not in self._contents:
            if len(self._contents) >= _FILES:
                self._contents.clear()
            self._contents[file] = self._ray.put(Path(file[0]).read_bytes())
        return self._contents[file]

    def _end_of_call(self, ref: Any, sent: _SentCall) -> CallEnd | None:
        """Return how a call ended; None if it is made again."""
        node = sent.release()
        errors = self._ray.exceptions
        try:
            value, seconds = self._ray.get(ref)
        except errors.RayTaskError as error:  # of the agent, not of the call
            self._nodes.leave_out(node, str(error.cause))
            self._urgent.append(_SentCall(sent.call, sent.losses))
            return None
        except errors.RayError as error:
            self._nodes.drop_agent(node, words_of(error))
            return self._end_of_lost_call(_SentCall(sent.call, sent.losses + 1))
        if isinstance(value, bytes):
            value = pickle.loads(value)  # noqa: S301 - of a worker of ours
        return CallEnd(sent.call, value, seconds)

    def _end_of_lost_call(self, sent: _SentCall) -> CallEnd | None:
        if sent.losses >= _BLAMED:
            return CallEnd(
                sent.call, WorkerCrash(f"the loss of {sent.losses} nodes of the cluster")
            )
        (self._suspects if sent.losses >= _SUSPECT else self._urgent).append(sent)
        return None


@dataclass(slots=True)
class _SharedNodes:
    """The nodes of a cluster, and the number of executors that use them."""

    nodes: Nodes
    users: int = 0


_shared: dict[Engine, _SharedNodes] = {}


def ray_executor(
    engine: Engine, opening: WorkerSpec, *, jobs: int | None, device: str, notice: Notice
) -> RayExecutor:
    """Return an executor of workers on the cluster of an engine; executors of a process share its
    agents.

    `jobs` is the total number of workers on all nodes, None for one per core. `device` is the
    resource that the backend needs on a node, as Ray names it; "" for none. `notice` is called with
    a line for each node that is left out.

    Raises:
        NotAvailable: when Ray is not installed, or there is no such cluster.
    """
    shared = _shared.get(engine)
    if shared is None:
        nodes = Nodes(engine.address, engine.fingerprint, jobs, notice)
        shared = _shared[engine] = _SharedNodes(nodes)
    shared.nodes.require_device(device)
    shared.users += 1

    def leave() -> None:
        shared.users -= 1
        if not shared.users:
            del _shared[engine]
            shared.nodes.close()

    return RayExecutor(shared.nodes, opening, leave)

"""The nodes of a Ray cluster: which of them compute like this machine, and the agent of each."""

from __future__ import annotations

import importlib
import os
import pickle
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from conformance.errors import NotAvailable
from conformance.executors.agent import Agent, WorkerSpec
from conformance.executors.local import QUIET, WorkerCrash, WorkerTimeout
from conformance.executors.ray_output import CommandOutput
from conformance.text import list_differences, one_line

Notice = Callable[[str], None]

_QUERY_SECONDS = 2.0
"""Seconds between two queries of the cluster for its nodes."""

_WAIT_SECONDS = 60.0
"""Seconds without a usable node after which the call fails, if no node was left out."""

_BUSY_SECONDS = 20.0
"""Seconds after which a message says that a node's cores are taken."""

_AGENTS = 3
"""Number of agents of a node that may end before they start; then the node is left out."""

_CARRIED = (
    "XLA_", "JAX_", "TF_", "LIBTPU_", "PJRT_", "OMP_", "MKL_", "OPENBLAS_",
)  # fmt: skip
"""Prefixes of the environment variables that workers on nodes inherit from this machine."""

_LABEL = re.compile(r"\w+: ")

_OF_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0"}
"""Environment of a cluster that Ray starts for this command: workers have their own memory limit.
"""


def load_ray() -> Any:
    """Return Ray.

    Raises:
        NotAvailable: when it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError:
        words = "--executor ray needs Ray: pip install 'hlo-conformance[ray]'"
        raise NotAvailable(words) from None


@dataclass(slots=True)
class Node:
    """A node of the cluster; its agent is None until its versions have been compared with this
    machine's.

    `awaited` is its last request that is not answered. `answered` has the backends that its agent
    has opened, by pickled `WorkerSpec`: True if they are the same as on this machine.
    """

    id: str
    name: str
    cores: int
    devices: Mapping[str, float]
    awaited: Any = None
    since: float = field(default_factory=monotonic)
    is_equal: bool = False
    workers: int = 0
    agent: Any = None
    is_started: bool = False
    asked: dict[bytes, Any] = field(default_factory=dict[bytes, Any])
    answered: dict[bytes, bool] = field(default_factory=dict[bytes, bool])
    in_flight: int = 0
    is_reserved: bool = False


class Nodes:
    """The nodes of a cluster and their agents, as nodes come and go.

    Each agent reserves the node's cores, and the devices that `need` named.
    """

    def __init__(
        self,
        address: str | None,
        fingerprint: Callable[[], dict[str, str]],
        jobs: int | None,
        notice: Notice,
    ) -> None:
        """Connect to the cluster at this address, or to a cluster that Ray finds or starts.

        `jobs` is the number of workers on all nodes, None for one per core. `notice` is called with
        a line for each node that is left out.

        Raises:
            NotAvailable: when Ray is not installed, or there is no such cluster.
        """
        self._ray = load_ray()
        self._fingerprint, self._own = fingerprint, fingerprint()
        self._jobs, self._notice = jobs, notice
        self._devices: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self._left_out: dict[str, str] = {}
        self._lost: Counter[str] = Counter()
        self._standards: dict[bytes, dict[str, str]] = {}
        self._looked = -_QUERY_SECONDS
        self._had_work = monotonic()
        self._is_ours = False
        self._connect(address)

    def _connect(self, address: str | None) -> None:
        if self._ray.is_initialized():
            return
        _check_reachable(address or os.environ.get("RAY_ADDRESS", ""))
        for name, value in _OF_RAY.items():
            os.environ.setdefault(name, value)
        CommandOutput.take()
        try:
            self._ray.init(
                address, log_to_driver=False, configure_logging=False, include_dashboard=False
            )
        except Exception as error:  # of many kinds: see ray.init
            where = address or os.environ.get("RAY_ADDRESS") or "no --address"
            words = one_line(error)[:400]
            CommandOutput.give_back()
            raise NotAvailable(f"Ray cannot connect to a cluster ({where}): {words}") from None
        self._is_ours = True

    def require_device(self, device: str) -> None:
        """Restrict the nodes to those with a device, by Ray's name for it; "" for no device."""
        self._devices |= {device} - {""}

    @property
    def workers(self) -> int:
        """The number of workers; before any has started, the largest number possible."""
        started = sum(node.workers for node in self._nodes.values())
        return started or self._jobs or sum(_cores(one) for one in self._alive()) or 1

    def close(self) -> None:
        """End all agents, and leave the cluster."""
        with suppress(self._ray.exceptions.RayError):
            ended = [node.agent.stop.remote() for node in self._nodes.values() if node.is_started]
            if ended:
                self._ray.wait(ended, num_returns=len(ended), timeout=5)
            for node in self._nodes.values():
                self._end_agent(node)
        self._nodes.clear()
        if self._is_ours:
            self._ray.shutdown()
            CommandOutput.give_back()

    def rest(self, opening: bytes) -> None:
        """End the workers of a backend on all nodes."""
        for node in self._nodes.values():
            if node.is_started and node.answered.pop(opening, False):
                node.asked.pop(opening, None)
                node.agent.rest.remote(opening)

    def ready(self, opening: bytes) -> list[Node]:
        """Return the nodes that take calls of a backend now.

        Raises:
            NotAvailable: when there are none, and none is about to be.
        """
        self._look()
        self._advance(opening)
        found = [node for node in self._nodes.values() if node.answered.get(opening)]
        if found or self._is_waiting(opening):
            self._had_work = monotonic()
        elif self._left_out or monotonic() - self._had_work > _WAIT_SECONDS:
            raise NotAvailable(self._explanation())
        return found

    def drop_agent(self, node: Node, reason: str) -> None:
        """Drop the agent of a node. A node that still exists gets another agent, a limited number
        of times.
        """
        if self._nodes.pop(node.id, None) is None:
            return
        if node.is_started:
            self._notice(f"node {node.name} was lost ({reason}): its calls are made again")
        else:
            self._lost[node.id] += 1
        self._end_agent(node)
        self._looked = -_QUERY_SECONDS
        if self._lost[node.id] >= _AGENTS:
            self.leave_out(node, f"its agent ended {_AGENTS} times before it started: {reason}")

    def leave_out(self, node: Node, reason: str) -> None:
        """Stop using a node, and report why."""
        self._end_agent(node)
        self._nodes.pop(node.id, None)
        line = f"node {node.name} is left out: {reason}"
        self._left_out[node.id] = line
        self._notice(line)

    # --- what nodes there are --------------------------------------------------------------------

    def _alive(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _look(self) -> None:
        """Add nodes that joined the cluster, drop nodes that left."""
        now = monotonic()
        if now - self._looked < _QUERY_SECONDS:
            return
        self._looked = now
        alive = {one["NodeID"]: one for one in self._alive()}
        for id_ in [id_ for id_ in self._nodes if id_ not in alive]:
            del self._nodes[id_]  # its calls end with an error, which says so
        for id_, one in alive.items():
            if id_ in self._nodes or id_ in self._left_out or not _cores(one):
                continue
            host = one.get("NodeManagerHostname") or id_[:8]
            name = f"{host} ({one['NodeManagerAddress']}, {id_[:8]})"
            node = Node(id_, name, _cores(one), one["Resources"])
            missing = [device for device in self._devices if not node.devices.get(device)]
            if missing:
                self._left_out[id_] = f"{name} has no {missing[0]}"
                continue
            self._nodes[id_] = node
            self._compare(node)

    def _compare(self, node: Node) -> None:
        probe = self._ray.remote(_probe()).options(
            num_cpus=0, max_retries=0, scheduling_strategy=self._strategy_of(node)
        )
        node.awaited = probe.remote(pickle.dumps(self._fingerprint))

    def _strategy_of(self, node: Node) -> Any:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        return strategies.NodeAffinitySchedulingStrategy(node_id=node.id, soft=False)

    def _end_agent(self, node: Node) -> None:
        if node.agent is not None:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(node.agent)
            node.agent, node.is_started = None, False

    # --- what they answer ------------------------------------------------------------------------

    def _advance(self, opening: bytes) -> None:
        """Advance each node that has answered: compare versions, start an agent, open the
        backend.
        """
        asked = {
            ref: node
            for node in self._nodes.values()
            for ref in (node.awaited, node.asked.get(opening))
            if ref is not None
        }
        if asked:
            done, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
            for ref in done:
                self._take(asked[ref], ref, opening)
        for node in list(self._nodes.values()):
            if node.is_equal and node.agent is None:
                self._start(node)
            elif node.is_started and opening not in {*node.answered, *node.asked}:
                node.asked[opening] = node.agent.identity.remote(opening)
            if node.awaited is not None and monotonic() - node.since > _BUSY_SECONDS:
                node.since = float("inf")
                self._notice(f"node {node.name} does not answer yet: are its cores in use?")

    def _take(self, node: Node, ref: Any, opening: bytes) -> None:
        try:
            answer = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self.drop_agent(node, words_of(error))
            return
        if ref is node.awaited:
            node.awaited = None
            if node.agent is not None:
                node.is_started = True
                self._lost.pop(node.id, None)
            elif difference := _difference(answer, self._own):
                self.leave_out(node, difference)
            else:
                node.is_equal = True
            return
        del node.asked[opening]
        if isinstance(answer, dict):
            given: WorkerSpec = pickle.loads(opening)  # noqa: S301 - our own
            standard = self._standards.setdefault(opening, {**answer, **dict(given.expected)})
            differing = [name for name, value in standard.items() if answer.get(name) != value]
            if not differing:
                node.answered[opening] = True
                return
            name = differing[0]
            reason = f"{name}: {answer.get(name)} there, {standard[name]} on other nodes"
        else:
            reason = _failure(answer)
        self.leave_out(node, reason)

    def _start(self, node: Node) -> None:
        """Start the agent of a node, within the number of workers that remain."""
        started = sum(one.workers for one in self._nodes.values() if one is not node)
        workers = node.cores if self._jobs is None else min(node.cores, self._jobs - started)
        if workers < 1:
            return  # until another node is lost
        node.workers, node.since = workers, monotonic()
        resources = {name: node.devices[name] for name in self._devices - {"GPU"}}
        agent = self._ray.remote(Agent).options(
            num_cpus=workers,
            num_gpus=node.devices["GPU"] if "GPU" in self._devices else 0,
            resources=resources,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=4 * workers + 4,
            scheduling_strategy=self._strategy_of(node),
        )
        node.agent = agent.remote(workers, _environment())
        node.awaited = node.agent.ready.remote()

    def _is_waiting(self, opening: bytes) -> bool:
        return any(
            node.awaited is not None or opening in node.asked or node.is_equal
            for node in self._nodes.values()
        )

    def _explanation(self) -> str:
        lines = "; ".join(dict.fromkeys(self._left_out.values()))
        return f"no node of the Ray cluster can work: {lines or 'none has a core (num_cpus)'}"


def _check_reachable(address: str) -> None:
    """Raise NotAvailable if nothing listens at HOST:PORT: Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        words = f"no Ray cluster answers at {address} ({error}): is it started there?"
        raise NotAvailable(words) from None


def _probe() -> Callable[[bytes], object]:
    """Return a function that calls a pickled function, or reports that it cannot be loaded.

    It is defined here so that Ray sends its code: a node may lack this package.
    """

    def probe(function: bytes) -> object:
        import pickle

        try:
            return pickle.loads(function)()  # noqa: S301 - of the driver
        except ImportError as error:
            return f"{error}"

    return probe


def _difference(answer: object, own: Mapping[str, str]) -> str:
    """Return a message about versions of a node that differ from ours and how to change them, or
    "".
    """
    if not isinstance(answer, dict):
        version = own.get("hlo-conformance", "")
        return f"{answer}: pip install 'hlo-conformance[ray]=={version}' there"
    differing = [name for name, value in own.items() if answer.get(name) != value]
    if not differing:
        return ""
    told = ", ".join(list_differences(answer, own))
    installable = [f"{name}=={own[name]}" for name in differing if name in _packages(own)]
    mend = f"pip install {' '.join(installable)}" if installable else "install the same one"
    return f"{told}: {mend} there"


def _packages(own: Iterable[str]) -> set[str]:
    return {name for name in own if name != "python" and " " not in name}


def _failure(answer: object) -> str:
    if isinstance(answer, WorkerCrash):
        return f"the backend's process ended ({answer.reason}) {answer.last_words}".strip()
    if isinstance(answer, WorkerTimeout):
        return f"the backend did not start within {answer.seconds:g} s"
    return str(answer)


def words_of(error: BaseException) -> str:
    """Return the line of an error of Ray's that says why it happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines[1:] if not _LABEL.match(line)]
    return [*telling, *lines, type(error).__name__][0][:300]


def _cores(node: Mapping[str, Any]) -> int:
    return int(node["Resources"].get("CPU", 0))


def _environment() -> dict[str, str]:
    here = {name: value for name, value in os.environ.items() if name.startswith(_CARRIED)}
    return {**QUIET, **here}

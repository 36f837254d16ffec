"""Workers on the nodes of a Ray cluster: calls end there as here; nodes are compared."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from conformance.errors import NotAvailable
from conformance.executors import nodes, on_ray
from conformance.executors.agent import Agent, WorkerSpec
from conformance.executors.executor import Engine, EngineName, Executor
from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.executors.nodes import Nodes
from conformance.executors.ray_output import CommandOutput
from conformance.limits import Limits
from suites.meta.conformance.executors.test_local import collect, die, double_number, fail

pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
"""Ray starts its nodes by forking, and jax may be loaded here: it warns of that."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a cluster of two nodes on this machine, of a worker each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster_utils = pytest.importorskip("ray.cluster_utils", exc_type=ImportError)
        made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        made.add_node(num_cpus=1)
        yield made
        made.shutdown()


def no_versions() -> dict[str, str]:
    return {}


@contextmanager
def workers(cluster: Any, *notices: list[str], versions: Any = no_versions) -> Iterator[Executor]:
    engine = Engine(EngineName.RAY, cluster.address, versions)
    told = notices[0] if notices else []
    opening = WorkerSpec(None, Limits(memory_limit=0))
    with on_ray.ray_executor(engine, opening, jobs=None, device="", notice=told.append) as executor:
        yield executor


@pytest.mark.slow
def test_calls_end_as_they_do_here(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("read on the node")
    with workers(cluster) as executor:
        ends = collect(
            executor,
            [
                Call("value", double_number, (21,), 30),
                Call("error", fail, ("no",), 30),
                Call("death", die, (signal.SIGSEGV,), 30),
                Call("exit", os._exit, (3,), 30),
                Call("hang", time.sleep, (600,), 0.3),
                Call("file", Path.read_text, (file,), 30),
                *[Call(number, double_number, (number,), 30) for number in range(5)],
            ],
        )
        assert executor.jobs == 2
    assert ends["value"] == 42
    assert isinstance(ends["error"], ValueError)
    assert ends["death"] == WorkerCrash("SIGSEGV", "file.cc:12] Check failed: 1 == 2 at")
    assert ends["exit"] == WorkerCrash("exit code 3")
    assert ends["hang"] == WorkerTimeout(0.3)
    assert ends["file"] == "read on the node"
    assert [ends[number] for number in range(5)] == [0, 2, 4, 6, 8]


def agent_of_this_worker() -> psutil.Process:
    """Return the process that gives work to this worker: its parent is a server."""
    server = psutil.Process().parent()
    assert server is not None
    agent = server.parent()
    assert agent is not None
    return agent


def end_agent() -> None:
    agent_of_this_worker().kill()
    time.sleep(600)


@pytest.mark.slow
def test_a_call_that_agents_are_lost_under_is_not_made_for_ever(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "_SUSPECT", 1)
    monkeypatch.setattr(on_ray, "_BLAMED", 2)
    with workers(cluster) as executor:
        calls = [
            Call("evil", end_agent, (), 60),
            *[Call(n, double_number, (n,), 60) for n in range(4)],
        ]
        ends = collect(executor, calls)
    assert ends.pop("evil") == WorkerCrash("the loss of 2 nodes of the cluster")
    assert ends == {n: 2 * n for n in range(4)}


def slowly_twice(number: int) -> int:
    time.sleep(0.5)
    return 2 * number


@pytest.mark.slow
def test_lost_node_repeats_only_its_own_calls(cluster: Any) -> None:
    with workers(cluster) as executor:
        values: dict[object, object] = {}
        for ended in executor.results(Call(n, slowly_twice, (n,), 60) for n in range(20)):
            if not isinstance(ended, CallEnd):
                continue
            values[ended.call.name] = ended.value
            if len(values) == 3:
                node = cluster.worker_nodes.pop()
                node.kill_all_processes(check_alive=False, allow_graceful=False)
                cluster.add_node(num_cpus=1)
    assert values == {n: 2 * n for n in range(20)}


def test_an_address_without_a_cluster_is_refused_in_one_line() -> None:
    pytest.importorskip("ray", exc_type=ImportError)
    engine = Engine(EngineName.RAY, "127.0.0.1:1")
    with pytest.raises(NotAvailable, match=r"no Ray cluster answers at 127.0.0.1:1 \("):
        on_ray.ray_executor(
            engine, WorkerSpec(None, Limits(memory_limit=0)), jobs=1, device="", notice=print
        )


def test_output_of_ray_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    CommandOutput.take()
    try:
        of_ray = threading.Thread(target=print, args=("(raylet) lost",), name="ray_listen_errors")
        of_ray.start()
        of_ray.join()
        print("{}")
    finally:
        CommandOutput.give_back()
    assert sys.stdout is before
    assert capsys.readouterr() == ("{}\n", "(raylet) lost\n")


def test_missing_ray_is_one_line_with_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotAvailable, match=r"pip install 'hlo-conformance\[ray\]'"):
        on_ray.ray_executor(
            Engine(EngineName.RAY),
            WorkerSpec(None, Limits(memory_limit=0)),
            jobs=1,
            device="",
            notice=print,
        )


OWN = {"hlo-conformance": "1", "jax": "0.12"}
OPENING = pickle.dumps(WorkerSpec(None, Limits(), expected=(("isa", "AVX2"),)))


def own_versions() -> dict[str, str]:
    """Return the versions of this machine; its name is sent to the nodes."""
    return OWN


class RayError(Exception):
    """An error of this Ray."""


class FakeRay:
    """A cluster of nodes by name; `versions` and `identities` are the nodes' answers."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, resources: Mapping[str, Mapping[str, float]]) -> None:
        self.resources = dict(resources)
        self.versions: dict[str, Any] = dict.fromkeys(resources, OWN)
        self.identities: dict[str, Any] = {name: {"isa": "AVX2"} for name in resources}
        self.agents: dict[str, SimpleNamespace] = {}
        self.killed: list[Any] = []

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": True, "NodeManagerAddress": "10.0.0.1",
             "NodeManagerHostname": name, "Resources": of}
            for name, of in self.resources.items()
        ]  # fmt: skip

    def remote(self, thing: Any) -> Any:
        def options(**given: Any) -> SimpleNamespace:
            name = given["scheduling_strategy"]["node_id"]
            if thing is not Agent:
                return SimpleNamespace(remote=lambda _: _answer(lambda: self.versions[name]))
            return SimpleNamespace(remote=lambda *asked: self._agent(name, given, asked))

        return SimpleNamespace(options=options)

    def _agent(self, name: str, given: dict[str, Any], asked: tuple[Any, ...]) -> Any:
        self.agents[name] = SimpleNamespace(
            given=given,
            asked=asked,
            ready=_method(lambda: None),
            identity=_method(lambda _: self.identities[name]),
            stop=_method(lambda: None),
            rest=_method(lambda _: None),
        )
        return self.agents[name]

    def wait(self, refs: list[Any], **_: Any) -> tuple[list[Any], list[Any]]:
        return refs, []

    def get(self, ref: Callable[[], Any]) -> Any:
        value = ref()
        if isinstance(value, Exception):
            raise value
        return value

    def kill(self, agent: Any) -> None:
        self.killed.append(agent)


def _answer(value: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: value()


def _method(function: Callable[..., Any]) -> SimpleNamespace:
    return SimpleNamespace(remote=lambda *given: lambda: function(*given))


Join = Callable[..., tuple[Nodes, list[str]]]


@pytest.fixture
def join(monkeypatch: pytest.MonkeyPatch) -> Join:
    """Return the nodes of a cluster, and the lines about nodes that are left out."""
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **given: given)
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)

    def connect(ray: FakeRay, jobs: int | None = None) -> tuple[Nodes, list[str]]:
        notices: list[str] = []
        monkeypatch.setattr(nodes, "load_ray", lambda: ray)
        return Nodes(None, own_versions, jobs, notices.append), notices

    return connect


def ready(found: Nodes, opening: bytes = OPENING) -> list[str]:
    """Return the hosts that take calls after the questions that a node is asked."""
    for _ in range(4):
        taking = found.ready(opening)
    return [node.name.partition(" ")[0] for node in taking]


def test_a_node_of_the_same_versions_gets_an_agent_for_its_cores(join: Join) -> None:
    ray = FakeRay({"a": {"CPU": 3.0}, "without": {"CPU": 0.0}})
    found, notices = join(ray)
    assert found.workers == 3  # before any has started
    assert ready(found) == ["a"]
    assert (list(ray.agents), notices) == (["a"], [])
    assert ray.agents["a"].asked[0] == ray.agents["a"].given["num_cpus"] == 3
    assert found.workers == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({**OWN, "jax": "0.10"}, ": pip install jax==0.12 there"),
        ("No module named 'conformance'",
         "No module named 'conformance': pip install 'hlo-conformance[ray]==1' there"),
    ],
)  # fmt: skip
def test_a_node_of_other_versions_is_left_out(join: Join, answer: object, words: str) -> None:
    ray = FakeRay({"a": {"CPU": 1.0}, "b": {"CPU": 1.0}})
    ray.versions["b"] = answer
    found, notices = join(ray)
    assert ready(found) == ["a"]
    (line,) = notices
    assert line.startswith("node b (10.0.0.1, b) is left out: ")
    assert line.endswith(words)


def test_a_backend_must_be_as_on_this_machine(join: Join) -> None:
    ray = FakeRay({"a": {"CPU": 1.0}, "b": {"CPU": 1.0}, "c": {"CPU": 1.0}})
    ray.identities |= {"a": {"isa": "SSE4"}, "b": WorkerCrash("SIGILL", "illegal")}
    found, notices = join(ray)
    assert ready(found) == ["c"]
    assert [line.partition("left out: ")[2] for line in notices] == [
        "isa: SSE4 there, AVX2 on other nodes",
        "the backend's process ended (SIGILL) illegal",
    ]


def test_a_lost_node_gets_another_agent_and_a_node_that_never_starts_none(join: Join) -> None:
    ray = FakeRay({"a": {"CPU": 1.0}})
    found, notices = join(ray)
    assert ready(found) == ["a"]
    (node,) = found.ready(OPENING)
    found.drop_agent(node, "out of memory")
    assert notices == [f"node {node.name} was lost (out of memory): its calls are made again"]
    assert ray.killed == [ray.agents["a"]]
    assert ready(found) == ["a"]
    ray.versions["a"] = RayError("first line\nActor died: of this\nWorkerCrashed: x")
    other, notices = join(ray)
    with pytest.raises(NotAvailable, match=r"its agent ended 3 times before it started"):
        ready(other)
    assert len(notices) == 1


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    with pytest.raises(NotAvailable, match=r"no Ray cluster answers at ray://127\.0\.0\.1:1 "):
        nodes._check_reachable("ray://127.0.0.1:1")
    nodes._check_reachable("auto")


def test_nodes_without_the_device_are_not_asked(join: Join) -> None:
    ray = FakeRay({"a": {"CPU": 1.0}, "b": {"CPU": 1.0, "GPU": 2.0}})
    found, _ = join(ray)
    found.require_device("GPU")
    assert ready(found) == ["b"]
    assert ray.agents["b"].given["num_gpus"] == 2
    del ray.resources["b"]
    other, _ = join(ray)
    other.require_device("GPU")
    with pytest.raises(NotAvailable, match=r"no node .* can work: a \(.*\) has no GPU"):
        ready(other)

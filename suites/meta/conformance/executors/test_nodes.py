"""Nodes of a cluster, with a Ray of our own: they are compared, get an agent, are left out."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.errors import NotAvailable
from conformance.executors import nodes
from conformance.executors.agent import Agent, WorkerSpec
from conformance.executors.local import WorkerCrash
from conformance.executors.nodes import Nodes
from conformance.limits import Limits

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


def test_workers_of_a_backend_rest_and_are_opened_again(join: Join) -> None:
    found, _ = join(FakeRay({"a": {"CPU": 1.0}}))
    assert ready(found) == ["a"]
    found.rest(OPENING)
    assert found.ready(OPENING) == []
    assert ready(found) == ["a"]


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    with pytest.raises(NotAvailable, match=r"no Ray cluster answers at ray://127\.0\.0\.1:1 "):
        nodes._check_reachable("ray://127.0.0.1:1")
    nodes._check_reachable("auto")

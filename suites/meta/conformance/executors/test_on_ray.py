"""Workers on the nodes of a Ray cluster: calls end there as they do on this machine."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.errors import NotAvailable
from conformance.executors import on_ray
from conformance.executors.agent import WorkerSpec
from conformance.executors.executor import Engine, EngineName, Executor
from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.executors.ray_output import CommandOutput
from conformance.limits import Limits
from conformance.results.versions import fingerprint
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


@pytest.mark.slow
def test_records_equal_those_of_a_local_run(cluster: Any, tmp_path: Path) -> None:
    runs = [
        run(
            Options(
                tmp_path / engine.name,
                ("reference:abort",),
                ops=("abs",),
                element_types=("f32",),
                profile="smoke",
                repeats=1,
                jobs=2,
                engine=engine,
            )
        )
        for engine in (Engine(), Engine(EngineName.RAY, cluster.address, fingerprint))
    ]
    here, there = (one.records for one in runs)
    assert here == there
    assert {record.verdict for record in here} == {"crashed"}


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

"""Workers on the nodes of a Ray cluster: calls end there as they do on this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from conformance.errors import NotAvailable
from conformance.executors import on_ray
from conformance.executors.agent import Opening
from conformance.executors.executor import Engine, EngineName, Executor
from conformance.executors.local import Call, Died, Ended, TimedOut
from suites.meta.conformance.executors.test_workers import collect, die, fail, twice

SUITE = pytest.mark.skipif("not has_ray", reason="Ray is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a cluster of two nodes on this machine, of a worker each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster_utils = pytest.importorskip("ray.cluster_utils")
        made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        made.add_node(num_cpus=1)
        yield made
        made.shutdown()


@contextmanager
def workers(cluster: Any, **given: Any) -> Iterator[Executor]:
    engine = Engine(EngineName.RAY, cluster.address, given.pop("fingerprint", dict))
    notices: list[str] = given.pop("notices", [])
    with on_ray.ray_executor(
        engine, Opening(None, 0), jobs=None, device="", notice=notices.append, **given
    ) as executor:
        yield executor


def test_calls_end_as_they_do_here(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("read on the node")
    with workers(cluster) as executor:
        ends = collect(
            executor,
            [
                Call("value", twice, (21,), 30),
                Call("error", fail, ("no",), 30),
                Call("death", die, (signal.SIGSEGV,), 30),
                Call("exit", os._exit, (3,), 30),
                Call("hang", time.sleep, (600,), 0.3),
                Call("file", Path.read_text, (file,), 30),
                *[Call(number, twice, (number,), 30) for number in range(5)],
            ],
        )
        assert executor.jobs == 2
    assert ends["value"] == 42
    assert isinstance(ends["error"], ValueError)
    assert ends["death"] == Died("SIGSEGV", "file.cc:12] Check failed: 1 == 2 at")
    assert ends["exit"] == Died("exit code 3")
    assert ends["hang"] == TimedOut(0.3)
    assert ends["file"] == "read on the node"
    assert [ends[number] for number in range(5)] == [0, 2, 4, 6, 8]

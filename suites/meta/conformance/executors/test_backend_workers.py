"""Workers of a backend: their number, their engine, and what they answer about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.backends.base import Description
from conformance.backends.registry import BACKENDS, parse
from conformance.errors import NotAvailable
from conformance.executors import backend_workers, on_ray
from conformance.executors.backend_workers import describe, executor_of, libraries, workers
from conformance.executors.executor import Engine, EngineName
from conformance.executors.local import LocalExecutor, WorkerCrash, WorkerTimeout
from conformance.limits import Limits
from suites.meta.support.workers import Workers

REFERENCE = parse("reference")
FOUND = Description("reference", "numpy", "any", ())


@pytest.mark.parametrize(
    ("name", "cores", "count"),
    [("cpu", 3, 3), ("gpu", 2, 2), ("gpu", 64, 4), ("tpu", 64, 1), ("reference", 0, 1)],
)
def test_workers_are_limited_by_cores_and_device(
    name: str, cores: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert workers(parse(name)) == count


def test_description_is_that_of_a_worker() -> None:
    executor = Workers(lambda _: FOUND)
    assert describe(executor, REFERENCE) is FOUND
    (call,) = executor.made
    assert (call.arguments, call.timeout) == (("reference",), Limits.START)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (WorkerCrash("SIGABRT", "no GPU"), r"^gpu: its process ended \(SIGABRT\) no GPU$"),
        (WorkerTimeout(120.0), r"^gpu: did not start within 120 s$"),
        (NotAvailable("gpu: no driver"), r"^gpu: no driver$"),
    ],
)
def test_a_backend_that_no_worker_opens_is_not_available(answer: object, message: str) -> None:
    with pytest.raises(NotAvailable, match=message):
        describe(Workers(lambda _: answer), parse("gpu"))


def test_workers_that_do_not_start_are_those_of_the_backend() -> None:
    def fail(_: object) -> None:
        raise NotAvailable("too many processes")

    with pytest.raises(NotAvailable, match=r"^cpu: too many processes$"):
        describe(Workers(fail), parse("cpu"))
    with pytest.raises(KeyError):
        describe(Workers(lambda _: KeyError("x")), REFERENCE)


def test_libraries_are_a_list_or_unknown() -> None:
    assert libraries(Workers(lambda _: ["/a.so"]), REFERENCE) == ["/a.so"]
    assert libraries(Workers(lambda _: WorkerCrash("SIGSEGV")), REFERENCE) == []


def test_local_workers_open_the_backend() -> None:
    with executor_of(REFERENCE, jobs=1) as executor:
        assert isinstance(executor, LocalExecutor)
        assert executor.jobs == 1
        found = describe(executor, REFERENCE)
        assert found.name == "reference"
        loaded = libraries(executor, REFERENCE)
    assert loaded == sorted(loaded)
    assert all(Path(path).is_absolute() for path in loaded)


def test_an_engine_gets_the_device_and_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def ray_executor(engine: Engine, opening: Any, **given: Any) -> str:
        seen.update(engine=engine, opening=opening, **given)
        return "executor"

    monkeypatch.setattr(on_ray, "ray_executor", ray_executor)
    engine, limits = Engine(EngineName.RAY, "host:1"), Limits(timeout=7.0)
    found: Any = executor_of(parse("gpu"), jobs=5, limits=limits, engine=engine, notice=print)
    assert found == "executor"
    assert (seen["engine"], seen["jobs"], seen["device"]) == (engine, 5, "GPU")
    opening = seen["opening"]
    assert (opening.limits, opening.most) == (limits, BACKENDS["gpu"].workers)
    assert opening.preload[: len(BACKENDS["gpu"].preload)] == BACKENDS["gpu"].preload
    assert opening.warm_up.func is backend_workers._open_backend

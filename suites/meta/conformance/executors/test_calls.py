"""Calls of workers: of a backend, loaded in workers only, for other machines, without an end."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from conformance.backends.registry import BACKENDS, parse
from conformance.errors import NotAvailable
from conformance.executors import backend_workers, on_ray
from conformance.executors.backend_workers import describe, executor_of, libraries, workers
from conformance.executors.executor import Engine, EngineName
from conformance.executors.local import LocalExecutor, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, ending, own_words
from conformance.executors.serialised_calls import (
    is_local,
    run_serialised,
    serialise_call,
    transferred_path,
    write_file,
)
from conformance.limits import Limits
from conformance.phases import Phase
from conformance.verdict import Verdict
from suites.meta.support.workers import Workers

REFERENCE = parse("reference")


@pytest.mark.parametrize(
    ("name", "cores", "count"),
    [("cpu", 3, 3), ("gpu", 2, 2), ("gpu", 64, 4), ("tpu", 64, 1), ("reference", 0, 1)],
)
def test_workers_are_limited_by_cores_and_device(
    name: str, cores: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert workers(parse(name)) == count


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


def read(before: str, paths: list[Path]) -> list[str]:
    return [before + path.read_text() for path in paths]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return two files of the same name in different folders."""
    found = [tmp_path / folder / "data.txt" for folder in ("one", "other")]
    for path in found:
        path.parent.mkdir()
        path.write_text(path.parent.name)
    return found


def test_files_that_are_missing_are_read_where_they_were_put(
    tmp_path: Path, files: list[Path]
) -> None:
    folder = tmp_path / "carried"
    folder.mkdir()
    call = serialise_call(read, (">", [*files, files[0]]), ends_worker=True)
    assert [path for path, *_ in call.files] == [str(path) for path in files]
    assert call.ends_worker
    contents = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    for file, content in zip(call.files, contents, strict=True):
        write_file(file, content, folder)
        assert transferred_path(file, folder).name == "data.txt"
    assert pickle.loads(run_serialised(call.pickled, folder)) == [">one", ">other", ">one"]


def test_a_file_that_has_changed_is_another(files: list[Path]) -> None:
    (file,) = serialise_call(read, ("", files[:1])).files
    assert is_local(file)
    files[0].write_text("longer than before")
    assert not is_local(file)
    files[0].unlink()
    assert not is_local(file)


@pytest.mark.parametrize("reason", ["SIGSEGV", "SIGBUS", "exit code 3"])
def test_a_crash_has_the_name_of_its_signal_and_the_last_words(reason: str) -> None:
    verdict, kind, message = crash_verdict(WorkerCrash(reason, "check failed: x"))
    assert (verdict, kind) == (Verdict.CRASHED, "abnormal exit")
    assert ending(message) == ending(f"in 2 of 4 runs: {message}") == reason
    assert own_words(message) == "check failed: x"
    assert own_words("in 2 of 4 runs: check failed: x") == "check failed: x"


def test_a_timeout_says_what_the_backend_was_doing() -> None:
    phases = (Phase("compilation", 0, 0, 0.25),)
    verdict, kind, message = crash_verdict(WorkerTimeout(2.0, phases))
    assert (verdict, kind) == (Verdict.TIMED_OUT, "no answer")
    assert message.startswith("no answer within 2 s: the backend had been compiling")
    assert (own_words(message), ending(message)) == ("", "no answer")


def test_workers_that_do_not_start_are_those_of_the_backend() -> None:
    def fail(_: object) -> None:
        raise NotAvailable("too many processes")

    with pytest.raises(NotAvailable, match=r"^cpu: too many processes$"):
        describe(Workers(fail), parse("cpu"))
    with pytest.raises(KeyError):
        describe(Workers(lambda _: KeyError("x")), REFERENCE)

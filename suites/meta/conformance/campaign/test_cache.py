"""The cache: equal reports in less time, and no case passes that has not been run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import grimp
import pytest

from conformance.backends import session as backend_sessions
from conformance.backends.fake.faults import FAULTS
from conformance.backends.session import Compiled, Session
from conformance.campaign import runner
from conformance.campaign.cache import digests
from conformance.campaign.cache.cases import CachedCases, Dependencies
from conformance.campaign.cache.digests import SOURCES
from conformance.campaign.cache.entries import FILE_NAME, Entries, key_of
from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Manner, Task, TaskBatch, TaskResult, run_tasks
from conformance.catalog import Cell
from conformance.errors import UsageError
from conformance.pipeline import confirmation
from conformance.results.lines import lines_of
from conformance.results.summary import RunData
from conformance.verdict import LostBatch, Verdict
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.one_task import Hearing

OPS = ("add", "tanh", "Add")
SETTLED = (Verdict.PASS, Verdict.UNSPECIFIED, Verdict.UNSUPPORTED)
"""Verdicts of cases that are taken from the cache."""


def options(tmp_path: Path, out: str, fault: str = "right", **given) -> Options:
    made = Options(
        tmp_path / out, (f"reference:{fault}",), OPS, ("f32", "si8"), "standard", jobs=1,
        cache=tmp_path / "cache",
    )  # fmt: skip
    return replace(made, **given)


def cases_in(entries: Entries) -> CachedCases:
    on = Dependencies("own", "whole", "digest", "smoke", "manner")
    ignored = [lambda *_: None] * 3  # nothing is known, and nobody is told
    return CachedCases(entries, "reference", on, *ignored)


def assert_same(one: RunData, other: RunData) -> None:
    assert one.records == other.records
    assert one.errors == other.errors
    assert one.coverage == other.coverage
    assert one.exit_code == other.exit_code
    assert one.incidents == other.incidents
    varying = (
        "seconds", "modules", "timing", "peak_rss_mb", "started", "from_cache", "cells",
    )  # fmt: skip
    told = [{k: v for k, v in run.summary.items() if k not in varying} for run in (one, other)]
    assert told[0] == told[1]
    cells = [
        [{k: v for k, v in cell.items() if k not in varying} for cell in run.summary["cells"]]
        for run in (one, other)
    ]
    assert cells[0] == cells[1]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["right", "flush_to_zero", "abort_on_nan"])
def test_cached_passes_are_not_run_and_report_is_equal(tmp_path: Path, fault: str) -> None:
    given = {"repeats": 1}  # each costs a worker where cases end their process
    without = run(options(tmp_path, "without", fault, cache=None, **given))
    first = run(options(tmp_path, "first", fault, **given))
    second = run(options(tmp_path, "second", fault, **given))
    assert_same(first, without)
    assert_same(second, first)
    settled = sum(record.verdict in SETTLED for record in first.records)
    assert (without.from_cache, first.from_cache, second.from_cache) == (0, 0, settled)
    assert (settled < len(first.records)) == (fault != "right")
    assert (second.modules > 0) == (fault == "flush_to_zero")  # who ends its process tells of none
    assert (
        f"from the cache: {settled} of {len(first.records)} programs, which did not fail before"
        in " ".join(lines_of(second, "{}"))
    )
    assert second.report.from_cache == settled


@pytest.mark.slow
def test_whatever_a_case_depends_on_is_part_of_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF")
    session = "conformance.campaign.session"
    monkeypatch.setattr(runner, "libraries", lambda *_: [str(library)])

    def count_from_cache(name: str, **more) -> int:
        given = options(tmp_path, name, ops=("abs",), element_types=("f32",), **more)
        return run(given).from_cache

    assert count_from_cache("first") == 0
    assert count_from_cache("again") > 0
    for index, more in enumerate(({"seed": 1}, {"profile": "smoke"}, {"backends": ("reference",)})):
        assert count_from_cache(str(index), **more) == 0
    for name, change in {
        "environment": lambda patch: patch.setenv("XLA_FLAGS", "--xla_dump_to="),
        "sources": lambda patch: patch.setattr(f"{session}.own_digest", lambda: "other"),
        "processor": lambda patch: patch.setattr(digests, "_processor", lambda: ["another"]),
        "library": lambda _: library.write_bytes(b"\x7fELF other"),
    }.items():
        with monkeypatch.context() as patch:
            change(patch)
            assert count_from_cache(name) == 0, name


def test_digest_covers_all_modules_that_decide_a_verdict() -> None:
    graph = grimp.build_graph("conformance", "generators", "reference", cache_dir=None)
    loaded = set()
    for name in ("campaign.tasks", "campaign.planning", "executors.backend_workers"):
        loaded |= graph.find_upstream_modules(f"conformance.{name}") | {f"conformance.{name}"}
    covered = tuple(source.removesuffix(".py").replace("/", ".") for source in SOURCES)
    beside = {
        name
        for name in loaded
        if not any(name == one or name.startswith(f"{one}.") for one in covered)
    }
    apart = (
        "conformance.results.",  # storing and printing
        "conformance.outputs.",
        "conformance.gate.baselines.",  # comparing runs
        "conformance.gate.expectations", "conformance.gate.files",  # about what fails
    )  # fmt: skip
    assert {name for name in beside if not name.startswith(apart)} == set()
    names = {name for _, name in digests._sources(SOURCES)}
    assert {
        "reference/ops/table.py",
        "conformance/verdict.py",
        "conformance/campaign/tasks.py",
    } <= names
    assert not any(name.startswith("conformance/results") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["garbage", "other format", "cut off"])
def test_damaged_cache_is_replaced_with_a_message(tmp_path: Path, damage: str) -> None:
    first = run(options(tmp_path, "first"))
    path = tmp_path / "cache" / FILE_NAME
    if damage == "garbage":
        path.write_bytes(b"no database, " * 100)
    elif damage == "cut off":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
    heard = Hearing()
    second = run(options(tmp_path, "second"), heard)
    assert_same(second, first)
    assert second.from_cache == 0
    (line,) = (line for line in heard.said if "cache" in line)
    assert "starting an empty one" in line
    assert run(options(tmp_path, "third"), heard).from_cache == len(first.records)


def test_a_damaged_entry_is_run_again(tmp_path: Path) -> None:
    first = run(options(tmp_path, "first"))
    with sqlite3.connect(tmp_path / "cache" / FILE_NAME) as database:
        rows = database.execute("SELECT key, value FROM entries").fetchall()
        for key, value in rows:
            changed = value[:-1] + bytes([value[-1] ^ 1])
            database.execute("UPDATE entries SET value = ? WHERE key = ?", (changed, key))
    database.close()
    heard = Hearing()
    second = run(options(tmp_path, "second"), heard)
    assert_same(second, first)
    assert second.from_cache == 0
    assert sum("has damaged entries: these cases are run again" in line for line in heard.said) == 1
    assert run(options(tmp_path, "third")).from_cache == len(first.records)


def test_foreign_database_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    path = tmp_path / "cache" / FILE_NAME
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is a database of another program"):
        run(options(tmp_path, "out"))
    assert path.read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose a folder that can be written"):
        run(options(tmp_path, "out", cache=tmp_path / "file"))


def test_an_error_of_sqlite_costs_a_line_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_sqlite_error(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Entries, "_execute_in_transaction", raise_sqlite_error)
    heard = Hearing()
    done = run(options(tmp_path, "out"), heard)
    assert done.exit_code == 0
    assert sum("disk is full" in line for line in heard.said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["batch_only", "error_together", "abort_together"])
def test_failure_of_whole_batch_is_not_hidden_by_cache(tmp_path: Path, fault: str) -> None:
    first = run(options(tmp_path, "first", fault, ops=("add",)))
    assert first.exit_code == 1
    second = run(options(tmp_path, "second", fault, ops=("add",)))
    assert second.exit_code == 1
    assert second.records == first.records
    assert len(second.incidents) == len(first.incidents)


@pytest.mark.slow
def test_flaky_case_is_never_cached(tmp_path: Path) -> None:
    given = {"ops": ("add",), "element_types": ("f32",)}
    first = run(options(tmp_path, "first", "error_now_and_then", **given))
    assert all(record.repeats for record in first.records)
    assert run(options(tmp_path, "second", "error_now_and_then", **given)).from_cache == 0
    task = Task(Cell("add", ELEMENT_TYPES["f32"], "reference"), 0, 0, 2)
    (passing,) = run_tasks([task], Manner(by_case=True))
    with Entries(tmp_path / "other", print) as entries:
        cached = cases_in(entries)
        planned = cached.plan(task)
        unsteady = replace(passing.records[0], repeats=first.records[0].repeats)
        cached.finish_task(planned, replace(passing, records=(unsteady, passing.records[1])))
        cached.finish_task(planned, passing)  # later, it passes
        (left,) = cached.uncached_batches([(planned,)])
        assert [(one.start, one.stop) for one in left] == [(0, 1)]


def test_cases_of_crashed_batch_are_cached_after_the_culprit_is_known(
    tmp_path: Path,
) -> None:
    task = Task(Cell("add", ELEMENT_TYPES["f32"], "reference"), 0, 0, 2)
    (passing,) = run_tasks([task], Manner(by_case=True))
    batch = LostBatch("reference", (("add", "f32", 0),), Verdict.CRASHED, "abnormal exit", "")
    for index, (lost, found) in enumerate((([batch], [1]), ([], [0, 1]))):
        with Entries(tmp_path / str(index), print) as entries:
            cached = cases_in(entries)
            planned = cached.plan(task)
            cached.suspect([batch])
            cached.finish_task(planned, passing)
            assert [*cached._cached_results(planned)] == [1]
            cached.release(lost)
            assert sorted(cached._cached_results(planned)) == found


def test_a_run_that_is_killed_leaves_a_sound_cache(tmp_path: Path) -> None:
    """Stored cases stay, and the rest is run."""
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from conformance.campaign.cache.entries import Entries, key_of\n"
        "entries = Entries(Path(sys.argv[1]), print)\n"
        "for n in range(1000):\n    entries.put(key_of(n), b'value')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -9
    said: list[str] = []
    with Entries(tmp_path, said.append) as entries:
        found = entries.get([key_of(n) for n in range(900)])
        assert len(found) >= 700
        assert {*found.values()} == {b"value"}
    assert said == []


FAULT = "off_by_100_ulp"
ENTRY = """
[[known]]
id = "up"
op = "add"
element_types = ["f32"]
reason = "r"
"""


def options_of_faulty(tmp_path: Path, out: str, fault: str = FAULT, **given) -> Options:
    made = Options(
        tmp_path / out, (f"reference:{fault}",), ("add", "tanh"), ("f32",), "standard", jobs=1,
        cache=tmp_path / "cache",
    )  # fmt: skip
    return replace(made, **given)


@dataclass(slots=True)
class Work:
    """Work on cases in this process, in place of workers."""

    judged: int = 0
    compiled: list[int] = field(default_factory=list)

    def clear(self) -> None:
        self.judged = 0
        self.compiled.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Do tasks in this process, where faults can be exchanged, and count compilations and
    judgements.
    """
    seen = Work()
    judge, compiled = confirmation.judge_sets, Session.compile

    def run_in_process(
        self: TaskRunner, _: object, bundles: Iterable[TaskBatch]
    ) -> Iterator[tuple[Task, TaskResult]]:
        backend_sessions._opened.clear()
        for batch in bundles:
            yield from zip(batch, run_tasks(batch, self.manner), strict=True)

    def count_and_judge(*given, **named):
        seen.judged += 1
        return judge(*given, **named)

    def note_and_compile(self: Session, program: Program, text: str = "") -> Compiled:
        seen.compiled.append(len(program.main.result_types))
        return compiled(self, program, text)

    monkeypatch.setattr(TaskRunner, "run", run_in_process)
    monkeypatch.setattr(confirmation, "judge_sets", count_and_judge)
    monkeypatch.setattr(Session, "compile", note_and_compile)
    return seen


def write_entries(tmp_path: Path, text: str = ENTRY) -> str:
    """Write entries about the fault, and return the file."""
    file = tmp_path / "known.toml"
    file.write_text(text)
    return str(file)


def test_a_failure_that_is_known_comes_from_the_cache(tmp_path: Path, work: Work) -> None:
    given = {"ops": ("add",), "expectations": write_entries(tmp_path)}
    first = run(options_of_faulty(tmp_path, "first", **given))
    failed = sum(record.verdict.fails for record in first.records)
    assert 4 < failed < len(first.records)
    assert work.compiled.count(1) >= failed  # each in isolation
    assert first.exit_code == 0
    work.clear()
    second = run(options_of_faulty(tmp_path, "second", **given))
    assert (second.records, second.errors) == (first.records, first.errors)
    assert (work.judged, work.compiled, second.exit_code) == (0, [], 0)
    assert second.from_cache == len(first.records)
    assert "which did not fail before, or failed as known" in " ".join(lines_of(second, "{}"))


UNPREDICTABLE = (
    ENTRY
    + """unpredictable = true
computes = '''
%z = $op(%lhs, %rhs)
%no = stablehlo.constant dense<false> : tensor<$Sxi1>
return %z, %no : $T, tensor<$Sxi1>
'''
"""
)


@pytest.mark.parametrize("text", [ENTRY + "flaky = true\n", UNPREDICTABLE])
def test_a_failure_that_varies_by_its_entry_is_run_again(
    tmp_path: Path, work: Work, text: str
) -> None:
    del work
    given = {"ops": ("add",), "expectations": write_entries(tmp_path, text)}
    first = run(options_of_faulty(tmp_path, "first", **given))
    failed = sum(record.verdict.fails for record in first.records)
    assert failed
    assert first.exit_code == 0
    second = run(options_of_faulty(tmp_path, "second", **given))
    assert second.from_cache == len(first.records) - failed


@pytest.mark.slow
@pytest.mark.parametrize("other", ["off_by_three_ulp", "sign_lost", "internal_error", "right"])
def test_a_case_with_another_result_never_comes_from_the_cache_again(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The backend changes, but nothing that the cache identifies it by."""
    del work
    first = run(options_of_faulty(tmp_path, "first"))
    failed = {record.id for record in first.records if record.verdict.fails}
    with monkeypatch.context() as patch:
        patch.setitem(FAULTS, FAULT, FAULTS[other])
        changed = run(options_of_faulty(tmp_path, "changed"))
        bare = run(options_of_faulty(tmp_path, "bare", cache=None))
    now = {record.id: record for record in bare.records if record.id in failed}
    assert {r.id: r for r in changed.records if r.id in failed} == now
    assert any(now[record.id] != record for record in first.records if record.id in failed)
    entries = "".join(
        ENTRY.replace('"add"', f'"{op}"').replace('"up"', f'"{op}"') for op in ("add", "tanh")
    )
    again = run(options_of_faulty(tmp_path, "again", expectations=write_entries(tmp_path, entries)))
    differing = sum(now[r.id] != r for r in first.records if r.id in failed)
    assert again.exit_code == 0
    assert again.from_cache == len(first.records) - differing

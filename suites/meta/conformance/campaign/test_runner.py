"""The runner: each kind of misbehaviour gets its verdict, and no result is lost."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.campaign import runner
from conformance.campaign.planning import PROFILES, Options, plan
from conformance.campaign.progress import Tally, Watcher
from conformance.campaign.runner import run
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Task, join_results
from conformance.catalog import Cell
from conformance.errors import UsageError
from conformance.gate.classes import NOT_DETERMINISTIC, ONLY_IN_BATCH
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.limits import Limits
from conformance.pipeline.batch import Batcher
from conformance.pipeline.confirmation import JudgementCache, conclude
from conformance.pipeline.items import CellItem, ItemAnswer
from conformance.pipeline.records import judged_result
from conformance.results.inputs import unpack_inputs
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import load
from conformance.results.versions import build
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Errors, Timing, Verdict
from generators.cells.plan import case
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.one_task import run_task

F32 = ELEMENT_TYPES["f32"]


def options(out: Path, fault: str = "", **given) -> Options:
    backend = f"reference:{fault}" if fault else "reference"
    chosen = Options(out, (backend,), ops=("add",), element_types=("f32",), profile="smoke", jobs=2)
    return replace(chosen, **given)


# One task, in this process.


def has_inputs(number: int) -> bool:
    """Return whether a case has several input sets, and results that can be wrong."""
    made = case("add", F32, 0, number)
    return len(made.inputs) > 1 and all(0 not in of.shape for of in made.program.main.result_types)


START = next(n for n in range(60) if all(has_inputs(n + k) for k in range(3)))
"""The first of three such cases in a row."""


@pytest.mark.parametrize(
    ("fault", "verdict", "kind"),
    [
        ("right", Verdict.PASS, ""),
        ("noisy", Verdict.PASS, ""),
        ("one_wrong_element", Verdict.DIVERGENT, None),
        ("missing_result", Verdict.DIVERGENT, "wrong type"),
        ("wrong_shape", Verdict.DIVERGENT, "wrong type"),
        ("wrong_type", Verdict.DIVERGENT, "wrong type"),
        ("flaky", Verdict.DIVERGENT, NOT_DETERMINISTIC),
        ("batch_only", Verdict.DIVERGENT, ONLY_IN_BATCH),
        ("reject", Verdict.REJECTED, "refused as invalid"),
        ("unsupported", Verdict.UNSUPPORTED, ""),
        ("internal_error", Verdict.CRASHED, "internal error"),
        ("runtime_error", Verdict.CRASHED, "internal error"),
        ("python_error", Verdict.CRASHED, "internal error"),
    ],
)
def test_a_task_finds_the_verdict(fault: str, verdict: Verdict, kind: str | None) -> None:
    result = run_task(Task(Cell("add", F32, f"reference:{fault}"), 0, START, START + 3))
    assert [record.index for record in result.records] == [START, START + 1, START + 2]
    for record in result.records:
        assert record.verdict is verdict, record.message
        assert record.kind == (record.kind if kind is None else kind)
        assert (record.detail is not None) == verdict.fails
        assert fault != "flaky" or re.search(
            "wrong in ([12] of 4|[34] of 10) runs$", record.message
        )
        assert record.pairs > 0 or verdict in (
            Verdict.REJECTED, Verdict.UNSUPPORTED, Verdict.CRASHED,
        )  # fmt: skip


SORTED_BY_ROWS = """
func.func @main(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = -2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
"""
UNSORTED = EntryPrediction("mine", ("sort",), ("*",), "return %inputs : $T", unpredictable=True)


@pytest.mark.parametrize(
    ("given_back", "kind"), [([3, 1, 2], UNSORTED.label), ([2, 3, 1], NOT_DETERMINISTIC)]
)
def test_result_read_from_memory_has_its_class_if_refused_in_isolation(
    given_back: list[int], kind: str
) -> None:
    """The comparator is not implemented by the backend, which skipped it in the batch."""
    program = parse_module(SORTED_BY_ROWS)
    inputs = (np.array([[3], [1], [2]], np.float32),)
    cell = Cell("sort", F32, "cpu")
    prepared = CellItem(0, program, [inputs], [evaluate(program, inputs)], cell)
    batcher = Batcher(open_session("reference:unsupported"))
    wrong = [[np.array(given_back, np.float32).reshape(3, 1)]]
    with in_force([UNSORTED]):
        record, *_ = conclude(prepared, ItemAnswer(wrong, [prepared, prepared]), batcher)
    assert (record.verdict, record.kind) == (Verdict.DIVERGENT, kind)


@pytest.mark.slow
def test_records_do_not_depend_on_how_cases_are_split() -> None:
    cell = Cell("add", F32, "reference:flush_to_zero")
    whole = run_task(Task(cell, 3, 0, 40))
    assert {record.verdict for record in whole.records} == {Verdict.PASS, Verdict.FLUSHED}
    apart = join_results(
        [run_task(Task(cell, 3, start, start + 8)) for start in (32, 8, 0, 24, 16)]
    )
    assert apart.records == whole.records
    assert apart.errors == whole.errors
    singles = join_results([run_task(task) for task in Task(cell, 3, 0, 40).singles()])
    assert singles.records == whole.records


# Whole runs.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "verdict", "kind"),
    [
        ("abort", Verdict.CRASHED, "abnormal exit"),
        ("abort_on_compile", Verdict.CRASHED, "abnormal exit"),
        ("hang", Verdict.TIMED_OUT, "no answer"),
        ("allocate", Verdict.CRASHED, "out of memory"),
    ],
)
def test_crash_hang_and_memory_exhaustion_have_verdicts(
    tmp_path: Path, fault: str, verdict: Verdict, kind: str
) -> None:
    timeout = 3.0 if fault == "hang" else 60.0
    done = run(options(tmp_path, fault, limits=Limits(timeout, 1 << 29)))
    assert [(r.verdict, r.kind) for r in done.records] == [(verdict, kind)] * PROFILES["smoke"]
    assert done.exit_code == 1
    assert all(r.detail is not None and "stablehlo.add" in r.detail.program for r in done.records)


@pytest.mark.slow
def test_only_the_cases_that_crash_are_blamed(tmp_path: Path) -> None:
    done = run(options(tmp_path, "abort_on_nan", profile="standard"))
    assert len(done.records) == PROFILES["standard"]
    for record in done.records:
        made = case("add", F32, 0, record.index)
        has_nan = any(
            np.isnan(array).any()
            for recipe in made.inputs
            for array in materialise(made.program, recipe)
        )
        assert record.verdict is (Verdict.CRASHED if has_nan else Verdict.PASS)
    assert {record.verdict for record in done.records} == {Verdict.CRASHED, Verdict.PASS}


def test_run_without_tested_case_exits_with_4(tmp_path: Path) -> None:
    assert run(options(tmp_path, "unsupported")).exit_code == 4


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    run(options(out))
    return out


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed 0 there and 1 here"),
        ({"ops": ("abs",)}, "op add there and abs here"),
        ({"element_types": ()}, "element type f32 there and all here"),
        ({"shard": (1, 2)}, "shard 1/1 there and 1/2 here"),
        ({"backends": ("reference:right",)}, "backend reference there and reference:right here"),
        ({"profile": "deep"}, "profile smoke .2 cases a cell. there and deep .100"),
    ],
)
def test_a_folder_of_another_run_is_refused(finished_run: Path, change: dict, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        run(options(finished_run, **change))
    assert len(load(finished_run).records) == PROFILES["smoke"]


@pytest.mark.slow
@pytest.mark.parametrize("before", ["0123456789ab", None])
def test_run_of_other_build_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(runner, "build", lambda: before)
        run(options(tmp_path))
    kept = load(tmp_path)
    told = f"build of hlo-conformance {before or 'unknown'} there and {build()} here"
    with pytest.raises(UsageError, match=rf"{told}: choose another --out, or .* --fresh"):
        run(options(tmp_path))
    assert load(tmp_path).records == kept.records


@pytest.mark.slow
def test_a_fresh_start_replaces_another_run(tmp_path: Path) -> None:
    run(options(tmp_path))
    assert run(options(tmp_path, seed=1, fresh=True)).seed == 1


class Interrupting(Watcher):
    """A watcher that interrupts the run, as a user does, once something is stored."""

    def update(self, tally: Tally) -> None:
        if tally.pairs:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_interrupted_run_is_resumed(tmp_path: Path) -> None:
    given = options(tmp_path / "a", ops=("a*",), jobs=1)
    with pytest.raises(KeyboardInterrupt):
        run(given, Interrupting())
    kept = load(tmp_path / "a").records
    assert kept
    resumed = run(given)
    assert resumed.records == run(replace(given, out=tmp_path / "b", jobs=2)).records
    assert len(resumed.records) > len(kept)


@pytest.mark.slow
def test_killed_run_resumes_to_the_same_records(tmp_path: Path) -> None:
    given = options(tmp_path / "killed", "flush_to_zero", ops=("[a-c]*",), jobs=1)
    command = [
        sys.executable, "-m", "conformance", "run", "--backend", "reference:flush_to_zero",
        "--op", "[a-c]*", "--element-type", "f32", "--profile", "smoke", "--jobs", "1",
        "--out", str(given.out),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and count_stored_tasks(given.out) < 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    before = count_stored_tasks(given.out)
    assert 2 <= before < len(plan(given).tasks)
    resumed = run(replace(given, jobs=2))
    whole = run(replace(given, out=tmp_path / "whole"))
    assert resumed.records == whole.records
    assert resumed.errors == whole.errors
    assert {record.verdict for record in whole.records} >= {Verdict.PASS, Verdict.FLUSHED}


def count_stored_tasks(out: Path) -> int:
    if not (out / FILE_NAME).exists():
        return 0
    with Store(out / FILE_NAME, read_only=True) as store:
        return len(store.finished_tasks())


KNOWN = """
[[known]]
id = "swapped"
op = "subtract"
reason = "lhs and rhs are swapped."
[[known]]
id = "not-met"
op = "subtract"
kinds = ["NaN"]
reason = "Nothing shows it."
"""


def test_expectations_make_failures_known(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    bare = run(given)
    assert bare.exit_code == 1
    known = run(replace(given, expectations=str(tmp_path / "known.toml")))
    assert known.exit_code == 0
    assert {r.known for r in known.records if r.verdict.fails} == {"swapped"}
    assert known.stale == ()
    assert known.expectations["swapped"].reason == "lhs and rhs are swapped."
    assert run(given).records == bare.records


CRASHING = """
[[known]]
id = "ends"
op = "*"
verdicts = ["crashed"]
where = ["stablehlo."]
reason = "Ends the process."
"""


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["abort_on_nan", "right"])
def test_known_crash_is_tried_case_by_case(tmp_path: Path, fault: str) -> None:
    (tmp_path / "known.toml").write_text(CRASHING)
    bare = run(options(tmp_path / "bare", fault, profile="standard"))
    given = options(tmp_path / "known", fault, profile="standard")
    known = run(replace(given, expectations=str(tmp_path / "known.toml")))
    whole = sum(record.verdict is not Verdict.CRASHED for record in known.records)
    assert known.modules == whole
    assert [replace(record, known="") for record in known.records] == bare.records
    assert known.errors == bare.errors
    assert {r.known for r in known.records if r.verdict.fails} <= {"ends"}
    assert known.exit_code == 0
    assert known.incidents == bare.incidents == ()


def test_all_failures_of_case_are_stored_with_their_inputs(tmp_path: Path) -> None:
    """A wrong element in one input set, and a NaN element in another input set: both are reported,
    and an expectation of either does not match the other.
    """
    cell = Cell("add", F32, "reference")
    made = case("add", F32, 0, START)
    inputs = [materialise(made.program, recipe) for recipe in made.inputs]
    expected = [evaluate(made.program, one) for one in inputs]
    prepared = CellItem(0, made.program, inputs, expected, cell)
    results = [[array.copy() for array in one] for one in expected]
    results[0][0].reshape(-1)[0] = 12345.0
    results[1][0].reshape(-1)[-1] = np.nan
    expected[1][0].reshape(-1)[-1] = 1.0
    judged = JudgementCache(prepared, Batcher(open_session("reference"))).of(results)
    record, *_ = judged_result(prepared, judged)
    assert {one.kind for one in record.failing} == {"wrong value", "NaN"}
    kept = {one.kind: unpack_inputs(one.inputs) for one in record.failing}
    for kind, turn in (("wrong value", 0), ("NaN", 1)):
        pairs = zip(kept[kind], inputs[turn], strict=True)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    with Store(tmp_path / FILE_NAME) as store:
        store.add_task("one", ("add", "f32", "reference"), [record], Errors(), Timing())
        assert store.records() == [record]


@pytest.mark.slow
def test_an_error_of_the_harness_over_a_case_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other cases have verdicts, and a baseline does not excuse cases that were not judged."""
    right = run(options(tmp_path / "right", "right"))
    assert right.exit_code == 0
    do = TaskRunner.run

    def do_with_defect(self: TaskRunner, *given: Any) -> Iterator[Any]:
        self.notice("defect of hlo-conformance in add:f32")
        return do(self, *given)

    monkeypatch.setattr(TaskRunner, "run", do_with_defect)
    broken = run(options(tmp_path / "broken", "right"))
    assert broken.exit_code == 1
    assert broken.records == right.records
    assert broken.incidents == ("defect of hlo-conformance in add:f32",)

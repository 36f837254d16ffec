"""Programs that measure: arguments, blocks, releases, sets, recorded modules, the walk."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import releases, sets, start_up, sweep_mpfr
from benchmarks.campaign_throughput import report
from benchmarks.executors import ONE, RAY, TWO, lines_of
from benchmarks.sets import programs_with_inputs, specified_elements
from benchmarks.start_up import BASE, commands
from benchmarks.sweep import _blocks
from benchmarks.sweep_mpfr import _read, main
from benchmarks.throughput import Recorder
from benchmarks.walk import ROOT, walk_command
from conformance.backends.base import Unsupported
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.results.store import Store
from conformance.stablehlo.parse import parse_module
from conformance.sweep.planning import BLOCK
from conformance.verdict import Errors, Record, Timing, Verdict
from reference.interpreter.evaluate import check


def test_numbers_are_decimal_or_hexadecimal_one_or_two_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "arguments"
    path.write_text("0.5 0x1.8p1\n\n-inf nan\n")
    first, second = _read(path, "f32")
    assert first.tolist() == [0.5, -np.inf]
    assert second.tolist()[0] == 3
    assert np.isnan(second[1])
    assert first.dtype == np.float32


@pytest.mark.parametrize(("said", "code"), [("", 0), ("differs in 3 results", 1)])
def test_a_difference_from_mpfr_is_said_by_the_exit_code(
    said: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep_mpfr.mpfr, "disagreement", lambda *_: said)
    words = ["sweep_mpfr", "--op", "exponential", "--element-type", "f32", "--count", "5"]
    monkeypatch.setattr("sys.argv", words)
    assert main() == code
    assert capsys.readouterr().out == f"exponential f32: 5 arguments: {said or 'as MPFR'}\n"


def test_a_refusal_is_no_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> str:
        raise Unsupported("no f16")

    monkeypatch.setattr(sweep_mpfr.mpfr, "disagreement", refuse)
    monkeypatch.setattr("sys.argv", ["sweep_mpfr", "--op", "exponential", "--element-type", "f16"])
    assert main() == 0
    assert "unsupported: no f16" in capsys.readouterr().out


DATES = {
    "0.5.3": "2026-10-01", "0.7.2": "2025-05-01", "0.8.1": "2025-11-01", "0.9.0": "2026-01-20",
    "0.10.0": "2026-04-01", "0.10.1": "2026-05-01", "0.11.0rc1": "2026-06-01",
}  # fmt: skip


def test_recent_releases_are_tried_oldest_first() -> None:
    listed = {v: [{"upload_time_iso_8601": f"{day}T10:00:00Z"}] for v, day in DATES.items()}
    now = datetime(2026, 11, 28, tzinfo=UTC)
    assert releases.recent_releases(listed | {"0.9.9": []}, now) == ["0.8.1", "0.9.0", "0.10.0"]


def write_run(path: Path, *known: str) -> None:
    records = [
        Record("add", "f32", "cpu", n, f"{n:016x}", Verdict.DIVERGENT, known=entry)
        for n, entry in enumerate(known)
    ]
    path.mkdir()
    with Store(path / "results.sqlite") as store:
        store.add_task("t", ("add", "f32", "cpu"), records, Errors(), Timing())
    (path / "index.html").touch()


def test_row_counts_new_and_known_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "ROOT", tmp_path)
    (tmp_path / "conformance.py").write_text("import sys; print('gone', file=sys.stderr)")
    write_run(tmp_path / "run", "", "an-entry", "an-entry")
    row = releases.run_release("0.9.0", Path(sys.executable), tmp_path / "run", [])
    assert row.split()[:3] == ["0.9.0", "1", "2"]
    row = releases.run_release("0.9.0", Path(sys.executable), tmp_path / "none", [])
    assert row == "0.9.0      no report: gone"


SHIFT = """
func.func @main(%x: tensor<2xui8>, %by: tensor<2xui8>) -> tensor<2xui8> {
  %0 = stablehlo.shift_left %x, %by : tensor<2xui8>
  return %0 : tensor<2xui8>
}"""


def test_elements_that_change_with_unspecified_results_do_not_count() -> None:
    given = [np.array([1, 1], np.uint8), np.array([2, 9], np.uint8)]  # by 9 bits is unspecified
    (mask,) = specified_elements(PermittedResults(parse_module(SHIFT), given))
    assert mask.tolist() == [True, False]


def test_programs_of_a_campaign_are_followed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(check(program) == [] for program, _ in islice(programs_with_inputs(0), 3))
    monkeypatch.setattr("sys.argv", ["sets", "--programs", "20"])
    monkeypatch.setattr(sets.evaluation, "Enclosures", sets.evaluation.Enclosures)
    sets.main()
    assert "0 programs cannot be followed" in capsys.readouterr().out


def test_commands_use_files_that_were_made_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(start_up.subprocess, "run", lambda words, **_: ran.append(words))
    todo = commands(tmp_path)
    assert [words[3:] for words in ran] == [
        ["run", "--op", "add", "--profile", "smoke", "--out", str(tmp_path / "run")]
    ]
    assert todo[BASE] == [sys.executable, "-c", "import jax"]
    assert Path(todo["check add.mlir"][-1]).read_text() == start_up.PROGRAM


def test_figures_are_sums_of_all_trials() -> None:
    text, ratio = report([(16, 1, 4.0, 3.0), (16, 3, 6.0, 5.0)], 2)
    assert ratio == 0.8
    lines = text.splitlines()
    assert lines[0] == "32 programs in 4 modules; 2 trials lost"
    assert lines[1].endswith("3.2 programs/s of a worker")
    assert lines[2].endswith("4.0 programs/s of a worker")
    assert "0.80" in lines[3]


RECORDS: dict[str, list[object]] = {ONE: [1], TWO: [1], RAY: [2]}


def test_the_overhead_of_ray_is_of_two_workers() -> None:
    *_, ray, overhead = lines_of({ONE: 4.0, TWO: 2.5, RAY: 3.0}, RECORDS, 100)
    assert ray.endswith("OTHER RECORDS")
    assert overhead == "overhead of Ray against two workers: 20.0%"


def test_blocks_are_spread_evenly_and_do_not_overlap() -> None:
    blocks = _blocks("exponential", 4 * BLOCK)
    assert len(blocks) == 4
    starts = [block.start for block in blocks]
    steps = {later - earlier for earlier, later in pairwise(starts)}
    assert len(steps) == 1
    (step,) = steps
    assert all(block.stop - block.start == BLOCK >> 1 <= step for block in blocks)
    (domain,) = blocks[0].domains
    assert starts[0] == 0
    assert blocks[-1].stop <= domain.numbers
    assert step > domain.numbers // 5


def test_texts_and_inputs_of_all_executions_are_recorded() -> None:
    class Executable:
        def execute(self, inputs: Any) -> list[Any]:
            return [inputs, "results"]

    class Backend:
        name, hardware = "a backend", None

        def compile(self, text: str, program: Any) -> Executable:
            del text, program
            return Executable()

        def refusal(self, program: Any) -> None:
            del program

    recorder = Recorder(Backend())  # type: ignore[arg-type]
    executable = recorder.compile("text", "program")  # type: ignore[arg-type]
    assert executable.execute([["a"]]) == [[["a"]], "results"]
    executable.execute([["b"]])
    assert recorder.kept == [("text", "program", [(["a"],), (["b"],)])]
    assert recorder.refusal("program") is None  # type: ignore[arg-type]


def test_a_case_passes_through_the_functions_that_a_page_names(tmp_path: Path) -> None:
    stops = [name for _, name in walk_command("run", tmp_path).stops]
    page = (ROOT / "docs" / "architecture.md").read_text()
    (block,) = re.findall(r"```text\n(RunSession[^`]*)```", page)
    named = re.findall(r"^[│├└─ ]*([\w.]+) {2,}", block, re.MULTILINE)
    assert named[0] == stops[0]
    assert named[-1] == stops[-1]
    assert {*named} <= {*stops}
    assert len(named) == block.count("\n")

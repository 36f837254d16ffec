"""Commands and their options: campaigns, sweeps, reports, entries, schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import app, exit_code_of
from conformance.cli import app as whole
from conformance.commands import campaigns, reporting, sweep_reports
from conformance.commands.reporting import report, write_baseline
from conformance.commands.schemas import SchemaFormat, schema
from conformance.commands.sweep_reports import places, report_sweeps, save
from conformance.errors import UsageError
from conformance.fuzzing import command, reduce
from conformance.fuzzing.keeping.journal import FILE_NAME as JOURNAL
from conformance.gate.baselines.baseline import read_baseline
from conformance.options import CI, LinesFormat
from conformance.results import summary
from conformance.sweep import planning, runner
from conformance.sweep import summary as sweep_summary
from conformance.sweep.planning import Options
from conformance.sweep.saving import SUMMARY
from reports.context import NOTHING
from suites.meta.support import synthetic_run as synthetic


def given_options(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *words: str) -> Any:
    """Return the options that a command gets from these words; it exits with 7."""
    assert callable(getattr(campaigns, name))
    seen: list[Any] = []

    def keep(options: Any, *_: Any) -> int:
        seen.append(options)
        return 7

    monkeypatch.setattr(module, name, keep)
    assert exit_code_of(lambda: app([name, *words], standalone_mode=False)) == 7
    (options,) = seen
    return options


def test_options_of_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(
        monkeypatch, command, "fuzz", "--backend", "reference", "--op", "add", "--op", "tanh",
        "--programs", "30", "--seed", "5", "--out", "here", "--jobs", "2", "--fresh",
        "--timeout", "12",
    )  # fmt: skip
    assert (found.backend, found.ops) == ("reference", ("add", "tanh"))
    assert (found.programs, found.seed, found.out, found.jobs) == (30, 5, Path("here"), 2)
    assert found.fresh
    assert found.limits.timeout == 12


def test_options_of_a_minimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = given_options(
        monkeypatch, reduce, "reduce", "model.mlir", "--inputs", "x.npz", "--budget", "90s"
    )
    assert (found.file, found.inputs) == (Path("model.mlir"), Path("x.npz"))
    assert (found.budget, found.backend) == ("90s", "cpu")


class Stopped(Exception):
    """The end of a command whose sweep is not made."""


def sweep_options(monkeypatch: pytest.MonkeyPatch, *words: str) -> planning.Options:
    seen: list[planning.Options] = []

    def keep(options: planning.Options, *_: Any) -> None:
        seen.append(options)
        raise Stopped

    monkeypatch.setattr(runner, "sweep", keep)
    with pytest.raises(Stopped):
        app(["sweep", *words], standalone_mode=False)
    (options,) = seen
    return options


def test_options_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sweep_options(
        monkeypatch, "convert", "add", "--element-type", "f16", "--element-type", "si8", "--to",
        "f32", "--arity", "1", "--backend", "reference", "--sample", "64", "--exhaustive", "--seed",
        "9", "--shard", "2/5", "--jobs", "3", "--expectations", "none", "--out", "here",
        "--timeout", "12", "--fresh",
    )  # fmt: skip
    assert (found.ops, found.element_types, found.to) == (
        ("convert", "add"),
        ("f16", "si8"),
        ("f32",),
    )
    assert (found.arity, found.backend, found.sample, found.seed) == (1, "reference", 64, 9)
    assert (found.exhaustive, found.fresh, found.jobs) == (True, True, 3)
    assert (found.shard, found.out, found.expectations) == ((2, 5), Path("here"), ("none",))
    assert found.limits.timeout == 12


@pytest.mark.parametrize("how", ["text", "json"])
def test_results_are_printed_and_decide_the_exit_code(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    class Result:
        exit_code = 1

    monkeypatch.setattr(runner, "sweep", lambda *_: "swept")
    monkeypatch.setattr(sweep_reports, "save", lambda *_: Result)
    monkeypatch.setattr(sweep_summary, "lines_of", lambda _: ["a line"])
    monkeypatch.setattr("conformance.outputs.schema.json_text", lambda _: "{}\n")
    given = ["sweep", "exp*", "--out", str(tmp_path), "--format", how]
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 1
    lines = ["a line", f"results: {tmp_path}/sweep.json", f"report: {tmp_path}/index.html"]
    assert capsys.readouterr().out.splitlines() == (["{}"] if how == "json" else lines)


JSON = LinesFormat.JSON


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is read as a run without failures."""
    data = synthetic.passing_run()
    monkeypatch.setattr(summary, "load", lambda _: data)
    return tmp_path


# --- Refusals ------------------------------------------------------------------------------------


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist: give the folder of a run"):
        report([tmp_path / "nothing"])


def test_options_of_runs_do_not_apply_to_sweeps(tmp_path: Path) -> None:
    (tmp_path / SUMMARY).touch()
    for given in ({"strict": True}, {"history": True}, {"findings": [tmp_path]},
                  {"baseline": tmp_path}, {"at_least": "90%"}):  # fmt: skip
        with pytest.raises(UsageError, match=r"is a sweep: .* apply only to the report of a run"):
            report([tmp_path], **given)


def test_campaigns_are_neither_merged_nor_printed_as_json(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    campaign.mkdir()
    (campaign / JOURNAL).touch()
    with pytest.raises(UsageError, match=r"is a campaign: read its campaign\.json"):
        report([campaign], format=JSON)
    with pytest.raises(UsageError, match="is a campaign: --history, --findings and sweeps"):
        report([campaign], findings=[tmp_path])
    with pytest.raises(UsageError, match="is a campaign: give runs, and campaigns by --findings"):
        report([campaign, tmp_path], out=tmp_path / "out")


def test_several_runs_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give --out, a new folder for the merged run"):
        report([tmp_path, tmp_path])


# --- A run ---------------------------------------------------------------------------------------


def stale_run():
    """Return a run without failures, with an expectation that matched nothing."""
    return replace(synthetic.passing_run(), stale=("old-entry",))


def test_json_is_the_summary_and_writes_nothing(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report([run], format=JSON) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["profile"] == "standard"
    assert {told.get(name) for name in ("comparison", "history", "findings", "sweeps")} == {None}
    assert list(run.iterdir()) == []


@pytest.mark.parametrize(
    ("made", "given", "code"),
    [
        (synthetic.passing_run, {"strict": True}, 0),
        (synthetic.partial_run, {}, 0),
        (synthetic.partial_run, {"strict": True}, 1),
        (synthetic.partial_run, {"at_least": "100%"}, 1),
        (synthetic.passing_run, {"at_least": "50%"}, 0),
        (stale_run, {"at_least": "50%"}, 0),
        (stale_run, {"strict": True}, 1),
    ],
)
def test_only_a_gate_fails_a_stored_run(
    made, given, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = made()
    monkeypatch.setattr(summary, "load", lambda _: data)
    assert report([tmp_path], format=JSON, **given) == code


def test_lines_end_with_the_page_and_messages_of_the_ci(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(_: object, out: Path, comparison: object, ci: CI, *context: object, at: Path):
        assert (out, comparison, ci, at) == (run / "out", None, CI.GITHUB, run)
        assert context == (NOTHING,)
        return ["::notice::for CI"]

    monkeypatch.setattr(reporting, "write_reports", write)
    assert report([run], out=run / "out", ci=CI.GITHUB) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [f"report: {run / 'out' / 'index.html'}", "::notice::for CI"]
    assert (run / "out").is_dir()


def test_a_folder_that_cannot_be_made_is_one_line(run: Path) -> None:
    (run / "file").touch()
    with pytest.raises(UsageError, match=r"^cannot create .*file/out: "):
        report([run], out=run / "file" / "out")


# --- Baselines -----------------------------------------------------------------------------------


def test_a_baseline_has_all_cases_that_were_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run / "baseline.txt"
    assert write_baseline(run, out) == 0
    data = synthetic.passing_run()
    cells = {(record.op, record.element_type, record.backend) for record in data.records}
    first = f"baseline: {out}: {len(cells)} cells, {len(data.records)} cases"
    assert capsys.readouterr().out.splitlines()[0] == first
    assert set(read_baseline(out).baseline.cells) == cells


def test_what_a_baseline_lacks_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = synthetic.partial_run()
    monkeypatch.setattr(summary, "load", lambda _: data)
    write_baseline(tmp_path, tmp_path / "baseline.txt")
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    cases = sum(one.cases for one in data.left_out)
    assert f"note: {cases} cases were left out by --budget and are not in the baseline" in notes


def test_a_run_without_results_has_no_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = synthetic.empty_run()
    monkeypatch.setattr(summary, "load", lambda _: data)
    with pytest.raises(UsageError, match="has no results"):
        write_baseline(tmp_path, tmp_path / "baseline.txt")
    assert not (tmp_path / "baseline.txt").exists()


ENTRY = """
[[known]]
id = "mine"
op = "add"
reason = "{reason}"
"""


def run_command(*words: object) -> int:
    given = ["expectations", *map(str, words)]
    return exit_code_of(lambda: whole(given, standalone_mode=False))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ours.toml"
    path.write_text(ENTRY.format(reason="rounds twice"))
    return path


def test_entries_are_listed_as_text_or_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = ("--backend", "reference", "--expectations", file)
    assert run_command("list", *of) == 0
    assert "mine: add: " in capsys.readouterr().out
    assert run_command("list", "mine", *of, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "rounds twice"


def test_unknown_id_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command("list", "mime", "--backend", "reference", "--expectations", file)
    assert code != 0
    assert "mime" in capsys.readouterr().err


def test_unfinished_entries_are_refused_if_strict(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(ENTRY.format(reason="TODO"))
    of = ("--backend", "reference", "--expectations", file)
    assert run_command("check", "mine", *of, "--strict") != 0
    assert "still TODO" in capsys.readouterr().err


def test_files_are_checked_or_formatted(file: Path) -> None:
    file.write_text('[[known]]\nop = "add"\nid = "mine"\nreason = "why"\n')
    assert run_command("fmt", file, "--check") == 1
    assert run_command("fmt", file) == 0
    assert run_command("fmt", file, "--check") == 0


def swept(out: Path, shard: tuple[int, int] = (1, 1)) -> Path:
    """Return the folder of a saved sweep of two ops on two small types, in four blocks."""
    options = Options(
        ("negate", "add"), out, "reference", ("f4E2M1FN", "f8E5M2"), jobs=1, shard=shard, sample=64
    )
    save(runner.sweep(options), out)
    return out


def test_files_of_a_sweep_are_where_the_lines_say(tmp_path: Path) -> None:
    out = swept(tmp_path / "sweep")
    assert places(out) == [f"results: {out}/sweep.json", f"report: {out}/index.html"]
    assert all(Path(line.partition(": ")[2]).is_file() for line in places(out))
    page = out / "index.html"
    text = page.read_text()
    page.unlink()
    quiet = report_sweeps([out], None, writes=False)
    assert (quiet.lines, quiet.exit_code, page.exists()) == ((), 0, False)
    assert len(quiet.result.functions) == 4
    again = report_sweeps([out / "sweep.json"], None, writes=True)
    assert (again.lines, page.read_text()) == ((f"report: {page}",), text)
    other = report_sweeps([out], tmp_path / "other", writes=True)
    assert other.lines == (f"report: {tmp_path}/other/index.html",)


def test_shards_are_merged_into_a_new_folder(tmp_path: Path) -> None:
    parts = [swept(tmp_path / str(n), (n, 2)) for n in (1, 2)]
    with pytest.raises(UsageError, match="give --out, a new folder"):
        report_sweeps(parts, None, writes=True)
    out = tmp_path / "all"
    found = report_sweeps(parts, out, writes=True)
    assert found.lines[0] == f"merged: 2 sweeps into {out}"
    assert list(found.lines[-2:]) == places(out)
    assert (found.exit_code, found.result.exit_code) == (0, 0)
    third = swept(tmp_path / "3", (1, 3))
    fourth = swept(tmp_path / "4", (2, 3))
    found = report_sweeps([third, fourth], tmp_path / "two", writes=True)
    assert "missing: shard 3/3" in found.lines[1]
    assert found.exit_code == 1


def test_unknown_output_and_a_page_of_one_are_errors() -> None:
    with pytest.raises(UsageError, match=r"'repport'.*report"):
        schema("repport")
    with pytest.raises(UsageError, match="leave out the name"):
        schema("report", SchemaFormat.MARKDOWN)

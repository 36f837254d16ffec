"""The command expectations: counterexamples are replayed; the failures of a run are matched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec import structs

from conformance.backends.base import BackendError, Failed, Rejected
from conformance.backends.session import Session
from conformance.checking import expectations as command
from conformance.checking.calls import MATCH_CRASH
from conformance.checking.counterexample import match_crash, replay
from conformance.checking.counterexamples import ROUNDS, replay_counterexamples
from conformance.checking.settings import ReplayedCounterexample
from conformance.cli import app, exit_code_of
from conformance.errors import NOTHING_TESTED, UsageError
from conformance.executors.local import Call, WorkerCrash
from conformance.gate.expectations import Counterexample, Expectation, Versions
from conformance.gate.remarks import Shadowed
from conformance.limits import LIMITS
from conformance.results.store import FILE_NAME, Store
from conformance.verdict import Detail, Errors, Failing, Record, Timing, Verdict
from suites.meta.support.workers import Workers

SHOWN = Counterexample("func.func @main() { return }", ("1",))
ONE = Expectation("one", ("add", "tanh"), "rounds twice", counterexample=SHOWN)
TWO = Expectation("two", ("sqrt",), "flushes", versions="<0.11", isa=">=AVX2")
FLAKY = Expectation("three", ("sort",), "races", flaky=True, counterexample=SHOWN)


def replay_result(entry: Expectation, reproduces: bool, verdict: Verdict) -> ReplayedCounterexample:
    return ReplayedCounterexample(verdict, "NaN", "why\nmore", id=entry.id, reproduces=reproduces)


def check_entries(
    monkeypatch: pytest.MonkeyPatch,
    entries: Sequence[Expectation],
    outcomes: Sequence[ReplayedCounterexample | None],
    **given,
) -> int:
    """Return the exit code of a check whose counterexamples have these outcomes."""
    monkeypatch.setattr(command, "executor_of", lambda *_, **__: nullcontext())
    monkeypatch.setattr(command, "describe", lambda *_: None)
    monkeypatch.setattr(command, "replay_counterexamples", lambda *_: iter(outcomes))
    return command.check(entries, "reference", **{"as_json": False, "jobs": 1, **given})


def test_unknown_id_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"'onne'.*one.*that apply to cpu here"):
        command.select_by_id((ONE, TWO), "cpu", ["onne"])


def test_all_that_reproduce_exit_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = [None, replay_result(ONE, True, Verdict.DIVERGENT)]
    assert check_entries(monkeypatch, [ONE, TWO], ended) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "one: reproduces: divergent (NaN): why more", "two: no counterexample",
    ]  # fmt: skip
    assert "1 reproduce, 0 fixed, 0 do not reproduce, 1 have no counterexample" in err


@pytest.mark.parametrize(("entry", "code"), [(ONE, 1), (FLAKY, 0)])
@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.CRASHED])
def test_entry_that_does_not_reproduce_exits_with_1_unless_flaky(
    monkeypatch: pytest.MonkeyPatch, entry: Expectation, code: int, verdict: Verdict
) -> None:
    assert check_entries(monkeypatch, [entry], [replay_result(entry, False, verdict)]) == code


def test_no_counterexample_exits_with_4(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_entries(monkeypatch, [TWO], []) == NOTHING_TESTED


def test_json_lines_have_shadowed_entries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clashing = [Shadowed("one", "a")]
    ended = [replay_result(ONE, True, Verdict.DIVERGENT)]
    check_entries(monkeypatch, [ONE, TWO], ended, as_json=True, clashing=clashing)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["shadowed_by"] == ["a"]
    assert (first["reproduces"], second) == (True, {"id": "two", "reproduces": None})


EXPECTATIONS = """
[[known]]
id = "mine"
op = "tanh"
element_types = ["f32", "f64"]
kinds = ["NaN"]
reason = "ours"

[[known]]
id = "other"
op = "*"
reason = "theirs"
"""


def failing_class(kind: str, wrong: int, known: str, predicted: int = 0) -> Failing:
    return Failing(Verdict.DIVERGENT, kind, "", wrong, known=known, predicted=predicted)


def record(op: str, of: str, index: int, *classes: Failing, backend: str = "reference") -> Record:
    known = classes[0].known
    return Record(
        op, of, backend, index, "0", Verdict.DIVERGENT, "NaN", known=known, failing=classes
    )


def whole(of: str, index: int, known: str) -> Record:
    """Return a case of 5 wrong elements that is known as a whole."""
    shown = Detail("", b"", 5, 9)
    return Record(
        "tanh", of, "reference", index, "0", Verdict.DIVERGENT, "NaN", known=known, detail=shown
    )


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write a run and expectations, and return the options that name them."""
    records = [
        record(
            "tanh",
            "f32",
            0,
            failing_class("NaN", 10, "mine", 8),
            failing_class("sign", 3, "other", 3),
        ),
        record("tanh", "f32", 1, failing_class("NaN", 4, "mine", 4)),
        record("tanh", "f64", 0, failing_class("sign", 7, "")),
        record("tanh", "bf16", 0, failing_class("sign", 100, "other", 100)),
        record("add", "f32", 0, failing_class("NaN", 200, "other")),
        record("tanh", "f32", 0, failing_class("NaN", 400, "mine"), backend="cpu"),
        whole("f32", 2, "mine"),
        whole("f32", 3, ""),
        Record("tanh", "f32", "reference", 4, "0", Verdict.PASS),
    ]
    with Store(tmp_path / FILE_NAME) as store:
        store.set_meta({"planned": [["tanh", "f32", "reference"]], "backends": []})
        cell = ("tanh", "f32", "reference")
        store.add_task("task", cell, records, Errors(), Timing())
    (tmp_path / "mine.toml").write_text(EXPECTATIONS, encoding="utf-8")
    return ["--db", str(tmp_path), "--expectations", str(tmp_path / "mine.toml")]


def check_run(*options: str, backend: str = "reference") -> int:
    command = ["expectations", "check", "--backend", backend, *options]
    return exit_code_of(lambda: app(command, standalone_mode=False))


def test_each_entry_reports_its_matches_in_a_run(
    files: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert check_run(*files) == 4  # no counterexamples
    mine, other = capfd.readouterr().out.splitlines()
    # 10 + 4 + 5 are its own, of which 12 are predicted; 3 + 7 + 5 others fail in its scope
    assert mine == (
        "mine: no counterexample; matches 3 programs and 19 elements of the run, "
        "12 of them predicted within 2 ulp; "
        "does not predict 22 that fail in its scope"
    )
    assert "other: no counterexample; matches 3 programs and 303 elements" in other
    check_run(*files, "--format", "json", "mine")
    found = json.loads(capfd.readouterr().out)["run"]
    assert found == {
        "programs": 3, "elements": 19, "predicted": 12, "not_predicted_in_scope": 22
    }  # fmt: skip


def test_a_run_of_other_backends_is_refused_in_a_line(
    files: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert check_run(*files, backend="interpreter") == 2
    told = capfd.readouterr().err
    assert f"--db: the run in {tmp_path} has no results of interpreter" in told
    assert "it has results of reference only: give a --backend of the run" in told
    assert check_run("--db", str(tmp_path / "nowhere"), *files[2:]) == 2
    assert "there is no" in capfd.readouterr().err


PROGRAM = """
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.divide %x, %x : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
SUM = PROGRAM.replace("divide", "add")
INVALID = """
func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.reverse %x, dims = [5] : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
UNKNOWN_IDS = """
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.collective_broadcast"(%x)
      {replica_groups = dense<[[0, 4096]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""
RIGHT = "reference"
ENTRY = Expectation("mine", ("add",), "why", counterexample=Counterexample(SUM, ("[3, 4]",)))


def entry(**given: Any) -> Expectation:
    return structs.replace(ENTRY, **given)


def test_a_right_result_is_fixed() -> None:
    found = replay(ENTRY, RIGHT)
    assert (found.verdict, found.reproduces, found.state) == (Verdict.PASS, False, found.FIXED)


@pytest.mark.parametrize(
    "given", [Counterexample("no program"), Counterexample(SUM, ()), Counterexample(SUM, ("x",))]
)
def test_unreadable_counterexample_is_an_error_with_the_id(given: Counterexample) -> None:
    with pytest.raises(UsageError, match="the counterexample of expectation 'mine': "):
        replay(entry(counterexample=given), RIGHT)


def test_invalid_program_reproduces_an_entry_about_refusals_only() -> None:
    broken = Counterexample(INVALID)
    refused = entry(counterexample=broken, verdicts=("rejected",), words=("dimension",))
    found = replay(refused, RIGHT)
    assert (found.verdict, found.reproduces) == (Verdict.REJECTED, True), found.message
    with pytest.raises(UsageError, match="expectation 'mine'"):
        replay(entry(counterexample=broken), RIGHT)


@pytest.mark.slow
def test_invalid_program_for_more_devices_is_not_fixed() -> None:
    of_too_many = Counterexample(UNKNOWN_IDS.replace("= 2", "= 4096"), ("1.0",) * 4096)
    found = replay(entry(counterexample=of_too_many, verdicts=("accepted",), kinds=("C2",)), "cpu")
    assert (found.verdict, found.state) == (Verdict.UNSUPPORTED, found.OTHERWISE)
    assert "needs 4096 devices" in found.message


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Failed("INTERNAL: RET_CHECK failure"), ReplayedCounterexample.SHOWN),
        (Failed("INTERNAL: another check"), ReplayedCounterexample.OTHERWISE),
        (Rejected("dimension 5 is out of bounds"), ReplayedCounterexample.FIXED),
    ],
)
def test_invalid_program_may_crash_the_compiler(
    error: BackendError, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(Session, "compile_cached", refuse)
    invalid = Counterexample(UNKNOWN_IDS, ("1.0", "2.0"))
    given = {"verdicts": ("crashed",), "words": ("RET_CHECK failure",)}
    assert replay(entry(counterexample=invalid, **given), "cpu").state == state


@pytest.mark.parametrize(
    ("given", "matched"),
    [
        ({"verdicts": ("crashed",), "where": ("stablehlo.add",)}, True),
        ({"verdicts": ("crashed",), "where": ("stablehlo.sine",)}, False),
        ({"verdicts": ("crashed",), "op": ("divide",), "where": ("stablehlo.add",)}, False),
        ({"verdicts": ("timed_out",)}, False),
        ({"verdicts": ("crashed",), "words": ("SIGSEGV",)}, True),
        ({"verdicts": ("crashed",), "words": ("SIGABRT",)}, False),
    ],
)
def test_crash_is_matched_with_the_operations_of_the_program(
    given: dict[str, Any], matched: bool
) -> None:
    message = "" if "where" in given else "the process was killed by SIGSEGV"
    (found,) = match_crash(entry(**given), RIGHT, Verdict.CRASHED, "", message)
    assert (found.reproduces, found.verdict, found.id) == (matched, Verdict.CRASHED, "mine")


EMPTY = Counterexample("func.func @main() { return }")
DIED = WorkerCrash("SIGSEGV")


def entries(count: int, **given: Any) -> list[Expectation]:
    one = structs.replace(Expectation("", ("add",), "why", counterexample=EMPTY), **given)
    return [structs.replace(one, id=f"n{n}") for n in range(count)]


class RestartedWorkers(Workers):
    """Workers that count how often they were ended."""

    ended = 0

    def end_workers(self) -> None:
        self.ended += 1


def end_of(entry: Expectation, reproduces: bool = True) -> ReplayedCounterexample:
    verdict = Verdict.DIVERGENT if reproduces else Verdict.PASS
    return ReplayedCounterexample(verdict, id=entry.id, reproduces=reproduces)


def replay_in_workers(
    workers: Workers, given: Sequence[Expectation], jobs: int = 1
) -> dict[str, bool]:
    found = replay_counterexamples(workers, given, "reference", jobs)  # type: ignore[arg-type]
    return {one.id: one.reproduces for one in found if one is not None}


def reproduce_all(call: Call) -> tuple[ReplayedCounterexample, ...]:
    return tuple(map(end_of, call.name))


def test_entries_about_crashes_get_calls_of_their_own() -> None:
    workers = Workers(reproduce_all)
    replay_in_workers(workers, entries(3, verdicts=("crashed", "divergent")))
    assert [len(call.name) for call in workers.made] == [1, 1, 1]


def test_entries_about_timeouts_get_first_calls_with_the_limit_of_one_program() -> None:
    workers = Workers(reproduce_all)
    replay_in_workers(workers, [*entries(2), *entries(3, verdicts=("timed_out",))[2:]])
    assert [len(call.name) for call in workers.made] == [1, 2]
    assert [call.timeout for call in workers.made] == [LIMITS.item, LIMITS.timeout]


def test_unsteady_entries_are_tried_again_in_new_workers() -> None:
    workers = RestartedWorkers(lambda call: tuple(end_of(one, False) for one in call.name))
    given = [*entries(1), *entries(2, flaky=True)[1:]]
    assert replay_in_workers(workers, given) == {"n0": False, "n1": False}
    assert workers.ended == ROUNDS - 1
    assert [len(call.name) for call in workers.made] == [2] + [1] * (ROUNDS - 1)


def test_a_crash_is_found_in_its_batch_and_matched_in_another_worker() -> None:
    def value(call: Call) -> Any:
        if call.function == MATCH_CRASH:
            return (end_of(call.name[0]),)
        return DIED if any(one.id == "n1" for one in call.name) else reproduce_all(call)

    workers = Workers(value)
    assert replay_in_workers(workers, entries(3)) == {"n0": True, "n1": True, "n2": True}
    assert sum(call.function == MATCH_CRASH for call in workers.made) == 1


def test_entry_as_json_has_its_program_and_only_the_versions_that_are_given() -> None:
    found = command.expectation_json(ONE)
    assert (found["op"], found["program"]) == (["add", "tanh"], SHOWN.program)
    assert found["inputs"] == ["1"]
    entry = Expectation("x", ("add",), "why", versions=Versions(plugin=">=2"))
    assert command.expectation_json(entry)["versions"] == {"plugin": ">=2"}
    assert command.expectation_json(entry)["program"] == ""


UNFORMATTED = '[[known]]\nreason = "why"\nop = "add"\nid = "mine"\n'


def test_files_are_formatted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(UNFORMATTED)
    assert command.format_files([file], check_only=True) == 1
    assert file.read_text() == UNFORMATTED
    assert command.format_files([file], check_only=False) == 0
    assert file.read_text().startswith('[[known]]\nid = "mine"')
    assert command.format_files([file], check_only=True) == 0
    assert capsys.readouterr().out.splitlines() == [f"{file}: would change", f"{file}: formatted"]

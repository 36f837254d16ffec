"""The command `expectations`: selection, lines, JSON, exit codes and formatting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from conformance.checking import expectations as command
from conformance.checking.settings import ReplayedCounterexample
from conformance.errors import NOTHING_TESTED, UsageError
from conformance.gate.expectations import Counterexample, Expectation, Versions
from conformance.gate.overlaps import Overlap
from conformance.verdict import Verdict

SHOWN = Counterexample("func.func @main() { return }", ("1",))
ONE = Expectation("one", ("add", "tanh"), "rounds twice", counterexample=SHOWN)
TWO = Expectation("two", ("sqrt",), "flushes", versions="<0.11", isa=">=AVX2")
FLAKY = Expectation("three", ("sort",), "races", flaky=True, counterexample=SHOWN)


def replay_result(entry: Expectation, reproduces: bool, verdict: Verdict) -> ReplayedCounterexample:
    return ReplayedCounterexample(verdict, "NaN", "why\nmore", id=entry.id, reproduces=reproduces)


def check(
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


def test_entries_are_selected_by_id_in_the_order_of_the_ids() -> None:
    assert command.select_by_id((ONE, TWO), "cpu", ["two", "one"]) == (TWO, ONE)
    assert command.select_by_id((ONE, TWO), "cpu", []) == (ONE, TWO)


def test_unknown_id_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"'onne'.*one.*that apply to cpu here"):
        command.select_by_id((ONE, TWO), "cpu", ["onne"])


def test_entry_on_a_line_has_its_conditions_in_front() -> None:
    assert ", >=AVX2): sqrt: " in command.expectation_line(TWO)
    assert command.expectation_line(TWO).startswith("two (")
    assert command.expectation_line(ONE).startswith("one: add, tanh: ")
    assert command.expectation_line(ONE).endswith(": rounds twice")


def test_entry_as_json_has_its_program_and_only_the_versions_that_are_given() -> None:
    found = command.expectation_json(ONE)
    assert (found["op"], found["program"]) == (["add", "tanh"], SHOWN.program)
    assert found["inputs"] == ["1"]
    entry = Expectation("x", ("add",), "why", versions=Versions(plugin=">=2"))
    assert command.expectation_json(entry)["versions"] == {"plugin": ">=2"}
    assert command.expectation_json(entry)["program"] == ""


def test_all_that_reproduce_exit_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = [None, replay_result(ONE, True, Verdict.DIVERGENT)]
    assert check(monkeypatch, [ONE, TWO], ended) == 0
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
    assert check(monkeypatch, [entry], [replay_result(entry, False, verdict)]) == code


def test_no_counterexample_exits_with_4(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, [TWO], []) == NOTHING_TESTED


def test_json_lines_have_overlaps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clashing = [Overlap("one", ("a",), True), Overlap("one", ("b",), False)]
    ended = [replay_result(ONE, True, Verdict.DIVERGENT)]
    check(monkeypatch, [ONE, TWO], ended, as_json=True, clashing=clashing)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["shadowed_by"], first["overlaps_with"]) == (["a"], ["b"])
    assert (first["reproduces"], second) == (True, {"id": "two", "reproduces": None})


def test_overlaps_of_entries_that_are_not_asked_for_are_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clashing = [Overlap("one", ("a",), True), Overlap("other", ("b",), True)]
    check(monkeypatch, [ONE], [], clashing=clashing)
    err = capsys.readouterr().err
    assert "one: shadowed by a" in err
    assert "other" not in err


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

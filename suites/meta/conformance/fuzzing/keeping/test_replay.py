"""A finding is replayed by its folder: the table and the exit code say which backend has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping import replay
from conformance.fuzzing.keeping.bundle import write
from conformance.gate.expectations import Expectation
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.emit import emit
from conformance.verdict import Verdict
from suites.meta.support.small_programs import array, op_program, tensor_of
from suites.meta.support.workers import CPU

FAULTY = "reference:floor_division"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a finding about -7 / 2, which floor_division has."""
    program = op_program("divide", [tensor_of(2, of="si32")] * 2, tensor_of(2, of="si32"))
    inputs = (array([-7, 7], "si32"), array([2, 2], "si32"))
    results = [(array([number, 3], "si32"),) for number in (-3, -4)]
    expected, actual = results
    finding = Finding(
        Verdict.DIVERGENT, "wrong value", "message", culprit="divide", program=program,
        text=emit(program), inputs=inputs, expected=expected, actual=actual, backend=FAULTY,
    )  # fmt: skip
    return write(tmp_path, finding, CPU, "")


def test_table_lists_backends_that_reproduce_the_finding(call, folder: Path) -> None:
    names = ("--backend", "reference", "--backend", "interpreter", "--backend", FAULTY)
    code, out, _ = call("replay", str(folder), *names)
    assert code == 1
    head, titles, *rows = out.splitlines()
    assert head == f"{folder.name}: divergent (wrong value) on {FAULTY}"
    assert titles.split() == ["backend", "the", "finding", "versions"]
    told = {row.split()[0]: row.split()[1] for row in rows}
    assert told == {"reference": "gone", "interpreter": "gone", FAULTY: "there:"}
    assert "numpy" in rows[0]


def test_replay_uses_backend_of_finding_by_default(call, folder: Path) -> None:
    code, out, _ = call("replay", str(folder))
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()[2:]] == [FAULTY]


def test_fixed_finding_exits_with_0(call, folder: Path) -> None:
    assert call("replay", str(folder), "--backend", "reference")[0] == 0


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((Verdict.PASS, Verdict.CRASHED, None), 1),
        ((Verdict.PASS, None), 3),
        ((Verdict.UNSUPPORTED, Verdict.UNSUPPORTED), 4),
        ((Verdict.UNSUPPORTED, Verdict.UNSPECIFIED), 0),
    ],
)
def test_exit_codes(verdicts: tuple[Verdict | None, ...], code: int) -> None:
    rows = [
        replay.Row("cpu", outcome=None if verdict is None else Outcome(verdict))
        for verdict in verdicts
    ]
    assert replay.exit_code(rows) == code


def test_crash_reproduces_on_replay(call, tmp_path: Path) -> None:
    program, many = op_program("abs", [tensor_of(201)], tensor_of(201)), (array([-1.0] * 201),)
    finding = Finding(
        Verdict.CRASHED, "abnormal exit", program=program, text=emit(program), inputs=many,
        expected=(array([1.0] * 201),), actual=(), backend="reference:abort_on_large",
    )  # fmt: skip
    code, out, _ = call("replay", str(write(tmp_path, finding, CPU, "")))
    assert (code, "there: crashed (abnormal exit)" in out) == (1, True)


def test_crash_that_an_expectation_matches_is_known(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Expectation("many", ("abs",), "", verdicts=("crashed",), where=('stablehlo.abs"',))
    monkeypatch.setattr(replay, "load", lambda *_: (known,))
    program, many = op_program("abs", [tensor_of(201)], tensor_of(201)), (array([-1.0] * 201),)
    finding = Finding(
        Verdict.CRASHED, "abnormal exit", program=program, text=emit(program), inputs=many,
        expected=(array([1.0] * 201),), actual=(), backend="reference:abort_on_large",
    )  # fmt: skip
    _, out, _ = call("replay", str(write(tmp_path, finding, CPU, "")))
    assert "there: crashed (abnormal exit), known as many" in out


def test_folder_without_finding_is_one_line(call, tmp_path: Path, folder: Path) -> None:
    code, _, error = call("replay", str(tmp_path))
    assert (code, error.count("\n")) == (2, 1)
    assert "no program.mlir" in error
    (folder / "finding.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        replay.read_finding(folder)
    (folder / "finding.json").unlink()
    with pytest.raises(UsageError, match="give --backend"):
        replay.replay(replay.read_finding(folder), ())

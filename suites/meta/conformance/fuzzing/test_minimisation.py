"""Failures are minimised, crashes among them; so are programs given to the command reduce."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conformance.backends.base import Failed, failure_of
from conformance.backends.registry import parse
from conformance.errors import UsageError
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.fuzzing import minimisation
from conformance.fuzzing.calls import READABLE
from conformance.fuzzing.crashes import TRIES, CrashHandler, CrashMinimisation, is_harness_timeout
from conformance.fuzzing.reduce import Options, reduce
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.fuzzing.user_programs import failing_program, outcome_of_file, read_program
from conformance.limits import LIMITS
from conformance.phases import Phase
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.parse import parse_module
from conformance.triage.minimise.minimise import minimise
from conformance.verdict import Element, Verdict
from generators.chains.strategy import program_at
from generators.values.contents import materialise
from reference.ir.program import Program
from reference.ops.xla.lowering import lower_program
from suites.meta.support.small_programs import array, op_program, tensor_of

LARGE = op_program("add", [tensor_of(5), tensor_of(5)], tensor_of(5))
SMALL = op_program("negate", [tensor_of(2)], tensor_of(2))
FAILED = Outcome(
    Verdict.DIVERGENT, "wrong value", elements=(Element(0, (4,), "1", "", "3", ""),), culprit="add"
)


def minimised_finding(
    failing: Program, times: int, monkeypatch: pytest.MonkeyPatch
) -> minimisation.Finding:
    """Return the finding of a failure that is minimised to SMALL, where `failing` fails only the
    n-th time.
    """
    left = [times]

    def judge_alternately(_: Trial, __: object, program: Program, ___: object) -> Outcome:
        left[0] -= program == failing
        fails = program == failing and not left[0]
        return replace(FAILED, elements=()) if fails else Outcome(Verdict.PASS)

    monkeypatch.setattr(minimisation, "judge_in_isolation", judge_alternately)
    small = SimpleNamespace(program=SMALL, inputs=(array([0, 0], "f32"),))
    monkeypatch.setattr(minimisation, "minimise", lambda *_: small)
    numbers = array([0, 0, 0, 0, 0], "f32")
    failure = FailingProgram(0, LARGE, (numbers, numbers), FAILED)
    return minimisation.minimise_failure(Trial("reference", 0, 0, 1), failure, 1.0)


def test_unreproducible_failure_keeps_its_own_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = minimised_finding(SMALL, 100, monkeypatch)
    assert (found.program, found.elements) == (LARGE, FAILED.elements)


def test_program_that_only_returns_its_argument_is_minimal() -> None:
    program = parse_module("""
func.func @main(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}""")
    given = array([3, 2, 5, 7, 11, 13, 17, 19], "f32"), array(1065353216, "si32")
    failure = FailingProgram(0, program, given, Outcome(Verdict.DIVERGENT, "wrong value"))
    trial = Trial("reference:reversed_elements", 0, 0, 1)
    found = minimisation.minimise_failure(trial, failure, 20.0)
    assert [operation.name for operation in found.program.main.body.operations] == ["return"]
    assert [one.tolist() for one in found.inputs] == [[0, 1]]


@pytest.mark.parametrize(
    ("names", "ours"),
    [
        ((), True),
        (("execution",), False),
        (("locating", "compilation"), False),
        (("locating",), True),
        (("evaluation",), True),
    ],
)
def test_timeout_is_attributed_by_current_phase(names: tuple[str, ...], ours: bool) -> None:
    before = Phase("execution", 0, 0, 0.1, 0.2)
    phases = tuple(Phase(name, 0, 0, 1.0) for name in names)
    assert is_harness_timeout(WorkerTimeout(5.0, (before, *phases))) is ours
    assert is_harness_timeout(WorkerTimeout(1.5, (before, *phases)))
    assert not is_harness_timeout(WorkerCrash("SIGSEGV"))


def failure_of_abs(verdict: Verdict, kind: str) -> FailingProgram:
    program = op_program("abs", [tensor_of(2)], tensor_of(2))
    return FailingProgram(0, program, (array([-1.0, 2.0]),), Outcome(verdict, kind))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("INTERNAL: no layout", "internal error"),
        ("RESOURCE_EXHAUSTED: 12 bytes", "out of memory"),
        ("Out of memory", "out of memory"),
    ],
)
def test_answered_failure_is_no_worker_loss(words: str, kind: str) -> None:
    assert failure_of(Failed(words)) == (Verdict.CRASHED, kind)
    with executor_of(parse("reference"), jobs=1) as executor:
        losses = CrashHandler(executor, 10.0)
        assert not losses.is_crash(failure_of_abs(Verdict.CRASHED, kind))
        assert losses.is_varied(failure_of_abs(Verdict.CRASHED, kind))
        assert losses.is_crash(failure_of_abs(Verdict.CRASHED, "abnormal exit"))
        assert not losses.is_varied(failure_of_abs(Verdict.CRASHED, "abnormal exit"))


def test_single_timeout_is_no_finding_but_single_crash_is() -> None:
    with executor_of(parse("reference"), jobs=1) as executor:
        losses, trial = CrashHandler(executor, 10.0), Trial("reference", 0, 0, 1)
        slow, dead = (
            failure_of_abs(Verdict.TIMED_OUT, "no answer"),
            failure_of_abs(Verdict.CRASHED, "abnormal exit"),
        )
        assert losses.minimise_crash(trial, slow, "reference") is None
        found = losses.minimise_crash(trial, dead, "reference")
    assert found is not None
    assert found.verdict is Verdict.CRASHED


@pytest.mark.slow
def test_a_backend_that_hangs_every_time_is_found() -> None:
    with executor_of(parse("reference:hang"), jobs=1) as executor:
        slow = failure_of_abs(Verdict.TIMED_OUT, "no answer")
        executor.one(Call("", READABLE, (slow.program,), 60.0))  # to start and load costs time, too
        losses, trial = CrashHandler(executor, 6.0), Trial("reference:hang", 0, 0, 1)
        found = losses.minimise_crash(trial, slow, "reference:hang", seconds=2.0)
    assert found is not None
    assert found.verdict is Verdict.TIMED_OUT


OP = "multiply"

ENDED = "the process ended with SIGABRT"


def failures() -> list[FailingProgram]:
    """Return failing programs of several operations, with a single operation at fault."""
    found = []
    for number in range(80):
        case = program_at(11, number)
        program = lower_program(case.program)
        names = [operation.name for operation in program.walk()]
        if OP in names and len(names) > 8:
            inputs = materialise(program, case.inputs[0])
            outcome = Outcome(Verdict.CRASHED, "abnormal exit", ENDED)
            found.append(FailingProgram(number, program, inputs, outcome))
    return found[:4]


def fails(program: Program) -> bool:
    return any(operation.name == OP for operation in program.walk())


def message_of(program: Program, words: str = "") -> str | None:
    return ENDED + words if fails(program) else None


def test_failure_that_does_not_repeat_is_not_minimised() -> None:
    small = CrashMinimisation(failures()[0])
    assert small.next() == (small.failure.program, small.failure.inputs)
    small.answer(None, 0.1)
    assert small.next() is None
    assert not small.fails_again


@pytest.mark.slow
def test_smaller_program_with_another_message_is_another_crash() -> None:
    small = CrashMinimisation(failures()[0])
    small.answer(f"{ENDED}: map.h:40] Check failed: found", 0.01)
    while (tried := small.next()) is not None:
        small.answer(message_of(tried[0], ": map.h:50] Check failed: emitted"), 0.01)
    assert small.program == small.failure.program
    assert small.message == f"{ENDED}: map.h:40] Check failed: found"


CHAIN = """
func.func @main(%x: tensor<40xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
  %0 = stablehlo.tanh %x : tensor<40xf32>
  %1 = stablehlo.subtract %0, %y : tensor<40xf32>
  %2 = stablehlo.negate %1 : tensor<40xf32>
  return %2 : tensor<40xf32>
}"""


@pytest.fixture
def user_options(tmp_path: Path) -> Options:
    (tmp_path / "program.mlir").write_text(CHAIN)
    return Options(
        tmp_path / "program.mlir", "reference", expectations="none", out=tmp_path / "out",
        budget="5s",
    )  # fmt: skip


def change_options(user_options: Options, **options: object) -> Options:
    fields = {name: getattr(user_options, name) for name in Options.__slots__}
    return Options(**{**fields, **options})


@pytest.mark.parametrize(
    ("file", "words"),
    [("nothing.mlir", "no such file"), ("..", r"a folder without a program.mlir")],
)
def test_only_a_file_is_minimised(
    file: str, words: str, tmp_path: Path, user_options: Options
) -> None:
    with pytest.raises(UsageError, match=rf"{words}$"):
        reduce(change_options(user_options, file=tmp_path / file))


def test_a_program_that_does_not_fail_stays(
    user_options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reduce(user_options) == 0
    assert capsys.readouterr().out == f"{user_options.file}: it does not fail on reference\n"
    assert not user_options.out.exists()


def test_a_program_that_fails_is_minimised_and_written(
    user_options: Options, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.full(40, 0.5, "f4"), y=np.full(40, 3, "f4"))
    wrong = change_options(
        user_options,
        backend="reference:transposed_operands",
        inputs=tmp_path / "in.npz",
        limits=LIMITS,
    )
    assert reduce(wrong) == 1
    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines)
    assert "stablehlo.subtract" in text
    assert not any(f"stablehlo.{op}" in text for op in ("tanh", "negate"))
    assert "tensor<40xf32>" not in text
    (told,) = (line for line in lines if line.startswith("1 operation: "))
    folder = Path(told.removeprefix("1 operation: "))
    assert folder.parent == user_options.out or folder == user_options.out
    assert {"program.mlir", "inputs.npz"} <= {path.name for path in folder.iterdir()}
    assert reduce(change_options(wrong, file=folder, inputs=None, out=tmp_path / "again")) == 1
    assert f"1 operation: {tmp_path / 'again'}" in capsys.readouterr().out


def test_several_programs_are_refused(user_options: Options) -> None:
    one = "func.func @{}(%x: tensor<f32>) -> tensor<f32> {{\n  return %x : tensor<f32>\n}}\n"
    user_options.file.write_text(f"{one.format('main')}// -----\n{one.format('main')}")
    with pytest.raises(UsageError, match="2 programs, but one is expected"):
        reduce(user_options)


CALLING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def test_functions_that_are_called_stay(tmp_path: Path) -> None:
    """Compilers may be wrong about calls that are right once the calls are inlined."""
    file, trial = tmp_path / "program.mlir", Trial("reference", 0, 0, 1)
    file.write_text(CALLING)
    assert {len(failure.program.functions) for failure in read_program(trial, file, None)} == {2}
    assert outcome_of_file(trial, file, None).verdict is Verdict.PASS
    assert failing_program(trial, file, None) is None


@pytest.mark.parametrize("failure", failures(), ids=lambda failure: str(failure.number))
def test_answers_one_by_one_lead_to_the_same_program_as_all_at_once(
    failure: FailingProgram,
) -> None:
    small, count = CrashMinimisation(failure), 0
    while (tried := small.next()) is not None:
        small.answer(message_of(tried[0]), 0.01)
        count += 1
    assert small.fails_again
    at_once = minimise(lambda p, _: fails(p), failure.program, failure.inputs, 60.0, TRIES)
    assert small.program == at_once.program
    assert 1 < count <= TRIES + 1
    assert len(list(small.program.walk())) < len(list(failure.program.walk()))

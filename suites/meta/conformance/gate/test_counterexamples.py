"""Counterexamples of expectations, and programs that end without results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import ANSWERED
from conformance.checking.counterexample import replay
from conformance.cli import app, exit_code_of
from conformance.errors import UsageError
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, own_words
from conformance.frontends.modules import Unit, units_of
from conformance.gate.counterexamples import input_text, parse_inputs
from conformance.gate.expectations import (
    WITHOUT_RESULTS,
    Counterexample,
    Expectation,
    Failure,
    matching_entry,
)
from conformance.gate.files import SHIPPED
from conformance.gate.reading import ExpectationError, load, read
from conformance.known import crashing_operations
from conformance.results.versions import versions
from conformance.stablehlo.emit import emit
from conformance.verdict import Detail, Record, Verdict
from reference.ir.program import Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, bits_dtype, element_type, from_bits, to_bits


def program_of(*types: TensorType) -> Program:
    """Return a program that returns its parameters, which have these types."""
    values = tuple(Value(f"a{n}", of) for n, of in enumerate(types))
    body = Region(values, (Operation("return", values),))
    return Program((Function("main", body, types),))


def read_one(text: str, of: str, *shape: int):
    (array,) = parse_inputs(program_of(TensorType(shape, element_type(of))), (text,))
    return array


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_all_bits_survive_of_every_element_type(name: str) -> None:
    of = ELEMENT_TYPES[name]
    codes = np.random.default_rng(0).integers(0, 256, 24 * bits_dtype(of).itemsize * 2, np.uint8)
    bits = codes.view(bits_dtype(of)) & bits_dtype(of).type((1 << of.part.bits) - 1)
    shape = (12, 4) if not of.is_complex else (6, 4, 2)
    array = from_bits(bits[: np.prod(shape)].reshape(shape), of)
    text = input_text(array)
    (back,) = parse_inputs(program_of(TensorType(array.shape, of)), (text,))
    assert back.dtype == array.dtype
    assert np.array_equal(to_bits(back), to_bits(array))


@pytest.mark.parametrize(
    ("text", "of", "shape", "bits"),
    [
        ("[nan, 0x7FC00001]", "f32", (2,), [0x7FC00000, 0x7FC00001]),
        ("[-inf, -0.0]", "f32", (2,), [0xFF800000, 0x80000000]),
        ("inf", "bf16", (2,), [0x7F80, 0x7F80]),
        ("[1.0 x 2, nan]", "f16", (3,), [0x3C00, 0x3C00, 0x7E00]),
        ("[[1, 2] x 2, [3 x 2]]", "si8", (3, 2), [[1, 2], [1, 2], [3, 3]]),
        ("[[[1] x 2] x 2]", "ui4", (2, 2, 1), [[[1], [1]], [[1], [1]]]),
        ("[(1.0, nan) x 2]", "complex<f32>", (2,), [[0x3F800000, 0x7FC00000]] * 2),
        ("[true, false]", "i1", (2,), [1, 0]),
        ("", "f32", (0, 3), np.zeros((0, 3))),
    ],
)
def test_inputs_are_written_as_in_a_constant(text, of, shape, bits) -> None:
    assert np.array_equal(to_bits(read_one(text, of, *shape)), np.asarray(bits))


@pytest.mark.parametrize(
    ("text", "of", "shape", "said"),
    [
        ("[1.0, 2.0]", "f32", (3,), "input 0, '[1.0, 2.0]', is not a tensor<3xf32>"),
        ("inf", "f8E4M3FN", (), "f8E4M3FN has no inf"),
        ("nan", "si32", (), "si32 has no nan"),
        ("one", "si32", (), "is not a tensor<i32>"),
    ],
)
def test_inputs_that_do_not_fit_are_one_clear_line(text, of, shape, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_one(text, of, *shape)


SUBTRACT = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.subtract %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def expectation_of(id_: str, program: str, *inputs: str, **more) -> Expectation:
    shown = Counterexample(program, inputs)
    return Expectation(id_, ("subtract",), "swapped.", counterexample=shown, **more)


def test_a_counterexample_reproduces_if_its_own_entry_matches_it() -> None:
    swapped = expectation_of("swapped", SUBTRACT, "[1.0, 2.0]", "3.0", kinds=("operands swapped",))
    seen = replay(swapped, "reference:transposed_operands")
    assert (seen.reproduces, seen.verdict) == (True, Verdict.DIVERGENT)
    assert not replay(expectation_of("other", SUBTRACT, "1.0", "3.0", kinds=("NaN",)),
                      "reference:transposed_operands").reproduces  # fmt: skip
    seen = replay(swapped, "reference:right")
    assert (seen.reproduces, seen.verdict) == (False, Verdict.PASS)


@pytest.mark.parametrize(
    ("program", "inputs", "said"),
    [
        ("func.func @main(", (), "the counterexample of expectation 'a': "),
        (SUBTRACT, ("1.0",), "takes 2 inputs, and 1 are given"),
    ],
)
def test_a_counterexample_that_cannot_be_read_is_a_mistake_in_the_file(
    program: str, inputs: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        replay(expectation_of("a", program, *inputs), "reference:right")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


FILE = """
[[known]]
id = "swapped"
op = "subtract"
reason = "lhs and rhs are swapped."
[known.counterexample]
program = '''{program}'''
inputs = ["1.0", "2.0"]

[[known]]
id = "mended"
op = "subtract"
kinds = ["NaN"]
reason = "NaN of equal numbers."
[known.counterexample]
program = '''{program}'''
inputs = ["1.0", "1.0"]

[[known]]
id = "bare"
op = "subtract"
reason = "Nothing shows it."
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "known.toml").write_text(FILE.format(program=SUBTRACT))
    return tmp_path / "known.toml"


def test_the_command_says_which_reproduce(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def run_command(*arguments: str) -> tuple[int, str, str]:
        given = ["expectations", *arguments, "--expectations", str(file), "--backend",
                 "reference:transposed_operands"]  # fmt: skip
        code = exit_code_of(lambda: app(given, standalone_mode=False))
        return code, *capfd.readouterr()

    code, out, err = run_command("check", "--jobs", "1")
    assert code == 1
    first, second, third = out.splitlines()
    assert first.startswith("swapped: reproduces: divergent (operands swapped): ")
    assert second == "mended: fixed: pass"
    assert third == "bare: no counterexample"
    assert ": 1 reproduce, 1 fixed, 0 do not reproduce, 1 have no counterexample" in err
    assert run_command("check", "swapped")[0] == 0
    assert run_command("check", "bare")[0] == 4
    code, _, err = run_command("check", "bare", "--strict")
    assert code == 2
    assert f"--strict: no counterexample in entry 'bare' ({file}): without one nobody sees" in err
    assert run_command("check", "swapped", "--strict")[0] == 0
    code, _, err = run_command("check", "swaped")
    assert code == 2
    assert (
        "unknown expectation 'swaped'; did you mean swapped? (among the entries that apply" in err
    )
    code, out, _ = run_command("list")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == ["swapped", "mended", "bare"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "entries"), [pytest.param("cpu", 90, marks=pytest.mark.x86), ("interpreter", 20)]
)
def test_shipped_counterexamples_reproduce_on_this_machine(
    backend: str, entries: int, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["expectations", "check", "--backend", backend]
    code = exit_code_of(lambda: app(command, standalone_mode=False))
    out, _ = capfd.readouterr()
    lines = out.splitlines()
    needing_none = {
        f"{one.id}: no counterexample"
        for one in load(None, (backend,), versions())
        if not one.needs_counterexample
    }
    assert {line for line in lines if ": reproduces: " not in line} <= needing_none
    assert len(lines) > entries
    assert code == 0


@pytest.mark.parametrize("flaky", [True, False])
def test_an_invalid_program_that_is_refused_this_time_is_no_mistake_of_a_flaky_entry(
    flaky: bool,
) -> None:
    expectation = Expectation(
        "mine", ("reduce",), "so", element_types=("invalid",), verdicts=("crashed",),
        words=("SIGSEGV",), flaky=flaky, counterexample=Counterexample("no module"),
    )  # fmt: skip
    if not flaky:
        with pytest.raises(UsageError, match="the counterexample of expectation 'mine'"):
            replay(expectation, "reference")
        return
    seen = replay(expectation, "reference")
    assert (seen.verdict, seen.reproduces) == (Verdict.REJECTED, False)


ENTRIES = [
    entry
    for file in sorted(SHIPPED.iterdir())
    for entry in read(file)
    if not {*entry.verdicts}.isdisjoint(WITHOUT_RESULTS)
]
"""The shipped entries that know programs without results."""

ANYTHING = ("*",)
"""Words that every message has distinguish nothing."""

TWO_SORTS = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "stablehlo.sort"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<2x3xf32>
}
"""


def two_sorts() -> Program:
    (unit,) = units_of(TWO_SORTS)
    assert isinstance(unit, Unit)
    return unit.flat.program


def crash(message: str, kind: str = "abnormal exit") -> Failure:
    return Failure("sort", "f32", "cpu", Verdict.CRASHED, kind, message)


def entry(**given: Any) -> Expectation:
    return Expectation("x", ("sort",), "it ends", verdicts=("crashed",), **given)


def test_words_distinguish_crashes() -> None:
    known = entry(words=("bad_alloc", "a.cc:*] Check failed: n > 0"))
    head = "the process ended with SIGABRT"
    said = {
        f"{head}: what(): std::bad_alloc": "x",
        f"{head}: a.cc:12] Check failed: n > 0 (0 vs. 0)": "x",
        f"{head}: b.cc:12] Check failed: n > 0": "",
        f"{head}: a.cc:12] Check failed: n > 1": "",
        head: "",
    }
    assert {text: matching_entry((known,), crash(text)) for text in said} == said


def test_words_are_the_backends_own() -> None:
    died, timed_out = WorkerCrash("SIGABRT", "what(): bad"), WorkerTimeout(20.0)
    assert own_words(crash_verdict(died)[2]) == "what(): bad"
    for lost in (replace(died, last_words=""), WorkerCrash("exit code 3"), timed_out):
        assert own_words(crash_verdict(lost)[2]) == ""
    (verdict, kind, message), known = crash_verdict(died), entry(words=("SIGABRT", "the process"))
    failure = replace(crash(message, kind), verdict=verdict)
    assert matching_entry((known,), failure) == ""
    assert matching_entry((entry(words=ANYTHING),), failure) == "x"


def test_a_silent_crash_is_matched_by_the_operation() -> None:
    first, second = (operation for operation in two_sorts().walk() if operation.name == "sort")
    known = entry(where=('sort"*dimension = -* tensor<2x3xf32>',))
    silent = crash("the process ended with SIGSEGV")
    assert matching_entry((known,), replace(silent, operation=first)) == "x"
    assert matching_entry((known,), replace(silent, operation=second)) == ""
    assert matching_entry((known,), silent) == ""
    assert matching_entry((entry(words=("oom",)),), replace(silent, operation=first)) == ""


def test_a_condition_is_a_name_that_exists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def is_of_two(operation: crashing_operations.OperationText) -> bool:
        return operation.shapes()[0] == [2, 3]

    monkeypatch.setitem(crashing_operations.CONDITIONS, "of two", is_of_two)
    first, second = (one for one in two_sorts().walk() if one.name == "sort")
    silent = crash("the process ended with SIGSEGV")
    known = entry(where=("condition: of two",))
    assert matching_entry((known,), replace(silent, operation=first)) == "x"
    assert matching_entry((known,), replace(silent, operation=second)) == ""
    text = '[[known]]\nid = "x"\nop = "sort"\nreason = "r"\nverdicts = ["crashed"]\n'
    text += 'where = ["{}"]\n'
    path = tmp_path / "own.toml"
    path.write_text(text.format("condition: of two"))
    assert [one.where for one in load([str(path)], ("cpu",), versions())] == [known.where]
    path.write_text(text.format("condition: of tow"))
    with pytest.raises(ExpectationError, match="unknown condition 'of tow'; did you mean of two"):
        load([str(path)], ("cpu",), versions())


def test_a_record_is_matched_by_the_operations_of_its_program() -> None:
    detail = Detail(emit(two_sorts()), b"", 0, 0)
    silent = Record("sort", "f32", "cpu", 0, "", Verdict.CRASHED, "abnormal exit",
                    "the process ended with SIGSEGV", detail=detail)  # fmt: skip
    for where, known in (
        ("sort*dimension = -1", "x"), ("sort*dimension = 1", ""),
        ("dimension = -1*dimension = 0", ""),
    ):  # fmt: skip
        assert matching_entry((entry(where=(where,)),), silent) == known
    assert matching_entry((entry(where=("sort",)),), replace(silent, detail=None)) == ""


OTHER_WORDS = (
    "the process ended with SIGABRT: other.cc:7] Check failed: something else",
    "INTERNAL: RET_CHECK failure (other.cc:7) something else",
    "INVALID_ARGUMENT: during context [hlo verifier]: something else",
    "the process ended with SIGABRT",
    "the process ended with SIGSEGV",
    "no answer within 20 s: compilation 20.0 s",
)


@pytest.mark.parametrize("known", ENTRIES, ids=lambda one: one.id)
@pytest.mark.parametrize("message", OTHER_WORDS)
def test_the_same_end_with_other_words_is_new(known: Expectation, message: str) -> None:
    assert not any(
        known.matches_except_op(Verdict(verdict), kind, message)
        for verdict in known.verdicts
        for kind in (*known.kinds, *ANSWERED)
        if own_words(message) or not known.where
    )


ENDS_WHEN_READ = ("reduce-of-nothing", "chlo-negative-broadcast-dimension")
"""MLIR's verifier crashes the process here."""


@pytest.mark.parametrize(
    "known",
    [
        one
        for one in load(None, ("cpu", "interpreter"), versions())
        if one.where
        and one.id not in ENDS_WHEN_READ
        and not {*one.verdicts}.isdisjoint(WITHOUT_RESULTS)
    ],
    ids=lambda one: one.id,
)
def test_where_matches_the_counterexample_and_no_other_program(known: Expectation) -> None:
    assert known.counterexample is not None
    (unit,) = units_of(known.counterexample.program)
    assert isinstance(unit, Unit)
    signal = next((word for word in known.words if word.startswith("SIG")), "SIGABRT")
    message = f"the process ended with {signal}"
    if known.words and signal not in known.words:
        message += f": {known.words[0].replace('*', '')}"
    end = (Verdict(known.verdicts[0]), known.kinds[0], message)
    backend = next(name for name in known.backends if name in ("cpu", "interpreter"))
    cell = (known.op[0], known.element_types[0], backend)
    operations = [operation for program in unit.programs for operation in program.walk()]
    assert any(known.matches(Failure(*cell, *end, operation=operation)) for operation in operations)
    assert not any(
        known.matches(Failure(*cell, *end, operation=operation)) for operation in two_sorts().walk()
    )

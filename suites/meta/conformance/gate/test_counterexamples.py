"""Counterexamples of expectations: inputs, replay, stale entries."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.checking.counterexample import is_crash_matched, replay
from conformance.cli import app, exit_code_of
from conformance.errors import UsageError
from conformance.gate.counterexamples import input_text, parse_inputs
from conformance.gate.expectations import Counterexample, Expectation
from conformance.gate.files import SHIPPED
from conformance.gate.reading import load, read
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions
from conformance.verdict import Verdict
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


# --- Inputs --------------------------------------------------------------------------------------


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


def test_equal_elements_are_written_once() -> None:
    assert input_text(np.ones((3, 4), np.float32)) == "1.0"
    ones = np.array([[1, 1, 1, 1, 2]] * 4, np.int32)
    assert input_text(ones) == "[[1 x 4, 2] x 4]"


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


def test_there_is_an_input_for_each_parameter() -> None:
    with pytest.raises(ValueError, match="takes 1 inputs, and 2 are given"):
        parse_inputs(program_of(TensorType((2,), element_type("f32"))), ("1.0", "1.0"))


# --- Replaying -----------------------------------------------------------------------------------

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


# --- The shipped ones ----------------------------------------------------------------------------


def test_every_shipped_expectation_has_a_counterexample() -> None:
    for path in SHIPPED.glob("*.toml"):
        for expectation in read(path):
            assert expectation.counterexample or not expectation.needs_counterexample, (
                expectation.id
            )


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


def test_a_program_that_ends_mlir_only_sometimes_is_matched_by_its_end() -> None:
    """The worker that read it has ended; the process that looks at the entry reads it again."""
    expectation = Expectation(
        "mine", ("reduce",), "so", element_types=("invalid",), verdicts=("crashed",),
        kinds=("abnormal exit",), words=("SIGSEGV",), where=("stablehlo",),
        counterexample=Counterexample("no module"),
    )  # fmt: skip
    outcome = Outcome(Verdict.CRASHED, "abnormal exit", "the process ended with SIGSEGV")
    assert is_crash_matched(expectation, "reference", outcome)
    other = replace(outcome, message="the process ended with SIGABRT")
    assert not is_crash_matched(expectation, "reference", other)


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

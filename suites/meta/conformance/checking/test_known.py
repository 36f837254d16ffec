"""check and known divergences: matched by expectations, in every construct; culprits are named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends import session
from conformance.backends.base import Executable
from conformance.backends.pjrt.backend import PjrtBackend
from conformance.backends.session import Session, open_session
from conformance.checking.file import matching_expectations, merge_outcomes
from conformance.checking.program import ProgramChecker
from conformance.checking.settings import CheckedFile, Settings
from conformance.frontends.modules import Unit, unit_of, units_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation
from conformance.gate.reading import load
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions
from conformance.stablehlo.emit import emit
from conformance.verdict import Verdict
from reference.ir.program import Operation, Program, Region
from reference.ir.types import Array
from suites.meta.support.checking import check_text

SHIPPED = load(None, ("cpu",), versions())
WRONG = {"sine": "cosine", "tanh": "negate", "abs": "sign"}
"""The op that the faulty backend computes in place of an op."""


class Faulty(PjrtBackend):
    """XLA with some ops computed as other ops, in programs of more than `least` ops."""

    def __init__(self, least: int = 0) -> None:
        super().__init__("cpu", "cpu")
        self._least = least

    def compile(self, text: str, program: Program) -> Any:
        del text
        size = sum(operation.name != "return" for operation in program.main.body.operations)
        wrong = _rename_operations(program) if size > self._least else program
        return super().compile(emit(wrong), wrong)


def _rename_operations(program: Program) -> Program:
    def region(of: Region) -> Region:
        return replace(of, operations=tuple(map(rename_operation, of.operations)))

    def rename_operation(one: Operation) -> Operation:
        regions = tuple(map(region, one.regions))
        return replace(one, name=WRONG.get(one.name, one.name), regions=regions)

    return Program(tuple(replace(f, body=region(f.body)) for f in program.functions))


def settings_for(*ops: str, **more: Any) -> Settings:
    """Settings of the faulty backend, with an expectation for each of these ops."""
    known = tuple(Expectation(f"{op}-wrong", (op,), f"{op} is wrong", **more) for op in ops)
    return Settings("cpu", expectations=known)


@pytest.fixture
def use_faulty_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "cached_backend", lambda _: Faulty())


# --- Programs of several operations --------------------------------------------------------------

CHAIN = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.sine %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %y : tensor<4xf32>
  %3 = stablehlo.logistic %2 : tensor<4xf32>
  %4 = stablehlo.exponential %y : tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}"""
BEHIND = CHAIN.replace("logistic", "tanh")
BESIDE = CHAIN.replace("exponential", "tanh")
SINE, TANH = "sine %1 (line 4)", "tanh %3 (line 6)"


@pytest.mark.slow
@pytest.mark.usefixtures("use_faulty_backend")
def test_a_known_operation_is_named_and_fails_nothing(tmp_path: Path) -> None:
    found = check_text(tmp_path, CHAIN, settings_for("sine"))
    assert found.verdict is Verdict.DIVERGENT
    assert (found.known, found.is_new_failure, found.operation) == (("sine-wrong",), False, SINE)
    assert f"first wrong: {SINE}: " in found.message
    found = check_text(tmp_path, CHAIN, settings_for("tanh"))
    assert (found.known, found.is_new_failure, found.operation) == ((), True, SINE)


@pytest.mark.slow
@pytest.mark.usefixtures("use_faulty_backend")
@pytest.mark.parametrize("text", [BEHIND, BESIDE])
def test_second_fault_is_not_hidden_by_known_divergence(text: str, tmp_path: Path) -> None:
    where = TANH if text is BEHIND else "tanh %4 (line 7)"
    found = check_text(tmp_path, text, settings_for("sine"))
    assert (found.verdict, found.known, found.operation) == (Verdict.DIVERGENT, (), where)
    assert (
        f"in addition to the known divergence sine-wrong, first wrong: {where}: " in found.message
    )
    found = check_text(tmp_path, text, settings_for("sine", "tanh"))
    assert (found.known, found.operation) == (("sine-wrong", "tanh-wrong"), SINE)


def test_operation_right_in_isolation_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "cached_backend", lambda _: Faulty(least=1))
    found = check_text(tmp_path, CHAIN, settings_for("sine"))
    assert (found.known, found.operation) == ((), SINE)


@dataclass(frozen=True)
class Spoilt:
    """Results; some have NaN for one element, others have two elements that are far off."""

    executable: Executable
    spoilt: tuple[bool, ...]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        results = [np.array(one) for one in self.executable.execute(inputs)[0]]
        for result, is_spoilt in zip(results, self.spoilt, strict=True):
            if is_spoilt:
                result[0], result[1:3] = np.nan, result[1:3] + 40
        return [results]


class Mixed(PjrtBackend):
    """A backend that corrupts the results of sine in two ways."""

    def compile(self, text: str, program: Program) -> Any:
        made = [o.results[0].name for o in program.walk() if o.name == "sine"]
        returned = program.main.body.operations[-1].operands
        return Spoilt(super().compile(text, program), tuple(v.name in made for v in returned))


@pytest.mark.slow
def test_all_that_is_wrong_with_an_operation_must_be_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most frequent class speaks for an operation; an element of another must be known too."""
    monkeypatch.setattr(session, "cached_backend", lambda _: Mixed("cpu", "cpu"))
    text = CHAIN.replace("return %3, %4", "return %1, %4")
    both = settings_for("sine", kinds=("wrong value", "NaN"))
    assert not check_text(tmp_path, text, both).is_new_failure
    assert check_text(tmp_path, text, settings_for("sine", kinds=("wrong value",))).is_new_failure
    assert check_text(tmp_path, text, settings_for("sine", kinds=("NaN",))).is_new_failure


LOOP = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %c = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %0 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %1 = stablehlo.add %k, %one : tensor<i32>
    %2 = stablehlo.sine %c : tensor<4xf32>
    %3 = stablehlo.logistic %2 : tensor<4xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<4xf32>
  }
  %4 = stablehlo.exponential %r#1 : tensor<4xf32>
  return %4 : tensor<4xf32>
}"""


@pytest.mark.slow
@pytest.mark.usefixtures("use_faulty_backend")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        (LOOP, "sine %"),
        (LOOP.replace("logistic", "tanh"), "tanh %"),
        (LOOP.replace("exponential", "tanh"), "tanh %"),
    ],
)
def test_in_a_loop_every_iteration_is_looked_at(text: str, where: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, text, settings_for("sine"))
    assert found.operation.startswith(where)
    assert found.known == (("sine-wrong",) if text is LOOP else ())
    inside = "exponential" in text
    assert (" in while %" in found.operation) == inside
    assert check_text(tmp_path, text, settings_for("sine", "tanh")).known


# --- What XLA is known for -----------------------------------------------------------------------

SUBNORMAL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %small = stablehlo.constant dense<1.0e-39> : tensor<4xf32>
  %large = stablehlo.constant dense<1.0e+3> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %small : tensor<4xf32>
  %1 = stablehlo.multiply %0, %large : tensor<4xf32>
  %2 = stablehlo.multiply %1, %small : tensor<4xf32>
  %3 = stablehlo.multiply %2, %large : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("text", "verdict", "known"),
    [
        (SUBNORMAL, Verdict.FLUSHED, ("subnormals-flushed",)),
        (
            """
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.cbrt %x : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}""",
            Verdict.REJECTED,
            ("complex-cbrt",),
        ),
    ],
)
@pytest.mark.x86
def test_known_of_xla(text: str, verdict: Verdict, known: tuple[str, ...], tmp_path: Path) -> None:
    found = check_text(tmp_path, text, Settings("cpu", expectations=SHIPPED))
    assert (found.verdict, found.known) == (verdict, known)
    found = check_text(tmp_path, text, Settings("cpu"))
    assert (found.verdict, found.known, found.is_new_failure) == (verdict, (), True)


ATTENTION = """
func.func @main(%q: tensor<6x8xbf16>, %k: tensor<6x8xbf16>, %v: tensor<6x8xbf16>)
    -> tensor<6x8xbf16> {
  %c = stablehlo.constant dense<2.828130e+00> : tensor<6x6xbf16>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1]
    : (tensor<6x8xbf16>, tensor<6x8xbf16>) -> tensor<6x6xbf16>
  %1 = stablehlo.divide %0, %c : tensor<6x6xbf16>
  %2 = stablehlo.convert %1 : (tensor<6x6xbf16>) -> tensor<6x6xf32>
  %3 = stablehlo.reduce(%2 init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<6x6xf32>, tensor<f32>) -> tensor<6xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<6xf32>) -> tensor<6x6xf32>
  %5 = stablehlo.subtract %2, %4 : tensor<6x6xf32>
  %6 = stablehlo.exponential %5 : tensor<6x6xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<6x6xf32>, tensor<f32>) -> tensor<6xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<6xf32>) -> tensor<6x6xf32>
  %9 = stablehlo.divide %6, %8 : tensor<6x6xf32>
  %10 = stablehlo.convert %9 : (tensor<6x6xf32>) -> tensor<6x6xbf16>
  %11 = stablehlo.dot_general %10, %v, contracting_dims = [1] x [0]
    : (tensor<6x6xbf16>, tensor<6x8xbf16>) -> tensor<6x8xbf16>
  return %11 : tensor<6x8xbf16>
}"""


@pytest.mark.x86
def test_attention_in_bf16_is_known_for_its_unrounded_scores(tmp_path: Path) -> None:
    found = check_text(tmp_path, ATTENTION, Settings("cpu", expectations=SHIPPED))
    assert not found.is_new_failure, found.message
    assert set(found.known) <= {"narrow-result-converted-unrounded"}


SIZES = """
func.func @main(%x: tensor<1xf32>) -> tensor<1x1xi32> {
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<1xf32>) -> tensor<i32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<1x2xi32>
  %2 = stablehlo.constant dense<[[1500000000], [1500000001]]> : tensor<2x1xi32>
  %3 = stablehlo.convolution(%1, %2) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x2xi32>, tensor<2x1xi32>) -> tensor<1x1xi32>
  return %3 : tensor<1x1xi32>
}"""
BITS = """
func.func @main(%x: tensor<2xui64>) -> (tensor<999xf16>, tensor<999xf64>) {
  %0, %1 = stablehlo.rng_bit_generator %x, algorithm = PHILOX
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<999xf64>)
  %2 = stablehlo.convert %1 : (tensor<999xf64>) -> tensor<999xf16>
  return %2, %1 : tensor<999xf16>, tensor<999xf64>
}"""


@pytest.mark.parametrize(
    ("text", "id_", "first"),
    [
        (SIZES, "fold-integer-convolution", "convolution"),
        (BITS, "random-bits-are-unsigned", "rng_bit_generator"),
    ],
)
@pytest.mark.x86
def test_consequences_of_known_divergence_are_known(
    text: str, id_: str, first: str, tmp_path: Path
) -> None:
    """Sizes are folded as constants are; random bits of another type are converted as such."""
    found = check_text(tmp_path, text, Settings("cpu", expectations=SHIPPED))
    assert (found.verdict, found.known) == (Verdict.DIVERGENT, (id_,))
    assert found.operation.startswith(first)
    others = tuple(one for one in SHIPPED if one.id != id_)
    assert check_text(tmp_path, text, Settings("cpu", expectations=others)).is_new_failure


# --- Verdicts of several programs, the command ---------------------------------------------------


def test_a_file_is_known_if_all_its_failures_are() -> None:
    one = CheckedFile(Verdict.INACCURATE, known=("a",), file="f")
    worse = CheckedFile(Verdict.DIVERGENT, known=("b", "a"), file="f")
    right = CheckedFile(Verdict.PASS, file="f")
    new = CheckedFile(Verdict.FLUSHED, "flushed", file="f")
    found = merge_outcomes("g", [right, one, worse])
    assert (found.file, found.verdict, found.known) == ("g", Verdict.DIVERGENT, ("a", "b"))
    found = merge_outcomes("g", [one, new, worse])
    assert (found.verdict, found.known, found.is_new_failure) == (Verdict.FLUSHED, (), True)


OURS = """
[[known]]
id = "our-sine"
op = "sine"
reason = "our sine is a cosine"
"""


@pytest.mark.slow
@pytest.mark.usefixtures("use_faulty_backend", "check_in_process")
def test_known_and_new_divergences_are_distinguished(call, tmp_path: Path) -> None:
    ours, program, other = (tmp_path / name for name in ("ours.toml", "a.mlir", "b.mlir"))
    ours.write_text(OURS)
    program.write_text(CHAIN)
    other.write_text(BEHIND)
    code, out, _ = call("check", program, "--expectations", ours)
    assert code == 0
    assert out.startswith(f"{program}: known divergent (wrong value): ")
    assert out.endswith("; a known divergence, our-sine: our sine is a cosine\n")
    code, out, err = call("check", program, other, "--expectations", ours, "--format", "json")
    objects = [json.loads(line) for line in out.splitlines()]
    assert [(one["verdict"], one["known"]) for one in objects] == [
        ("divergent", ["our-sine"]), ("divergent", []),
    ]  # fmt: skip
    assert (code, err) == (1, "2 files: known divergent 1, divergent 1\n")
    code, out, _ = call("check", program, "--expectations", "none")
    assert (code, "known divergence" in out) == (1, False)
    (tmp_path / "cpu.toml").write_text(OURS)  # of a folder the backend's own file counts
    assert call("check", program, "--expectations", tmp_path)[0] == 0
    assert call("check", program)[0] == 1  # the shipped ones know no such sine


FROM_ZERO = """
func.func @main(%x: tensor<4xELEMENT>) -> tensor<4xELEMENT> {
  %zero = stablehlo.constant dense<ZERO> : tensor<4xELEMENT>
  %0 = stablehlo.subtract %zero, %x : tensor<4xELEMENT>
  return %0 : tensor<4xELEMENT>
}"""
FROM_ZERO_IN_A_CHAIN = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %size = stablehlo.abs %x : tensor<4xf32>
  %zero = stablehlo.subtract %size, %size : tensor<4xf32>
  %0 = stablehlo.subtract %zero, %size : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


@pytest.mark.usefixtures("check_in_process")
@pytest.mark.parametrize(
    "text",
    [
        FROM_ZERO.replace("ELEMENT", "f32").replace("ZERO", "0.0"),
        FROM_ZERO.replace("ELEMENT", "complex<f32>").replace("ZERO", "(0.0, 0.0)"),
        FROM_ZERO_IN_A_CHAIN,
    ],
)
def test_a_lost_sign_is_no_zero_left_out(text: str, call, tmp_path: Path) -> None:
    program = tmp_path / "a.mlir"
    program.write_text(text)
    faulty = ("--backend", "reference:transposed_operands@subtract")
    code, out, _ = call("check", program, *faulty, "--expectations", "cpu")
    assert (code, "known" in out) == (1, False)


@pytest.mark.usefixtures("check_in_process")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot read expectations "),
        ("known = 1", "'known' must be tables"),
        (OURS.replace('"sine"', '"sign*e"'), "unknown op 'sign*e'"),
    ],
)
def test_bad_expectations_are_one_line(
    content: str | None, reason: str, call, tmp_path: Path
) -> None:
    program, ours = tmp_path / "a.mlir", tmp_path / "ours.toml"
    program.write_text(CHAIN)
    if content is not None:
        ours.write_text(content)
    code, out, err = call("check", program, "--expectations", ours)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err


# --- Extensions ----------------------------------------------------------------------------------


CALLED = """
func.func @main(%x: tensor<3xi8>) -> tensor<3xi8> {
  %init = stablehlo.constant dense<0> : tensor<i8>
  %0 = "stablehlo.reduce"(%x, %init) ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = func.call @larger(%a, %b) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) {dimensions = array<i64: 0>} : (tensor<3xi8>, tensor<i8>) -> tensor<i8>
  return %x : tensor<3xi8>
}
func.func private @larger(%a: tensor<i8>, %b: tensor<i8>) -> tensor<i8> {
  %0 = stablehlo.maximum %a, %b : tensor<i8>
  return %0 : tensor<i8>
}"""


@pytest.mark.parametrize(
    ("where", "known"),
    [
        ('reduce"*"func.call"', ("it",)),
        ('reduce"*"stablehlo.maximum"', ("it",)),
        ('reduce"*"stablehlo.add"', ()),
    ],
)
def test_crashed_program_is_matched_by_calls_and_their_bodies(
    where: str, known: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "called.mlir"
    file.write_text(CALLED)
    entry = Expectation("it", ("reduce",), "", verdicts=("crashed",), where=(where,))
    settings = Settings("reference", expectations=(entry,))
    lost = (Verdict.CRASHED, "abnormal exit", "the process ended with SIGSEGV")
    assert matching_expectations(str(file), settings, *lost) == known


ALGSIMP = "rewriting by algsimp: multiply(convert<f32>(a), b) => select<f32>(a, b, C)"


def outcome_of_counterexample(id: str, backend: str, *, known: bool = False) -> Outcome:  # noqa: A002
    """Return the outcome of the counterexample of a known divergence of XLA on CPU.

    `known` says whether expectations are taken into account.
    """
    entries = {entry.id: entry for entry in load("cpu", ("cpu",), versions())}
    if id not in entries:
        pytest.skip(f"this jaxlib is not known to have {id}")
    given = entries[id].counterexample
    assert given is not None
    (unit,) = units_of(given.program)
    assert isinstance(unit, Unit)
    work = ProgramChecker(unit, open_session(backend), (entries[id],) if known else (), 20.0)
    return work.judge_inputs(parse_inputs(unit.flat.program, given.inputs))


@pytest.mark.x86
@pytest.mark.parametrize("backend", ["cpu", "cpu-compile"])
def test_pass_and_change_of_a_rewriting_are_named(backend: str) -> None:
    found = outcome_of_counterexample("truth-value-as-a-selection", backend)
    assert found.verdict.fails
    assert found.message.endswith(ALGSIMP)


@pytest.mark.x86
def test_culprit_pass_of_known_divergence_is_not_reported() -> None:
    found = outcome_of_counterexample("truth-value-as-a-selection", "cpu", known=True)
    assert found.known
    assert "rewriting by" not in found.message


@pytest.fixture(scope="module")
def cpu_session() -> Session:
    return open_session("cpu")


def outcome(
    cpu_session: Session, entry: Expectation, program: Program, inputs: tuple[Array, ...]
) -> tuple[bool, tuple[str, ...]]:
    """Return whether a program fails, and the entries that know it."""
    found = ProgramChecker(unit_of(program), cpu_session, (entry,), 60.0).judge_inputs(inputs)
    return found.verdict.fails, found.known

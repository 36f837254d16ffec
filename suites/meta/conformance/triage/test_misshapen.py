"""Programs refused because of the shape of an intermediate value, or for another reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.campaign_faults.backends import FaultyBackend
from conformance.backends import session
from conformance.backends.base import Failed
from conformance.checking.settings import Settings
from conformance.fuzzing.grouping import key_of
from conformance.fuzzing.minimisation import minimise_failure
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.reading import load
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.triage.misshapen import find_misshaping, judge_shown
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.checking import check_text

BROKEN = """
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {{
  %0 = stablehlo.{first} %x : tensor<1xf32>
  %1 = stablehlo.{second} %y : tensor<1xf32>
  %2 = stablehlo.add %0, %y : tensor<1xf32>
  return %1, %2 : tensor<1xf32>, tensor<1xf32>
}}"""
BITCASTS = """
func.func @main(%x: tensor<{0}>) -> tensor<{2}> {{
  %0 = stablehlo.bitcast_convert %x : (tensor<{0}>) -> tensor<{1}>
  %1 = stablehlo.bitcast_convert %0 : (tensor<{1}>) -> tensor<{2}>
  return %1 : tensor<{2}>
}}"""
INPUTS = (np.ones(1, np.float32), np.ones(1, np.float32))


def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
    """Run a program on a backend whose `negate` returns two elements, whatever the type says, and
    that does not implement `sine`.
    """
    names = {operation.name for operation in program.main.body.operations[:-1]}
    if "sine" in names or ("negate" in names and len(names) > 1):
        raise Failed("incompatible shapes")
    for inputs in sets:
        results = [np.asarray(one) for one in evaluate(program, inputs)]
        yield [np.repeat(result, 2) for result in results] if "negate" in names else results


def matching_ids(operation: Operation, verdict: Verdict, kind: str, message: str) -> str:
    """Return expectations about negate and abs."""
    if verdict is not Verdict.DIVERGENT:
        return "refusals" if operation.name == "abs" and message == "abs of one" else ""
    return "shapes" if operation.name in ("negate", "abs") and kind == "wrong type" else ""


def misshapen_operation(first: str, second: str) -> tuple[str, str] | None:
    """Return the name of the operation, and the id."""
    found = find_misshaping(
        run, parse_module(BROKEN.format(first=first, second=second)), INPUTS, matching_ids
    )
    return None if found is None else (found[0].name, found[1])


@pytest.mark.parametrize("second", ["cosine", "negate", "abs"])
def test_operation_with_wrong_result_shape_is_found(second: str) -> None:
    assert misshapen_operation("negate", second) == ("negate", "shapes")


def test_operation_that_is_refused_for_its_type_in_isolation_is_found() -> None:
    """The program is refused for another reason, which goes with the operation."""
    calls: list[str] = []

    def refusing(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        names = {operation.name for operation in program.main.body.operations[:-1]}
        if "abs" in names:
            raise Failed("abs of one" if len(names) == 1 else "a sum of other types")
        calls.append("without")
        return run(program, sets)

    program = parse_module(BROKEN.format(first="abs", second="cosine"))
    found = find_misshaping(refusing, program, INPUTS, matching_ids)
    assert found is not None
    assert (found[0].name, found[1], calls) == ("abs", "refusals", ["without"])


def test_refusal_without_the_misshapen_value_is_not_known() -> None:
    assert misshapen_operation("negate", "sine") is None


def test_finding_names_operation_with_wrong_result_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(program: Program, inputs: Sequence[Array]) -> list[Array]:
        return next(run(program, [inputs]))

    backend = FaultyBackend("a negate of two elements", answer)
    monkeypatch.setattr(session, "cached_backend", lambda _: backend)
    program = parse_module(BROKEN.format(first="negate", second="cosine"))
    refused = Outcome(Verdict.CRASHED, "internal error", "incompatible shapes")
    trial = Trial("reference:seeded", 0, 0, 1)
    found = minimise_failure(trial, FailingProgram(0, program, INPUTS, refused), 5.0)
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong type")
    assert found.culprit == "negate f32"
    assert key_of(found) == "divergent | wrong type | negate"


DRAWN = """
func.func @main(%state: tensor<2xui64>, %i: tensor<ui64>) -> tensor<ui64> {
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = PHILOX
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2x2xi16>)
  %2 = stablehlo.reduce(%0 init: %i) across dimensions = [0]
    : (tensor<2xui64>, tensor<ui64>) -> tensor<ui64>
   reducer(%a: tensor<ui64>, %b: tensor<ui64>) {
    stablehlo.return %a : tensor<ui64>
  }
  return %2 : tensor<ui64>
}"""


@pytest.mark.x86
def test_wrong_element_type_is_known_after_unspecified_result(tmp_path: Path) -> None:
    """The state follows the backend's variant of PHILOX; the bits are unused."""
    np.savez(tmp_path / "in.npz", state=np.array([1, 0], np.uint64), i=np.uint64(0))
    shipped = tuple(load("cpu", ("cpu",), versions()))
    settings = Settings("cpu", inputs=tmp_path / "in.npz", expectations=shipped)
    found = check_text(tmp_path, DRAWN, settings)
    assert (found.kind, found.known) == ("unsigned element type", ("random-bits-are-unsigned",))


@pytest.mark.parametrize(
    ("types", "known"),
    [
        (("2xf32", "2x2xi16", "2x2x2xi8"), "bitcast-of-a-bitcast"),
        (("2x2x2xi8", "2x2xi16", "2xf32"), "bitcast-of-a-bitcast"),
        (("1xf16", "1x2xi8", "1x2x8xi1"), "bitcast-i1-shape"),
        (("2x8xi1", "2xi8", "2xui8"), "bitcast-i1-shape"),
    ],
)
def test_bitcast_of_a_bitcast_is_known(
    types: tuple[str, str, str], known: str, tmp_path: Path
) -> None:
    settings = Settings("cpu", expectations=load(None, ("cpu",), versions()))
    found = check_text(tmp_path, BITCASTS.format(*types), settings)
    assert found.known == (known,)


BESIDE_BITS = """
func.func @main(%x: tensor<2xf64>, %state: tensor<2xui64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %0 = stablehlo.tanh %x : tensor<2xf64>
  %1, %2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xf64>)
  return %2, %0 : tensor<2xf64>, tensor<2xf64>
}"""


@pytest.mark.x86
@pytest.mark.parametrize(
    ("entries", "known", "culprit"),
    [
        (("random-bits-are-unsigned", "subnormals-flushed"),) * 2 + ("tanh f64",),
        (("random-bits-are-unsigned",), (), "tanh f64"),
        (("subnormals-flushed",), (), "rng_bit_generator f64"),
    ],
)
def test_results_beside_results_of_another_type_are_judged_by_themselves(
    entries: tuple[str, ...], known: tuple[str, ...], culprit: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.array([0, 4e-313]), state=np.zeros(2, np.uint64))
    shipped = tuple(one for one in load("cpu", ("cpu",), versions()) if one.id in entries)
    settings = Settings("cpu", inputs=tmp_path / "in.npz", expectations=shipped)
    found = check_text(tmp_path, BESIDE_BITS, settings)
    assert found.known == known
    assert found.culprit == culprit


def test_results_of_another_shape_without_a_misshapen_value_are_not_known() -> None:
    def always(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        """Return results of two elements from any program."""
        for inputs in sets:
            yield [np.repeat(np.asarray(one), 2) for one in evaluate(program, inputs)]

    program = parse_module(BROKEN.format(first="negate", second="cosine"))
    assert find_misshaping(always, program, INPUTS, matching_ids) is None


BRANCHES = """
func.func @main(%p: tensor<i1>, %x: tensor<1x8xi1>) -> tensor<1xi8> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.bitcast_convert %x : (tensor<1x8xi1>) -> tensor<1xi8>
    stablehlo.return %1 : tensor<1xi8>
  }, {
    %1 = stablehlo.not %x : tensor<1x8xi1>
    %2 = stablehlo.bitcast_convert %1 : (tensor<1x8xi1>) -> tensor<1xi8>
    stablehlo.return %2 : tensor<1xi8>
  }) : (tensor<i1>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}"""


@pytest.mark.x86
def test_wrong_shape_of_a_branch_is_known(tmp_path: Path) -> None:
    shipped = load("cpu", ("cpu",), versions())
    found = check_text(tmp_path, BRANCHES, Settings("cpu", expectations=shipped))
    assert found.known == ("bitcast-i1-shape",)


def test_shown_results_of_another_shape_have_a_wrong_shape() -> None:
    program = parse_module(BITCASTS.format("1xf16", "1x2xi8", "1x2x8xi1"))
    inputs, operation = [np.ones(1, np.float16)], program.main.body.operations[1]

    def kinds(shown: Array) -> set[str] | None:
        found = judge_shown(program, operation, inputs, [shown])
        return None if found is None else {failure.kind for failure in found.failures}

    assert kinds(np.array([[False, True]])) == {"wrong type"}
    assert kinds(np.array([True])) == {"wrong type"}
    assert kinds(np.ones((1, 2, 8), np.bool_)) is None

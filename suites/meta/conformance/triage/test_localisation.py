"""Operations at fault: located in long programs, and only those that make a result wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from conformance.checking.settings import CheckedFile
from conformance.gate.expectations import Expectation
from conformance.stablehlo.parse import parse_module
from conformance.triage import audit as audit_module
from conformance.triage.audit import audit
from conformance.triage.fault import Fault
from conformance.triage.localise import Search
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.faults.changed_backend import Change, compose_changes, result_of

TWO_RESULTS = """
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.negate %x : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  %2 = stablehlo.multiply %x, %x : tensor<2xf32>
  return %1, %2 : tensor<2xf32>, tensor<2xf32>
}"""


def first_wrong(wrong: str) -> Fault | None:
    """Return the localisation if a value is wrong in every program with a product."""

    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        names = [value.name for value in program.main.body.operations[-1].operands]
        has_product = any(operation.name == "multiply" for operation in program.walk())
        for inputs in sets:
            results = zip(names, evaluate(program, inputs), strict=True)
            yield [array + 5 * (has_product and name == wrong) for name, array in results]

    given = (np.array([1, 2], np.float32),)
    return Search(run, "cpu").locate(parse_module(TWO_RESULTS), given, Verdict.DIVERGENT)


def test_an_operation_that_only_lets_another_go_wrong_is_not_named() -> None:
    for wrong, name in (("2", "multiply"), ("1", "add")):
        found = first_wrong(wrong)
        assert found is not None
        assert found.operation.name == name
    assert first_wrong("none") is None


UNUSED = """
func.func @main(%x: tensor<2xf32>, %p: tensor<2xi1>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  %1 = stablehlo.abs %x : tensor<2xf32>
  %2 = stablehlo.select %p, %0, %1 : tensor<2xi1>, tensor<2xf32>
  %3 = stablehlo.multiply %2, %x : tensor<2xf32>
  return %3 : tensor<2xf32>
}"""


def test_a_wrong_value_that_nothing_uses_is_not_named() -> None:
    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        names = [value.name for value in program.main.body.operations[-1].operands]
        for inputs in sets:
            results = zip(names, evaluate(program, inputs), strict=True)
            yield [array + 5 * (name in ("0", "3")) for name, array in results]

    x = np.array([1, 2], np.float32)
    for taken, name in ((False, "multiply"), (True, "negate")):
        given = (x, np.array([taken, taken]))
        found = Search(run, "cpu").locate(parse_module(UNUSED), given, Verdict.DIVERGENT)
        assert found is not None
        assert found.operation.name == name


def chain(length: int, ops: Sequence[str]) -> str:
    """Return a chain of operations."""
    lines = ["func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {"]
    last = "x"
    for number in range(length):
        op = ops[number % len(ops)]
        lines.append(f"  %v{number} = stablehlo.{op} %{last} : tensor<3xf32>")
        last = f"v{number}"
    return "\n".join([*lines, f"  return %{last} : tensor<3xf32>", "}"])


def wrong_at(number: int, program: Program) -> Change:
    """Return the change that makes the results of operation `number` of main wrong."""
    name = program.main.body.operations[number].results[0].name

    def change(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if not operation.results or operation.results[0].name != name:
            return results
        return tuple(result + np.float32(0.25) for result in results)

    return change


X = np.array([0.25, 1.0, -2.0], np.float32)


@pytest.mark.slow
def test_the_operation_is_named_and_known(
    on: Callable[..., CheckedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "MOST_ELEMENTS", 100)  # not all values can be shown at once
    text = chain(120, ("negate", "abs", "tanh", "negate"))
    program = parse_module(text)
    number = next(n for n in range(90, 121) if program.main.body.operations[n].name == "tanh")
    change = wrong_at(number, program)
    found = on(text, {"x": X}, change)
    assert found.verdict is Verdict.DIVERGENT
    assert f"tanh %v{number}" in found.operation
    known = Expectation("off", ("tanh",), "It is off.", verdicts=("divergent", "inaccurate"))
    found = on(text, {"x": X}, change, known)
    assert found.known == ("off",)
    later = next(n for n in range(100, 121) if program.main.body.operations[n].name == "abs")
    found = on(text, {"x": X}, compose_changes(change, wrong_at(later, program)), known)
    assert (found.is_new_failure, found.known) == (True, ())
    assert "a known divergence, off; no other fault was found" in found.message


SIZE = 256

SOFTPLUS = """
func.func @main(%x: tensor<256xf32>, %w: tensor<256xf64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<256xf32>
  %max = stablehlo.maximum %x, %zero : tensor<256xf32>
  %difference = stablehlo.subtract %x, %zero : tensor<256xf32>
  %nan = stablehlo.compare NE, %difference, %difference
    : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xi1>
  %unused = stablehlo.add %x, %zero : tensor<256xf32>
  %abs = stablehlo.abs %difference : tensor<256xf32>
  %neg = stablehlo.negate %abs : tensor<256xf32>
  %exp = stablehlo.exponential %neg : tensor<256xf32>
  %log = stablehlo.log_plus_one %exp : tensor<256xf32>
  %sum = stablehlo.add %max, %log : tensor<256xf32>
  %y = stablehlo.select %nan, %unused, %sum : tensor<256xi1>, tensor<256xf32>
  %wide = stablehlo.convert %y : (tensor<256xf32>) -> tensor<256xf64>
  %dot = stablehlo.dot_general %wide, %w, contracting_dims = [0] x [0]
    : (tensor<256xf64>, tensor<256xf64>) -> tensor<f64>
  return %dot : tensor<f64>
}"""

DIVIDED = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %added = stablehlo.add %x, %zero : tensor<4xf32>
  %inverse = stablehlo.divide %one, %added : tensor<4xf32>
  %t = stablehlo.tanh %x : tensor<4xf32>
  %scaled = stablehlo.multiply %t, %inverse : tensor<4xf32>
  return %inverse, %scaled : tensor<4xf32>, tensor<4xf32>
}"""

WEIGHTS = np.where(np.arange(SIZE) % 2, -1.0, 1.0)
INPUTS = {"x": np.where(np.arange(SIZE) % 3, -0.0, 0.5).astype(np.float32), "w": WEIGHTS}


def minus_zero(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """-0 + 0 is -0, as it is to a compiler that takes x + 0 for x."""
    if operation.name != "add":
        return results
    return tuple(np.where(result == 0, np.float32(-0.0), result) for result in results)


def shift_logarithms(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operation with logarithms that are off by 2 ulp, each in its most visible
    direction.

    These errors are permitted for each operation, but so unlikely in combination that no perturbed
    evaluation comes near.
    """
    if operation.name != "log_plus_one":
        return results
    away = np.where(WEIGHTS > 0, np.float32(np.inf), np.float32(-np.inf))
    return tuple(np.nextafter(np.nextafter(result, away), away) for result in results)


off = result_of("tanh", lambda one: one * np.float32(1.5))


@pytest.mark.parametrize(
    "change",
    [shift_logarithms, compose_changes(shift_logarithms, minus_zero)],
    ids=["without", "with"],
)
def test_no_verdict_hangs_on_a_value_that_nothing_uses(on: Any, change: Change) -> None:
    found = on(SOFTPLUS, INPUTS, change)
    assert found.verdict is Verdict.PASS, found.message
    assert "every operation is right" in found.message


def test_culprit_is_the_operation_that_changes_the_result(on: Any) -> None:
    inputs = {"x": np.array([-0.0, 0.5, 1.0, 2.0], np.float32)}
    found = on(DIVIDED, inputs, compose_changes(minus_zero, off))
    assert "add %added" in found.operation  # 1 / -0 is not 1 / 0
    others = DIVIDED.replace("stablehlo.divide %one", "stablehlo.maximum %one")
    found = on(others, inputs, compose_changes(minus_zero, off))
    assert "tanh %t" in found.operation, found.message


@pytest.mark.parametrize("count", [20, 100])
def test_harmless_wrong_values_do_not_hide_the_culprit(on: Any, count: int) -> None:
    lines = ["  %m0 = stablehlo.abs %x : tensor<4xf32>"]
    for n in range(count):
        lines += [
            f"  %u{n} = stablehlo.add %x, %zero : tensor<4xf32>",
            f"  %a{n} = stablehlo.abs %u{n} : tensor<4xf32>",
            f"  %m{n + 1} = stablehlo.maximum %m{n}, %a{n} : tensor<4xf32>",
        ]
    text = "\n".join(
        [
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {",
            "  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>",
            *lines,
            "  %t = stablehlo.tanh %x : tensor<4xf32>",
            f"  %r = stablehlo.subtract %t, %m{count} : tensor<4xf32>",
            "  return %r : tensor<4xf32>\n}",
        ]
    )
    inputs = {"x": np.array([-0.0, 0.5, 1.0, 2.0], np.float32)}
    found = on(text, inputs, compose_changes(minus_zero, off))
    assert found.operation.startswith("tanh %t"), found.operation


def test_operations_that_change_a_result_only_as_a_group_are_all_at_fault() -> None:
    """Each of two sums by itself leaves the larger addend as it is."""
    program = parse_module("""
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  %1 = stablehlo.abs %y : tensor<f32>
  %2 = stablehlo.minimum %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}""")
    lost = compose_changes(*(result_of(name, lambda one: one - 8.0) for name in ("negate", "abs")))

    def run(whole: Program, sets: Any) -> Any:
        for inputs in sets:
            yield list(evaluate(whole, inputs, on_result=lambda o, r: lost(whole, o, r)))

    inputs = [np.array(-1.0, np.float32), np.array(1.0, np.float32)]
    found = audit(run, "cpu", program, inputs, [0])
    assert found is not None
    assert [one.operation.name for one in found.wrong] == ["negate", "abs"]
    assert not found.harmless
    right = audit(run, "cpu", program, [inputs[0], np.array(100.0, np.float32)], [0])
    assert right is not None
    assert [one.operation.name for one in right.wrong] == ["negate"]
    assert [one.operation.name for one in right.harmless] == ["abs"]

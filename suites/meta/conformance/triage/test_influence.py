"""Only operations that make a result wrong are to blame; unused wrong values are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.perturbation.overrides import Override
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.triage.audit import audit
from conformance.triage.influence import influential_overrides, is_influential_value
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from suites.meta.support.checking import values_of
from suites.meta.support.faults.changed_backend import Change, compose_changes, result_of

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
    return tuple(np.where(one == 0, np.float32(-0.0), one) for one in results)


def shift_logarithms(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operation with logarithms that are off by 2 ulp, each in its most visible
    direction.

    These errors are permitted for each operation, but so unlikely in combination that no perturbed
    evaluation comes near.
    """
    if operation.name != "log_plus_one":
        return results
    away = np.where(WEIGHTS > 0, np.float32(np.inf), np.float32(-np.inf))
    return tuple(np.nextafter(np.nextafter(one, away), away) for one in results)


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


CHAIN = parse_module("""
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32>
  %1 = stablehlo.abs %0 : tensor<f32>
  %2 = stablehlo.maximum %1, %y : tensor<f32>
  return %2 : tensor<f32>
}""")


def repair(wrong: dict[str, float], y: float, *, is_used: bool = True) -> list[str]:
    """Return the ops among these with wrong results whose repair changes the program's result.

    Unless `is_used`, later operations compute the right values once more.
    """
    inputs = (np.full((), 2, np.float32), np.full((), y, np.float32))
    values = values_of(CHAIN, inputs)
    operations = CHAIN.main.body.operations[:-1]
    candidates = [
        Override(one, (values[one.results[0].name],), (np.full((), wrong[one.name], np.float32),))
        for one in operations
        if one.name in wrong
    ]
    backends = dict(values)
    if is_used:
        changes = [result_of(name, lambda _, to=to: np.full((), to)) for name, to in wrong.items()]
        lost = compose_changes(*changes)
        backends = values_of(CHAIN, inputs, lambda one, got: lost(CHAIN, one, got))
    backends |= {one.operation.results[0].name: one.actual[0] for one in candidates}
    found = influential_overrides(CHAIN, Hardware.CPU, backends, candidates)
    return [one.operation.name for one in found]


@pytest.mark.parametrize(
    ("wrong", "y", "found"),
    [
        ({"negate": -5.0}, 0.0, ["negate"]),
        ({"negate": -5.0}, 9.0, []),
        ({"negate": 2.0}, 0.0, []),
        ({"negate": 2.0, "maximum": 7.0}, 0.0, ["maximum"]),
        ({}, 0.0, []),
    ],
)
def test_value_is_influential_if_its_repair_changes_the_result(
    wrong: dict[str, float], y: float, found: list[str]
) -> None:
    assert repair(wrong, y) == found


def test_value_that_no_other_operation_takes_is_not_influential() -> None:
    assert repair({"negate": -5.0}, 0.0, is_used=False) == []


@pytest.mark.parametrize(("right", "changes"), [(3.0, True), (-2.0, False), (2.0, False)])
def test_parameter_is_influential_if_its_repair_changes_the_result(
    right: float, changes: bool
) -> None:
    values = {
        one.name: np.full((), n, np.float32)
        for one, n in zip(CHAIN.main.arguments, (2, 0), strict=True)
    }
    name = CHAIN.main.arguments[0].name
    found = is_influential_value(CHAIN, Hardware.CPU, values, name, np.full((), right, np.float32))
    assert found is changes
    assert is_influential_value(CHAIN, Hardware.CPU, {}, name, values[name])  # undecidable

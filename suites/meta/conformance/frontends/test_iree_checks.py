"""IREE's test programs as StableHLO with custom calls that assert."""

from __future__ import annotations

import pytest

from conformance.frontends.iree_checks import rewrite
from conformance.stablehlo.parse import parse_module

PROGRAM = """
func.func @main() {
  %x = util.unfoldable_constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.add %x, %x : tensor<2xf32>
  LINE
  return
}"""


def assertion(line: str) -> tuple[str, object]:
    """Return target and configuration of the call that a line becomes."""
    program = parse_module(rewrite(PROGRAM.replace("LINE", line)))
    (call,) = (one for one in program.main.body.operations if one.name == "custom_call")
    return str(call.attribute("call_target_name")), call.attribute("backend_config")


@pytest.mark.parametrize(
    ("line", "target", "config"),
    [
        ("check.expect_eq(%y, %x) : tensor<2xf32>", "check.expect_eq", None),
        (
            "check.expect_eq_const(%y, dense<[2.0, 4.0]> : tensor<2xf32>) : tensor<2xf32>",
            "check.expect_eq_const",
            None,
        ),
        (
            "check.expect_almost_eq(%y, %x) : tensor<2xf32>",
            "check.expect_almost_eq",
            "tolerance=1e-4 relative=0",
        ),
        (
            "check.expect_almost_eq(%y, %x, atol 1.0e-3, rtol 0.5) : tensor<2xf32>",
            "check.expect_almost_eq",
            "tolerance=1.0e-3 relative=0.5",
        ),
    ],
)
def test_assertions_are_custom_calls_with_tolerances(
    line: str, target: str, config: str | None
) -> None:
    found, given = assertion(line)
    assert found == target
    assert (given or None) == config


def test_truth_of_all_elements_is_equality_with_true() -> None:
    text = rewrite("check.expect_all_true(%p) : tensor<2xi1>")
    assert "dense<true> : tensor<2xi1>" in text
    assert "check.expect_eq" in text
    numbers = "check.expect_all_true(%p) : tensor<2xi32>"
    assert rewrite(numbers) == numbers


def test_constants_are_behind_a_barrier_and_lines_stay() -> None:
    text = rewrite(PROGRAM)
    assert text.count("\n") == PROGRAM.count("\n")
    assert "stablehlo.optimization_barrier" in text
    assert "unfoldable" not in text


def test_other_text_is_unchanged() -> None:
    text = "func.func @main() { return }"
    assert rewrite(text) is text

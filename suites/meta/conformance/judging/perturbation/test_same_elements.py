"""Values that hold the elements of another value at the same positions."""

from __future__ import annotations

import pytest

from conformance.judging.perturbation.same_elements import LARGEST, find_roots
from conformance.stablehlo.parse import parse_module

PROGRAM = """
func.func @main(%x: tensor<2x1xf32>) -> tensor<2xf32> {{
  %z = stablehlo.constant dense<{init}> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<2x1xf32>
  %1 = {between}
  %2 = stablehlo.negate %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""
RESHAPE = "stablehlo.reshape %0 : (tensor<2x1xf32>) -> tensor<2xf32>"
FOLD = """stablehlo.reduce(%0 init: %z) applies stablehlo.{} across dimensions = [1]
  : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>"""


def roots(text: str, fixed: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the values that hold elements of an exponential, with its name."""
    body = parse_module(text).main.body
    found = find_roots(body, lambda operation: operation.name == "exponential", fixed)
    place = {v.name: n for n, one in enumerate(body.operations) for v in one.results}
    return {place[name]: place[root.name] for name, root in found.items()}


@pytest.mark.parametrize(
    ("between", "init", "same"),
    [
        (RESHAPE, "0.0", True),
        (FOLD.format("add"), "0.0", True),
        (FOLD.format("add"), "1.0", False),
        (FOLD.format("maximum"), "0xFF800000", True),
        (FOLD.format("maximum"), "0.0", False),
    ],
)
def test_fold_of_one_element_with_its_identity_is_a_copy(
    between: str, init: str, same: bool
) -> None:
    assert roots(PROGRAM.format(between=between, init=init)) == ({1: 1, 2: 1} if same else {1: 1})


def test_an_operation_on_a_copy_is_no_copy() -> None:
    assert 3 not in roots(PROGRAM.format(between=RESHAPE, init="0.0"))


def test_reversed_elements_are_at_other_positions() -> None:
    text = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.exponential %x : tensor<2xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf32>
  return %1 : tensor<2xf32>
}"""
    assert roots(text) == {0: 0}


@pytest.mark.parametrize(("size", "found"), [(LARGEST, {0: 0, 1: 0}), (LARGEST + 1, {0: 0})])
def test_large_values_count_as_rearranged(size: int, found: dict[int, int]) -> None:
    assert (
        roots(f"""
func.func @main(%x: tensor<{size}xf32>) -> tensor<1x{size}xf32> {{
  %0 = stablehlo.exponential %x : tensor<{size}xf32>
  %1 = stablehlo.reshape %0 : (tensor<{size}xf32>) -> tensor<1x{size}xf32>
  return %1 : tensor<1x{size}xf32>
}}""")
        == found
    )


def test_fixed_values_are_left_out() -> None:
    body = parse_module(PROGRAM.format(between=RESHAPE, init="0.0")).main.body
    fixed = body.operations[1].results[0].name
    assert find_roots(body, lambda one: one.name == "exponential", (fixed,)) == {}

"""A select_and_scatter as a scatter of what windows select, element after element."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.windows.expanded_selection import as_scatter, orders_of
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_body
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array

SELECT = """
func.func @main(%x: tensor<3x4xf32>, %s: tensor<SIZESxf32>, %i: tensor<f32>) -> tensor<3x4xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare DIRECTION, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 2, 3>, window_strides = array<i64: STRIDES>,
      padding = dense<PADDING> : tensor<2x2xi64>} :
    (tensor<3x4xf32>, tensor<SIZESxf32>, tensor<f32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}"""


def program_of(direction: str, sizes: str, strides: str, padding: str) -> Program:
    """Return the program with these attributes."""
    text = SELECT.replace("DIRECTION", direction).replace("SIZES", sizes)
    return parse_module(text.replace("STRIDES", strides).replace("PADDING", padding))


def results_by_order(program: Program, inputs: list[Array]) -> list[list[list[float]]]:
    """Return the results of the expanded program for each order."""
    *_, end = program.main.body.operations
    return [
        evaluate(replace_body(program, [*as_scatter(program.subject, order), end]), inputs)[
            0
        ].tolist()
        for order in orders_of(program.subject)
    ]


@pytest.mark.parametrize(
    ("sizes", "strides", "padding"),
    [
        ("2x2", "1, 1", "0"),
        ("1x2", "2, 2", "[[0, 0], [1, 1]]"),
        ("2x1", "2, 3", "[[0, 1], [-1, 0]]"),
        ("0x2", "2, 1", "[[0, -2], [0, 0]]"),
        ("3x2", "2, 1", "[[3, 0], [0, 0]]"),  # windows of padding only
    ],
)
def test_it_computes_what_the_op_does(sizes: str, strides: str, padding: str) -> None:
    program = program_of("GE", sizes, strides, padding)
    rows, columns = map(int, sizes.split("x"))
    x = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], np.float32) * [1, -1, 1, -1]
    source = np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)
    inputs: list[Array] = [x.astype(np.float32), source, np.array(0.5, np.float32)]
    expected = evaluate(program, inputs)[0].tolist()
    assert results_by_order(program, inputs)[0] == expected


def selected_places(program: Program, x: list[list[float]]) -> list[list[int]]:
    """Return the place that the op selects in the only window, and those that the orders select."""
    inputs: list[Array] = [
        np.array(x, np.float32), np.ones((1, 1), np.float32), np.array(0, np.float32),
    ]  # fmt: skip
    results = [evaluate(program, inputs)[0].tolist(), *results_by_order(program, inputs)]
    return [np.argwhere(one).tolist()[0] for one in results]


def test_orders_decide_between_equal_elements() -> None:
    """LT selects the last of the smallest elements."""
    program = program_of("LT", "1x1", "2, 2", "[[0, -1], [0, -1]]")
    found = selected_places(program, [[1, 1, 0, 5], [1, 0, 1, 5], [5, 5, 5, 5]])
    assert found == [[1, 1], [1, 1], [0, 2]]


def test_a_window_with_nan_is_folded_element_after_element() -> None:
    """NaN replaces any element before it, and any element replaces NaN: 9 is lost."""
    program = program_of("GE", "1x1", "2, 2", "[[0, -1], [0, -1]]")
    found = selected_places(program, [[9, 2, np.nan, 0], [5, 1, 0, 0], [0, 0, 0, 0]])
    assert found == [[0, 0], [1, 0], [1, 2]]


def test_windows_of_many_elements_are_not_expanded() -> None:
    program = program_of("GE", "2x2", "1, 1", "0")
    assert len([*orders_of(program.subject)]) == 2
    large = program.subject.with_attributes(window_dimensions=(32, 32))
    assert not [*orders_of(large)]

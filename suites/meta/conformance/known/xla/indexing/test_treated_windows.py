"""Treatments of a scatter's windows, as operations in place of it."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.xla.indexing.out_of_bounds import NO_INDICES, TREATMENTS, WINDOW
from conformance.known.xla.indexing.treated_windows import treated_scatters
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_body
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.types import Array
from reference.ops.indexed.update_orders import decompose_scatter

SCATTER = """
func.func @main(%x: tensor<4x3xf32>, %i: tensor<INDICES>, %u: tensor<UPDATES>) -> tensor<4x3xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<GIVEN>} :
    (tensor<4x3xf32>, tensor<INDICES>, tensor<UPDATES>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}"""
TWO_ROWS = (
    "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"
)
COLUMNS = (
    "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], "
    "index_vector_dim = 1"
)
NO_COMPONENTS = "update_window_dims = [1], inserted_window_dims = [0], index_vector_dim = 1"


@pytest.mark.parametrize(
    ("indices", "updates", "given", "label"),
    [
        (np.array([[3, 0], [0, 1], [-1, 0], [1, 2]], np.int8), (4, 2, 2), TWO_ROWS, WINDOW),
        (np.array([[3, 0], [2, 1]], np.uint64), (2, 2, 2), TWO_ROWS, WINDOW),
        (np.array([2, 3, -1]), (4, 3), COLUMNS, ""),
        (np.zeros((3, 0), np.int32), (3, 2), NO_COMPONENTS, NO_INDICES),
    ],
)
def test_they_are_the_treatments_that_results_are_recognised_by(
    indices: Array, updates: tuple[int, ...], given: str, label: str
) -> None:
    of = {"int8": "i8", "uint64": "ui64", "int64": "i64", "int32": "i32"}[indices.dtype.name]
    forms = ["x".join([*map(str, shape), name])
             for shape, name in ((indices.shape, of), (updates, "f32"))]  # fmt: skip
    text = SCATTER.replace("INDICES", forms[0]).replace("UPDATES", forms[1])
    program = parse_module(text.replace("GIVEN", given))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    u = np.arange(1, 1 + np.prod(updates), dtype=np.float32).reshape(updates) * 100
    inputs: list[Array] = [x, indices, u]
    scatter = program.subject
    predicted = [
        decompose_scatter(scatter, inputs, body_of(scatter.regions[0]), places).results()[0]
        for places in (TREATMENTS[label](scatter, inputs) if label else ())
    ]
    *_, end = program.main.body.operations
    found = [
        evaluate(replace_body(program, [*others, end]), inputs)[0]
        for others in treated_scatters(scatter)
    ]
    expected = evaluate(program, inputs)[0]
    if not label:
        assert [one.tolist() for one in found] == [expected.tolist()]
        return
    assert sorted(one.reshape(-1).tolist() for one in found) == sorted(
        one.reshape(-1).tolist() for one in predicted
    )
    assert all((one != expected).any() for one in found)

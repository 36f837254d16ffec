"""Contractions of single elements as products of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.simplified.multiplication import multiply_instead
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_body
from reference.interpreter.evaluate import evaluate

DOT = """
func.func @main(%x: tensor<{lhs}x{of}>, %y: tensor<{rhs}x{of}>) -> tensor<{result}x{of}> {{
  %0 = stablehlo.{dot} : (tensor<{lhs}x{of}>, tensor<{rhs}x{of}>) -> tensor<{result}x{of}>
  return %0 : tensor<{result}x{of}>
}}"""


@pytest.mark.parametrize(
    ("dot", "lhs", "rhs", "result", "is_product"),
    [
        ("dot %x, %y", "3x1", "1x2", "3x2", True),
        ("dot %x, %y", "3x2", "2x2", "3x2", False),
        (
            "dot_general %x, %y, batching_dims = [1] x [2], contracting_dims = [0] x [1]",
            "1x3x2",
            "4x1x3",
            "3x2x4",
            True,
        ),
        ("dot_general %x, %y, contracting_dims = [] x []", "2", "3", "2x3", True),
    ],
)
def test_product_of_arrays(dot: str, lhs: str, rhs: str, result: str, is_product: bool) -> None:
    program = parse_module(DOT.format(dot=dot, lhs=lhs, rhs=rhs, result=result, of="f32"))
    operation, end = program.main.body.operations
    found = multiply_instead(ObservedProgram(program, {}), operation)
    assert (found is not None) == is_product
    if found is None:
        return
    inputs = [
        np.arange(1, 1 + np.prod(sizes), dtype=np.float32).reshape(sizes)
        for sizes in ([int(one) for one in text.split("x")] for text in (lhs, rhs))
    ]
    (product,) = evaluate(replace_body(program, (*found.operations, end)), inputs)
    assert (product == evaluate(program, inputs)[0]).all()


def test_results_of_another_type_are_no_products() -> None:
    text = DOT.format(dot="dot %x, %y", lhs="3x1", rhs="1x2", result="3x2", of="f32")
    program = parse_module(text.replace("tensor<3x2xf32>", "tensor<3x2xf64>"))
    assert multiply_instead(ObservedProgram(program, {}), program.main.body.operations[0]) is None

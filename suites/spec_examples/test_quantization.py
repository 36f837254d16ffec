"""The specification's own examples of `uniform_quantize` and `uniform_dequantize`.

The specification has one example of each op per kind of operand, all per axis.
"""

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import TensorType

FIRST = "!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>"
SECOND = "!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>"


@pytest.mark.parametrize(
    ("op", "before", "operand", "after", "result"),
    [
        ("uniform_dequantize", FIRST, [10, 10], "f32", [4.0, 15.0]),
        ("uniform_quantize", "f32", [4.0, 15.0], FIRST, [10, 10]),
        ("uniform_quantize", FIRST, [10, 10], SECOND, [20, 45]),
    ],
)
def test_examples(
    op: str, before: str, operand: list[float], after: str, result: list[float]
) -> None:
    text = f"""
    func.func @main(%a: tensor<2x{before}>) -> tensor<2x{after}> {{
      %0 = "stablehlo.{op}"(%a) : (tensor<2x{before}>) -> tensor<2x{after}>
      return %0 : tensor<2x{after}>
    }}"""
    program = parse_module(text)
    assert check(program) == []
    to, of = program.main.result_types[0], program.main.arguments[0].type
    assert isinstance(of, TensorType)
    assert isinstance(to, TensorType)
    (found,) = evaluate(program, [np.array(operand, of.storage)])
    assert found.dtype == to.storage
    assert found.tolist() == result

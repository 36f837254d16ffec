"""Operations on other element types, with those in their regions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_main
from conformance.transforms.retype import element_of, retype
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program, Region, Value
from reference.ir.types import element_type

F16, F32, SI32 = map(element_type, ("f16", "f32", "si32"))
SUM = parse_module("""
func.func @main(%x: tensor<4xf16>, %n: tensor<i32>) -> (tensor<f16>, tensor<i32>) {
  %c = stablehlo.constant dense<0.1> : tensor<f16>
  %0 = "stablehlo.reduce"(%x, %c) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %1 = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %1 : tensor<f16>
  }) {dimensions = array<i64: 0>} : (tensor<4xf16>, tensor<f16>) -> tensor<f16>
  return %0, %n : tensor<f16>, tensor<i32>
}""")


def retype_to_f32(program: Program) -> Program:
    types = {F16: F32}
    main = program.main
    operations = tuple(retype(one, types) for one in main.body.operations)
    (x, n), *_ = (main.arguments,)
    wide = Value(x.name, replace(x.type, element_type=F32))
    results = tuple(value.type for value in operations[-1].operands)
    body = Region((wide, n), operations)
    return replace_main(program, replace(main, body=body, result_types=results))


def test_sums_in_another_type() -> None:
    x = np.array([1, 2048, 1, 1], np.float16)
    wide, number = evaluate(retype_to_f32(SUM), (x.astype(np.float32), np.array(7, np.int32)))
    assert (wide.dtype, number.dtype) == (np.float32, np.int32)
    assert wide == np.float32(2051) + np.float32(np.float16(0.1))  # the constant is that of before
    (narrow, _) = evaluate(SUM, (x, np.array(7, np.int32)))
    assert narrow.dtype == np.float16
    assert narrow != wide


def test_element_types_of_values() -> None:
    x, n = SUM.main.arguments
    assert (element_of(x), element_of(n)) == (F16, SI32)
    token = parse_module(
        "func.func @main(%t: !stablehlo.token) -> !stablehlo.token { return %t : !stablehlo.token }"
    )
    assert element_of(token.main.arguments[0]) is None

"""Bitcasts of numbers of six bits by bytes, as measured on an NVIDIA H200."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.programs import candidates_for
from conformance.known.xla.sub_byte.six_bits import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array


def stored(values: object, element_type: str) -> Array:
    return np.array(values).astype(ELEMENT_TYPES[element_type].storage)


def class_of(text: str, given: Array, actual: Array, on: str) -> str:
    program = parse_module(text)
    return judge_operation(program, [given], evaluate(program, [given]), [actual], platform=on).kind


@pytest.mark.parametrize(
    ("of", "given", "to", "size", "got", "other"),
    [
        # 0.5 is 000100, -7.5 is 111111
        ("f6E2M3FN", [0.5, -7.5], "ui2", 3, [[0, 1, 0, 0], [3, 3, 3, 0]], [[0, 1, 0], [3, 3, 3]]),
        ("f6E2M3FN", [0.5, -7.5], "ui2", 3, [[0, 1, 0, 0], [3, 3, 3, 0]], [[0, 1, 0, 0]] * 2),
        ("f6E2M3FN", [0.5, -7.5], "i2", 3, [[0, 1, 0, 0], [-1, -1, -1, 0]], [[0, 1, 0, 0]] * 2),
        ("f6E3M2FN", [0.0, -0.0], "i1", 6, [False, True], [True, True]),
        ("f6E3M2FN", -0.0, "i1", 6, True, False),
    ],
)
def test_numbers_of_six_bits_are_bitcast_by_bytes(
    of: str, given: object, to: str, size: int, got: object, other: object
) -> None:
    count, name = "".join(f"{n}x" for n in np.shape(given)), "si2" if to == "i2" else to
    source, result = f"tensor<{count}{of}>", f"tensor<{count}{size}x{to}>"
    text = f"""
func.func @main(%x: {source}) -> {result} {{
  %0 = stablehlo.bitcast_convert %x : ({source}) -> {result}
  return %0 : {result}
}}"""
    numbers, right = stored(given, of), stored(got, name)
    assert class_of(text, numbers, right, Hardware.GPU) == LABEL
    assert class_of(text, numbers, right, Hardware.CPU) != LABEL
    assert class_of(text, numbers, stored(other, name), Hardware.GPU) != LABEL


def test_later_operations_have_the_shapes_that_follow() -> None:
    text = """
func.func @main(%x: tensor<1xf6E2M3FN>) -> tensor<1x3xui2> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1xf6E2M3FN>) -> tensor<1x3xui2>
  %1 = stablehlo.not %0 : tensor<1x3xui2>
  return %1 : tensor<1x3xui2>
}"""
    given = stored([0.5], "f6E2M3FN")
    program = parse_module(text)
    got = stored([[3, 2, 3, 3]], "ui2")
    found = [one.label for one in candidates_for(program, [given], [got], Hardware.GPU)]
    assert LABEL in found

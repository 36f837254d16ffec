"""Differences of code and zero point, computed in 32 bits."""

from __future__ import annotations

from conformance.known.interpreter.quantized import WRAPPED
from reference.interpreter.evaluate import apply
from reference.ir.program import QuantizedType, TensorType, Value, single_op
from reference.ir.types import element_type
from suites.meta.support.small_programs import array, tensor_of


def predicted(code: int, zero: int, of: str = "si32") -> list[float]:
    storage = element_type(of)
    low, high = storage.min_integer, storage.max_integer
    kind = QuantizedType(storage, low, high, element_type("f32"), (1.0,), (zero,), None)
    value = Value("x", TensorType((1,), kind))
    operation = single_op("uniform_dequantize", (value,), (tensor_of(1),)).subject
    codes = (array([code], of),)
    assert WRAPPED.otherwise is not None
    found = WRAPPED.otherwise(operation, codes, apply(operation, codes))
    assert found is not None
    return found[0].tolist()


def test_a_difference_of_over_31_bits_wraps() -> None:
    assert predicted(2**31 - 1, -1) == [-(2.0**31)]
    assert predicted(-(2**31), 1) == [2.0**31]  # rounded from 2^31 - 1


def test_smaller_differences_are_right() -> None:
    assert predicted(7, 5) == [2.0]
    assert predicted(-128, 127, "si8") == [-255.0]

"""Numbers that a quantized type has no code for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import Operation, QuantizedType, TensorType, Value, single_op
from reference.ir.types import Array, element_type
from reference.numerics.arithmetic import quiet
from reference.unspecified.quantization import unspecified_codes
from suites.meta.support.ops.unspecified import array

SI32, SI8, F32 = (element_type(name) for name in ("si32", "si8", "f32"))


def quantized_type(
    of: str, storage_min: int, storage_max: int, expressed: str = "f32", scale: float = 1.0,
    zero_point: int = 0,
) -> QuantizedType:  # fmt: skip
    return QuantizedType(
        element_type(of), storage_min, storage_max, element_type(expressed), (scale,), (zero_point,)
    )


def no_reasons(*_: object) -> list[tuple[str, Array]]:
    return []


@quiet
def codes(
    numbers: Sequence[float], to: QuantizedType, expressed: str = "f32"
) -> dict[str, list[bool]]:
    operand = array(expressed, numbers)
    value = Value("x", TensorType(operand.shape, element_type(expressed)))
    operation = single_op("uniform_quantize", (value,), (TensorType(operand.shape, to),)).subject
    found = unspecified_codes(operation, [operand], operand, 0, no_reasons)
    return {label: mask.tolist() for label, mask in found if mask.any()}


def test_nan_has_no_code() -> None:
    assert codes([np.nan, 1, 1e9], quantized_type("si8", -128, 127)) == {
        "NaN has no code": [True, False, False]
    }


def test_a_bound_that_the_expressed_type_lacks_does_not_clamp() -> None:
    """2^31 - 1 is 2^31 in f32, which a number of si32 cannot be."""
    whole = quantized_type("si32", -(2**31), 2**31 - 1)
    found = codes([2.0**31, 2.0**31 - 128, -(2.0**31)], whole)
    assert found == {"out of the range of the storage type": [True, False, False]}
    assert codes([2.0**31], quantized_type("si32", -(2**31), 2**31 - 129)) == {}
    assert codes([2.0**31], quantized_type("si32", -(2**31), 2**31 - 1, "f64"), "f64") == {}


def test_a_code_out_of_range_depends_on_scale_and_zero_point() -> None:
    """The largest code, 2^31, is the number 2^30 for a scale of 1/2, and 2^31 - 256 with 256."""
    label = "out of the range of the storage type"
    halves = quantized_type("si32", -(2**31), 2**31 - 1, scale=0.5)
    assert codes([2.0**30, 2.0**30 - 64], halves) == {label: [True, False]}
    shifted = quantized_type("si32", -(2**31), 2**31 - 1, zero_point=256)
    assert codes([2.0**31 - 256, 2.0**31 - 384], shifted) == {label: [True, False]}


def test_the_reasons_of_the_operation_on_numbers_count() -> None:
    seen: list[Operation] = []

    def plain(
        operation: Operation, operands: Sequence[Array], *_: object
    ) -> list[tuple[str, Array]]:
        seen.append(operation)
        assert operands[0].dtype == np.float32
        return [("a reason", np.array([True]))]

    of = quantized_type("si8", -128, 127)
    value = Value("x", TensorType((1,), of))
    operation = single_op("tanh", (value,), (TensorType((1,), of),)).subject
    found = unspecified_codes(operation, [array("si8", [1])], array("si8", [1]), 0, plain)
    assert ("a reason", [True]) in [(label, mask.tolist()) for label, mask in found]
    assert seen[0].results[0].type == TensorType((1,), F32)

"""Records of the elementwise ops: operands, types, and sets of ops that others rely on."""

from __future__ import annotations

from reference.ir.op import QuantizedUse
from reference.ir.types import element_type
from reference.ops.elementwise.elementwise import BINARY, OPS, SHIFTS

BY_NAME = {record.name: record for record in OPS}


def test_each_op_has_one_record() -> None:
    assert len(BY_NAME) == len(OPS)


def test_binary_ops_have_two_operands_and_no_attributes() -> None:
    assert {"add", "divide", "xor", "shift_left", "complex"} <= BINARY
    assert not BINARY & {"compare", "select", "abs", "clamp"}


def test_shifts() -> None:
    assert sorted(SHIFTS) == ["shift_left", "shift_right_arithmetic", "shift_right_logical"]


def test_bitwise_ops_refuse_quantized_tensors_and_floats() -> None:
    record = BY_NAME["xor"]
    assert record.quantized is QuantizedUse.REFUSES
    assert element_type("f32") not in record.element_types
    assert element_type("i1") in record.element_types
    assert BY_NAME["subtract"].quantized is QuantizedUse.COMPUTES

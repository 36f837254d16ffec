"""Programs that XLA cannot take are refused before or by its compiler."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.session import open_session
from conformance.stablehlo.parse import parse_module
from generators.invalid.table import near_misses
from reference.ir.program import (
    Dense,
    TensorType,
)
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import array, execute, op_program, tensor_of

QUANTIZED = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_op_missing_in_xla_is_unsupported():
    group = Dense.of(np.zeros((1, 1), np.int64), tensor_of(1, 1, of="si64"))
    broadcast = op_program(
        "collective_broadcast", [tensor_of(2)], tensor_of(2), replica_groups=group
    )
    with pytest.raises(Unsupported, match="collective-broadcast"):
        execute("cpu", broadcast, array([1, 2]))
    with pytest.raises(Unsupported, match="can't be translated to XLA HLO"):
        execute("cpu", parse_module(QUANTIZED), array([1, 2]))
    dynamic = TensorType((None,), ELEMENT_TYPES["f32"])
    with pytest.raises(Unsupported, match="static shape"):
        execute("cpu", op_program("negate", [dynamic], dynamic))


def test_f6_is_unsupported():
    program = op_program("convert", [tensor_of(4, of="f6E2M3FN")], tensor_of(4))
    with pytest.raises(Unsupported, match="f6"):
        open_session("cpu").compile(program)


@pytest.mark.parametrize(
    "program",
    [
        op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(3)),
        op_program("not", [tensor_of(2)], tensor_of(2)),
        op_program("iota", [], tensor_of(2), iota_dimension=5),
        op_program(
            "reduce_precision", [tensor_of(2)], tensor_of(2), exponent_bits=0, mantissa_bits=1
        ),
        op_program("frobnicate", [tensor_of(2)], tensor_of(2)),
    ],
    ids=lambda program: program.main.body.operations[0].name,
)
def test_program_refused_by_verifier_is_rejected(program, capfd):
    with pytest.raises(Rejected, match=r"^line ") as caught:
        open_session("cpu").compile(program)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


def test_a_reduction_without_inputs_reaches_no_compiler() -> None:
    """MLIR's verifier reads its first input, which may end the process."""
    (program,) = (p for id_, p in near_misses("reduce") if id_ == "C3" and not p.subject.operands)
    with pytest.raises(Unsupported, match="reduction without inputs"):
        open_session("cpu").compile(program)

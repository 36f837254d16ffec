"""Programs that XLA cannot take are refused before or by its compiler."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from conformance.backends.base import Rejected, Settings, Unsupported
from conformance.backends.pjrt.backend import PjrtBackend
from conformance.backends.pjrt.clients import CPU_DEVICES
from conformance.backends.session import open_session
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
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


# --- The backend itself --------------------------------------------------------------------------

CPU = PjrtBackend("cpu", "cpu")
SENT = """
func.func @main(%x: tensor<2xf32>) -> !stablehlo.token {
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>,
    is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %s : !stablehlo.token
}"""
GATHERED = """
func.func @main(%x: tensor<2x{0}>) -> tensor<2x{0}> {{
  %y = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<{0}>, %b: tensor<{0}>):
      %s = stablehlo.add %a, %b : tensor<{0}>
      stablehlo.return %s : tensor<{0}>
  }}) {{replica_groups = dense<0> : tensor<1x1xi64>}} : (tensor<2x{0}>) -> tensor<2x{0}>
  return %y : tensor<2x{0}>
}}"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SENT, "no interface for host transfers"),
        (GATHERED.format("i4"), "narrower than a byte"),
        (GATHERED.format("i8"), None),
        (GATHERED.format("i1"), None),
        (QUANTIZED, "quantized types"),
    ],
)
def test_programs_are_refused_before_they_are_compiled(text: str, words: str | None) -> None:
    refused = CPU.refusal(parse_module(text))
    assert (refused is None) == (words is None)
    if words is not None:
        assert isinstance(refused, Unsupported)
        assert words in str(refused)


def test_results_of_bounded_size_are_refused() -> None:
    bounded = TensorType((None,), ELEMENT_TYPES["f32"], (3,))
    refused = CPU.refusal(op_program("negate", [tensor_of(3)], bounded))
    assert "bounded size" in str(refused)


def test_description_has_the_versions_that_results_depend_on() -> None:
    found = CPU.describe()
    assert (found.name, found.platform) == ("cpu", "cpu")
    assert {"jax", "jaxlib"} <= {name for name, _ in found.versions}
    assert CPU.hardware is Hardware.CPU


@pytest.mark.parametrize(
    ("platform", "hardware"),
    [("rocm", Hardware.GPU), ("cuda", Hardware.GPU), ("tpu", Hardware.TPU), ("ipu", Hardware.CPU)],
)
def test_hardware_is_that_of_the_clients_platform(platform: str, hardware: Hardware) -> None:
    device = SimpleNamespace(client=SimpleNamespace(platform=platform))
    assert PjrtBackend("mine", "plugin", device=device).hardware is hardware


def test_more_devices_than_there_are_is_unsupported() -> None:
    program = replace(
        op_program("negate", [tensor_of(2)], tensor_of(2)), process_grid=(CPU_DEVICES + 1, 1)
    )
    with pytest.raises(Unsupported, match=rf"needs {CPU_DEVICES + 1} devices"):
        CPU.compile(emit(program), program)


def test_settings_are_those_of_the_copy() -> None:
    other = CPU.configured(Settings(dump="/nowhere"))
    assert other is not CPU
    assert (other.name, other.hardware) == (CPU.name, CPU.hardware)
    assert CPU.configured(Settings()).describe() == CPU.describe()

"""XLA through PJRT: clients, options, refused programs, and arguments and results bit by bit."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Failed, Rejected, Settings, Unsupported
from conformance.backends.pjrt import clients
from conformance.backends.pjrt.backend import PjrtBackend
from conformance.backends.pjrt.clients import CPU_DEVICES, first_device
from conformance.backends.pjrt.executables import (
    SharedExecutable,
)
from conformance.backends.pjrt.options import compile_options
from conformance.backends.session import open_session
from conformance.errors import NotAvailable
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.invalid.table import near_misses
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
)
from reference.ir.types import ALL, ELEMENT_TYPES, bits_dtype
from suites.meta.support.small_programs import are_same, array, execute, op_program, tensor_of

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


def test_more_devices_than_there_are_is_unsupported() -> None:
    program = replace(
        op_program("negate", [tensor_of(2)], tensor_of(2)), process_grid=(CPU_DEVICES + 1, 1)
    )
    with pytest.raises(Unsupported, match=rf"needs {CPU_DEVICES + 1} devices"):
        CPU.compile(emit(program), program)


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_missing_device_says_what_to_install(name):
    try:
        backend = open_session(name)
    except NotAvailable as error:
        message = str(error)
        assert re.match(rf"{name}: jax \S+ finds no {name.upper()} ", message)
        assert "pip install" in message
        assert "\n" not in message
    else:
        assert backend.describe().platform in {"gpu": ("cuda",), "tpu": ("tpu",)}[name]


def test_devices_of_another_platform_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jax for AMD's GPUs gives its devices as `cuda`."""
    asked: list[str] = []
    device = SimpleNamespace(platform="rocm", device_kind="MI300X")

    def devices(name: str) -> list[SimpleNamespace]:
        asked.append(name)
        return [device, device]

    jax = SimpleNamespace(devices=devices, __version__="9.9")
    monkeypatch.setattr(clients, "jax_module", lambda: jax)
    with pytest.raises(NotAvailable, match=r"^gpu: jax 9\.9 finds no GPU \(.*: rocm MI300X\); "):
        first_device("gpu")
    assert asked == ["cuda"]
    device.platform = "gpu"
    assert first_device("gpu") is device


@pytest.mark.parametrize("of", [of for of in ALL if not of.name.startswith("f6")], ids=str)
def test_arguments_and_results_keep_every_bit(of):
    part = of.part.bits
    bits = np.arange(1 << min(part, 12), dtype=bits_dtype(of))
    if part >= 16:
        bits = np.random.default_rng(3).integers(0, 1 << (part - 1), 4096, dtype=bits_dtype(of)) * 2
        bits += np.arange(4096, dtype=bits_dtype(of)) % 2
    if of.is_complex:
        bits = np.stack([bits, bits[::-1]], axis=-1)
    bits = bits.astype(bits_dtype(of).newbyteorder("<"))
    flat = TensorType((len(bits),), of)
    full = Dense(flat, bits.tobytes()).array
    scalar, empty = full[1:2].reshape(()), full[:0].reshape(0, 3)
    given = [full, scalar, empty]
    values = tuple(Value(f"a{i}", TensorType(a.shape, of)) for i, a in enumerate(given))
    body = Region(values, (Operation("return", values),))
    program = Program((Function("main", body, tuple(value.type for value in values)),))
    results = execute("cpu", program, *given)
    assert are_same(results, given)
    assert all(isinstance(result, np.ndarray) for result in results)


@pytest.mark.parametrize("given", [[], [array([1.0])], [array([1.0, 2.0], "f64")]], ids=str)
def test_arguments_that_main_does_not_take_are_refused(given):
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    with pytest.raises(Failed, match=r"of main|main takes 1 arguments"):
        execute("cpu", program, *given)


REPLICAS = """
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]>
      : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %z = stablehlo.negate %y : tensor<2xf32>
    return %z : tensor<2xf32>
  }
}"""


def test_each_process_has_its_own_arguments() -> None:
    program = parse_module(REPLICAS)
    made = PjrtBackend("cpu", "cpu").compile(emit(program), program)
    results = made.execute([[array([1.0, 2.0])], [array([3.0, 4.0])]])
    assert [[one.tolist() for one in process] for process in results] == [[[0, 0]], [[-1, -2]]]


SHARED = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<4xf32> {
    %y = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}"""


def test_a_shared_program_takes_and_returns_whole_arrays() -> None:
    program = parse_module(SHARED)
    made = PjrtBackend("cpu", "cpu").compile(SHARED, program)
    assert isinstance(made, SharedExecutable)
    assert made.execute([[array([1, 2, 3, 4])]])[0][0].tolist() == [4, 3, 2, 1]


PLAIN = op_program("negate", [tensor_of(2)], tensor_of(2))


def options(program=PLAIN, text: str = "", count: int = 1, settings: Settings | None = None) -> Any:
    devices = [SimpleNamespace(id=number) for number in range(count)]
    return compile_options(text, program, devices, settings or Settings())

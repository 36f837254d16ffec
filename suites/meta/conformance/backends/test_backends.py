"""Backends return results exactly, and classify errors."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from conformance.backends.base import Failed, Rejected, Unsupported
from conformance.backends.pjrt import classify, short_message
from conformance.backends.registry import BACKENDS, parse
from conformance.backends.session import open_session
from conformance.errors import NotAvailable, UsageError
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
    single_op,
)
from reference.ir.types import ALL, ELEMENT_TYPES, bits_dtype, element_type
from suites.meta.support.small_programs import array, execute, one, same, typed


def test_unknown_names_say_what_is_known():
    known = "cpu, gpu, tpu, plugin, cpu-compile, gpu-compile, tpu-compile, interpreter, reference"
    with pytest.raises(UsageError, match=f"unknown backend 'abacus'; known: {known}"):
        parse("abacus")
    with pytest.raises(UsageError, match="unknown backend 'gpu:3'; did you mean gpu"):
        parse("gpu:3")
    with pytest.raises(UsageError, match=r"unknown fault 'zzzz'; known: right, .*hang"):
        parse("reference:zzzz")
    for name in ("sign_lost@nonsense", "reversed_elements@add"):
        with pytest.raises(UsageError, match="cannot be confined to operations"):
            parse(f"reference:{name}")


def test_a_fault_may_be_confined_to_one_op():
    x = Value("x", TensorType((2,), element_type("f32")))
    y, z = (Value(name, x.type) for name in "yz")
    body = (
        Operation("negate", (x,), (y,)),
        Operation("multiply", (x, x), (z,)),
        Operation("return", (y, z)),
    )
    program = Program((Function("main", Region((x,), body), (x.type, x.type)),))
    given = np.array([2.0, -3.0], np.float32)
    right = execute("reference", program, given)
    confined = execute("reference:sign_lost@negate", program, given)
    assert [one.tolist() for one in right] == [[-2.0, 3.0], [4.0, 9.0]]
    assert [one.tolist() for one in confined] == [[2.0, 3.0], [4.0, 9.0]]
    other = execute("reference:off_by_100_ulp@multiply", program, given)
    assert other[0].tolist() == right[0].tolist()
    assert other[1].tolist() != right[1].tolist()


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


def test_descriptions_name_device_and_versions():
    cpu = open_session("cpu").describe()
    assert (cpu.name, cpu.platform) == ("cpu", "cpu")
    assert {"jax", "jaxlib"} <= dict(cpu.versions).keys()
    assert "3 ulp" in open_session("reference:off_by_three_ulp").describe().device
    compiled = {"cpu-compile", "gpu-compile", "tpu-compile"}
    executed = {"cpu", "gpu", "tpu", "plugin", "interpreter", "reference"}
    assert set(BACKENDS) == compiled | executed
    assert {name for name, of in BACKENDS.items() if of.only_compiles} == compiled


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
    assert same(results, given)
    assert all(isinstance(result, np.ndarray) for result in results)


def test_an_executable_runs_on_many_inputs_and_spoils_none():
    program = one("add", [typed(3), typed(3)], typed(3))
    compiled = open_session("cpu").compile(program)
    kept = []
    for number in range(5):
        lhs, rhs = array([number, 1, 2]), array([1, 1, 1])
        kept.append(compiled.run([lhs, rhs])[0])
        assert (lhs.tolist(), rhs.tolist()) == ([number, 1, 2], [1, 1, 1])
    assert [result.tolist() for result in kept] == [[n + 1, 2, 3] for n in range(5)]


def test_strided_and_read_only_arguments_are_taken():
    program = one("negate", [typed(2, 3)], typed(2, 3))
    given = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    given.setflags(write=False)
    assert execute("cpu", program, given)[0].tolist() == (-given).tolist()


@pytest.mark.parametrize("given", [[], [array([1.0])], [array([1.0, 2.0], "f64")]], ids=str)
def test_arguments_that_main_does_not_take_are_refused(given):
    program = one("negate", [typed(2)], typed(2))
    with pytest.raises(Failed, match=r"of main|main takes 1 arguments"):
        execute("cpu", program, *given)


QUANTIZED = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_op_missing_in_xla_is_unsupported():
    group = Dense.of(np.zeros((1, 1), np.int64), typed(1, 1, of="si64"))
    broadcast = one("collective_broadcast", [typed(2)], typed(2), replica_groups=group)
    with pytest.raises(Unsupported, match="collective-broadcast"):
        execute("cpu", broadcast, array([1, 2]))
    with pytest.raises(Unsupported, match="can't be translated to XLA HLO"):
        execute("cpu", parse_module(QUANTIZED), array([1, 2]))
    dynamic = TensorType((None,), ELEMENT_TYPES["f32"])
    with pytest.raises(Unsupported, match="static shape"):
        execute("cpu", one("negate", [dynamic], dynamic))


def test_f6_is_unsupported():
    program = one("convert", [typed(4, of="f6E2M3FN")], typed(4))
    with pytest.raises(Unsupported, match="f6"):
        open_session("cpu").compile(program)


@pytest.mark.parametrize(
    "program",
    [
        one("add", [typed(2), typed(2)], typed(3)),
        one("not", [typed(2)], typed(2)),
        one("iota", [], typed(2), iota_dimension=5),
        one("reduce_precision", [typed(2)], typed(2), exponent_bits=0, mantissa_bits=1),
        one("frobnicate", [typed(2)], typed(2)),
    ],
    ids=lambda program: program.main.body.operations[0].name,
)
def test_program_refused_by_verifier_is_rejected(program, capfd):
    with pytest.raises(Rejected, match=r"^line ") as caught:
        open_session("cpu").compile(program)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


VALID = one("negate", [typed(2)], typed(2))


F6 = one("negate", [typed(2, of="f6E3M2FN")], typed(2, of="f6E3M2FN"))


@pytest.mark.parametrize(
    ("message", "program", "kind"),
    [
        ("UNIMPLEMENTED: no such thing", VALID, Unsupported),
        ("UNKNOWN: result #0 type is not supported", VALID, Unsupported),
        ("UNKNOWN: failed to legalize operation 'a.b' that was explicitly marked illegal:",
         VALID, Unsupported),
        ("NOT_FOUND: No FFI handler registered for its_own on a platform Host", VALID, Unsupported),
        ("ABORTED: element type s4 not supported by NCCL", VALID, Unsupported),
        ("INVALID_ARGUMENT: Unsupported dot precision algorithm: 1", VALID, Unsupported),
        ("INVALID_ARGUMENT: INT2 is not supported for rank 1", VALID, Unsupported),
        ("INTERNAL: during context [pre-optimization]: Seen floats of two types", VALID, Rejected),
        ("INTERNAL: Failed to translate module to LLVM IR.", F6, Unsupported),
        ("INTERNAL: Failed to translate module to LLVM IR.", VALID, Failed),
        ("INTERNAL: something not supported broke", VALID, Failed),
        ("INVALID_ARGUMENT: Binary op add with incompatible shapes", VALID, Rejected),
        ("RESOURCE_EXHAUSTED: Out of memory", VALID, Failed),
        ("", VALID, Failed),
    ],
)  # fmt: skip
def test_messages_are_classified(message, program, kind):
    assert type(classify(message, emit(program), program)) is kind


def test_an_algorithm_without_known_hardware_is_unsupported() -> None:
    """The specification's own example, bf16 in three components, is such an algorithm."""
    values = tuple(Value(name, typed(2, 2)) for name in ("lhs", "rhs"))
    given = {
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
        "lhs_precision_type": "bf16", "rhs_precision_type": "bf16", "accumulation_type": "f32",
        "lhs_component_count": 3, "rhs_component_count": 3, "num_primitive_operations": 6,
        "allow_imprecise_accumulation": False,
    }  # fmt: skip
    program = single_op("dot_general", values, (typed(2, 2),), given)
    assert type(classify("any", emit(program), program)) is Unsupported


def test_messages_are_one_line_without_paths():
    message = (
        "INTERNAL: RET_CHECK failure (external/xla+/xla/backends/cpu/codegen/compiler.cc:625) "
        "module != nullptr\n*** Begin stack trace ***\n\t/usr/lib/python3/x.so"
    )
    assert (
        short_message(message) == "INTERNAL: RET_CHECK failure (compiler.cc:625) module != nullptr"
    )
    assert short_message("UNKNOWN: -:4:11: error: 'op' fails") == "UNKNOWN: 'op' fails"
    assert short_message(" \n") == "no message"


def test_a_reduction_without_inputs_reaches_no_compiler() -> None:
    """MLIR's verifier reads its first input, which may end the process."""
    (program,) = (p for id_, p in near_misses("reduce") if id_ == "C3" and not p.subject.operands)
    with pytest.raises(Unsupported, match="reduction without inputs"):
        open_session("cpu").compile(program)


def test_the_cpu_backend_starts_no_other_platform():
    code = """
import jax
from conformance.backends.session import open_session
from conformance.errors import UsageError
open_session("cpu")
import jax._src.xla_bridge as bridge
assert not bridge.backends_are_initialized()
assert jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

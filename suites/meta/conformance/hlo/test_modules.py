"""HLO modules: what is read means the same as the program, and what has no meaning is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.backends.compiled.backend import CompiledBackend
from conformance.backends.compiled.compilers import cpu_compiler
from conformance.catalog import rule_of
from conformance.hlo.protos import Module
from conformance.hlo.read import read_module
from conformance.hlo.unreadable import Unreadable
from conformance.hlo.wire import WireError, decode
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from generators.cells.plan import case
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Program, TensorType
from reference.ir.types import Array, element_type
from suites.meta.conformance.hlo.modules import PAIRS, Pair, pairs, plain_of, stored_proto

ROUNDED = {
    "cublaslt_gelu_with_its_operand": 1e-6, "cudnn_norm": 1e-5, "cudnn_norm_gradients": 1e-5,
}  # fmt: skip
"""Largest errors where functions are rounded at other points; other modules must agree bit for bit.
"""

WIDER_RESULT = "C27"
"""The constraint on convolutions that HLO does not have: the result is of the operands' type."""


def inputs_of(program: Program, seed: int) -> list[Array]:
    """Return small integers of the parameters' types, on which sums and products are exact."""
    source = np.random.default_rng(seed)
    found: list[Array] = []
    for parameter in program.main.arguments:
        of = parameter.type
        assert isinstance(of, TensorType)
        low = -3 if of.element.is_signed or not of.element.is_integer else 0
        drawn = source.integers(low, 4, of.static_shape)
        if of.element.is_complex:
            drawn = drawn + 1j * source.integers(low, 4, of.static_shape)
        found.append(np.asarray(drawn).astype(of.storage))
    return found


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_module_computes_the_same_as_its_plain_program(pair: Pair) -> None:
    plain, read = parse_module(pair.plain), read_module(pair.proto)
    for seed in range(3):
        inputs = inputs_of(plain, seed)
        expected = evaluate(plain, inputs)
        actual = evaluate(read, inputs)
        assert [one.dtype for one in actual] == [one.dtype for one in expected]
        for want, got in zip(expected, actual, strict=True):
            assert want.shape == got.shape
            if pair.name in ROUNDED:
                np.testing.assert_allclose(got, want, rtol=ROUNDED[pair.name], atol=1e-5)
                continue
            np.testing.assert_array_equal(got, want)
            if want.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_module_read_from_hlo_is_valid(pair: Pair) -> None:
    broken = {id_ for _, ids in check(read_module(pair.proto)) for id_ in ids}
    assert broken <= {WIDER_RESULT}


# --- A module with a small change has another meaning ---------------------------------------------

_TEXTS = {path.stem: plain_of(path) for path in PAIRS}

CHANGES = (
    ("sort_kept_stable_by_an_index", b"LT", b"GT"),
    ("total_order", b"TOTAL", b"PARTI"),
    ("conditional_by_truth_value", b"negate", b"cosine"),
    ("fusion_of_two_results", b"subtract", b"multiply"),
    ("windows", b"GE", b"LT"),
    ("loop_over_a_tuple", b"LT", b"LE"),
    ("cublas_gemm", b'"beta":3', b'"beta":4'),
    ("cublas_gemm", b'"alpha_real":2', b'"alpha_real":5'),
    ("cublaslt_bias_relu", b"BIAS_RELU", b"BIAS_GELU"),
    ("cudnn_bias_side_input_relu", b'"side_input_scale":3', b'"side_input_scale":4'),
    ("cub_sort_of_pairs", b"true", b'null'),
    ("cublas_triangular_solve", b'"lower":true', b'"lower":null'),
)  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), CHANGES)
def test_a_wrong_rewriting_shows(name: str, before: bytes, after: bytes) -> None:
    plain, proto = parse_module(_TEXTS[name]), stored_proto(name)
    assert before in proto
    assert len(before) == len(after)
    read = read_module(proto.replace(before, after))
    assert any(
        not np.array_equal(want, got, equal_nan=want.dtype.kind == "f")
        for seed in range(4)
        for want, got in zip(
            evaluate(plain, inputs_of(plain, seed)),
            evaluate(read, inputs_of(plain, seed)),
            strict=True,
        )
    )


# --- Modules for this machine's CPU compute the same as the compiled programs ---------------------

F32 = element_type("f32")

OPS = (
    "add", "all_to_all", "case", "collective_permute", "compare", "dynamic_update_slice", "fft",
    "gather", "if", "map", "pad", "reduce", "reduce_window", "scatter", "select_and_scatter",
    "sort", "triangular_solve", "while",
)  # fmt: skip
"""One op of each kind that XLA rewrites as the rules permit; what it does not is in known/."""


@pytest.fixture(scope="module")
def compiler() -> CompiledBackend:
    return CompiledBackend("cpu-compile", cpu_compiler())


@pytest.mark.parametrize("op", OPS)
def test_an_optimised_module_is_judged_as_the_program(op: str, compiler: CompiledBackend) -> None:
    program = (made := case(op, F32, 0, 0)).program
    read = read_module(compiler.optimise(emit(program), program))
    assert read.process_count == program.process_count
    read = replace(read, process_grid=program.process_grid)
    rule = rule_of(program.subject)
    assert rule is not None
    for recipe in made.inputs:
        inputs = materialise(program, recipe)
        expected, actual = evaluate(program, inputs), evaluate(read, inputs)
        judged = judge(program, inputs, expected, actual, rule, platform="cpu")
        assert not judged.verdict.fails, judged.message


# --- Modules without a meaning --------------------------------------------------------------------

_GEMM = stored_proto("cublas_gemm")


def _replace_text(name: str, before: bytes, after: bytes) -> bytes:
    """Return a module with a text replaced by another of the same length."""
    assert len(before) == len(after)
    proto = stored_proto(name)
    assert before in proto
    return proto.replace(before, after)


@pytest.mark.parametrize(
    ("proto", "construct"),
    [
        (
            _replace_text("cublas_gemm", b"__cublas$gemm", b"__strange$foo"),
            "custom call __strange$foo",
        ),
        (_replace_text("mulhi", b"mulhi", b"mulho"), "opcode mulho"),
        (_replace_text("cublaslt_bias_relu", b"BIAS_RELU", b"BIAS_LUAU"), "__cublas$lt$matmul"),
        # what a reversal moves into padding is not known
        (_replace_text("padding_of_tiles_with_elements", b"compare", b"reverse"), "opcode bitcast"),
        (_replace_text("cublas_gemm", b'{"gemm', b'["gemm'), "__cublas$gemm"),
        (b"no module at all", "module"),
        (_GEMM[:-7], "module"),
        (b"", "computation"),
    ],
)
def test_a_construct_without_a_meaning_is_named(proto: bytes, construct: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_module(proto)
    assert construct in caught.value.construct
    assert caught.value.reason
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", range(1, 700, 37))
def test_a_module_that_is_cut_short_is_unreadable(length: int) -> None:
    with pytest.raises(Unreadable):
        read_module(_GEMM[:length])


def test_fields_that_are_not_declared_are_skipped() -> None:
    unknown = (
        bytes([0xA8, 0x06, 0x01]) + bytes([0xBA, 0x06, 2, 1, 2]) + bytes([0xC5, 0x06, 0, 0, 0, 0])
    )
    assert decode(Module, unknown + _GEMM) == decode(Module, _GEMM)


@pytest.mark.parametrize("payload", [b"\x0a\x05ab", b"\x0b", b"\x80", b"\x0d\x00"])
def test_malformed_bytes_raise_an_error(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode(Module, payload)


@pytest.mark.parametrize("name", ["windows", "cudnn_gradient_of_input", "bitcast_to_bytes"])
def test_damaged_modules_raise_only_unreadable(name: str) -> None:
    proto, source = bytearray(stored_proto(name)), np.random.default_rng(0)
    outcomes: set[bool] = set()
    for _ in range(150):
        damaged = bytearray(proto)
        for at in source.integers(0, len(proto), 3):
            damaged[at] = source.integers(0, 256)
        try:
            read_module(bytes(damaged))
            outcomes.add(True)
        except Unreadable:
            outcomes.add(False)
    assert outcomes == {True, False}

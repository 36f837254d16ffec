"""XLA's messages and passes: classified by their words, read from dumps and output."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.base import (
    BackendError,
    DeviceError,
    Failed,
    Rejected,
    Settings,
    Unsupported,
)
from conformance.backends.passes import dumped_passes, unfinished_passes
from conformance.backends.session import open_session
from conformance.backends.xla_messages import classify, verifier_error
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import array, op_program, tensor_of

NEGATE = """
func.func @main(%x: tensor<2x{0}>) -> tensor<2x{0}> {{
  %0 = stablehlo.negate %x : tensor<2x{0}>
  return %0 : tensor<2x{0}>
}}"""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("UNIMPLEMENTED: no such thing", Unsupported),
        ("INTERNAL: CUDA error: : CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address", DeviceError),
        ("INTERNAL: CUDA error: : CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed", Failed),
        ("UNKNOWN: result #0 type is not supported", Unsupported),
        ("UNKNOWN: failed to legalize operation 'a.b' that was explicitly marked illegal:",
         Unsupported),
        ("NOT_FOUND: No FFI handler registered for its_own on a platform Host", Unsupported),
        ("ABORTED: element type s4 not supported by NCCL", Unsupported),
        ("INVALID_ARGUMENT: Unsupported dot precision algorithm: 1", Unsupported),
        ("INVALID_ARGUMENT: INT2 is not supported for rank 1", Unsupported),
        ("INVALID_ARGUMENT: E1200: CompileTimeHostOffloadOutputLocationMismatch:\nTensor which",
         Unsupported),
        ("INTERNAL: during context [pre-optimization]: Seen floats of two types", Rejected),
        ("INTERNAL: during context [Unknown]: Seen floats of two types", Rejected),
        ("INTERNAL: something not supported broke", Failed),
        ("", Failed),
        ("INTERNAL: Algorithm not supported by cpu", Unsupported),
        ("INVALID_ARGUMENT: shapes differ", Rejected),
        ("INTERNAL: during [hlo verifier] of x", Rejected),
        ("UNKNOWN: size of operand dimension 1 (4) is not equal to 1", Rejected),
        ("INTERNAL: INVALID_ARGUMENT comes later", Failed),
        ("RESOURCE_EXHAUSTED: out of memory", Failed),
    ],
)  # fmt: skip
def test_the_words_of_a_message_decide_its_kind(message: str, kind: type[BackendError]) -> None:
    text = NEGATE.format("f32")
    assert type(classify(message, text, parse_module(text))) is kind


@pytest.mark.parametrize(("element", "kind"), [("f32", Failed), ("f6E2M3FN", Unsupported)])
def test_missing_code_generation_is_unsupported_for_six_bits_only(
    element: str, kind: type[BackendError]
) -> None:
    text = NEGATE.format(element)
    message = "INTERNAL: Failed to translate module to LLVM IR"
    assert type(classify(message, text, parse_module(text))) is kind


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        ("unregistered operation 'stablehlo.add'", Unsupported),  # the dialect is older than the op
        ("unregistered operation 'chlo.mulhi' found in dialect ('chlo')", Unsupported),
        ("line 12, column 88: unknown stablehlo type: future", Unsupported),
        ("'complex<f32>' attribute created with unregistered dialect", Unsupported),
        ("line 1, column 95: unknown StableHLO attribute", Unsupported),
        ("'mhlo.scan' op expects regions to end with 'mhlo.return'", Unsupported),
        ("unregistered operation 'stablehlo.no_such_op'", Rejected),
        ("unregistered operation 'chlo.no_such_op'", Rejected),
        ("op operand #0 must be tensor", Rejected),
    ],
)
def test_an_op_that_the_dialect_lacks_is_unsupported(
    refusal: str, kind: type[BackendError]
) -> None:
    assert type(verifier_error(refusal)) is kind


def test_an_algorithm_without_known_hardware_is_unsupported() -> None:
    """The specification's own example, bf16 in three components, is such an algorithm."""
    values = tuple(Value(name, tensor_of(2, 2)) for name in ("lhs", "rhs"))
    given = {
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
        "lhs_precision_type": "bf16", "rhs_precision_type": "bf16", "accumulation_type": "f32",
        "lhs_component_count": 3, "rhs_component_count": 3, "num_primitive_operations": 6,
        "allow_imprecise_accumulation": False,
    }  # fmt: skip
    program = single_op("dot_general", values, (tensor_of(2, 2),), given)
    assert type(classify("any", emit(program), program)) is Unsupported


def test_unfinished_passes_are_listed_innermost_first() -> None:
    lines = """
I0 1 hlo_pass_pipeline.cc:303] Running HLO pass pipeline on module main: all
I0 1 hlo_pass_pipeline.cc:181]   HLO pass dce
I0 1 hlo_pass_pipeline.cc:176] HLO pass: dce time: 7 us (7 us) (cumulative: 7 us)
I0 1 hlo_pass_pipeline.cc:181]   HLO pass simplification
I0 1 hlo_pass_pipeline.cc:303] Running HLO pass pipeline on module main: simplification
I0 1 hlo_pass_pipeline.cc:181]   HLO pass algsimp
"""
    assert unfinished_passes(lines.splitlines()) == ("algsimp", "simplification")
    ended = "I0 1 x.cc:1] HLO pass: simplification time: 9 us (9 us)"
    assert unfinished_passes([*lines.splitlines(), ended]) == ()


def test_xla_disables_the_given_passes(tmp_path: Path) -> None:
    program = op_program("subtract", [tensor_of(4), tensor_of(4)], tensor_of(4))
    inputs = [array([1, 2, 3, 4]), array([4, 3, 2, 1])]
    whole, without = tmp_path / "whole", tmp_path / "without"
    session = open_session("cpu")
    for settings in (
        Settings(dump=str(whole)),
        Settings(without=("layout-assignment",), unoptimized=True, dump=str(without)),
    ):
        (result,) = next(session.configured(settings).run(program, [inputs]))
        assert result.tolist() == [-3, -1, 1, 3]
    assert "layout-assignment" in dumped_passes(whole).single
    assert "layout-assignment" not in dumped_passes(without).single
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_backend_without_compiler_refuses_settings(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} has no compiler"):
        open_session(backend).configured(Settings(unoptimized=True))

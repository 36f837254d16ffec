"""Error messages of XLA are classified by their words, and by MLIR's verifier."""

from __future__ import annotations

import pytest

from conformance.backends.base import (
    BackendError,
    DeviceError,
    Failed,
    Rejected,
    Unsupported,
)
from conformance.backends.xla_messages import classify, short_message, verifier_error
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import tensor_of

NEGATE = """
func.func @main(%x: tensor<2x{0}>) -> tensor<2x{0}> {{
  %0 = stablehlo.negate %x : tensor<2x{0}>
  return %0 : tensor<2x{0}>
}}"""


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", "no message"),
        ("\n  \nINTERNAL: broken\nmore", "INTERNAL: broken"),
        ("INTERNAL: a   b", "INTERNAL: a b"),
        ("loc(\"-\":3:8): error: 'stablehlo.add' op is bad", "'stablehlo.add' op is bad"),
        ("at /build/xla/service/hlo.cc:12: Check failed", "at hlo.cc:12: Check failed"),
        ("bad %a, metadata={op_name=x}, y", "bad %a, y"),
        ("x" * 400, "x" * 300),
        ("at (external/xla+/xla/a.cc:6) x != y\n*** Begin stack trace ***", "at (a.cc:6) x != y"),
        ("UNKNOWN: -:4:11: error: 'op' fails", "UNKNOWN: 'op' fails"),
    ],
)
def test_a_message_is_one_line_without_locations(message: str, line: str) -> None:
    assert short_message(message) == line


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


def test_an_invalid_program_is_rejected_with_any_message() -> None:
    valid = NEGATE.format("f32")
    invalid = valid.replace("return %0", "return %1")
    assert type(classify("UNIMPLEMENTED: x", invalid, parse_module(valid))) is Rejected


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

"""Verification of a program before any of XLA's compilers sees it."""

from __future__ import annotations

import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.verification import verify
from conformance.stablehlo.emit import emit
from reference.ir.program import Function, Operation, Program, Region
from suites.meta.support.small_programs import op_program, tensor_of

VALID = op_program("negate", [tensor_of(2)], tensor_of(2))
INVALID = "func.func @main() { %0 = stablehlo.negate %x : tensor<2xf32> }"


def test_program_that_the_backend_compiles_is_not_verified() -> None:
    verify(INVALID, VALID, lambda _: None)


def test_refusal_of_a_valid_program_is_the_backends() -> None:
    refusal = Unsupported("no such type")
    with pytest.raises(Unsupported, match="no such type") as found:
        verify(emit(VALID), VALID, lambda _: refusal)
    assert found.value is refusal


def test_refused_program_that_is_invalid_is_rejected() -> None:
    with pytest.raises(Rejected):
        verify(INVALID, VALID, lambda _: Unsupported("no such type"))


def test_program_on_which_the_verifier_may_crash_is_unsupported() -> None:
    body = Region((), (Operation("reduce", (), ()), Operation("return", ())))
    with pytest.raises(Unsupported, match="reduction without inputs"):
        verify("", Program((Function("main", body, ()),)), lambda _: None)

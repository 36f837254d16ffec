"""Unreadable modules are named, and no other exception is raised."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.protos import Module
from conformance.hlo.read import read_module
from conformance.hlo.unreadable import Unreadable
from conformance.hlo.wire import WireError, decode
from suites.meta.conformance.hlo.modules import stored_proto

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

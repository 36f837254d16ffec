"""IREE as a backend: its names, what it refuses, and programs where it is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from conformance.backends.base import Rejected, Unsupported
from conformance.backends.iree.backend import IreeBackend
from conformance.backends.registry import parse
from conformance.backends.session import Session
from conformance.errors import NotAvailable, UsageError
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.ir.types import Array

HAS_IREE = find_spec("iree") is not None and find_spec("iree.compiler") is not None

needs_iree = pytest.mark.skipif(not HAS_IREE, reason="IREE is not installed: the extra iree")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(IreeBackend("iree", "llvm-cpu"))


def run(session: Session, text: str, *inputs: Array) -> list[Array]:
    program = parse_module(text)
    return session.compile(program, emit(program)).run(inputs)


def unary(op: str, spelled: str) -> str:
    return f"""func.func @main(%x: {spelled}) -> {spelled} {{
      %0 = "{op}"(%x) : ({spelled}) -> {spelled}
      return %0 : {spelled}
    }}"""


# Names


def test_name_has_the_target_unless_it_is_the_default() -> None:
    assert parse("iree").name == "iree"
    assert parse("iree:llvm-cpu").name == "iree"
    assert parse("iree:vmvx").name == "iree:vmvx"


def test_unknown_target_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"^unknown target of IREE 'cuda'; known: llvm-cpu, vmvx$"):
        parse("iree:cuda")


def test_missing_installation_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("iree", "iree.compiler", "iree.compiler.api", "iree.runtime"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotAvailable, match=r"pip install 'hlo-conformance\[iree\]'$") as raised:
        IreeBackend("iree", "llvm-cpu")
    assert "\n" not in str(raised.value)


# Refusals


@needs_iree
@pytest.mark.parametrize(
    ("op", "spelled", "reason"),
    [
        ("stablehlo.negate", "tensor<2xf8E3M4>", "element type f8E3M4"),
        ("stablehlo.negate", "tensor<2xi4>", "element type si4"),
        ("mhlo.erf", "tensor<2xf32>", "no dialect of this name"),
    ],
)
def test_type_or_dialect_that_iree_lacks_is_unsupported(
    session: Session, op: str, spelled: str, reason: str
) -> None:
    with pytest.raises(Unsupported, match=reason):
        run(session, unary(op, spelled), np.zeros(2, np.float32))


@needs_iree
def test_operation_that_iree_does_not_implement_is_unsupported(session: Session) -> None:
    with pytest.raises(Unsupported, match=r"stablehlo\.cbrt"):
        run(session, unary("stablehlo.cbrt", "tensor<2xcomplex<f32>>"), np.zeros(2, np.complex64))


@needs_iree
def test_collective_is_unsupported_when_it_runs(session: Session) -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<0> : tensor<1x2xi64>}
        : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    with pytest.raises(Unsupported, match="collectives not implemented"):
        run(session, text, np.zeros(2, np.float32))


@needs_iree
def test_invalid_text_is_rejected_with_its_place() -> None:
    backend = IreeBackend("iree", "llvm-cpu")
    program = parse_module(unary("stablehlo.negate", "tensor<2xf32>"))
    with pytest.raises(Rejected, match=r"source\.mlir:1:\d+: "):
        backend.compile("func.func @main() { nonsense }", program)


# Programs


@needs_iree
@pytest.mark.parametrize("target", ["llvm-cpu", "vmvx"])
def test_results_have_type_shape_and_order(target: str) -> None:
    text = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<0xi1>)
        -> (tensor<3x2xf32>, tensor<0xi1>, tensor<2x3xi1>) {
      %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %1 = stablehlo.compare GT, %x, %x, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>)
        -> tensor<2x3xi1>
      return %0, %y, %1 : tensor<3x2xf32>, tensor<0xi1>, tensor<2x3xi1>
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned, empty, compared = run(
        Session(IreeBackend("iree", target)), text, x, np.zeros(0, np.bool_)
    )
    assert np.array_equal(turned, x.T)
    assert (empty.shape, empty.dtype) == ((0,), np.dtype(np.bool_))
    assert (compared.dtype, compared.any()) == (np.dtype(np.bool_), False)

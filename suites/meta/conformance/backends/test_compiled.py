"""Compilers without their device: modules are read back, evaluated, and dumped after each pass."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.base import (
    NOT_READ_BACK,
    NotReadBack,
    Unsupported,
    failure_of,
)
from conformance.backends.compiled import compilers, modules
from conformance.backends.compiled.costly import FUSION, passes_to_omit
from conformance.backends.registry import is_separated, open_backend, parse
from conformance.backends.session import Session, open_session
from conformance.checking.settings import Settings as CheckSettings
from conformance.errors import NotAvailable
from conformance.hlo.unreadable import Unreadable
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from suites.meta.support.checking import check_text
from suites.meta.support.small_programs import array, op_program, tensor_of
from suites.published_bugs import bugs

PROGRAM = parse_module(
    """func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %c : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}"""
)


GSPMD = """
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
func.func @main(%x: tensor<8x16xi32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
    -> (tensor<16x8xi32> {mhlo.sharding = "{devices=[2,1]<=[2]}"},
        tensor<8x16xi32> {mhlo.sharding = "{replicated}"}) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x16xi32>) -> tensor<16x8xi32>
  %1 = stablehlo.reverse %x, dims = [0] : tensor<8x16xi32>
  return %0, %1 : tensor<16x8xi32>, tensor<8x16xi32>
}
}"""


@pytest.fixture(params=["cpu-compile", "gpu-compile", "gpu-compile:H100", "tpu-compile:v6e"])
def session(request: pytest.FixtureRequest) -> Session:
    """Return a session of each installed compiler."""
    try:
        return open_session(request.param)
    except NotAvailable as error:
        pytest.skip(str(error))


def test_a_program_keeps_its_meaning(session: Session) -> None:
    rng = np.random.default_rng(0)
    inputs = [array(rng.normal(size=size)) for size in ((4, 8), (8, 3))]
    (result,) = session.compile(PROGRAM).run(inputs)
    (expected,) = evaluate(PROGRAM, inputs)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_unreadable_construct_is_unsupported_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raise_unreadable(_: bytes) -> Program:
        raise Unreadable("custom-call $oracle", "its meaning\nis not known")

    monkeypatch.setattr(modules, "read_module", raise_unreadable)
    executable = open_session("cpu-compile").compile(PROGRAM)  # taken, read or not
    with pytest.raises(NotReadBack, match=r"^custom-call \$oracle: its meaning"):
        executable.run([array(np.ones((4, 8))), array(np.ones((8, 3)))])
    assert failure_of(NotReadBack("x: y")) == (Verdict.NOT_JUDGED, NOT_READ_BACK)
    assert failure_of(Unsupported("x")) == (Verdict.UNSUPPORTED, "")


def test_program_without_evaluation_is_refused_before_compilation() -> None:
    session = open_session("cpu-compile")
    token = parse_module(
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %0#0 : tensor<2xf32>
}"""
    )
    assert "host" in str(session.refusal(token))
    assert session.refusal(op_program("negate", [tensor_of(2)], tensor_of(2))) is None


@pytest.mark.parametrize("family", ["gpu-compile", "tpu-compile"])
def test_a_compiler_that_is_not_installed_says_what_to_install(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(compilers, "version", version)
    with pytest.raises(NotAvailable) as caught:
        open_backend(parse(family))
    said = str(caught.value)
    assert said.startswith(f"{family}: ")
    assert f"pip install 'hlo-conformance[{family}]'" in said
    assert "MB" in said
    assert "\n" not in said


def test_a_module_that_is_nested_too_deeply_has_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_recursion(*_: object) -> None:
        raise RecursionError

    inputs = [array(np.ones((4, 8))), array(np.ones((8, 3)))]
    for name, step in (("evaluate", "evaluation"), ("read_module", "reading")):
        monkeypatch.setattr(modules, name, raise_recursion)
        with pytest.raises(NotReadBack, match=f"^{step}: the module is nested too deeply"):
            open_session("cpu-compile").compile(PROGRAM).run(inputs)


@pytest.mark.parametrize(
    ("op", "element_type", "is_costly", "passes"),
    [
        ("divide", "si64", True, (FUSION,)),
        ("remainder", "ui64", True, (FUSION,)),
        ("atan2", "f64", True, ()),
        ("power", "complex<f64>", True, ()),
        ("divide", "si32", False, ()),
        ("atan2", "complex<f32>", False, ()),
        ("add", "si64", False, ()),
        ("add", "f64", False, ()),
    ],
)
def test_divisions_and_functions_of_64_bits_have_modules_of_their_own(
    op: str, element_type: str, is_costly: bool, passes: tuple[str, ...]
) -> None:
    program = op_program(op, [tensor_of(2, of=element_type)] * 2, tensor_of(2, of=element_type))
    assert passes_to_omit(program) == passes
    assert is_separated("tpu-compile:v6e", program) is is_costly
    assert not is_separated("cpu", program)


@pytest.fixture(params=["cpu-compile", "gpu-compile", "tpu-compile"])
def backend(request: pytest.FixtureRequest) -> str:
    """Return the name of each installed compiler."""
    try:
        open_session(request.param)
    except NotAvailable as error:
        pytest.skip(str(error))
    return str(request.param)


def test_a_sharded_program_keeps_its_meaning(backend: str, tmp_path: Path) -> None:
    found = check_text(tmp_path, GSPMD, CheckSettings(backend))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


def test_the_pass_that_partitions_wrongly_is_named(backend: str, tmp_path: Path) -> None:
    (bug,) = (bug for bug in bugs() if bug.id == "xla-49118-partitioned-update-past-the-end")
    text = bug.program.replace("%zero, %start", "%zero, %past").replace(
        "  %zero =", "  %past = stablehlo.constant dense<2> : tensor<i32>\n  %zero ="
    )
    found = check_text(tmp_path, text, CheckSettings(backend))
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "wrong value")
    assert "spmd-partitioning" in found.message

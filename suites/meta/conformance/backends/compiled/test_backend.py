"""Compilers without their device: modules are read back, evaluated, and dumped after each pass."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.base import (
    NOT_READ_BACK,
    NotReadBack,
    Settings,
    Unsupported,
    failure_of,
)
from conformance.backends.compiled import backend as compiled
from conformance.backends.compiled import compilers, modules, stages
from conformance.backends.compiled.stages import dumped_stages, stages_in
from conformance.backends.registry import names_of, open_backend, parse
from conformance.backends.session import Session, open_session
from conformance.errors import NotAvailable, UsageError
from conformance.hlo.unreadable import Unreadable
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from suites.meta.support.small_programs import are_same, array, op_program, tensor_of

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
SIMPLIFIED = parse_module(
    """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<4.0> : tensor<4x8xf32>
  %0 = stablehlo.divide %x, %c : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}"""
)
GATHERED = parse_module(
    """module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
)


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


def test_several_processes_are_compiled_for_as_many_devices(session: Session) -> None:
    inputs = [array([1, 2]), array([3, 4])]
    results = session.compile(GATHERED).run(inputs)
    assert are_same(results, [array([1, 2, 3, 4])] * 2)


def test_no_device_code_runs_and_the_description_says_so(session: Session) -> None:
    described = session.describe()
    assert "compiled for only" in described.device
    assert dict(described.versions)["judged"] == compiled.NO_DEVICE_CODE
    assert {"jax", "jaxlib"} <= dict(described.versions).keys()


def test_stages_are_dumped_from_the_program_to_the_optimised_module(
    session: Session, tmp_path: Path
) -> None:
    inputs = [array(np.ones((4, 8))), array(np.ones((8, 3)))]
    found = dumped_stages(session, PROGRAM, tmp_path)
    assert (found[0].name, found[-1].name) == ("", "")
    assert "layout-assignment" in [stage.name for stage in found]
    first = found[0].read(PROGRAM).evaluate(inputs)
    assert are_same(first, evaluate(PROGRAM, inputs))
    last = found[-1].read(PROGRAM).evaluate(inputs)
    assert are_same(last, session.compile(PROGRAM).run(inputs))


@pytest.mark.parametrize("room", [0, 1 << 62])
def test_dumps_are_written_to_memory_where_there_is_room(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_MEMORY", tmp_path)
    monkeypatch.setattr(stages, "_ROOM", room)
    with stages.dump_folder() as folder:
        assert (folder.parent == tmp_path) is (room == 0)
    assert not folder.exists()


def test_passes_do_not_depend_on_the_optimisation_of_code(session: Session, tmp_path: Path) -> None:
    plain, dumped = tmp_path / "plain", tmp_path / "dumped"
    session.configured(Settings(dump=str(plain), dump_as_protos=True)).compile(SIMPLIFIED)
    found = [  # each once: a pass may say that it changed a module that it did not
        [*dict.fromkeys(emit(one.read(SIMPLIFIED).program) for one in each)]
        for each in (stages_in(plain), dumped_stages(session, SIMPLIFIED, dumped))
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 1


def test_a_folder_without_modules_has_no_stages(tmp_path: Path) -> None:
    (tmp_path / "module_0000.main.debug_options").touch()
    assert stages_in(tmp_path) == []


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


def test_targets_are_named_in_any_case_and_share_expectations() -> None:
    assert parse("gpu-compile:h100").name == "gpu-compile:H100"
    assert names_of("gpu-compile:H100") == ("gpu-compile:H100", "gpu-compile")
    with pytest.raises(UsageError, match="unknown TPU 'v5'; did you mean v5e"):
        parse("tpu-compile:v5")
    with pytest.raises(UsageError, match="unknown backend 'cpu-compile:AVX2'"):
        parse("cpu-compile:AVX2")


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

"""A compiler behind a command, and a backend that is served as one, give what the backend gives."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conformance.backends.base import Failed, Rejected, Unsupported
from conformance.backends.command.backend import CommandBackend
from conformance.backends.command.protocol import (
    Connection,
    ProtocolError,
    read_type,
    spell,
)
from conformance.backends.command.serving import Server
from conformance.backends.registry import parse
from conformance.backends.session import Session, open_session
from conformance.errors import UsageError
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import array, op_program, tensor_of

ROOT = Path(__file__).parents[5]
EXAMPLES = ROOT / "examples" / "backends"
SERVE = f"{sys.executable} -m conformance serve --backend"
ADD = op_program("add", [tensor_of(2, 2), tensor_of(2, 2)], tensor_of(2, 2))
TWO = array([[1.0, -2.0], [3.0, 0.5]]), array([[1.5, 2.0], [-3.0, 0.25]])


@pytest.fixture(scope="module")
def c_driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("driver") / "driver"
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-o", made, EXAMPLES / "driver.c", "-lm"], check=True
    )
    return str(made)


@pytest.mark.parametrize("language", ["python", "c"])
def test_examples_run_three_ops_and_refuse_others(
    language: str, request: pytest.FixtureRequest
) -> None:
    command = f"{sys.executable} {EXAMPLES / 'driver.py'}"
    command = command if language == "python" else request.getfixturevalue("c_driver")
    session = Session(CommandBackend("command:test", command))
    for name, inputs in (("add", TWO), ("abs", TWO[:1]), ("negate", TWO[1:])):
        program = op_program(name, [tensor_of(2, 2)] * len(inputs), tensor_of(2, 2))
        (found,) = session.run(program, [inputs])
        assert np.array_equal(found[0], evaluate(program, inputs)[0])
    for program in (
        op_program("tanh", [tensor_of(4)], tensor_of(4)),
        op_program("abs", [tensor_of(4, of="f64")], tensor_of(4, of="f64")),
    ):
        with pytest.raises(Unsupported, match=r"only .* of f32"):
            session.compile(program)
    assert session.batch_kind(ADD) != session.batch_kind(ADD)


@pytest.mark.parametrize("backend", ["reference", "interpreter", "cpu"])
def test_a_served_backend_gives_the_same(backend: str) -> None:
    session = Session(CommandBackend("command:test", f"{SERVE} {backend}"))
    own = open_session(backend)
    assert session.hardware == own.hardware
    assert session.batch_kind(ADD) == session.batch_kind(ADD)
    for element_type in ("f32", "bf16", "si4", "ui2", "f8E4M3FN", "complex<f64>"):
        numbers = tensor_of(2, 2, of=element_type)
        program = op_program("add", [numbers, numbers], numbers)
        given = [one.astype(ELEMENT_TYPES[element_type].storage) for one in TWO]
        (found,), (want,) = session.run(program, [given]), own.run(program, [given])
        assert found[0].tobytes() == want[0].tobytes()
    [*session.run(ADD, [TWO])]
    assert bool(session.optimised_module(ADD)) is (backend == "cpu")


def test_a_program_of_several_processes_has_the_results_of_each() -> None:
    program = parse_module(
        """module attributes {mhlo.num_replicas = 2 : i32} {
          func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            %0 = "stablehlo.collective_permute"(%x) {
              source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
            } : (tensor<2xf32>) -> tensor<2xf32>
            return %0 : tensor<2xf32>
          }
        }"""
    )
    session = Session(CommandBackend("command:test", f"{SERVE} reference"))
    (results,) = session.run(program, [[array([1.0, 2.0]), array([3.0, 4.0])]])
    assert [one.tolist() for one in results] == [[3.0, 4.0], [1.0, 2.0]]


def test_a_refused_program_is_refused_by_the_server() -> None:
    backend = CommandBackend("command:test", f"{SERVE} cpu")
    with pytest.raises(Rejected):
        backend.compile(emit(ADD).replace('"stablehlo.add"', '"stablehlo.odd"'), ADD)
    with pytest.raises(Rejected):
        backend.compile("no module", ADD)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"run 1\n", "is no request"),
        (b"\n", "is empty"),
        (b"compile 1\n", "a number and a length"),
        (b"compile 1 -1\n", "not a number"),
        (b"execute 1 1\n", "processes and a number"),
        (b"module\n", "has the number of a program"),
        (b"free 1 2\n", "has the number of a program"),
        (b"describe\n", "has a version"),
        (b"execute 7 1 0\n", "there is no program 7"),
        (b"execute 1 1 1\ntensor<2xf32> 9\n", "has 8 bytes"),
    ],
)
def test_a_request_that_is_none_ends_the_server(request_: bytes, reason: str) -> None:
    server = Server(open_session("reference"), Connection(io.BytesIO(request_), io.BytesIO()))
    with pytest.raises(ProtocolError, match=reason):
        server.serve()


def test_a_program_that_is_no_text_is_rejected() -> None:
    answers = io.BytesIO()
    request_ = io.BytesIO(b"compile 1 3\n\xff\xfe\xfd")
    Server(open_session("reference"), Connection(request_, answers)).serve()
    assert answers.getvalue().startswith(b"rejected ")


def test_the_end_of_requests_ends_the_server() -> None:
    for rest in (b"", b"compile 1 99\nmodule", b"desc"):
        answers = io.BytesIO()
        Server(open_session("reference"), Connection(io.BytesIO(rest), answers)).serve()
        assert answers.getvalue() == b""


@pytest.mark.parametrize("name", ["command", "command:mine", "command:=x", "command:a b=x"])
def test_a_command_needs_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="write command:NAME=COMMAND"):
        parse(name)


def test_a_command_is_spelled_for_any_folder() -> None:
    choice = parse("command:mine=./driver --fast 'two words'")
    assert choice.name == "command:mine"
    assert choice.spelling == f"command:mine={Path('driver').absolute()} --fast 'two words'"
    assert parse(choice.spelling) == choice


@pytest.mark.parametrize("of", ELEMENT_TYPES.values(), ids=lambda one: one.name)
def test_types_are_spelled_and_read(of) -> None:
    for shape in ((), (0,), (2, 3)):
        assert read_type(spell(np.zeros(shape, of.storage))) == (shape, of)


def test_dynamic_and_token_programs_are_unsupported() -> None:
    backend = CommandBackend("command:test", f"{SERVE} reference")
    dynamic = parse_module(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    )
    with pytest.raises(Unsupported, match="static sizes only"):
        backend.compile(emit(dynamic), dynamic)
    assert isinstance(backend.refusal(dynamic), Unsupported)
    assert not isinstance(backend.refusal(dynamic), Failed)

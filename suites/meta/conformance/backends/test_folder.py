"""A command that is run on a folder: what it writes, or fails to write, is an answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.backends.base import BackendError, Failed, Rejected, Unsupported
from conformance.backends.command.folder import FolderBackend
from conformance.backends.session import Session
from conformance.errors import NotAvailable
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, to_bits
from suites.meta.support.small_programs import array, op_program, tensor_of

EXAMPLE = Path(__file__).parents[4] / "examples" / "backends" / "folder.py"
TWO = array([[1.0, -2.0], [3.0, 0.5]]), array([[1.5, 2.0], [-3.0, 0.25]])
ADD = op_program("add", [tensor_of(2, 2), tensor_of(2, 2)], tensor_of(2, 2))

ECHO = """import os, pathlib, signal, sys, numpy as np
folder = pathlib.Path(sys.argv[1])
inputs, outputs = folder / "inputs", folder / "outputs"
if inputs.is_dir():
    {execute}
else:
    {compile}
"""
COPY = "(outputs / '0.npy').write_bytes((inputs / '0.npy').read_bytes())"


def backend(folder: Path, execute: str = COPY, compile_: str = "pass") -> FolderBackend:
    path = folder / "mine.py"
    path.write_text(ECHO.format(execute=execute, compile=compile_))
    return FolderBackend("folder:mine", f"{sys.executable} {path}")


def test_the_example_runs_three_ops_and_refuses_others() -> None:
    session = Session(FolderBackend("folder:mine", f"{sys.executable} {EXAMPLE}"))
    (found,) = session.run(ADD, [TWO])
    assert found[0].tobytes() == evaluate(ADD, TWO)[0].tobytes()
    with pytest.raises(Unsupported, match="only abs, add and negate"):
        session.compile(op_program("sine", [tensor_of(2)], tensor_of(2)))
    assert session.batch_kind(ADD) != session.batch_kind(ADD)


@pytest.mark.parametrize(
    "of", ["i1", "si2", "ui64", "bf16", "f8E4M3FN", "f4E2M1FN", "f64", "complex<f64>"]
)
def test_arrays_of_every_type_go_there_and_back(of: str, tmp_path: Path) -> None:
    program = op_program("negate", [tensor_of(2, 2, of=of)], tensor_of(2, 2, of=of))
    given = [TWO[0].astype(ELEMENT_TYPES[of].storage)]
    (found,) = Session(backend(tmp_path)).run(program, [given])
    assert found[0].dtype == given[0].dtype
    assert to_bits(found[0]).tolist() == to_bits(given[0]).tolist()


@pytest.mark.parametrize(
    ("execute", "error", "reason"),
    [
        ("pass", Failed, r"outputs/0\.npy is no array"),
        ("(outputs / '0.npy').write_bytes(b'garbage')", Failed, r"0\.npy is no array"),
        ("np.save(outputs / '0.npy', np.array([{}]), allow_pickle=True)", Failed, "is no array"),
        ("sys.exit('out of luck')", Failed, "exit code 1: out of luck"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Failed, "by SIGSEGV"),
        ("(folder / 'answer.txt').write_text('rejected no add')", Rejected, "^no add$"),
        ("(folder / 'answer.txt').write_text('maybe')", Failed, "begins with none of"),
    ],
)
def test_what_the_command_fails_to_write_is_an_answer(
    execute: str, error: type[BackendError], reason: str, tmp_path: Path
) -> None:
    session = Session(backend(tmp_path, execute))
    with pytest.raises(error, match=reason):
        [*session.run(ADD, [TWO])]


def test_a_result_of_another_type_is_left_to_the_judge(tmp_path: Path) -> None:
    session = Session(backend(tmp_path, "np.save(outputs / '0.npy', np.zeros(3, np.int16))"))
    ((found,),) = session.run(ADD, [TWO])
    assert (found.shape, found.dtype.name) == ((3,), "int16")


def test_programs_that_no_folder_holds_and_commands_that_are_none(tmp_path: Path) -> None:
    dynamic = parse_module(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    )
    with pytest.raises(Unsupported, match="static sizes only"):
        backend(tmp_path).compile(emit(dynamic), dynamic)
    with pytest.raises(NotAvailable, match="there is no program /no/such"):
        FolderBackend("folder:mine", "/no/such --fast")

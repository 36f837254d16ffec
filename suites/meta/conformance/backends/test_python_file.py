"""Backends in Python files, and the self-test that their authors run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance.backends.python_file import FileBackend
from conformance.backends.registry import parse
from conformance.backends.self_test import checks, run_check
from conformance.backends.session import Session
from conformance.errors import NotAvailable, UsageError
from conformance.listing import self_test
from suites.meta.support.small_programs import array, op_program, tensor_of

SOURCE = """
import numpy as np
from conformance.backends.base import Description, Unsupported
from conformance.tolerance.hardware import Hardware

class Mine:
    hardware = Hardware.CPU
    batches = False
    def describe(self):
        return Description("?", "numpy", "this process", ())
    def configured(self, settings):
        raise Unsupported("no options")
    def refusal(self, program):
        return None
    def compile(self, text, program):
        self.program = program
        return self
    def execute(self, inputs):
        (arguments,) = inputs
        *operations, end = self.program.main.body.operations
        values = dict(zip([one.name for one in self.program.main.arguments], arguments))
        for operation in operations:
            values[operation.results[0].name] = np.tanh(values[operation.operands[0].name])
        return [[CHANGE(values[one.name]) for one in end.operands]]

def open_backend():
    return Mine()
"""


def write(folder: Path, change: str = "array", source: str = SOURCE) -> Path:
    path = folder / "mine.py"
    path.write_text(source.replace("CHANGE", f"(lambda array: {change})"))
    return path


def test_a_file_is_a_backend_by_the_chosen_name(tmp_path: Path) -> None:
    session = Session(FileBackend("python:mine", write(tmp_path)))
    program = op_program("tanh", [tensor_of(2)], tensor_of(2))
    (found,) = session.run(program, [[array([0.5, 1.0])]])
    assert np.allclose(found[0], np.tanh([0.5, 1.0]))
    described = session.describe()
    assert (session.name, described.name) == ("python:mine", "python:mine")
    before = described.versions
    other = write(tmp_path, "array + 0")
    assert Session(FileBackend("python:mine", other)).describe().versions != before
    assert session.batch_kind(program) != session.batch_kind(program)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "there is no such file"),
        ("x = 1", r"has no function open_backend\(\)"),
        ("def open_backend(:", r"cannot be loaded: SyntaxError: .*"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module', line 1"),
        ("def open_backend():\n    return 1 / 0", "ZeroDivisionError: division by zero, line 2"),
        ("def open_backend():\n    return object()", "has no hardware, describe, configured"),
    ],
)
def test_a_file_that_opens_no_backend_is_one_line(
    source: str | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(NotAvailable, match=reason) as caught:
        FileBackend("python:mine", path)
    assert "\n" not in str(caught.value)


def test_a_file_without_a_name_is_refused() -> None:
    for name in ("python", "python:mine", "python:=mine.py"):
        with pytest.raises(UsageError, match="write python:NAME=FILE"):
            parse(name)
    assert parse("python:mine=mine.py").spelling == f"python:mine={Path('mine.py').absolute()}"


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_our_backends_return_what_they_get(backend: str) -> None:
    assert [one.problem for one in (run_check(backend, check) for check in checks())] == [""] * len(
        checks()
    )


@pytest.mark.parametrize(
    ("change", "check", "problem"),
    [
        ("array.astype(np.float32)", "elements of si16", "result 0: float32[256], not int16[256]"),
        ("array.reshape(-1)", "shape [2, 3, 4]", "result 0: float32[24], not float32[2, 3, 4]"),
        ("array[..., ::-1] if array.ndim else array", "shape [24]", "result 0: 23.0 at [0], not 0"),
        (
            "np.abs(array) if array.dtype.kind in 'fi' else array",
            "elements of si8",
            "127 at [1], not -127",
        ),
        ("(_ for _ in ()).throw(ValueError('lost'))", "shape []", "failed: ValueError: lost"),
    ],
)
def test_what_is_lost_is_told(change: str, check: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, change)
    assert problem in run_check(f"python:n{len(change)}={path}", check).problem


def test_a_backend_that_ends_is_a_finding(tmp_path: Path) -> None:
    path = write(tmp_path, "__import__('os').abort() if array.ndim == 3 else array")
    found = {one.check: one for one in self_test(parse(f"python:ends={path}"))}
    assert found["shape [2, 3, 4]"].problem.startswith("the process ended: SIGABRT")
    assert found["shape [24]"].problem == ""
    assert found["several programs as one module"].unsupported

"""Checks of functions and programs from Python: `check` and `assert_conforms`.

A function of jax is exported for its arguments. The program is then checked as `hlo-conformance
check` checks a file, in a worker process, which stays for further calls on the same backend.
"""

from __future__ import annotations

import atexit
import shlex
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from conformance.backends.registry import Choice, parse
from conformance.checking.calls import CHECK_BATCH
from conformance.checking.files import check_files
from conformance.checking.settings import CheckedFile, Settings
from conformance.errors import UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.executor import Executor
from conformance.gate.files import Given
from conformance.gate.reading import load
from conformance.gate.versions import applicable_entries
from conformance.judging.messages import verdict_text
from conformance.limits import FILE_LIMITS, Limits
from conformance.results.versions import versions

PROGRAM, INPUTS = "program.mlir", "inputs.npz"
"""The files of a checked program; `hlo-conformance check program.mlir --inputs inputs.npz` takes
them.
"""


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check.

    `verdict` is `pass`, `unspecified`, `inaccurate`, `divergent` and so on, as in reports, `kind`
    the class of a failure, and `operation` the first operation at fault, if it is known. `known`
    are the ids of the expectations that match a failure, and `notes` are on operations of a passing
    program. `text` is the program, as StableHLO.
    """

    verdict: str
    kind: str
    message: str
    operation: str
    known: tuple[str, ...]
    notes: tuple[str, ...]
    backend: str
    text: str = field(repr=False)
    inputs: tuple[Any, ...] = field(repr=False)
    conforms: bool
    """Whether nothing is wrong that no expectation matches, and the program could be judged."""
    _settings: Settings = field(repr=False)

    def __str__(self) -> str:
        """Return the verdict on one line, as the command prints it."""
        word = f"known {self.verdict}" if self.known else self.verdict
        known = [f"a known divergence, {id_}" for id_ in self.known]
        notes = [f"note: {note}" for note in self.notes]
        return verdict_text(
            word, self.kind, "; ".join(filter(None, (self.message, *known, *notes)))
        )

    def explain(self) -> str:
        """Return what the program may give at its worst element, and the freedoms that it uses."""
        settings = replace(self._settings, explains=True)
        return _judge(self.text, self.inputs, settings).message

    def save(self, folder: str | Path) -> str:
        """Write the program and its inputs to a folder, and return the command that checks them.

        Raises:
            OSError: if the folder cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        given = [str(_write(self.text, self.inputs, folder)), "--backend", self.backend]
        given += ["--inputs", str(folder / INPUTS)] if self.inputs else []
        return f"hlo-conformance check {shlex.join(given)}"


def check(
    program: Callable[..., Any] | str | Any,
    *arguments: Any,
    backend: str = "cpu",
    expectations: Given = None,
    timeout: float = FILE_LIMITS.timeout,
) -> Checked:
    """Check what a backend gives for a program; nothing that the program does raises an error.

    Args:
        program: a function of jax, jitted or not; the result of `jax.export`; or StableHLO, as
            MLIR's text.
        arguments: what to call it with: arrays, numbers, or pytrees of them. Of an exported
            program or a text they may be left out: then they are drawn.
        backend: the backend, as the command line names it.
        expectations: files of known divergences; by default those that are shipped.
        timeout: seconds that the check may take.

    Raises:
        UsageError: if there is no such backend, or the arguments are not what the program takes.
        NotAvailable: if the backend is not available.
    """
    choice = parse(backend)
    text, inputs = _export(program, arguments)
    limits = replace(FILE_LIMITS, timeout=timeout)
    entries = load(expectations, (choice.name,), versions())
    described = _description(choice, limits)
    known = applicable_entries(entries, [described])
    return _judge(text, inputs, Settings(choice.spelling, expectations=known, limits=limits))


def assert_conforms(
    program: Callable[..., Any] | str | Any,
    *arguments: Any,
    backend: str = "cpu",
    expectations: Given = None,
    timeout: float = FILE_LIMITS.timeout,
) -> None:
    """Check a program as `check` does, and raise AssertionError unless it conforms.

    Raises:
        AssertionError: with the verdict, the operation at fault and its line in the program, and
            the command that shows the failure again.
        NotAvailable, UsageError: as `check`.
    """
    options: dict[str, Any] = {"expectations": expectations, "timeout": timeout}
    found = check(program, *arguments, backend=backend, **options)
    if not found.conforms:
        folder = tempfile.mkdtemp(prefix="hlo-conformance-")
        raise AssertionError(f"{found}\nto see it again: {found.save(folder)}")


def _judge(text: str, inputs: tuple[Any, ...], settings: Settings) -> Checked:
    folder = Path(tempfile.mkdtemp(prefix="hlo-conformance-"))
    try:
        path = _write(text, inputs, folder)
        given = replace(settings, inputs=folder / INPUTS if inputs else None)
        executor = _executor(parse(settings.backend), settings.limits)
        (found,) = filter(None, check_files(executor, [str(path)], given, 1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _result(found, text, inputs, settings)


def _result(found: CheckedFile, text: str, inputs: tuple[Any, ...], settings: Settings) -> Checked:
    return Checked(
        verdict=found.verdict.value,
        kind=found.kind,
        message=found.message,
        operation=found.operation,
        known=found.known,
        notes=found.notes,
        backend=settings.backend,
        text=text,
        inputs=inputs,
        conforms=found.verdict.is_tested and not found.is_new_failure,
        _settings=settings,
    )


def _write(text: str, inputs: Sequence[Any], folder: Path) -> Path:
    path = folder / PROGRAM
    path.write_text(text, encoding="utf-8")
    if inputs:
        np.savez(folder / INPUTS, *inputs)
    return path


def _export(program: Any, arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Return a program's text, and the arrays that it is called with.

    Raises:
        UsageError: if it is no program, or cannot be exported for these arguments.
    """
    if isinstance(program, str):
        return program, tuple(map(np.asarray, arguments))
    import jax  # a text needs none
    from jax import export

    leaves = jax.tree.leaves(arguments)
    if isinstance(program, export.Exported):
        kept = program.module_kept_var_idx if leaves else ()
        return program.mlir_module(), _arrays(leaves, program.in_avals, kept)
    if not callable(program):
        raise UsageError(f"a function, an exported program or a text is needed, not {program!r}")
    call: Callable[..., Any] = program

    def function(*given: Any) -> Any:  # whatever the user's own jit drops is kept
        return call(*given)

    try:
        lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"jax cannot lower the function: {type(error).__name__}: {reason}"
        ) from error
    stated = jax.tree.leaves(lowered.args_info)
    return lowered.as_text(), _arrays(leaves, stated, range(len(leaves)))


def _arrays(leaves: Sequence[Any], stated: Sequence[Any], kept: Sequence[int]) -> tuple[Any, ...]:
    """Return the arguments of a program as arrays of the stated types.

    Raises:
        UsageError: if there are others than the program takes.
    """
    if leaves and len(leaves) != len(stated):
        raise UsageError(f"the program takes {len(stated)} arrays, not {len(leaves)}")
    found: list[Any] = []
    for number in kept:
        array, of = np.asarray(leaves[number]), stated[number]
        if array.shape != of.shape:
            raise UsageError(
                f"argument {number} has the shape {list(array.shape)}, not {list(of.shape)}"
            )
        found.append(array.astype(of.dtype))
    return tuple(found)


@lru_cache(maxsize=4)
def _executor(choice: Choice, limits: Limits) -> Executor:
    """Return a worker that has the backend open, until this process ends."""
    executor = executor_of(choice, jobs=1, limits=limits, functions=(CHECK_BATCH,))
    executor.__enter__()
    atexit.register(executor.__exit__, None, None, None)
    return executor


@lru_cache(maxsize=16)
def _description(choice: Choice, limits: Limits) -> Any:
    return describe(_executor(choice, limits), choice)

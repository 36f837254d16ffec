"""Folders of failing checks: the program, its inputs and its results.

Another tool can continue from the folder, and `check` can be run again on it. The inputs are
written before the backend runs, because it may crash the process. The folder of a program that
passes is removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conformance.errors import UsageError
from conformance.frontends.archives import stack_inputs
from conformance.frontends.modules import Unit, units_of
from conformance.frontends.naming import input_names
from conformance.outputs.schema import VERDICT as SAVED
from conformance.pipeline.outcome import Outcome
from conformance.stablehlo.emit import EmitError, emit, spell
from conformance.stablehlo.pretty import print_pretty
from reference.ir.types import Array, element_type_of, to_bits

PROGRAM, EXECUTED = "program.mlir", "executed.mlir"
INPUTS, EXPECTED, ACTUAL = "inputs.npz", "expected.npz", "actual.npz"
VERDICT = "verdict.json"

_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_LONGEST = 60
"""Number of characters of a name that the name of a folder contains."""


@dataclass(frozen=True, slots=True)
class SavedProgram:
    """A saved program: a text with only this program, and the names of its parameters there."""

    unit: Unit
    text: str
    names: tuple[str, ...]


def saved_program(unit: Unit) -> SavedProgram:
    """Return a text with only this program, and the names of its parameters.

    The text is the file's if the file holds only this program, else the program written anew.
    """
    for text in _texts(unit):
        found = list(units_of(text))
        if len(found) == 1 and isinstance(found[0], Unit) and _is_same(found[0], unit):
            return SavedProgram(unit, text, input_names(found[0]))
    return SavedProgram(unit, unit.source, input_names(unit))


def _texts(unit: Unit) -> Iterator[str]:
    """Yield texts that may hold this program and no other."""
    yield unit.source
    with suppress(EmitError):
        yield print_pretty([emit(unit.program)])[0]
    yield unit.part  # only this says what the program's infeeds read


def _is_same(one: Unit, other: Unit) -> bool:
    reads = one.infeeds is None, other.infeeds is None
    return one.flat.program == other.flat.program and reads[0] == reads[1]


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one program of a file on one set of inputs.

    `origin` says which inputs these are, in words; `parent` is the folder that the user named.
    """

    parent: Path
    file: str
    program: SavedProgram
    inputs: Sequence[Array]
    backend: str
    origin: str

    @property
    def path(self) -> Path:
        """The folder's path: safe as a name, and determined by the file, program and inputs."""
        absolute = str(Path(self.file).absolute())
        digest = hashlib.sha256(absolute.encode("utf-8", "surrogateescape")).hexdigest()[:6]
        source = self.program.unit.source
        above = len(source) - len(source.lstrip("\n"))
        part = [f"line{above + 1}"] if above else []  # a file may hold several of one name
        names = (Path(self.file).stem, digest, *part, self.program.unit.name, self.origin)
        return self.parent / "-".join(map(_safe_name, names))

    def begin(self) -> None:
        """Write the program and the inputs.

        Raises:
            UsageError: when they cannot be written.
        """
        try:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.mkdir(parents=True)
            unit, names = self.program.unit, self.program.names
            (self.path / PROGRAM).write_text(self.program.text, encoding="utf-8")
            if not unit.text:
                _write_executed(self.path, unit)
            arrays = stack_inputs(unit.flat.program, self.inputs)
            write_arrays(self.path / INPUTS, dict(zip(names, arrays, strict=True)))
            self._write("no answer")
        except OSError as error:
            raise UsageError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def end(
        self,
        outcome: Outcome,
        expected: Sequence[Array] | None,
        actual: Sequence[Array] | None,
    ) -> None:
        """Write the verdict, and the results of the reference and of the backend if there are any.

        Raises:
            UsageError: when they cannot be written.
        """
        try:
            for name, results in ((EXPECTED, expected), (ACTUAL, actual)):
                if results is not None:
                    arrays = {f"result_{index}": array for index, array in enumerate(results)}
                    write_arrays(self.path / name, arrays)
            self._write(
                outcome.verdict.value, outcome.kind, outcome.operation, outcome.message,
                outcome.known,
            )  # fmt: skip
        except OSError as error:
            raise UsageError(f"cannot write to {self.path}: {error.strerror or error}") from error

    def remove(self) -> None:
        """Remove the folder, because nothing fails."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(
        self,
        verdict: str,
        kind: str = "",
        operation: str = "",
        message: str = "",
        known: Sequence[str] = (),
    ) -> None:
        arguments = self.program.unit.flat.program.main.arguments
        given = f"--inputs {INPUTS} " if arguments else ""
        again = f"hlo-conformance check {PROGRAM} {given}--backend {shlex.quote(self.backend)}"
        shown = {
            "schema": SAVED.name,
            "schema_version": SAVED.version,
            "file": self.file.encode("utf-8", "backslashreplace").decode(),
            "program": self.program.unit.name,
            "verdict": verdict,
            "class": kind,
            "operation": operation,
            "message": message,
            "known": list(known),
            "backend": self.backend,
            "inputs": self.origin,
            "parameters": {
                name: spell(value.type)
                for name, value in zip(self.program.names, arguments, strict=True)
            },
            "again": again,
        }
        (self.path / VERDICT).write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an .npz archive of arrays; types unknown to numpy are written as bits.

    numpy.savez takes no array called `file`, and saves types of ml_dtypes as void.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _portable_array(array), allow_pickle=False)


def _portable_array(array: Array) -> Array:
    if element_type_of(array).storage.isbuiltin == 1:
        return np.asarray(array)
    return to_bits(array)


def _safe_name(part: str) -> str:
    return _UNSAFE.sub("_", part)[:_LONGEST].strip("._") or "_"


def _write_executed(own: Path, unit: Unit) -> None:
    """Write the program that the backend gets, if it differs from the text of the file."""
    try:
        (own / EXECUTED).write_text(emit(unit.flat.program), encoding="utf-8")
    except EmitError:
        return  # a backend is given nothing then, as the verdict says

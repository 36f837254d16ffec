"""A compiler that is run once for each program, on a folder: `folder:NAME=COMMAND`.

The command gets a folder as its last word. docs/backends.md describes what is in it.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Failed,
    Settings,
    Unsupported,
    has_static_arrays,
    single_process_inputs,
)
from conformance.backends.command.process import program_of, run_once
from conformance.backends.command.protocol import ANSWERS
from conformance.backends.versions import described_file
from conformance.errors import NotAvailable
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program, TensorType
from reference.ir.types import Array, ElementType, from_bits, to_bits

PROGRAM, INPUTS, OUTPUTS, ANSWER = "program.mlir", "inputs", "outputs", "answer.txt"


class FolderBackend:
    """The backend that runs a command on a folder, to compile and once more to execute."""

    hardware = Hardware.CPU
    batches = False

    def __init__(self, name: str, command: str) -> None:
        """Look for the command's program.

        Raises:
            NotAvailable: when there is none.
        """
        first = shlex.split(command)[0]
        if shutil.which(first) is None:
            raise NotAvailable(f"{name}: there is no program {first}")
        self.name, self._command = name, command

    def describe(self) -> Description:
        """Return the digest of the program, if it is given by its path."""
        program = program_of(self._command)
        versions = () if program is None else (("program", described_file(program)),)
        return Description(self.name, "folder", self._command, versions)

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: a folder has no settings."""
        del settings
        raise Unsupported(f"the backend {self.name} takes no compiler options")

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs of several processes, or with values that are no tensors
        of static sizes.
        """
        if program.process_count > 1:
            return Unsupported("a folder has the arguments of one process")
        if has_static_arrays(program):
            return None
        return Unsupported("a folder has arrays of static sizes only")

    def compile(self, text: str, program: Program) -> FolderExecutable:
        """Run the command on the module alone (see `conformance.backends.base.Backend`)."""
        refusal = self.refusal(program)
        if refusal is not None:
            raise refusal
        made = FolderExecutable(self._command, text, program)
        made.run(None)
        return made


class FolderExecutable:
    """A module, and the command that compiles and executes it."""

    def __init__(self, command: str, text: str, program: Program) -> None:
        """Remember the module."""
        self._command, self._text = command, text
        self._types = [one for one in program.main.result_types if isinstance(one, TensorType)]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`)."""
        return [self.run(single_process_inputs(inputs))]

    def run(self, arrays: Sequence[Array] | None) -> list[Array]:
        """Return the results on these arguments; only compile if they are None.

        Raises:
            BackendError: the command's answer.
        """
        with tempfile.TemporaryDirectory(prefix="hlo-conformance-") as made:
            folder = Path(made)
            (folder / PROGRAM).write_text(self._text, encoding="utf-8")
            if arrays is not None:
                (folder / INPUTS).mkdir()
                (folder / OUTPUTS).mkdir()
                for index, array in enumerate(arrays):
                    np.save(folder / INPUTS / f"{index}.npy", _as_numpy_has(array))
            run_once(self._command, str(folder))
            answer = folder / ANSWER
            if answer.is_file():
                word, _, why = answer.read_text("utf-8", "replace").strip().partition(" ")
                kind = ANSWERS.get(word)
                if kind is None:
                    raise Failed(f"{ANSWER} begins with none of {', '.join(ANSWERS)}")
                raise kind(why.strip() or word)
            if arrays is None:
                return []
            return [_read(folder / OUTPUTS, n, of) for n, of in enumerate(self._types)]


def _as_numpy_has(array: Array) -> Array:
    """Return an array as numpy has it without other packages: else its bits."""
    return array if array.dtype.isbuiltin == 1 else to_bits(array)


def _read(folder: Path, number: int, of: TensorType) -> Array:
    """Return a result from its file."""
    path = folder / f"{number}.npy"
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Failed(f"{path.parent.name}/{path.name} is no array of numpy") from error
    return _as_stored(np.asarray(found), of.stored)


def _as_stored(found: Array, element_type: ElementType) -> Array:
    """Return an array in the storage type, if its bits are given; the judge sees any other type."""
    is_bits = element_type.storage.isbuiltin != 1 and found.dtype.kind in "u"
    same = is_bits and found.dtype.itemsize == element_type.storage.itemsize
    return from_bits(found, element_type) if same else found

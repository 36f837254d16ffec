"""Outputs of any tool as a backend: `outputs:NAME=VECTORS,OUTPUTS`, for `hlo-conformance judge`.

A program is found by its text, and a set of inputs by its number. The outputs of a vector are the
bytes of its results, set after set, in `ID.bin`; `ID.txt` instead says why there are none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Failed,
    Settings,
    Unsupported,
)
from conformance.backends.command.protocol import ANSWERS, read_type
from conformance.errors import NotAvailable
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program
from reference.ir.types import Array


def text_digest(text: str) -> str:
    """Return the digest by which outputs are found for a program's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class OutputsBackend:
    """A backend that has run already: it returns the stored outputs of a program."""

    hardware = Hardware.CPU
    batches = False

    def __init__(self, name: str, vectors: Path, outputs: Path) -> None:
        """Read the list of vectors.

        Raises:
            NotAvailable: if either folder is none.
        """
        for folder in (vectors, outputs):
            if not folder.is_dir():
                raise NotAvailable(f"{name}: {folder} is no folder")
        self.name, self._vectors, self._outputs = name, vectors, outputs
        self._places: dict[str, tuple[Path, int]] = {}
        for path in sorted(vectors.glob("*-*.json")):
            for index, one in enumerate(_read(name, path)["vectors"]):
                self._places.setdefault(one["digest"], (path, index))

    def describe(self) -> Description:
        """Return the folder's name."""
        return Description(self.name, "outputs", str(self._outputs), ())

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: nothing is compiled."""
        del settings
        raise Unsupported("stored outputs have no compiler")

    def refusal(self, program: Program) -> BackendError | None:
        """Return None: the text decides."""
        del program

    def compile(self, text: str, program: Program) -> Outputs:
        """Return the outputs of a program (see `conformance.backends.base.Backend`)."""
        del program
        place = self._places.get(text_digest(text))
        if place is None:
            raise Unsupported("there is no such vector")
        path, number = place
        vector = _read(self.name, path)["vectors"][number]
        answer = self._outputs / f"{vector['id']}.txt"
        if answer.is_file():
            word, _, why = answer.read_text(encoding="utf-8", errors="replace").partition(" ")
            if word.strip() in ANSWERS:
                raise ANSWERS[word.strip()](why.strip() or word)
            if word.strip() != "accepted":
                raise Failed(f"{answer.name} begins with none of {', '.join(ANSWERS)}, accepted")
            return Outputs(vector, b"", path.with_suffix(".bin"))
        stored = self._outputs / f"{vector['id']}.bin"
        if not stored.is_file():
            raise Unsupported("there are no outputs")
        return Outputs(vector, stored.read_bytes(), path.with_suffix(".bin"))


class Outputs:
    """The outputs of a vector."""

    def __init__(self, vector: dict[str, Any], data: bytes, inputs: Path) -> None:
        """Remember the outputs' bytes, and the file that has the inputs."""
        self._vector, self._data, self._inputs = vector, data, inputs

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Return the outputs for these inputs (see `conformance.backends.base.Executable`).

        Raises:
            Failed: if they have another length than the results.
        """
        given = [np.ascontiguousarray(one).tobytes() for share in inputs for one in share]
        content = self._inputs.read_bytes()
        offset, found = 0, list[Array]()
        for one in self._vector["sets"]:
            types = [read_type(result["expected"]["type"]) for result in one["results"]]
            sizes = [prod(shape) * of.storage.itemsize for shape, of in types]
            stored = [content[at : at + size] for at, size in (a["at"] for a in one["inputs"])]
            if stored == given:
                if offset + sum(sizes) > len(self._data):
                    raise Failed(f"the outputs end after {len(self._data)} bytes")
                for (shape, of), size in zip(types, sizes, strict=True):
                    part = self._data[offset : offset + size]
                    found.append(np.frombuffer(part, of.storage).reshape(shape).copy())
                    offset += size
                share = len(found) // len(inputs)
                return [found[n * share : (n + 1) * share] for n in range(len(inputs))]
            offset += sum(sizes)
        raise Failed("the vector has no such inputs")


@lru_cache(maxsize=4)  # a run judges the cases of a cell one after the other
def _read(name: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        for one in found["vectors"]:
            _ = one["id"], one["digest"], one["sets"]
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotAvailable(f"{name}: {path} is no file of vectors") from error

"""Writing of vectors: a folder with a pair of files for each op and element type.

`OP-TYPE.json` has the programs and, for each array, where its bytes are in `OP-TYPE.bin`.
docs/backends.md describes both.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from conformance.backends.base import Unsupported
from conformance.backends.command.protocol import portable_artifact, spell
from conformance.backends.outputs import text_digest
from conformance.campaign.planning import Options, plan
from conformance.campaign.tasks import Task, cases_of
from conformance.outputs import schema
from conformance.stablehlo.emit import EmitError, emit
from conformance.vectors.permitted import Permitted, permitted_results
from generators.case.columns import Invalid
from generators.cells.columns import ordered_misses
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError
from reference.ir.types import Array

FORMAT = 1
"""The version of the format of vectors."""

SUITE = "suite.json"


@dataclass(slots=True)
class Data:
    """The bytes of a cell's arrays, one after the other."""

    chunks: list[bytes] = field(default_factory=list[bytes])
    length: int = 0

    def add(self, data: bytes) -> list[int]:
        """Add bytes, and return where they are: offset and length."""
        place = [self.length, len(data)]
        self.chunks.append(data)
        self.length += len(data)
        return place

    def array(self, array: Array) -> dict[str, Any]:
        """Add an array, and return its type and place."""
        return {"type": spell(array), "at": self.add(np.ascontiguousarray(array).tobytes())}


@dataclass(slots=True)
class Counts:
    """Numbers of vectors, of results, and of results that only `judge` can tell."""

    vectors: int = 0
    results: int = 0
    judged: int = 0
    skipped: int = 0


def write_vectors(folder: Path, options: Options) -> Iterator[Counts]:
    """Write the vectors of a run's cells, and yield what was written after each cell.

    Raises:
        OSError: if the folder cannot be written.
        UsageError: for an op, type or profile that does not exist.
    """
    counts, cells = Counts(), dict[str, list[Task]]()
    for task in plan(options).tasks:
        cells.setdefault(f"{task.cell.op}-{task.cell.element_type.name}", []).append(task)
    folder.mkdir(parents=True, exist_ok=True)
    for name, tasks in cells.items():
        data = Data()
        vectors = [vector for task in tasks for vector in _vectors(task, data, counts)]
        counts.vectors += len(vectors)
        if vectors:
            plain = name.replace("<", "_").replace(">", "")
            (folder / f"{plain}.bin").write_bytes(b"".join(data.chunks))
            text = json.dumps({"format": FORMAT, "vectors": vectors}, indent=1)
            (folder / f"{plain}.json").write_text(text + "\n", encoding="utf-8")
        yield counts
    suite = {
        "format": FORMAT,
        "ops": list(options.ops),
        "element_types": list(options.element_types),
        "profile": options.profile,
        "seed": options.seed,
        "vectors": counts.vectors,
        "results": counts.results,
        "judged_results": counts.judged,
        "skipped": counts.skipped,
    }
    (folder / SUITE).write_text(json.dumps(suite, indent=1) + "\n", encoding="utf-8")
    for one in (schema.VECTORS, schema.SUITE):
        path = folder / "schema" / one.file_name
        path.parent.mkdir(exist_ok=True)
        path.write_text(schema.schema_text(one), encoding="utf-8")


def _vectors(task: Task, data: Data, counts: Counts) -> Iterator[dict[str, Any]]:
    """Yield the vectors of a task; programs that cannot be written or evaluated are counted."""
    cell = task.cell
    ids = repeat("")
    if isinstance(cell.element_type, Invalid):
        ids = (id_ for id_, _ in ordered_misses(cell.op)[task.start : task.stop])
    for index, (case, id_) in enumerate(zip(cases_of(task), ids, strict=False), task.start):
        program = case.program
        try:
            text = emit(program)
            sets = [materialise(program, one) for one in case.inputs]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                permitted = [permitted_results(cell.op, program, one) for one in sets]
        except (EmitError, EvaluationError, KeyError):
            counts.skipped += 1
            continue
        yield {
            "id": f"{cell.op}-{cell.element_type.name}-{index}",
            "digest": text_digest(text),
            "program": text,
            **({"violates": id_} if id_ else _portable(text, data)),
            "processes": program.process_count,
            "sets": [
                {
                    "inputs": [data.array(one) for one in inputs],
                    "results": [_result(result, data, counts) for result in results],
                }
                for inputs, results in zip(sets, permitted, strict=True)
            ],
        }


def _portable(text: str, data: Data) -> dict[str, Any]:
    """Return where the program is as a portable artifact of a version that is three months old."""
    from jaxlib.mlir.dialects import stablehlo

    weeks = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = stablehlo.get_version_from_compatibility_requirement(weeks)
    try:
        artifact = portable_artifact(text, version)
    except Unsupported:
        return {}
    return {"portable": {"version": version, "at": data.add(artifact)}}


def _result(one: Permitted, data: Data, counts: Counts) -> dict[str, Any]:
    counts.results += 1
    counts.judged += one.judged
    found: dict[str, Any] = {"expected": data.array(one.expected)}
    if one.judged:
        return found | {"judge": True}
    found |= {"zero_signs": one.zero_signs, "nan_bits": one.nan_bits}
    if one.intervals:
        found["intervals"] = [
            {"low": data.array(low), "high": data.array(high)} for low, high in one.intervals
        ]
    if one.nan is not None and bool(one.nan.any()):
        found["nan"] = data.array(np.asarray(one.nan, np.bool_))
    return found


def read_suite(folder: Path) -> dict[str, Any]:
    """Return what a folder's suite says of its vectors.

    Raises:
        OSError, ValueError: if there is none.
    """
    found = json.loads((folder / SUITE).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or found.get("format") != FORMAT:  # type: ignore[union-attr]
        raise ValueError(f"is no suite of vectors of format {FORMAT}")
    return found  # type: ignore[return-value]

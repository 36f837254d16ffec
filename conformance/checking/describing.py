"""Parameters and results of programs, and code for an archive of inputs: `check --describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.frontends.modules import NotChecked, Unit, read_units
from conformance.frontends.naming import input_names, parameters, value_names
from conformance.stablehlo.emit import spell
from conformance.transforms.inline import Origin
from reference.ir.program import TensorType
from reference.ir.types import bits_dtype

UNKNOWN_SIZE = 3
"""The size that the snippet states for a dimension of unknown size; users may change it."""


def describe_file(file: str) -> list[dict[str, Any]]:
    """Return the parameters and results of each program of a file. A program has the keys file,
    program, parameters, results and snippet; a part that is no program has file, reason and
    invalid.

    Raises:
        OSError: when the file cannot be read.
    """
    shown = file.encode("utf-8", "backslashreplace").decode()
    return [{"file": shown, **_entry(part)} for part in read_units(Path(file))]


def _entry(part: Unit | NotChecked) -> dict[str, Any]:
    if isinstance(part, NotChecked):
        return {"reason": part.reason, "invalid": part.invalid}
    main = part.flat.program.main
    taken = [
        {"name": key, "called": parameter.name, "type": spell(value.type)}
        for key, parameter, value in zip(
            input_names(part), parameters(part), main.arguments, strict=True
        )
    ]
    names = value_names(part)
    results: list[dict[str, str]] = []
    for value in main.body.operations[-1].operands:
        origin = part.flat.origins.get(value.name, Origin(part.name, value.name))
        called = names.get((origin.function, origin.value)) or ""
        results.append({"called": called, "type": spell(value.type)})
    return {
        "program": part.name,
        "parameters": taken,
        "results": results,
        "snippet": snippet(part) if taken else "",
    }


def snippet(unit: Unit) -> str:
    """Return Python code that writes an archive of inputs, all zero, for each process."""
    lines = ["import numpy as np", 'np.savez("inputs.npz", **{']
    program = unit.flat.program
    processes = (program.process_count,) if program.process_count > 1 else ()
    for name, value in zip(input_names(unit), program.main.arguments, strict=True):
        of = value.type
        assert isinstance(of, TensorType)
        shape = (*processes, *(UNKNOWN_SIZE if size is None else size for size in of.shape))
        plain = of.storage.isbuiltin == 1
        dtype = of.storage.name if plain else bits_dtype(of.stored).name
        notes = [] if plain else [f"bits of {of.stored.mlir}"]
        notes += [f"of each of {processes[0]} processes"] if processes else []
        notes += [] if of.is_static else [f"{spell(of)}: {UNKNOWN_SIZE} may be any size"]
        note = f"  # {'; '.join(notes)}" if notes else ""
        lines.append(f"    {json.dumps(name)}: np.zeros({shape}, np.{_numpy(dtype)}),{note}")
    return "\n".join([*lines, "})"])


def _numpy(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype

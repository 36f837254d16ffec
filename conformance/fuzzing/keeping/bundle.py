"""The folder of a finding: program, inputs, results, and a script that shows it without this
package.

program.mlir, inputs.npz, expected.npz, actual.npz, finding.json, reproduce.py, issue.md; `check`
takes the first two, `replay` the folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import lt
from pathlib import Path
from typing import Any

import numpy as np

from conformance.backends import isa
from conformance.backends.base import DEVICE_ERROR_EXIT, Description, ends_process
from conformance.backends.registry import BACKENDS
from conformance.checking.saving import ACTUAL, EXPECTED, INPUTS, PROGRAM, write_arrays
from conformance.errors import UsageError
from conformance.executors.lost import ending
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.grouping import element_types, key_of
from conformance.judging.differences import decimal, hexadecimal
from conformance.outputs.saved import rename_old_fields
from conformance.outputs.schema import FINDING as OUTPUT
from conformance.results.versions import versions
from conformance.stablehlo.emit import EmitError, emit
from conformance.text import join_versions, one_line
from conformance.transforms.values import working_operations
from conformance.verdict import Element, Verdict
from reference.ir.program import TensorType
from reference.ir.types import Array, element_type_of, to_bits

FINDING, SCRIPT, ISSUE = "finding.json", "reproduce.py", "issue.md"

FIRST_FOUND, LAST_FOUND = "first_found", "last_found"
"""Keys of the times at which a program first and last led to a finding, in UTC."""

ELEMENTS = 4
"""Largest number of wrong elements that the files of a finding show."""

_TEMPLATE = Path(__file__).with_name("reproduction.txt")
"""The script in every folder, before the data of the finding is filled in."""

_RUN_BY_JAX = ("cpu", "gpu", "tpu", "plugin")
"""Families of backends on which the script can run a program with jax and numpy only."""

_GROUP = "## Where it was found"
"""The heading of the part of an issue that is rewritten when more programs lead to the finding."""

_RELEASES = "## Releases"
"""The heading of the part of an issue that `bisect` writes."""

_MARK = "# --- what was found ---\n"


def write(parent: Path, finding: Finding, backend: Description, command: str) -> Path:
    """Write the folder of a finding into `parent`, whole or not at all; return its path.

    Raises:
        UsageError: when it cannot be written.
    """
    own, unfinished = parent / finding.name, parent / f".{finding.name}.{os.getpid()}"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        told = finding_entry(finding, backend, command) | _current_times(own)
        _fill(unfinished, finding, backend, told)
        shutil.rmtree(own, ignore_errors=True)
        unfinished.rename(own)
    except OSError as error:
        raise UsageError(f"cannot write to {own}: {error.strerror or error}") from error
    return own


def explain(parent: Path, finding: Finding, backend: Description, command: str) -> None:
    """Rewrite the description of a finding in its folder, if it has one, with its cause.

    Raises:
        UsageError: when it cannot be written.
    """
    own = parent / finding.name
    if not own.is_dir():
        return
    try:
        told = finding_entry(finding, backend, command) | _dates(own)
        _write_texts(own, finding, backend, told)
    except OSError as error:
        raise UsageError(f"cannot write to {own}: {error.strerror or error}") from error


def regroup(
    own: Path, culprits: Mapping[str, int], signatures: Mapping[str, int], programs: int
) -> None:
    """Update the counts of programs in the finding.json of a finding, if its folder has that file.

    `culprits` and `signatures` map each to the number of programs with it.

    Raises:
    UsageError: if it cannot be written.
    """
    if not (own / FINDING).is_file():
        return
    try:
        told = rename_old_fields(json.loads((own / FINDING).read_text("utf-8")))
        if told.get("programs", programs) != programs:
            told |= _current_times(own)
        told |= _programs(culprits, signatures, programs)
        _replace(own / FINDING, json.dumps(told, indent=2) + "\n")
        text = (own / ISSUE).read_text("utf-8").partition(_GROUP)[0].rstrip()
        lines = _group(culprits, signatures, programs)
        _replace(own / ISSUE, "\n".join((text, "", _GROUP, "", *lines, "")))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write to {own}: {error}") from error


def note_releases(own: Path, releases: Mapping[str, str], changes: Sequence[str]) -> None:
    """Add what `bisect` found to the finding.json and the issue in a folder that has them.

    `releases` has the verdict of each release of jaxlib that was asked, `changes` the releases
    between which the divergence came or went.

    Raises:
        UsageError: if the files cannot be read or written.
    """
    if not (own / FINDING).is_file():
        return
    try:
        told = json.loads((own / FINDING).read_text("utf-8"))
        told |= {"releases": dict(releases), "changes": list(changes)}
        _replace(own / FINDING, json.dumps(told, indent=2) + "\n")
        text, group, rest = (own / ISSUE).read_text("utf-8").partition(_GROUP)
        text = text.partition(_RELEASES)[0].rstrip()
        table = ["| jaxlib | result |", "| --- | --- |"]
        table += [f"| {name} | {one_line(said)} |" for name, said in releases.items()]
        lines = (
            text,
            "",
            _RELEASES,
            "",
            *(f"{change[:1].upper()}{change[1:]}." for change in changes),
            "",
        )
        _replace(own / ISSUE, "\n".join((*lines, *table, "", group + rest)))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write to {own}: {error}") from error


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(path)


def _group(culprits: Mapping[str, int], signatures: Mapping[str, int], programs: int) -> list[str]:
    """Return the lines about the programs in which a divergence was found."""
    count = f"{programs} programs" if programs != 1 else "1 program"
    lines = [f"{count} of the campaign led to this finding."]
    types = element_types(culprits)
    if types:
        lines += ["", f"Element types: {', '.join(types)}."]
    if len(culprits) > 1:
        lines += ["", "| culprit | programs |", "| --- | --- |"]
        lines += [f"| {name} | {count} |" for name, count in culprits.items()]
    if len(signatures) > 1:
        lines += ["", "Operations of the minimised programs, with operand and result types:", ""]
        lines += [f"- `{of.rpartition(' | ')[2]}`" for of in signatures]
    return lines


def _dates(own: Path) -> dict[str, str]:
    """Return the stored first and last time at which programs led to the finding in a folder."""
    try:
        told = rename_old_fields(json.loads((own / FINDING).read_text("utf-8")))
        return {name: str(told[name]) for name in (FIRST_FOUND, LAST_FOUND) if name in told}
    except (OSError, ValueError, TypeError):
        return {}


def _current_times(own: Path) -> dict[str, str]:
    """Return the updated times when a program leads to the finding now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {FIRST_FOUND: now, **_dates(own), LAST_FOUND: now}


def _write_texts(
    own: Path, finding: Finding, backend: Description, told: Mapping[str, Any]
) -> None:
    """Write the files about a finding that people read."""
    try:
        generic = emit(finding.program)
    except EmitError:
        generic = ""
    (own / PROGRAM).write_text(finding.text or generic, "utf-8")
    (own / FINDING).write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    (own / ISSUE).write_text(issue(finding, backend), "utf-8")


def _fill(own: Path, finding: Finding, backend: Description, told: Mapping[str, Any]) -> None:
    _write_texts(own, finding, backend, told)
    arguments = finding.program.main.arguments
    names = [argument.name for argument in arguments]
    write_arrays(own / INPUTS, dict(zip(names, finding.inputs, strict=True)))
    for name, results in ((EXPECTED, finding.expected), (ACTUAL, finding.actual)):
        write_arrays(own / name, {f"result_{n}": array for n, array in enumerate(results)})
    script = _TEMPLATE.read_text("utf-8").split(_MARK)
    facts = {
        "verdict": finding.verdict.value,
        "ends": ends_process(finding.verdict, finding.kind)
        and ending(finding.message) != f"exit code {DEVICE_ERROR_EXIT}",
        "arguments": [_type_and_sizes(of.type) for of in arguments],
        "names": names,
        "results": [_type_and_sizes(of) for of in finding.program.main.result_types],
        "wrong": _wrong(finding),
        "backend": finding.backend,
        "platform": backend.platform,
        "flags": _flags(finding.backend),
        "found_with": dict(backend.versions).get("library", ""),
        "message": one_line(finding.message),
    }
    lines = "".join(f"{name.upper()} = {value!r}\n" for name, value in facts.items())
    (own / SCRIPT).write_text(script[0] + _MARK + lines + script[2], "utf-8")


def _flags(backend: str) -> str:
    """Return XLA's flags that make its CPU the backend of this name, "" for none."""
    family, _, maximum = backend.partition(":")
    return f"{isa.FLAG}={maximum}" if family == "cpu" and maximum else ""


def _check_command(backend: str) -> str:
    """Return the command that judges the program again, in its folder."""
    needs_path = BACKENDS[backend.partition(":")[0]].needs_argument
    name = f"{backend}=LIBRARY" if needs_path else backend
    return f"hlo-conformance check {PROGRAM} --inputs {INPUTS} --backend {name}"


def _type_and_sizes(of: object) -> tuple[str, list[int | None]]:
    """Return the type of an array's elements (for a quantized tensor, of its codes), and the
    sizes.
    """
    assert isinstance(of, TensorType)
    return of.stored.name, list(of.shape)


def _wrong(finding: Finding) -> list[tuple[int, list[int], str, str]]:
    """Return the wrong elements: result, index, expected and actual bits in hexadecimal."""
    found: list[tuple[int, list[int], str, str]] = []
    for element in finding.elements:
        if element.result < min(len(finding.expected), len(finding.actual)):
            want, got = finding.expected[element.result], finding.actual[element.result]
            if want.shape == got.shape and _is_index_of(element.index, want.shape):
                index = list(element.index)
                found.append(
                    (element.result, index, _bits(want, element.index), _bits(got, element.index))
                )
    return found


def _is_index_of(index: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether an index is within a shape; the element may belong to an inner operation."""
    return len(index) == len(shape) and all(map(lt, index, shape))


def _bits(array: Array, index: tuple[int, ...]) -> str:
    return to_bits(_element_at(array, index)).tobytes().hex()


def _element_at(array: Array, index: tuple[int, ...]) -> Array:
    """Return the element at an index, as an array of rank 0."""
    return array[tuple(slice(i, i + 1) for i in index)].reshape(())


def finding_entry(finding: Finding, backend: Description, command: str) -> dict[str, Any]:
    """Return a finding as finding.json has it, without the times at which programs led to it."""
    return {
        "schema": OUTPUT.name,
        "schema_version": OUTPUT.version,
        "verdict": finding.verdict.value,
        "class": finding.kind,
        "culprit": finding.culprit,
        "operation": finding.operation,
        "message": one_line(finding.message),
        "known": list(finding.known),
        "cause": key_of(finding),
        "signature": finding.signature,
        "operations": [operation.name for operation in working_operations(finding.program)],
        "inputs": {
            of.name: _few(array)
            for of, array in zip(finding.program.main.arguments, finding.inputs, strict=True)
        },
        "elements": [
            {
                "result": e.result,
                "index": list(e.index),
                "expected": e.expected,
                "expected_bits": e.expected_hex,
                "actual": e.actual,
                "actual_bits": e.actual_hex,
            }
            for e in finding.elements[:ELEMENTS]
        ],
        "votes": finding.vote.line,
        "attribution": {
            "vanishes": finding.cause.passing_variants,
            "ways": finding.cause.ways,
            "culprit": finding.cause.culprit,
            "note": finding.cause.note,
            "partial": finding.cause.is_partial,
        },
        "backend": finding.backend,
        "versions": versions() | dict(backend.versions),
        "found_by": command,
        "again": _check_command(finding.backend),
        **_programs({finding.culprit: 1} if finding.culprit else {}, {finding.signature: 1}, 1),
    }


def _programs(
    culprits: Mapping[str, int], signatures: Mapping[str, int], programs: int
) -> dict[str, Any]:
    """Return the part of finding.json about the programs that led to a finding."""
    return {
        "element_types": element_types(culprits),
        "programs": programs,
        "culprits": dict(culprits),
        "signatures": dict(signatures),
    }


def issue(finding: Finding, backend: Description) -> str:
    """Return the text of an issue: the fault, its place and size, and how to reproduce it."""
    ops = (
        " + ".join(operation.name for operation in working_operations(finding.program)) or "program"
    )
    lines = [
        f"# {finding.backend}: {ops}: {_title(finding)}",
        "",
        f"Backend: {finding.backend} ({backend.platform}, {backend.device}).",
        f"Versions: {join_versions(backend.versions) or 'unknown'}.",
        "",
        "```mlir",
        finding.text.rstrip(),
        "```",
        "",
        *_table(finding),
        f"{one_line(finding.message)}",
        "",
        *_votes(finding),
        _how_to_see(finding.backend),
        "",
    ]
    return "\n".join(lines)


def _how_to_see(backend: str) -> str:
    """Return how to see whether the bug is there, as a sentence."""
    family = backend.partition(":")[0]
    if family not in _RUN_BY_JAX:
        return f"`{_check_command(backend)}` in this folder judges the program again."
    library = " LIBRARY" if BACKENDS[family].needs_argument else ""
    return (
        f"`python {SCRIPT}{library}` in this folder (it needs jax and numpy only) exits with 1 "
        "while the bug is there, and with 0 once it is gone."
    )


def _title(finding: Finding) -> str:
    kind = f" ({finding.kind})" if finding.kind not in ("", finding.verdict) else ""
    words = {
        Verdict.CRASHED: "the process crashes",
        Verdict.TIMED_OUT: "no answer",
        Verdict.REJECTED: "a valid program is refused",
        Verdict.FLUSHED: "subnormal numbers are treated as zero",
    }
    return words.get(finding.verdict, "a wrong result") + kind


def _table(finding: Finding) -> list[str]:
    """Return the inputs, and a table of wrong elements with their operands."""
    arguments = finding.program.main.arguments
    inputs = [
        f"- `%{of.name}` = {_few(array)}"
        for of, array in zip(arguments, finding.inputs, strict=True)
    ]
    shown = finding.elements[:ELEMENTS]
    if not shown:
        return [*inputs, ""] if inputs else []
    operands = [_operands(finding, element) for element in shown]
    names = list(dict.fromkeys(name for row in operands for name in row))
    head = ("result", "index", *names, "expected", "actual")
    rows = [
        (
            str(e.result), str(list(e.index)), *(row.get(name, "") for name in names),
            f"{e.expected} ({e.expected_hex})", f"{e.actual} ({e.actual_hex})",
        )
        for e, row in zip(shown, operands, strict=True)
    ]  # fmt: skip
    table = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return [*inputs, *([""] if inputs else []), *table, ""]


def _operands(finding: Finding, element: Element) -> dict[str, str]:
    """Return the operands of a wrong element by name: those it was judged with, or else the
    elements of inputs of the result's shape that have its index.
    """
    if element.inputs:
        return {name: f"{value} ({bits})" for name, value, bits in element.inputs}
    if element.result >= len(finding.expected):
        return {}
    shape = finding.expected[element.result].shape
    return {
        f"`%{of.name}`": f"{decimal(one)} ({hexadecimal(one)})"
        for of, array in zip(finding.program.main.arguments, finding.inputs, strict=True)
        if array.shape == shape and _is_index_of(element.index, shape)
        for one in [_element_at(array, element.index).reshape(1)]
    }


_FEW = 8
"""Largest number of elements of an input that are shown."""


def _few(array: Array) -> str:
    """Return an input as text: all its elements if it has few, or else the first that are not
    zero, with their indices.
    """
    about = f"{element_type_of(array)}{list(array.shape)}: "
    flat = array.reshape(-1)
    if flat.size <= _FEW:
        return about + ", ".join(map(str, flat))
    with np.errstate(invalid="ignore"):  # of NaN
        indices = np.flatnonzero(flat != np.zeros((), flat.dtype))
    shown = [
        f"{flat[n]} at {[int(i) for i in np.unravel_index(n, array.shape)]}"
        for n in indices[:_FEW].tolist()
    ]
    zeros = ["0 elsewhere"] if indices.size < flat.size else []
    left = [f"{indices.size - _FEW} more"] if indices.size > _FEW else []
    return about + ", ".join((*shown, *left, *zeros))


def _votes(finding: Finding) -> list[str]:
    """Return paragraphs about variants of the program, and about the interpreter's vote."""
    told = [" ".join(finding.cause.sentences)] if finding.cause.sentences else []
    told += [f"Votes: {finding.vote.line}."] if finding.vote.line else []
    return [line for paragraph in told for line in (paragraph, "")]

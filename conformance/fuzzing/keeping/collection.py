"""Findings of several campaigns, read from their folders and grouped by cause."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from conformance.checking.saving import PROGRAM
from conformance.errors import UsageError
from conformance.fuzzing.keeping.bundle import FINDING, FIRST_FOUND, LAST_FOUND, SCRIPT
from conformance.fuzzing.keeping.journal import FILE_NAME, Journal
from conformance.outputs import finding as output
from conformance.outputs.saved import rename_old_fields
from conformance.verdict import Verdict


@dataclass(frozen=True, slots=True)
class FoundCause:
    """Findings with one cause in their JSON form, and their scripts by the folder of the
    finding.
    """

    described: output.Cause
    scripts: Mapping[str, str]


def load_findings(paths: Sequence[Path]) -> tuple[FoundCause, ...]:
    """Read the findings in corpora and campaigns; the causes that most programs have come first.

    Raises:
        UsageError: if a folder holds no findings, or a finding cannot be read.
    """
    found: dict[str, tuple[output.Finding, str, str]] = {}
    for path in paths:
        for folder in _folders(path):
            found[str(folder.resolve())] = _read(folder)
    by_cause: dict[str, list[tuple[output.Finding, str]]] = {}
    for finding, cause, script in found.values():
        by_cause.setdefault(cause, []).append((finding, script))
    causes = [_cause(cause, several) for cause, several in by_cause.items()]
    return tuple(sorted(causes, key=lambda one: (-one.described.programs, one.described.cause)))


def _folders(path: Path) -> list[Path]:
    """Return the folders of findings in a corpus or a campaign, or the given folder if it is a
    finding.
    """
    if not path.exists():
        raise UsageError(f"--findings: there is no {path}")
    if path.name == FILE_NAME:
        path = path.parent
    if (path / FINDING).is_file():
        return [path]
    where = path
    if (path / FILE_NAME).is_file():
        with Journal(path, read_only=True) as journal:
            told = Path(journal.meta().get("findings", ""))
        where = path / "findings" if (path / "findings").is_dir() else told
    found = [one.parent for one in sorted(where.glob(f"*/{FINDING}"))]
    if not found and where == path:
        raise UsageError(
            f"--findings: {path} holds no findings: give the folder of a campaign, or its corpus"
        )
    return found


def _read(folder: Path) -> tuple[output.Finding, str, str]:
    """Return a finding with the key of its cause and the text of its script."""
    try:
        told = rename_old_fields(json.loads((folder / FINDING).read_text("utf-8")))
        program = (folder / PROGRAM).read_text("utf-8")
        script = folder / SCRIPT
        text = script.read_text("utf-8") if script.is_file() else ""
        return _describe_finding(folder, told, program), str(told.get("cause") or folder.name), text
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"--findings: {folder} cannot be read: {error}") from error


def _describe_finding(folder: Path, told: Mapping[str, Any], program: str) -> output.Finding:
    vanishes = told.get("attribution", {}).get("vanishes", ())
    return output.Finding(
        name=folder.name,
        folder=str(folder),
        backend=str(told.get("backend", "")),
        verdict=Verdict(told.get("verdict", "")),
        class_=str(told.get("class", "")),
        culprit=str(told.get("culprit") or told.get("operation") or ""),
        element_types=tuple(map(str, told.get("element_types", ()))),
        message=str(told.get("message", "")),
        programs=msgspec.convert(told.get("programs", 1), int),
        first_found=str(told.get(FIRST_FOUND, "")),
        last_found=str(told.get(LAST_FOUND, "")),
        versions={str(name): str(number) for name, number in told.get("versions", {}).items()},
        vanishes=tuple(map(str, vanishes)),
        program=program,
    )


def _cause(cause: str, several: Iterable[tuple[output.Finding, str]]) -> FoundCause:
    ordered = sorted(several, key=lambda one: (-one[0].programs, one[0].folder))
    findings = tuple(finding for finding, _ in ordered)
    return FoundCause(
        output.Cause(
            cause=cause,
            programs=sum(one.programs for one in findings),
            first_found=min((one.first_found for one in findings if one.first_found), default=""),
            last_found=max((one.last_found for one in findings), default=""),
            findings=findings,
        ),
        {finding.folder: script for finding, script in ordered},
    )

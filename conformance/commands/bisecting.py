"""The command `bisect`: the releases of jaxlib between which a divergence came or went."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.errors import NOTHING_TESTED, NotAvailable, UsageError
from conformance.options import LinesFormat, LinesFormatOption

Subject = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|FOLDER",
        help="A program (.mlir), or the folder of a failure that `check --save` or `fuzz` wrote.",
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option(help="Inputs of the program, as `check` takes them.", show_default="drawn"),
]
From = Annotated[
    str | None, typer.Option("--from", help="The oldest release.", show_default="0.4.30")
]
To = Annotated[str | None, typer.Option(help="The newest release.", show_default="newest")]


def bisect(
    subject: Subject,
    inputs: Inputs = None,
    from_: From = None,
    to: To = None,
    format: LinesFormatOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
) -> int:
    """Find the releases of jaxlib between which a program's divergence came or went.

    Each release that is asked is installed once, into the cache, and runs the program on this
    machine's CPU. Prints the verdict of each, and writes them into the finding.json and issue.md of
    a finding. Exits with 0 if a change was found, with 4 if all
    releases that were asked agree.
    """
    from packaging.version import InvalidVersion, Version

    from conformance.backends.releases.environments import releases
    from conformance.checking.bisecting import Bisection
    from conformance.fuzzing.keeping.bundle import note_releases

    text, arrays = _read(subject, inputs)
    try:
        bounds = [None if one is None else Version(one) for one in (from_, to)]
    except InvalidVersion as error:
        raise UsageError(f"{error}: a release is written like 0.7.2") from error
    known = [
        one
        for one in releases()
        if (bounds[0] is None or Version(one) >= bounds[0])
        and (bounds[1] is None or Version(one) <= bounds[1])
    ]
    if len(known) < 2:
        raise UsageError("there are not two releases of jaxlib in this range")
    said: dict[str, str] = {}

    def fails(release: str) -> bool | None:
        said[release], answer = _verdict(text, arrays, release)
        if format is LinesFormat.TEXT:
            sys.stdout.write(f"jaxlib {release}: {said[release]}\n")
            sys.stdout.flush()
        return answer

    windows = Bisection(known, fails).windows()
    if subject.is_dir():
        ordered = {one: said[one] for one in known if one in said}
        note_releases(subject, ordered, [str(one) for one in windows])
    if format is LinesFormat.JSON:
        changes = [asdict(window) for window in windows]
        sys.stdout.write(json.dumps({"verdicts": said, "changes": changes}) + "\n")
        return 0 if windows else NOTHING_TESTED
    for window in windows:
        sys.stdout.write(f"{window}\n")
    if not windows:
        sys.stdout.write("all releases that were asked agree\n")
    return 0 if windows else NOTHING_TESTED


def _read(subject: Path, inputs: Path | None) -> tuple[str, tuple[Any, ...]]:
    """Return the text of a program, and its inputs; none if they are drawn."""
    from conformance.checking.in_python import INPUTS, PROGRAM
    from conformance.frontends.arguments import load

    path = subject
    if subject.is_dir():
        path, beside = subject / PROGRAM, subject / INPUTS
        inputs = inputs or (beside if beside.is_file() else None)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or 'is no text'}") from error
    return text, () if inputs is None else tuple(load(inputs).values())


def _verdict(text: str, arrays: tuple[Any, ...], release: str) -> tuple[str, bool | None]:
    """Return what a release gives for a program, and whether it fails; None if it cannot tell."""
    from conformance.checking.in_python import check
    from conformance.verdict import Verdict

    try:
        found = check(text, *arrays, backend=f"jaxlib:{release}", expectations=["none"])
    except NotAvailable as error:
        return str(error), None
    verdict = Verdict(found.verdict)
    if verdict is Verdict.REJECTED and found.kind == "invalid program":
        raise UsageError(found.message)
    return str(found), verdict.fails if verdict.is_tested else None

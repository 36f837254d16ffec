"""The command `export`: vectors for tools in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from conformance import options
from conformance.errors import UsageError

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the vectors.")]


def export(
    folder: Folder,
    op: options.Ops = None,
    element_type: options.ElementTypes = None,
    profile: options.Profile = "smoke",
    seed: options.CaseSeed = 0,
) -> int:
    """Write programs, inputs and permitted results as files, for tools in any language.

    docs/backends.md describes the files. `judge` takes what a tool made of them.
    """
    from conformance.campaign.planning import Options, plan
    from conformance.vectors.writing import SUITE, Counts, write_vectors

    asked = Options(
        out=folder,
        backends=("reference",),
        ops=tuple(op or ()),
        element_types=tuple(element_type or ()),
        profile=profile,
        seed=seed,
    )
    if folder.exists() and any(folder.iterdir()) and not (folder / SUITE).is_file():
        raise UsageError(f"{folder} is not empty, and holds no vectors: choose another folder")
    counts, console, total = Counts(), Console(stderr=True), len(plan(asked).cells)
    try:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("cells", total=total)
            for done in write_vectors(folder, asked):
                counts = done
                bar.advance(task)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from error
    Console().print(
        f"{counts.vectors:,} vectors with {counts.results:,} results in {folder}; "
        f"{counts.judged:,} results need `hlo-conformance judge`, "
        f"{counts.skipped:,} cases cannot be written",
        soft_wrap=True,
    )
    return 0

"""Files, page and lines that `sweep` and `report` write for sweeps; merging of shards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance import options
from conformance.errors import UsageError

if TYPE_CHECKING:  # the whole harness, which `--help` must not wait for
    from conformance.outputs.sweep import Sweep
    from conformance.sweep.runner import SweepResult


@dataclass(frozen=True)
class SweepReport:
    """A reported sweep: its results, the lines to print, and the exit code."""

    result: Sweep
    lines: tuple[str, ...]
    exit_code: int


def report_sweeps(paths: list[Path], out: Path | None, *, writes: bool) -> SweepReport:
    """Write the page of a sweep again, or merge the shards of a sweep into a folder.

    Args:
        paths: the folder of a sweep, or of each shard.
        out: the folder to write to; the folder of the single sweep if None.
        writes: whether the page of a single sweep is written.

    Raises:
        UsageError: when they are not shards of a single sweep, or cannot be read or written.
    """
    return _rewrite(paths[0], out, writes=writes) if len(paths) == 1 else _merge(paths, out)


def _rewrite(path: Path, out: Path | None, *, writes: bool) -> SweepReport:
    from reports.sweeps import page

    folder = path if path.is_dir() else path.parent
    result = page.read(folder)
    lines = (f"report: {page.write(result, folder, out or folder)}",) if writes else ()
    return SweepReport(result, lines, 0)


def _merge(paths: list[Path], out: Path | None) -> SweepReport:
    from conformance.sweep import merging, summary

    if out is None:
        raise UsageError("give --out, a new folder for the merged sweep")
    command = options.given_command()
    swept, missing = merging.merge_sweeps(paths, out, command)
    result = save(swept, out)
    lines = (
        f"merged: {len(paths)} sweeps into {out}", *missing, *summary.lines_of(result),
        *places(out),
    )  # fmt: skip
    return SweepReport(result, lines, result.exit_code or (1 if missing else 0))


def save(swept: SweepResult, out: Path) -> Sweep:
    """Write the files and the page of a sweep; return its results."""
    from conformance.sweep import saving, summary
    from reports.sweeps import page

    result = summary.summary_of(swept)
    saving.save(swept, result, out)
    page.write(result, out, out)
    return result


def places(out: Path) -> list[str]:
    """Return lines with the paths of the results and the page of a sweep."""
    from conformance.sweep import saving
    from reports.sweeps import page

    return [f"results: {out / saving.SUMMARY}", f"report: {page.page_of(out)}"]

"""The progress of a check of many files."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class FilesBar:
    """A bar on a terminal that shows how many files are done; nothing outside of a terminal."""

    def __init__(self, console: Console, total: int) -> None:
        """Show on this console, once entered as a context manager."""
        self._bar = Progress(
            SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn("left"),
            TimeRemainingColumn(), console=console, transient=True,
            # what is printed goes above the bar, but not when it goes to a file
            redirect_stdout=sys.stdout.isatty(), redirect_stderr=False,
            disable=not console.is_terminal or bool(os.environ.get("CI")),
        )  # fmt: skip
        self._task = self._bar.add_task("checking", total=total)

    def __enter__(self) -> FilesBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, failed: int) -> None:
        """Count one more file; `failed` of all so far have failed."""
        self._bar.update(self._task, advance=1, description=f"{failed} failed")

"""The progress of a check of many files."""

from __future__ import annotations

import os
import sys

from rich.console import Console

from conformance.bar import progress_bar


class FilesBar:
    """A progress bar of checked files on a terminal; without a terminal it shows nothing."""

    def __init__(self, console: Console, total: int) -> None:
        """Show on this console, once entered as a context manager."""
        self._bar = progress_bar(
            console,
            "{task.completed}/{task.total}",
            redirect_stdout=sys.stdout.isatty(),  # lines go above the bar, but not into a file
            redirect_stderr=False,
            disable=not console.is_terminal or bool(os.environ.get("CI")),
        )
        self._task = self._bar.add_task("checking", total=total)

    def __enter__(self) -> FilesBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, failed: int) -> None:
        """Count one more file; `failed` of all so far have failed."""
        self._bar.update(self._task, advance=1, description=f"{failed} failed")

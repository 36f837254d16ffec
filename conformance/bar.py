"""The progress bar of the commands, on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def progress_bar(console: Console, amount: str, **given: Any) -> Progress:
    """Return a bar that vanishes at its end, with the amount done, a description and times.

    `amount` is rich's text about the task, such as "{task.completed}". `given` are further
    arguments of rich's `Progress`.
    """
    return Progress(
        SpinnerColumn(), BarColumn(bar_width=24), TextColumn(amount),
        TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(), console=console, transient=True, **given,
    )  # fmt: skip

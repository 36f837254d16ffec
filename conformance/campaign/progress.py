"""Progress of a run: a live bar on a terminal, occasional lines in a log."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.text import Text

from conformance.bar import progress_bar

LOG_SECONDS = 15.0
"""Seconds between two lines of a log."""


class ProgressSource(Protocol):
    """Progress that can be shown: the amount done, the amount planned, and a line of text."""

    @property
    def done(self) -> float:
        """The amount that is done, of `total`."""
        ...

    @property
    def total(self) -> float:
        """The amount that is planned."""
        ...

    def line(self) -> str:
        """Return the progress in one line."""
        ...


@dataclass(slots=True)
class Tally:
    """The progress of a run: in this session, and in earlier sessions as (cases, cells)."""

    cases: int = 0
    cases_planned: int = 0
    cells: int = 0
    cells_planned: int = 0
    pairs: int = 0
    new: int = 0
    known: int = 0
    begun: float = field(default_factory=monotonic)

    @property
    def done(self) -> float:
        """The amount that is done, of `total`."""
        return self.cases

    @property
    def total(self) -> float:
        """The amount that is planned."""
        return self.cases_planned

    def line(self) -> str:
        """Return the tally in one line."""
        rate = self.pairs / max(monotonic() - self.begun, 1e-3)
        return (
            f"{self.cells}/{self.cells_planned} cells, {self.cases} programs, "
            f"{rate:,.0f} pairs/s, {self.new} new, {self.known} known"
        )


class Watcher:
    """A display of a tally. This class shows nothing: for tests, and for calls from Python."""

    def start(self, tally: ProgressSource) -> None:
        """Begin, with the progress of earlier sessions of the same run."""

    def update(self, tally: ProgressSource) -> None:
        """Show the tally as it is now; called often."""

    def say(self, line: str) -> None:
        """Show an event."""

    def stop(self) -> None:
        """Stop showing the tally. Stopping twice is harmless."""


class BarWatcher(Watcher):
    """A live bar on a terminal."""

    def __init__(self, console: Console) -> None:
        """Create a bar for this console, not shown yet."""
        self._console = console
        self._bar = progress_bar(console, "{task.percentage:>3.0f}%")
        self._task = self._bar.add_task("starting", total=None)

    def start(self, tally: ProgressSource) -> None:
        """Show the bar."""
        self._bar.start()
        self.update(tally)

    def update(self, tally: ProgressSource) -> None:
        """Show the tally as it is now."""
        total, done = tally.total, min(tally.done, tally.total)
        self._bar.update(self._task, total=total, completed=done, description=tally.line())

    def say(self, line: str) -> None:
        """Print above the bar."""
        self._console.print(Text(line))

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class LogWatcher(Watcher):
    """A display that writes a line every 15 seconds, for logs that are read later."""

    def __init__(self, console: Console) -> None:
        """Create a display that writes to this console."""
        self._console = console
        self._last = monotonic()

    def update(self, tally: ProgressSource) -> None:
        """Write a line if the last line is old enough."""
        if monotonic() - self._last >= LOG_SECONDS:
            self._last = monotonic()
            share = int(100 * min(tally.done / max(tally.total, 1), 1))
            self.say(f"{share}%: {tally.line()}")

    def say(self, line: str) -> None:
        """Write an event as a line."""
        self._console.print(Text(line), soft_wrap=True)


def watcher(console: Console) -> Watcher:
    """Return a bar for a terminal, or lines for a log or continuous integration."""
    return (
        LogWatcher(console)
        if not console.is_terminal or os.environ.get("CI")
        else BarWatcher(console)
    )

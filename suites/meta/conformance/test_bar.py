"""The progress bar of the commands."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from conformance.bar import progress_bar


def test_bar_shows_amount_and_description_and_vanishes() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    with progress_bar(console, "{task.completed} of {task.total} cases") as bar:
        task = bar.add_task("adding", total=4)
        bar.update(task, advance=3, refresh=True)
    assert "3 of 4 cases" in out.getvalue()
    assert "adding" in out.getvalue()
    assert bar.live.transient


def test_further_arguments_are_those_of_rich() -> None:
    out = StringIO()
    with progress_bar(Console(file=out, force_terminal=True), "{task.completed}", disable=True):
        pass
    assert not out.getvalue()

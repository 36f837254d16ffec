"""The page of the command line: commands of groups, options with their defaults, escaped texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from docs.tools import command_line
from docs.tools.command_line import page

app, group = typer.Typer(), typer.Typer()


app.add_typer(group, name="walls")


def test_the_page_has_the_options_that_the_commands_take() -> None:
    """Of every command, under every name."""
    page_of = {part.partition(" {#")[0]: part for part in page().split("\n## ")[1:]}
    commands = dict(leaves(typer.main.get_command(command_line.app), ""))
    assert set(page_of) == set(commands)
    for name, command in commands.items():
        taken = {
            option for one in command.params if not getattr(one, "hidden", False)
            for option in (*one.opts, *one.secondary_opts)
        }  # fmt: skip
        listed = re.findall(r"^\| `(-[^`]*)`", page_of[name], re.MULTILINE)
        words = {word for one in listed for word in re.split(r"[ /]+", one) if word[:1] == "-"}
        assert words == {one for one in taken if one[:1] == "-"} - {"--help"}, name


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands that a command line ends in, by their words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())

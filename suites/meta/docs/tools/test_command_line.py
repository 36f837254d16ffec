"""The page of the command line: commands of groups, options with their defaults, escaped texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from docs.tools import command_line
from docs.tools.command_line import _default, _metavar, page


class Colour(Enum):
    """An option with two values."""

    RED = "red"
    BLUE = "blue"


app, group = typer.Typer(), typer.Typer()


@app.command()
def paint_wall(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file with a|b.")],
    colour: Annotated[Colour, typer.Option("--colour", "-c", help="The colour.")] = Colour.RED,
    layers: Annotated[int, typer.Option(help="How many.")] = 2,
    thickness: Annotated[float | None, typer.Option(help="In <mm>.", show_default="any")] = None,
    names: Annotated[list[str] | None, typer.Option("--name")] = None,
    dry: Annotated[bool, typer.Option("--dry / --wet")] = True,
    secret: Annotated[int, typer.Option(hidden=True)] = 0,
) -> None:
    """Paint a wall. It must dry.

    Takes *long*.
    """


@group.command("list")
def list_walls() -> None:
    """List the walls."""


app.add_typer(group, name="walls")


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the page of the made-up commands."""
    monkeypatch.setattr(command_line, "app", app)
    return page()


def row(text: str, start: str) -> list[str]:
    (line,) = [one for one in text.splitlines() if one.startswith(f"| {start}")]
    return [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]


def test_commands_are_listed_with_their_first_sentence(text: str) -> None:
    assert row(text, "[`paint-wall`](#paint-wall)")[1] == "Paint a wall"
    assert row(text, "[`walls list`](#walls-list)")[1] == "List the walls"
    assert "## walls list {#walls-list}" in text


def test_usage_has_the_arguments(text: str) -> None:
    assert "hlo-conformance paint-wall [OPTIONS] FILE\n" in text
    assert "hlo-conformance walls list [OPTIONS]\n" in text


def test_options_have_names_values_and_defaults(text: str) -> None:
    assert row(text, "`--colour / -c red") == ["`--colour / -c red¦blue`", "The colour.", "`red`"]
    assert row(text, "`--layers") == ["`--layers INTEGER`", "How many.", "`2`"]
    assert row(text, "`--thickness") == ["`--thickness NUMBER`", "In &lt;mm&gt;.", "any"]
    assert row(text, "`--name") == ["`--name TEXT`", "", ""]
    assert row(text, "`--dry") == ["`--dry / --wet`", "", ""]
    assert "secret" not in text


def test_texts_are_escaped_for_markdown(text: str) -> None:
    assert "Takes \\*long\\*." in text
    assert row(text, "`FILE`") == ["`FILE`", "A file with a¦b."]


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


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(int, "INTEGER"), (float | None, "NUMBER"), (list[Path], "PATH"), (bool, ""), (str, "TEXT")],
)
def test_placeholders_of_types(kind: Any, shown: str) -> None:
    assert _metavar(kind) == shown


@pytest.mark.parametrize(
    ("shown", "value", "text"),
    [
        ("any", 3, "any"),
        (True, None, ""),
        (True, False, ""),
        (True, 0.5, "`0.5`"),
        (True, 30.0, "`30`"),
    ],
)
def test_defaults(shown: object, value: object, text: str) -> None:
    assert _default(shown, value) == text

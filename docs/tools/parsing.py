"""Commands of pages, parsed by the real command line without being run."""

from __future__ import annotations

import re
import shlex
from typing import Any

from typer.main import get_command

from conformance.cli import NAME, app
from docs.tools.pages import blocks, commands

_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PLACEHOLDER = re.compile(r"\[[^]]*\]|\.\.\.$")
_SUBSTITUTION = re.compile(r"\$\([^)]*\)")
_JOINED = re.compile(r"\s*(?:&&|\|\|?|;)\s*")
_SUFFIX = re.compile(r"\s+#.*$|\s*[|>&;].*$")


class OptionError(Exception):
    """Raised for a command that the command line does not accept; the message says why."""


def parse(command: str, *, is_complete: bool = True) -> None:
    """Parse a command such as `hlo-conformance run --op add`, and run nothing.

    Words in brackets and a final `...` are placeholders, and are left out. A command that is not
    complete, such as `hlo-conformance replay`, may lack arguments.

    Raises:
        OptionError: when the command, an option or an argument does not exist.
    """
    words = shlex.split(_SUFFIX.sub("", _PLACEHOLDER.sub("", command).strip()))
    node: Any = get_command(app)
    context = node.make_context(NAME, [], resilient_parsing=True)
    rest = words[1:]
    while rest and hasattr(node, "commands"):
        name, *rest = rest
        if name.startswith("-"):
            return  # `--help`, `--version` and the like stand before a command
        if name not in node.commands:
            raise OptionError(f"{command}: there is no command {name!r}")
        node = node.commands[name]
        context = type(context)(node, info_name=name, parent=context)
    try:
        if is_complete and not hasattr(node, "commands"):
            node.parse_args(context, list(rest))
        else:
            node.make_parser(context).parse_args(args=list(rest))
    except Exception as error:  # click's own, of which typer has a copy
        if not hasattr(error, "format_message"):
            raise
        raise OptionError(f"{command}: {error}") from None


def parse_all(text: str) -> None:
    """Parse every command of hlo-conformance that a page contains, in blocks or in its text.

    Raises:
        OptionError: if the command line does not accept a command.
    """
    for command in commands(text):
        for part in _JOINED.split(_SUBSTITUTION.sub("VALUE", command.text)):
            if part.startswith(f"{NAME} "):
                parse(part)
    prose = text
    for block in blocks(text):
        prose = prose.replace(block.text, "")
    for span in _SPAN.finditer(prose):
        if span[1].startswith(f"{NAME} "):
            parse(span[1], is_complete=False)

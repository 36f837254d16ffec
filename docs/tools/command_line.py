"""The page of the command line, docs/command-line.md, from the functions of the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer

from conformance.cli import NAME, app
from conformance.text import one_line

HEAD = """# The command line

Written by `python -m docs.tools` from the code. Every command explains itself with `--help`, too.

| exit code | means |
| ---: | --- |
| 0 | the backend conforms, but for known divergences |
| 1 | a divergence that no expectation matches, or a loss against a baseline |
| 2 | the command is wrong: one line says why |
| 3 | the backend is not available |
| 4 | nothing was tested |
| 130 | interrupted; the same command continues |

With `HLO_CONFORMANCE_DEBUG=1` in the environment an error is a traceback instead of a line.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or an option of a command, as its function declares it.

    `spelling` is what a reader types, such as `--seed INTEGER`. `default` is "" for none.
    """

    spelling: str
    help: str
    default: str
    is_option: bool


def page() -> str:
    """Return the page: all commands with their arguments and options."""
    found = dict(_commands(app, ""))
    rows = [
        f"| [`{name}`](#{_anchor(name)}) | {_cell(_first_sentence(function))} |"
        for name, function in found.items()
    ]
    overview = "\n".join(["| command | what it does |", "| --- | --- |", *rows])
    parts = [HEAD, overview]
    for name, function in found.items():
        parts += _section(name, function)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _commands(of: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every command with its function; commands of a group are preceded by the group's
    name.
    """
    for command in of.registered_commands:
        function = command.callback
        assert function is not None
        yield prefix + (command.name or function.__name__.replace("_", "-")), function
    for group in of.registered_groups:
        assert group.typer_instance is not None
        yield from _commands(group.typer_instance, f"{prefix}{group.name} ")


def _section(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield the parts of a command's section: usage, help, arguments and options."""
    parameters = list(_parameters(function))
    arguments = [parameter for parameter in parameters if not parameter.is_option]
    options = [parameter for parameter in parameters if parameter.is_option]
    usage = " ".join([NAME, name, "[OPTIONS]", *(argument.spelling for argument in arguments)])
    yield f"## {name} {{#{_anchor(name)}}}"
    yield f"```text\n{usage}\n```"
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        yield escape(one_line(paragraph))
    if arguments:
        rows = [
            f"| {_code(argument.spelling)} | {_cell(argument.help)} |" for argument in arguments
        ]
        yield "\n".join(["| argument | |", "| --- | --- |", *rows])
    if options:
        rows = [
            f"| {_code(option.spelling)} | {_cell(option.help)} | {_cell(option.default)} |"
            for option in options
        ]
        yield "\n".join(["| option | | default |", "| --- | --- | --- |", *rows])


def _parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the arguments and options of a command, read from its function's signature.

    Typer's own record differs from version to version; the annotations are ours.
    """
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, *more = get_args(parameter.annotation)
        declared = next(one for one in more if hasattr(one, "param_decls"))
        if declared.hidden:
            continue
        is_option = isinstance(declared, typer.models.OptionInfo)
        value = declared.metavar or _metavar(kind)
        if is_option:
            names = _names_of(declared) or [f"--{name.replace('_', '-')}"]
            spelling = " / ".join(names) + (f" {value}" if value else "")
        else:
            spelling = value
        default = _default(declared.show_default, parameter.default)
        yield Parameter(spelling, one_line(declared.help or ""), default, is_option)


def _names_of(declared: typer.models.OptionInfo) -> list[str]:
    """Return the names that an option is given; of an annotation, the first stands as its
    default.
    """
    first = [declared.default] if isinstance(declared.default, str) else []
    return [*first, *(declared.param_decls or ())]


def _metavar(kind: Any) -> str:
    """Return the placeholder for a value of a type, "" for a flag."""
    (plain, *_) = [one for one in (get_args(kind) or (kind,)) if one is not type(None)]
    plain = (get_args(plain) or (plain,))[0]  # of a list
    if plain is bool:
        return ""
    if isinstance(plain, type) and issubclass(plain, Enum):
        return "|".join(str(one.value) for one in plain)
    return {int: "INTEGER", float: "NUMBER", Path: "PATH"}.get(plain, "TEXT")


def _default(shown: object, value: object) -> str:
    """Return a default in words, or as the user would type it."""
    if isinstance(shown, str):
        return shown
    if value in {None, inspect.Parameter.empty} or isinstance(value, bool):
        return ""
    plain = value.value if isinstance(value, Enum) else value
    return f"`{plain:g}`" if isinstance(plain, float) else f"`{plain}`"


def _first_sentence(function: Callable[..., Any]) -> str:
    """Return the first sentence of a command's help, without its full stop."""
    paragraph = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    return one_line(paragraph).split(". ")[0].removesuffix(".")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _cell(text: str) -> str:
    """Return a text that is safe in a cell of a table."""
    return escape(text).replace("|", "\\|")


def escape(text: str) -> str:
    """Return a text with escaped angle brackets and asterisks."""
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")


def _anchor(name: str) -> str:
    return name.replace(" ", "-")

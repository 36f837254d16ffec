"""Pages as programs: the commands and files in a page's fenced blocks, and how to run them.

A block `console` holds commands (`$ command`) and lines of their output. A comment at the end of a
command states its exit code (`# exit code 1`) where that is not 0. An output line `...` stands for
lines left out, `...` within a line for any text. A block with a title, such as
`toml title="mine.toml"`, is a file. An HTML comment in front of a block may say

- `not run: REASON`: the commands are not run, but their options are parsed;
- `narrowed: OPTIONS`: every `hlo-conformance` command of the block is run with these options too.

Any other comment is ignored.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from conformance.text import one_line

NAME = "hlo-conformance"
ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs"

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=ticks)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"<!-- (not run|narrowed): ((?:(?!-->).)*) -->\s*\Z", re.DOTALL)
_EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")
_EXAMPLES = ROOT / "examples"
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that a page shows, with its name and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page.

    `line` is its number in the page, counted from 1. `output` are the lines of output that the page
    shows. `not_run` is the reason for not running it, "" if it is run. `options` are appended to
    the command when it is run.
    """

    text: str
    line: int
    exit_code: int = 0
    output: tuple[str, ...] = ()
    not_run: str = ""
    options: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether the command is one of hlo-conformance."""
        return self.text.startswith(f"{NAME} ")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line of its first text line, its directives."""

    language: str
    title: str
    text: str
    line: int
    not_run: str = ""
    options: str = ""


class PageError(Exception):
    """Raised when a command of a page prints another text; the message has page, line and
    difference.
    """


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    for found in _FENCE.finditer(text):
        info, before = found["info"].strip(), text[: found.start()]
        directives = dict(_directives(before))
        title = _TITLE.search(info)
        indent = len(found["indent"])
        lines = [line[indent:] for line in found["body"].splitlines()]
        yield Block(
            language=info.split(" ")[0],
            title=title[1] if title else "",
            text="".join(f"{line}\n" for line in lines),
            line=before.count("\n") + 2,
            not_run=directives.get("not run", ""),
            options=directives.get("narrowed", ""),
        )


def _directives(before: str) -> Iterator[tuple[str, str]]:
    """Yield the directives that end the text in front of a block."""
    while found := _DIRECTIVE.search(before):
        yield found[1], one_line(found[2])
        before = before[: found.start()]


def steps(text: str) -> Iterator[PageFile | Command]:
    """Yield the files and commands of a page in their order on the page."""
    for block in blocks(text):
        if block.title:
            yield PageFile(block.title, block.text)
        elif block.language == "console":
            yield from _commands(block)


def commands(text: str) -> list[Command]:
    """Return the commands of a page."""
    return [step for step in steps(text) if isinstance(step, Command)]


def _commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block, each with its output lines."""
    text, line, output = "", 0, list[str]()
    for index, row in enumerate(block.text.splitlines(), block.line):
        if text.endswith("\\"):
            text = f"{text[:-1].rstrip()} {row.strip()}"
        elif row.startswith("$ "):
            if text:
                yield _command(block, text, line, output)
            text, line, output = row[2:].strip(), index, []
        elif text:
            output.append(row)
        elif row.strip():
            raise PageError(f"line {index}: a console block begins with output, not with '$ '")
    if text:
        yield _command(block, text, line, output)


def _command(block: Block, text: str, line: int, output: list[str]) -> Command:
    found = _EXIT_CODE.search(text)
    code = int(found[1]) if found else 0
    text = _EXIT_CODE.sub("", text)
    return Command(text, line, code, tuple(output), block.not_run, block.options)


def run_page(page: Path, folder: Path, program: Sequence[str] = ()) -> int:
    """Run a page's commands in `folder` and return how many were run.

    Args:
        page: the page.
        folder: an empty folder, where the examples of this checkout will be in `examples/`.
        program: the command to run for `hlo-conformance`; by default, this checkout's.

    Raises:
        PageError: when a command exits with another code than the page states, or does not print
            the lines that the page shows.
    """
    program = program or (sys.executable, "-m", "conformance")
    environment, count = _environment(folder, program), 0
    work = folder / "work"
    work.mkdir()
    (work / "examples").symlink_to(_EXAMPLES)
    for step in steps(page.read_text(encoding="utf-8")):
        if isinstance(step, PageFile):
            path = work / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        elif not step.not_run:
            _run(page, step, work, environment)
            count += 1
    return count


def _environment(folder: Path, program: Sequence[str]) -> dict[str, str]:
    """Return an environment in which `hlo-conformance` is a program, and `python` is the current
    interpreter.
    """
    programs = folder / "programs"
    programs.mkdir()
    for name, words in ((NAME, program), ("python", (sys.executable,))):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        script.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not _is_of_ci(name)}
    if NAME not in {point.name for point in entry_points(group="pytest11")}:  # it is not installed
        inherited["PYTEST_PLUGINS"] = "hlo_conformance_pytest"
    return inherited | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


def _is_of_ci(name: str) -> bool:
    """Return whether an environment variable makes commands write for a CI system."""
    return name.startswith(("GITHUB_", "GITLAB_"))


def _run(page: Path, command: Command, folder: Path, environment: dict[str, str]) -> None:
    text = command.text
    if command.options and command.is_ours:
        text = f"{text} {command.options}"
    ran = subprocess.run(  # noqa: S602 - the commands are the page's, which is ours
        text,
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    where = f"{page.name}:{command.line}: {text}"
    if ran.returncode != command.exit_code:
        stated = f"exit code {ran.returncode}, the page states {command.exit_code}"
        raise PageError(f"{where}\n{stated}; it printed:\n{ran.stdout}")
    if missing := first_missing(command.output, ran.stdout):
        raise PageError(f"{where}\nthe page shows {missing!r}; it printed:\n{ran.stdout}")


def first_missing(shown: tuple[str, ...], printed: str) -> str:
    """Return the first line that a page shows and a command did not print in that order, or "".

    Empty lines do not count, and how many blanks stand between words.
    """
    rows = [one_line(row) for row in printed.splitlines()]
    at = 0
    for line in (one_line(line) for line in shown):
        if line in {"", "..."}:
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        while at < len(rows) and not pattern.fullmatch(rows[at]):
            at += 1
        if at == len(rows):
            return line
        at += 1
    return ""

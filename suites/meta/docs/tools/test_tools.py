"""Tools of the documentation: generated pages, commands on pages, accuracy, pictures."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import typer

from conformance.cli import app, exit_code_of
from conformance.gate.classes import CLASSES
from conformance.gate.expectations import Counterexample, Expectation
from conformance.gate.files import FAMILIES, SHIPPED
from conformance.gate.reading import read
from conformance.verdict import Verdict
from docs.tools import accuracy, command_line, findings, generated, pages, screenshots
from docs.tools.command_line import escape, page
from docs.tools.pages import PAGES
from docs.tools.parsing import OptionError, parse, parse_all
from docs.tools.screenshots import BACKENDS, OPS, Picture, _run, _take_picture


def test_pictures_match_the_measurements() -> None:
    found = accuracy.measurements()
    names = {path.stem for path in accuracy.FOLDER.glob("*.svg")}
    assert names == set(accuracy.drawn_ops(found)), "run: python -m docs.tools.accuracy"
    for op in names:
        text = (accuracy.FOLDER / f"{op}.svg").read_text(encoding="utf-8")
        assert text == accuracy.draw_picture(op, found), "run: python -m docs.tools.accuracy"
        assert ET.fromstring(text).tag.endswith("svg")
        assert len(text) < 40_000


def test_a_sweep_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "FOLDER", tmp_path)
    out = tmp_path / "swept"
    given = ["sweep", "tanh", "--element-type", "f32", "--sample", "512", "--jobs", "1"]
    for backend in ("reference:off_by_100_ulp@tanh", "reference"):
        asked = [*given, "--backend", backend, "--out", str(out), "--fresh"]
        assert exit_code_of(lambda asked=asked: app(asked, standalone_mode=False)) in (0, 1)
        path = accuracy.add(out, "test")
    (measurement,) = accuracy.measurements()
    assert path.parent == tmp_path
    (function,) = measurement.functions
    assert (function.op, function.worst_ulp, function.arguments) == ("tanh", None, "sample")
    assert function.correctly_rounded == function.values


def test_the_page_has_the_options_that_the_commands_take() -> None:
    """Of every command, under every name."""
    page_of = {part.partition(" {#")[0]: part for part in page().split("\n## ")[1:]}
    commands = dict(leaves(typer.main.get_command(command_line.app), ""))
    assert set(page_of) == set(commands)
    for name, command in commands.items():
        taken = {
            option for param in command.params if not getattr(param, "hidden", False)
            for option in (*param.opts, *param.secondary_opts)
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


def test_entries_with_a_title_have_a_section_with_program_and_reason() -> None:
    text = findings.page()
    entries = [e for family in FAMILIES for e in read(SHIPPED / f"{family}.toml")]
    titled = [entry for entry in entries if entry.title]
    sections = dict(part.split("\n", 1) for part in text.split("\n### ")[1:])
    assert sections.keys() == {escape(entry.title) for entry in titled}
    for entry in titled:
        section = sections[escape(entry.title)]
        assert f"`{entry.id}`" in section
        assert escape(entry.reason) in section
        assert "```mlir\n" in section or findings.WITHOUT_PROGRAM in section, entry.id


def test_entries_of_a_title_share_a_section_and_entries_without_a_title_have_none() -> None:
    shown = Counterexample("func.func @main() { ... }\n", ("[1.0]", "0"))
    first = Expectation("a", ("add",), "a < b", title="A title", link="https://x.org/1")
    second = Expectation("b", ("add",), "other", title="A title", counterexample=shown)
    other = Expectation("c", ("add",), "no title")
    (finding,) = findings.findings([first, other, second])
    section = findings.section(finding)
    assert section.startswith("### A title\n")
    for part in (
        "a &lt; b",
        "`a` (",
        "`b` (",
        shown.program.strip(),
        "`[1.0]`, `0`",
        "<https://x.org/1>",
    ):
        assert section.count(part) == 1, part
    assert "no title" not in section


def test_every_verdict_has_a_section() -> None:
    text = (PAGES / "divergences.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+) \{#(\w+)\}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert {name for name, _, _ in sections} == {verdict.value for verdict in Verdict}
    for name, anchor, section in sections:
        assert name == anchor
        assert "Rule: " in section, name
        assert "```console\n$ hlo-conformance " in section, name
        verdict, fails = Verdict(name), "Fails a run" in section
        assert fails == verdict.fails, name


def test_every_class_has_a_paragraph() -> None:
    """Each in one paragraph, whose text begins with the names of its classes."""
    text = (PAGES / "divergences.md").read_text(encoding="utf-8")
    part = re.search(r"^## The classes\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert part
    heads = re.findall(r"^\*\*(.*?)\*\*:\s", part[1], re.MULTILINE | re.DOTALL)
    names = [name for head in heads for name in " ".join(head.split()).split(", ")]
    assert sorted(names) == sorted(CLASSES)


def test_every_generated_page_is_written_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"first.md": lambda: "# One\n", "second.md": lambda: "# ü\n"}
    monkeypatch.setattr(generated, "PAGES_BY_NAME", made)
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    runpy.run_module("docs.tools.__main__")
    assert (tmp_path / "first.md").read_text() == "# One\n"
    assert (tmp_path / "second.md").read_text("utf-8") == "# ü\n"
    assert capsys.readouterr().out == "docs/first.md\ndocs/second.md\n"


@pytest.mark.parametrize(
    "command",
    ["run --no-such-option", "no-such-command", "expectations tell", "run --seed", "replay"],
)
def test_a_command_that_does_not_exist_is_refused(command: str) -> None:
    with pytest.raises(OptionError, match=command):
        parse(f"hlo-conformance {command}")


@pytest.mark.parametrize(
    "command",
    [
        "run --backend cpu --seed 3",
        "--version",
        "expectations check ID",
        "ops [OP]",
        "check FILE...",
    ],
)
def test_a_command_that_exists_is_parsed(command: str) -> None:
    parse(f"hlo-conformance {command}")


@pytest.mark.parametrize(
    "text",
    [
        "Run `hlo-conformance run --wrong`.",
        "```console\n$ hlo-conformance run --wrong\n```\n",
        "```console\n$ true && hlo-conformance run --wrong\n```\n",
    ],
)
def test_a_wrong_command_is_found_in_blocks_and_in_text(text: str) -> None:
    with pytest.raises(OptionError, match="--wrong"):
        parse_all(text)
    parse_all(text.replace("--wrong", "--seed 3"))


def test_the_run_has_all_backends_and_ops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(
        screenshots.subprocess, "run", lambda words, **given: ran.append((words, given))
    )
    _run(tmp_path / "run")
    ((words, given),) = ran
    assert given["cwd"] == tmp_path / "run"
    assert words.count("--backend") == len(BACKENDS)
    assert words[words.index("--op") + 1] == OPS[0]


class Driver:
    """A browser that records what it is asked."""

    def __init__(self, options: Any) -> None:
        metrics = options.experimental_options["mobileEmulation"]["deviceMetrics"]
        self.asked: list[tuple[object, ...]] = [tuple(metrics.values())]

    def get(self, address: str) -> None:
        self.asked.append(("get", address))

    def execute_script(self, script: str, anchor: str) -> None:
        assert "scrollIntoView" in script
        self.asked.append(("scroll", anchor))

    def get_screenshot_as_png(self) -> bytes:
        return b"PNG"

    def quit(self) -> None:
        self.asked.append(("quit",))


@pytest.mark.parametrize(
    ("width", "ratio", "place", "asked"),
    [
        (1280, 1, {}, [("get", "file:///page")]),
        (390, 2, {"fragment": "case=x"}, [("get", "file:///page#case=x")]),
        (1280, 1, {"anchor": "matrix"}, [("get", "file:///page"), ("scroll", "matrix")]),
    ],
)
def test_a_picture_is_of_a_window_at_a_fragment_or_an_anchor(
    width: int, ratio: int, place: dict[str, str], asked: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    opened: list[Driver] = []

    def open_chrome(**given: Any) -> Driver:
        opened.append(Driver(given["options"]))
        return opened[0]

    monkeypatch.setattr(screenshots.webdriver, "Chrome", open_chrome)
    monkeypatch.setattr(screenshots.shutil, "which", lambda _: "/bin/true")
    assert _take_picture(Picture("a.png", width, 700, **place), "file:///page") == b"PNG"
    assert opened[0].asked == [(width, 700, ratio), *asked, ("quit",)]

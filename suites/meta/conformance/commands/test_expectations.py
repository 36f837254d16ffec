"""The commands of `expectations`: what each lists, refuses and returns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli import app as whole
from conformance.cli import exit_code_of
from conformance.commands.expectations import app

ENTRY = """
[[known]]
id = "mine"
op = "add"
reason = "{reason}"
"""


def run_command(*words: object) -> int:
    given = ["expectations", *map(str, words)]
    return exit_code_of(lambda: whole(given, standalone_mode=False))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ours.toml"
    path.write_text(ENTRY.format(reason="rounds twice"))
    return path


def test_each_command_has_its_name() -> None:
    names = {one.name for one in app.registered_commands}
    assert names == {"list", "check", "update", "why", "fmt"}


def test_entries_are_listed_as_text_or_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = ("--backend", "reference", "--expectations", file)
    assert run_command("list", *of) == 0
    assert "mine: add: " in capsys.readouterr().out
    assert run_command("list", "mine", *of, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "rounds twice"


def test_unknown_id_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command("list", "mime", "--backend", "reference", "--expectations", file)
    assert code != 0
    assert "mime" in capsys.readouterr().err


def test_unfinished_entries_are_refused_if_strict(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(ENTRY.format(reason="TODO"))
    of = ("--backend", "reference", "--expectations", file)
    assert run_command("check", "mine", *of, "--strict") != 0
    assert "still TODO" in capsys.readouterr().err


def test_files_are_checked_or_formatted(file: Path) -> None:
    file.write_text('[[known]]\nop = "add"\nid = "mine"\nreason = "why"\n')
    assert run_command("fmt", file, "--check") == 1
    assert run_command("fmt", file) == 0
    assert run_command("fmt", file, "--check") == 0

"""The JSON Schemas: they equal those in the repository, and outputs of commands are valid."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conformance.cli import app, exit_code_of
from conformance.outputs import (
    saved,
)
from conformance.outputs.page import schema_page
from conformance.outputs.schema import OUTPUTS, json_text, schema_text
from conformance.results.store import FILE_NAME, Store
from suites.meta.support.schemas import ROOT, validate
from suites.meta.support.synthetic_run import RUNS, run

SCHEMAS = sorted((ROOT / "schema").glob("*.json"))
HOW_TO_MEND = """the shape of `{0}` has changed: raise its version in conformance/outputs/schema.py
(`hlo-conformance schema --format markdown` says which part, and that 1.0 stays before the first
release), then
hlo-conformance schema {0} > schema/{1}"""

CELLS = ("--op", "or", "--op", "not", "--element-type", "i1", "--element-type", "si8")
SMOKE = (*CELLS, "--profile", "smoke", "--jobs", 1)
WRONG, LOST = "reference:one_wrong_element", "reference:unsupported@not"
KNOWN = """
[[known]]
id = "one-wrong"
op = "*"
verdicts = ["divergent"]
reason = "injected by this test"
"""

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(call: Callable[..., tuple[int, str, str]]) -> Call:
    """Return a function that runs a command and returns exit code and output."""
    return lambda *arguments: call(*arguments)[:2]


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_schema_in_the_repository_is_that_of_the_output(name: str) -> None:
    output = OUTPUTS[name]
    path = ROOT / "schema" / output.file_name
    mend = HOW_TO_MEND.format(name, output.file_name)
    assert path.is_file(), mend
    assert path.read_text() == schema_text(output), mend


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_every_file_is_a_schema_of_a_version(path: Path) -> None:
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    name, version = path.stem.rsplit("-", 1)
    assert schema["$id"] == f"urn:hlo-conformance:{name}:{version}"


def test_the_page_is_what_the_command_prints(call: Call) -> None:
    assert call("schema", "--format", "markdown") == (0, schema_page())


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_made_up_runs_are_valid(name: str) -> None:
    told = json.loads(json_text(run(name).report))
    few = {"cells": told["cells"][::25], "divergences": told["divergences"][::25]}
    validate("report", told | few)  # all of them take seconds
    assert sum(one["planned"] for one in told["shares"]) == told["denominators"]["cells_planned"]
    for one in told["shares"]:
        outcomes = ("conforms", "known", "new", "unsupported", "untested")
        assert one["planned"] == sum(one[outcome] for outcome in outcomes)
    assert sum(one["is_new"] for one in told["divergences"]) == told["new_failures"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of several backends in which all is well."""
    out = tmp_path_factory.mktemp("whole")
    given = [*map(str, ("run", "--backend", "reference", *SMOKE, "--out", out))]
    assert exit_code_of(lambda: app(given, standalone_mode=False)) == 0
    return out


def print_report(call: Call, *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out = call("report", *arguments, "--format", "json")
    told = json.loads(out)
    validate("report", told)
    return code, told


@pytest.mark.slow
def test_new_and_lost_against_a_baseline(call: Call, whole: Path, tmp_path: Path) -> None:
    backends = ("--backend", WRONG, "--backend", LOST)
    assert call("run", *backends, *SMOKE, "--out", tmp_path)[0] == 1
    told = json.loads((tmp_path / "summary.json").read_text())
    validate("report", told)
    wrong, lost = told["shares"]
    assert (wrong["new"], lost["unsupported"]) == (wrong["planned"], 2)
    assert {one["backend"] for one in told["divergences"]} == {WRONG}
    one = tmp_path / "one"
    assert call("run", "--backend", LOST, *SMOKE, "--out", one)[0] == 0
    code, told = print_report(call, one, "--baseline", whole)
    assert (code, told["comparison"]["counts"]["lost"]) == (1, 4)
    assert {change["op"] for change in told["comparison"]["changes"]} == {"not"}


def copy_of_run(whole: Path, folder: Path, started: str, versions: dict[str, str]) -> Path:
    """Return a copy of a run that began at another time, with other versions."""
    shutil.copytree(whole, folder)
    with Store(folder / FILE_NAME) as store:
        store.set_meta({"started": started, "versions": store.meta()["versions"] | versions})
    return folder


@pytest.mark.slow
def test_a_history_with_findings(call: Call, whole: Path, tmp_path: Path) -> None:
    old = copy_of_run(whole, tmp_path / "old", "2025-01-02T03:04:05+00:00", {"jax": "0.9"})
    finding = tmp_path / "corpus" / "not-1"
    finding.mkdir(parents=True)
    (finding / "program.mlir").write_text(PROGRAM)
    told = {"verdict": "divergent", "cause": "a cause", "programs": 3, "backend": "cpu"}
    (finding / "finding.json").write_text(json.dumps(told))
    given = ("--history", "--findings", finding.parent)
    code, told = print_report(call, whole, old, *given)
    assert code == 0
    assert [run["path"] for run in told["history"]["runs"]] == [str(old), str(whole)]
    assert told["history"]["cells"] == []  # all ended alike
    assert [run["shares"] for run in told["history"]["runs"]] == [told["shares"]] * 2
    (cause,) = told["findings"]
    assert (cause["cause"], cause["programs"], cause["first_found"]) == ("a cause", 3, "")
    assert cause["findings"][0]["program"] == PROGRAM
    out = tmp_path / "out"
    code, said = call("report", whole, old, *given, "--out", out)
    assert code == 0
    assert "2025-01-02 03:04 reference: " in said
    assert "(jax 0.9 → " in said
    assert "campaigns: 1 causes, 1 findings" in said
    validate("report", json.loads((out / "summary.json").read_text()))
    page = (out / "summary.md").read_text()
    assert "## History" in page
    assert "| a cause | 3 | not recorded |" in page


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("{whole}", "--history"), "give at least two folders"),
        (("{whole}", "{whole}/results.sqlite", "--history"), "is given twice"),
        (("{whole}", "{tmp}", "--history"), "there is no {tmp}/results.sqlite"),
        (("{whole}", "--findings", "{tmp}"), "holds no findings"),
        (("{whole}", "--findings", "{tmp}/none"), "there is no {tmp}/none"),
        (("{whole}", "{whole}"), "not merged with --history"),
    ],
)
def test_invalid_history_is_one_line(
    given: tuple[str, ...],
    said: str,
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["report", *(one.format(whole=whole, tmp=tmp_path) for one in given)]
    assert exit_code_of(lambda: app(words, standalone_mode=False)) == 2
    told = capsys.readouterr().err
    assert said.format(whole=whole, tmp=tmp_path) in told
    assert told.count("\n") == 1


PROGRAM = """func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = stablehlo.not %x : tensor<2xi8>
  return %0 : tensor<2xi8>
}"""


def test_checked_files(call: Call, tmp_path: Path) -> None:
    texts = {"not.mlir": PROGRAM, "none.mlir": "no program", "ours.toml": KNOWN}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found: list[tuple[str, list[str]]] = []
    for name, backend, expectations in (
        ("not.mlir", "reference", "none"),
        ("not.mlir", WRONG, "none"),
        ("not.mlir", WRONG, tmp_path / "ours.toml"),
        ("none.mlir", "reference", "none"),
    ):
        given = ("--backend", backend, "--expectations", expectations, "--format", "json")
        _, out = call("check", tmp_path / name, *given)
        told = json.loads(out)
        validate("check", told)
        found.append((told["verdict"], told["known"]))
    assert found == [
        ("pass", []), ("divergent", []), ("divergent", ["one-wrong"]), ("rejected", []),
    ]  # fmt: skip


def test_older_findings_have_names_with_spaces() -> None:
    assert saved.rename_old_fields({"first found": "today", "class": "NaN"}) == {
        "first_found": "today", "class": "NaN",
    }  # fmt: skip

"""Options and listings: completion, ops, backends, limits, the catalog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from conformance import options
from conformance.catalog import CATALOG, column_of
from conformance.errors import UsageError
from conformance.limits import IDENTITY, LIMITS, Limits, identity_of
from conformance.listing import coverage_page
from conformance.results.versions import build
from conformance.verdict import Record, Verdict
from generators.case.columns import Invalid
from generators.cells.plan import cases
from reference.ops.table import OPS
from reference.ops.xla.page import HEADINGS, UNSUPPORTED_HEADINGS


def completions_of(*words: str) -> list[str]:
    """Return the completions that bash offers for the last of these words."""
    line = ("hlo-conformance", *words)
    asked = {"COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(words))}
    script = "from conformance.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | asked | {"_HLO_CONFORMANCE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "--profile", "s"), ["smoke", "standard"]),
        (("run", "--op", "round"), ["round_nearest_afz", "round_nearest_even"]),
        (("run", "--element-type", "c"), ["complex_f32", "complex_f64"]),
        (("check", "--backend", "p"), ["plugin:", "python:"]),
        (("ops", "exponential_"), ["exponential_minus_one"]),
    ],
)
def test_a_shell_completes_what_options_take(words: tuple[str, ...], offered: list[str]) -> None:
    assert completions_of(*words) == offered


def test_ops_are_listed(call) -> None:
    code, out, _ = call("ops", "--format", "json")
    assert code == 0
    entries = json.loads(out)
    assert len(entries) == len(CATALOG)
    for entry in entries:
        for key in ("name", "dialect", "family", "element_types", "tolerance"):
            assert entry[key], (entry["name"], key)
    assert "exponential" in call("ops")[1]
    code, out, _ = call("ops", "tanh")
    assert code == 0
    assert "hyperbolic tangent" in out


def test_the_version_lists_everything_that_records_depend_on(call) -> None:
    code, out, _ = call("--version")
    assert code == 0
    assert out.startswith(f"hlo-conformance {version('hlo-conformance')} (build {build()}; ")
    assert f"jaxlib {version('jaxlib')}" in out


def test_backends_are_listed(call) -> None:
    code, out, _ = call("backends", "--format", "json")
    assert code == 0
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert entries["reference"]["available"]
    assert entries["cpu"]["available"]
    assert entries["cpu"]["versions"]["jaxlib"]
    assert all(entry["available"] or entry["reason"] for entry in entries.values())


def test_every_limit_is_an_option_in_its_unit() -> None:
    @options.add_limit_options(Limits(30.0, 3 << 30), "Seconds for this.")
    def command(name: str, limits: Limits = LIMITS) -> int:
        asked.append((name, limits))
        return 0

    asked: list[tuple[str, Limits]] = []
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    assert runner.invoke(app, ["a"]).exit_code == 0
    assert runner.invoke(app, ["b", "--timeout", "7", "--memory-limit", "0.5"]).exit_code == 0
    assert asked == [("a", Limits(30.0, 3 << 30)), ("b", Limits(7.0, 1 << 29))]
    refused = runner.invoke(app, ["c", "--timeout", "0"])
    assert refused.exit_code == 2
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["", "1", "1/", "/4", "-1/4", "1/4/2", "one/four"])
def test_a_shard_is_a_part_of_parts(text: str) -> None:
    assert options.parse_shard("2/4") == (2, 4)
    with pytest.raises(UsageError, match="i/n"):
        options.parse_shard(text)


NOT_TENSORS = {"after_all", "create_token", "get_tuple_element", "tuple"}
"""Ops whose cells are named after the types of their operands or regions."""

READ = [op for op in CATALOG if op not in NOT_TENSORS and OPS[op].lower is None]
"""Ops that a file can hold: those that are not lowered."""


@pytest.mark.parametrize("op", READ)
def test_an_operation_is_of_the_column_that_its_cases_are_in(op: str) -> None:
    names = {of.name for of in CATALOG[op].columns}
    for of in CATALOG[op].columns:
        if isinstance(of, Invalid):
            continue
        # a sort's key may stand among what is sorted along: then the first operand names the cell;
        # what is quantized anew may come with a scale a slice in a cell of one scale
        several = cases(op, of, 0, 8 if op == "sort" or of.name.startswith("q<") else 1)
        every = [
            [column_of(operation) for operation in case.program.walk() if operation.name == op]
            for case in several
        ]
        found = next((found for found in every if found[-1:] == [of.name]), every[0])
        if op == "uniform_dequantize" and of.name.startswith("q<"):
            assert found[-1] in names  # the f32 that comes out names a cell as well
        else:
            assert found[-1:] == [of.name]


def test_the_page_lists_every_op_and_every_rule() -> None:
    page = coverage_page()
    rules = {row.tolerance.name for row in CATALOG.values()}
    assert [rule for rule in rules if f"\n| {rule} |" not in page] == []
    assert [op for op in CATALOG if f"\n| {op} |" not in page] == []


def test_every_op_of_xla_has_a_heading_and_every_heading_its_ops() -> None:
    ops = [op for several in HEADINGS.values() for op in several]
    assert sorted(ops) == sorted(op for op, row in CATALOG.items() if row.dialect == "xla")
    assert not HEADINGS.keys() & UNSUPPORTED_HEADINGS.keys()
    assert all(UNSUPPORTED_HEADINGS.values())


def test_the_id_of_a_record_is_safe_in_a_shell() -> None:
    record = Record("add", "complex<f32>", "cpu", 17, "0", Verdict.PASS)
    assert record.id == "add-complex_f32-cpu-17"


@dataclass(frozen=True)
class Options:
    """Options of a made-up command."""

    seed: int = field(default=7, metadata=IDENTITY)
    some_ops: tuple[str, ...] = field(default=("add",), metadata=IDENTITY)
    jobs: int = 2
    limits: Limits = field(default=LIMITS)


def test_results_depend_on_marked_options_and_on_all_limits() -> None:
    found: dict[str, Any] = identity_of(Options())
    assert found["seed"] == 7
    assert found["some ops"] == ["add"]
    assert "jobs" not in found
    assert {"timeout", "memory limit"} <= {*found}
    assert found != identity_of(Options(limits=Limits(LIMITS.timeout / 2)))
    assert found == identity_of(Options(jobs=1))

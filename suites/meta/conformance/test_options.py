"""Options: shell completion, help, listings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

from conformance import options
from conformance.catalog import CATALOG
from conformance.errors import UsageError
from conformance.limits import LIMITS, Limits
from conformance.results.versions import build


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

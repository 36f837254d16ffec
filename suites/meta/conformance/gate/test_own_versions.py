"""Entries that are true of some versions: of jaxlib, of the backend itself, of its library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.backends.base import Description
from conformance.backends.versions import GIVEN
from conformance.campaign.planning import Options
from conformance.campaign.replay import find, replay
from conformance.campaign.runner import run
from conformance.errors import UsageError
from conformance.gate.expectations import Expectation, Versions
from conformance.gate.reading import ExpectationError, load
from conformance.gate.versions import (
    add_given_version,
    applicable_entries,
    given_versions,
)

DIGEST = "4f1d2cab9012"
ENTRY = """
[[known]]
id = "swapped"
op = "subtract"
element_types = ["f32"]
reason = "r"
versions = {}
"""


def a_plugin(*versions: tuple[str, str]) -> Description:
    return Description("plugin:mine", "mine", "a device", versions)


def an_entry(**versions: str) -> Expectation:
    return Expectation("e", ("add",), "r", versions=Versions(**versions))


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"plugin": ">=2.1"}, True),
        ({"plugin": "<2.1"}, False),
        ({"plugin": ">=2,<3"}, True),
        ({"library": DIGEST}, True),
        ({"library": "sha256:" + DIGEST.upper() + "0" * 52}, True),
        ({"library": "000000, 4f1d2c"}, True),
        ({"library": "000000"}, False),
        ({"plugin": ">=2.1", "library": "000000"}, False),
        ({"jaxlib": "<1"}, True),
    ],
)
def test_an_entry_is_true_of_versions_of_the_plugin_and_digests_of_its_library(
    wanted: dict[str, str], holds: bool
) -> None:
    described = a_plugin(("runtime", "mine 2.1"), ("library", f"libmine.so sha256 {DIGEST}"))
    assert bool(applicable_entries([an_entry(**wanted)], [described])) == holds


@pytest.mark.parametrize(
    ("backend", "versions", "holds"),
    [
        ("jaxlib:0.7.2", "<0.8", True),
        ("jaxlib:0.8.1", "<0.8", False),
        ("cpu", "<0.8", False),
    ],
)
def test_another_release_has_the_entries_about_cpu_by_its_own_version(
    backend: str, versions: str, holds: bool, tmp_path: Path
) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.format(f'"{versions}"\nbackends = ["cpu"]'))
    found = load(str(path), (backend,), {"jaxlib": "0.10.2"})
    assert [one.matches_backend(backend) for one in found] == [True] * holds


@pytest.mark.parametrize(("stated", "holds"), [("AVX512", True), ("AVX2", False), ("", False)])
def test_a_command_states_the_instruction_sets_on_which_entries_depend(
    stated: str, holds: bool, tmp_path: Path
) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY.format('"<99"\nisa = ">=AVX512"'))
    (found,) = load(str(path), ("command:far",), {"jaxlib": "0.10.2"})
    described = Description("command:far", "cpu", "?", (("instruction-sets", stated),))
    assert bool(applicable_entries([found], [described])) is holds


def test_a_plugin_without_a_version_needs_backend_version() -> None:
    with pytest.raises(ExpectationError, match=r"'e' requires the version of .*'cuda 1"):
        applicable_entries([an_entry(plugin=">=2")], [a_plugin(("runtime", "cuda 12040"))])
    described = add_given_version(a_plugin(), {"plugin:mine": "2.0"})
    assert applicable_entries([an_entry(plugin=">=2")], [described])


def test_versions_are_given_by_hand_for_one_backend_or_by_name() -> None:
    both = ("plugin:a", "plugin:b")
    assert given_versions(["2.1"], ["plugin:a"]) == {"plugin:a": "2.1"}
    assert given_versions(["plugin:b=2", "plugin:a=1"], both) == {"plugin:a": "1", "plugin:b": "2"}
    for text, said in (
        ("2.1", "say of which backend, such as plugin:a=2.1"),
        ("plugin:c=1", "unknown backend 'plugin:c'"),
        ("plugin:a=x.y", "'x.y' is not a version"),
    ):
        with pytest.raises(UsageError, match=said):
            given_versions([text], both)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{ plugin = ">=x" }', "'>=x' is not a range of versions"),
        ('{ jaxlib = "new" }', "'new' is not a range of versions"),
        ('{ library = "xyz" }', "'xyz' is not a digest"),
        ('{ library = "4f1d" }', "'4f1d' is not a digest"),
        ('{ plugn = "1" }', "unknown key 'plugn'; did you mean plugin"),
        ("{}", "'versions' is empty"),
        ("3", "'versions' must be a string or a table, not a number"),
        ("{ plugin = 2 }", "'versions.plugin' must be a string, not a number"),
    ],
)
def test_versions_that_mean_nothing_are_a_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "e.toml").write_text(ENTRY.format(text))
    with pytest.raises(ExpectationError, match=f"e.toml: entry 'swapped': .*{said}"):
        load(str(tmp_path / "e.toml"), ("cpu",), {"jaxlib": "0.10.2"})


def test_a_run_and_its_replay_take_the_version_that_was_given(tmp_path: Path) -> None:
    computes = "computes = '''\n%0 = stablehlo.subtract %rhs, %lhs : $T\n'''\n"
    (tmp_path / "e.toml").write_text(ENTRY.format('{ plugin = ">=2.1" }') + computes)
    (tmp_path / "more.toml").write_text(ENTRY.format('""').replace("swapped", "never").replace(
        "subtract", "abs"))  # fmt: skip
    given = Options(
        tmp_path / "new",
        ("reference:transposed_operands",),
        ("subtract",),
        ("f32",),
        "smoke",
        jobs=1,
        expectations=(str(tmp_path / "e.toml"), str(tmp_path / "more.toml")),
    )
    new = run(replace(given, backend_versions=("2.2",)))
    failing = [record for record in new.records if record.verdict.fails]
    assert failing
    assert {one.known for one in failing} == {"swapped"}
    assert dict(new.backends[0].versions)[GIVEN] == "2.2"
    case = find(tmp_path / "new", failing[0].id)
    assert replay(case).record.kind == failing[0].kind == "as computed by swapped"
    assert replay(replace(case, version="2.0")).record.kind == "operands swapped"
    for index, versions in enumerate((("2.0",), ())):
        old = run(replace(given, out=tmp_path / f"old{index}", backend_versions=versions))
        assert {record.known for record in old.records if record.verdict.fails} == {""}
    with pytest.raises(UsageError, match="holds a run with backends"):
        run(replace(given, backend_versions=("2.3",), ops=("subtract",), fresh=False))

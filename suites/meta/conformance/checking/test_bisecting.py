"""The search for the releases between which a divergence came or went."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.backends.releases import environments
from conformance.backends.releases.environments import python_of, releases
from conformance.checking.bisecting import Bisection
from conformance.errors import NotAvailable
from conformance.fuzzing.keeping.bundle import FINDING, ISSUE, note_releases

NAMES = [f"0.{n}" for n in range(20)]
BROUGHT_IN, MENDED = "brought in between jaxlib {} and {}", "mended between jaxlib {} and {}"


def search(fails: str) -> Bisection:
    """Search where `fails` has a letter for each release: fails, passes, or cannot tell (.)."""
    names = NAMES[: len(fails)]
    return Bisection(names, lambda name: {"f": True, "p": False}.get(fails[names.index(name)]))


@pytest.mark.parametrize(
    ("fails", "changes"),
    [
        ("ppppffff", [BROUGHT_IN.format("0.3", "0.4")]),
        ("pfffffff", [BROUGHT_IN.format("0.0", "0.1")]),
        ("pppppppf", [BROUGHT_IN.format("0.6", "0.7")]),
        ("fffppppp", [MENDED.format("0.2", "0.3")]),
        ("ppffffpp", [BROUGHT_IN.format("0.1", "0.2"), MENDED.format("0.5", "0.6")]),
        ("..ppff..", [BROUGHT_IN.format("0.3", "0.4")]),
        ("pp....ff", [BROUGHT_IN.format("0.1", "0.6")]),
        ("pf", [BROUGHT_IN.format("0.0", "0.1")]),
        ("pppppppp", []), ("ffffffff", []), ("........", []), ("...p....", []),
    ],
)  # fmt: skip
def test_changes_are_found_between_neighbours(fails: str, changes: list[str]) -> None:
    assert [str(window) for window in search(fails).windows()] == changes


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the only Python of this machine, whose pip does what the test writes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environments.shutil, "which", lambda _: None)
    script = tmp_path / "python"
    monkeypatch.setattr(environments, "pythons", lambda: [str(script)])
    script.touch(0o755)
    return script


def test_a_release_that_cannot_be_installed_is_one_line(pip: Path, tmp_path: Path) -> None:
    pip.write_text("#!/bin/sh\necho 'ERROR: no such wheel' >&2\nexit 1\n")
    with pytest.raises(NotAvailable, match=r"jaxlib 0\.7\.2 cannot be installed: no such wheel"):
        python_of("0.7.2")
    left = (tmp_path / "hlo-conformance" / "jaxlib").iterdir()
    assert [one.name for one in left] == ["0.7.2.lock"]
    with pytest.raises(NotAvailable, match="is a package index reachable"):
        releases()


CRASHES = """func.func @main() -> tensor<1xui8> {
  %x = stablehlo.constant dense<[4]> : tensor<1xui8>
  %y = stablehlo.constant dense<[0]> : tensor<1xui8>
  %0 = stablehlo.divide %x, %y : tensor<1xui8>
  return %0 : tensor<1xui8>
}
"""


@pytest.mark.slow
def test_a_crash_of_constant_folding_is_dated(tmp_path: Path, call) -> None:
    """Installs two releases where they are not in the cache."""
    (tmp_path / "program.mlir").write_text(CRASHES)
    given = (str(tmp_path), "--from", "0.8.0", "--to", "0.8.1", "--format", "json")
    code, out, err = call("bisect", *given)
    if "reachable" in err or "cannot be installed" in out:
        pytest.skip("releases of jaxlib cannot be installed here")
    found = json.loads(out)
    assert code == 0
    assert found["changes"] == [{"before": "0.8.0", "after": "0.8.1", "brought_in": True}]
    assert "SIGFPE" in found["verdicts"]["0.8.1"]


def test_a_finding_and_its_issue_say_between_which_releases_it_came(tmp_path: Path) -> None:
    (tmp_path / FINDING).write_text('{"verdict": "crashed", "changes": ["stale"]}')
    (tmp_path / ISSUE).write_text("# cpu: divide\n\n## Where it was found\n\n12 programs\n")
    for change in ("mended between jaxlib 0.10 and 0.11", "brought in between jaxlib 0.8 and 0.9"):
        note_releases(tmp_path, {"0.8": "pass", "0.9": "crashed: SIGFPE"}, [change])
    told = json.loads((tmp_path / FINDING).read_text())
    assert told["changes"] == ["brought in between jaxlib 0.8 and 0.9"]
    assert (told["verdict"], told["releases"]["0.9"]) == ("crashed", "crashed: SIGFPE")
    text = (tmp_path / ISSUE).read_text()
    assert text.count("## Releases") == text.count("| 0.9 | crashed: SIGFPE |") == 1
    assert text.index("Brought in between") < text.index("## Where it was found")
    assert text.endswith("12 programs\n")
    note_releases(tmp_path / "other", {}, [])  # the folder of `check --save` has no such files


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nothing.mlir",), "No such file"),
        (("{program}", "--from", "new"), "is written like 0.7.2"),
        (("{program}", "--from", "99.0"), "not two releases"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], reason: str, tmp_path: Path, call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "releases", lambda: ["0.9.2", "0.10.2"])
    program = tmp_path / "program.mlir"
    program.write_text(CRASHES)
    code, _, err = call("bisect", *(argument.format(program=program) for argument in arguments))
    assert (code, reason in err, err.count("\n")) == (2, True, 1)

"""Errors of the command line and of the entry point: one line, and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.cli import exit_code_of
from conformance.results.store import FILE_NAME
from docs.tools.pages import ROOT
from hlo_conformance import PACKAGES
from suites.meta.support.command_line import SMOKE, run_here


def test_an_unusable_baseline_is_refused_before_the_run(call, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert call("run", "--backend", "reference", "--op", "or", "--element-type", "i1", "--profile",
                "smoke", "--out", other, "--jobs", 1)[0] == 0  # fmt: skip
    (tmp_path / FILE_NAME).write_bytes(b"damaged" * 1000)
    (tmp_path / "text").write_text("nothing\n")
    for baseline, said in (
        (tmp_path / "none", "there is no baseline"),
        (tmp_path, "is damaged"),
        (tmp_path / "text", "is not a baseline of hlo-conformance"),
        (other, "nothing can be compared with the baseline"),
    ):
        code, _, errors = run_here(call, tmp_path / "run", "reference", "--baseline", baseline)
        assert code == 2
        assert said in errors
        assert errors.count("\n") == 1
        assert not (tmp_path / "run" / FILE_NAME).exists()
    code, _, errors = call("baseline", "write", tmp_path / "none", "--out", tmp_path / "written")
    assert code == 2
    assert "there is no" in errors
    code, _, errors = call("baseline", "write", other, "--out", tmp_path / "text" / "written")
    assert code == 2
    assert "choose another --out" in errors


def has_gpu() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


NOTHING = ("run", "--op", "popcnt", "--element-type", "f32", "--out", "OUT")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "--op", "ad"), 2, "unknown op 'ad'; did you mean add"),
        (("run", "--element-type", "f33"), 2, "unknown element type 'f33'"),
        (("run", "--backend", "cqu"), 2, "unknown backend 'cqu'; did you mean cpu?"),
        (("run", "--profile", "depp"), 2, "unknown profile 'depp'; did you mean deep?"),
        (("run", "--jobs", "0"), 2, "--jobs"),
        (("run", "--jobs", "many"), 2, "--jobs"),
        (("run", "--shard", "2"), 2, "--shard takes i/n"),
        (("run", "--shard", "3/2"), 2, "shard 3/2"),
        (("run", "--frsh"), 2, "--frsh"),
        (("rum",), 2, "rum"),
        (("ops", "ad"), 2, "did you mean add"),
        (("report", "OUT"), 2, "does not exist"),
        (("replay", "add-f32-cpu-0", "--db", "OUT"), 2, "there is no"),
        (("replay", "OUT/none"), 2, "there is no folder"),
        (("fuzz", "--out", "OUT", "--corpus", __file__), 2, "is not a folder"),
        (("fuzz", "--out", "OUT", "--backend", "plugin:x=OUT/none.so"), 3, "no such file"),
        (("run", *SMOKE, "--out", "OUT", "--expectations", "OUT/none.toml"), 2, "none.toml"),
        (NOTHING, 4, "nothing was tested"),
        (("run", "--backend", "reference:unsupported", *SMOKE, "--out", "OUT"), 4, "nothing was"),
    ],
)
def test_a_wrong_command_is_one_line(call, tmp_path, arguments, code: int, said: str) -> None:
    given = [argument.replace("OUT", str(tmp_path / "out")) for argument in arguments]
    found, _, errors = call(*given)
    assert found == code
    assert said in errors
    assert errors.count("\n") == 1
    assert errors.startswith("hlo-conformance: ")


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(call, tmp_path: Path) -> None:
    code, _, errors = call("run", "--backend", "gpu", *SMOKE, "--out", tmp_path / "out")
    assert code == 3
    assert errors.startswith("hlo-conformance: gpu: ")
    assert errors.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_damaged_database_is_one_line_and_fresh_replaces_it(call, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"damaged" * 1000)
    code, _, errors = run_here(call, tmp_path)
    assert code == 2
    assert "--fresh" in errors
    assert errors.count("\n") == 1
    assert run_here(call, tmp_path, "reference", "--fresh")[0] == 0


def test_a_folder_with_another_run_is_one_line(call, finished_run: Path) -> None:
    code, _, errors = run_here(call, finished_run, "reference", "--seed", 1)
    assert code == 2
    assert "seed 0 there and 1 here" in errors


def test_an_output_that_is_no_folder_is_one_line(call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, errors = run_here(call, tmp_path / "file")
    assert code == 2
    assert "choose another folder" in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self/attr").exists(), reason="no folder that root cannot write")
def test_a_folder_that_cannot_be_written_is_one_line(call) -> None:
    code, _, errors = run_here(call, Path("/proc/self/attr"))
    assert code == 2
    assert errors.count("\n") == 1


@pytest.mark.slow
def test_reports_that_cannot_be_written_are_one_line(call, tmp_path: Path) -> None:
    run_here(call, tmp_path)
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").mkdir()
    code, _, errors = run_here(call, tmp_path)
    assert code == 2
    assert "cannot write the reports" in errors
    assert errors.count("\n") == 1


def test_an_internal_error_is_one_line(monkeypatch, capsys) -> None:
    monkeypatch.delenv("HLO_CONFORMANCE_DEBUG", raising=False)

    def divide_by_zero() -> int:
        raise ZeroDivisionError("a defect\nof ours")

    assert exit_code_of(divide_by_zero) == 1
    errors = capsys.readouterr().err
    assert "internal error, ZeroDivisionError: a defect of ours" in errors
    assert errors.count("\n") == 1
    monkeypatch.setenv("HLO_CONFORMANCE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        exit_code_of(divide_by_zero)


@pytest.mark.parametrize("name", PACKAGES)
def test_package_that_hides_ours_is_named(tmp_path: Path, name: str) -> None:
    other = tmp_path / name
    other.mkdir()
    (other / "__init__.py").touch()
    path = os.pathsep.join(map(str, (tmp_path, ROOT)))
    ran = _run(path, tmp_path)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert f"the package {name} in {other} hides ours in {ROOT / name}" in ran.stderr


@pytest.mark.parametrize(
    ("jax", "jaxlib", "line"),
    [
        ("0.5.3", "0.5.3", "needs jax >= 0.6, found jax 0.5.3: pip install -U jax"),
        ("0.10.0", "0.8.1", "jax 0.10.0 needs jaxlib >= 0.10.0, found jaxlib 0.8.1: pip install"),
    ],
)
def test_jax_that_is_too_old_is_named(tmp_path: Path, jax: str, jaxlib: str, line: str) -> None:
    for name, version in (("jax", jax), ("jaxlib", jaxlib)):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        needed = f"Requires-Dist: jaxlib<={jax},>={jax}\n" if name == "jax" else ""
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n{needed}")
    ran = _run(os.pathsep.join(map(str, (tmp_path, ROOT))), tmp_path)
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1), ran.stderr
    assert ran.stderr.startswith(f"hlo-conformance: {line}")


def _run(path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from hlo_conformance import main; main()"], check=False,
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, cwd=folder,
    )  # fmt: skip

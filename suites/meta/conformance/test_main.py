"""The entry point: what hides a package of ours, or is too old, is named in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tools.pages import ROOT
from hlo_conformance import PACKAGES, hidden_package, unfit_jax


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


def test_installed_jax_is_new_enough() -> None:
    assert unfit_jax() == ""


def _run(path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from hlo_conformance import main; main()"], check=False,
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, cwd=folder,
    )  # fmt: skip


def test_our_packages_are_not_hidden() -> None:
    assert hidden_package() == ""

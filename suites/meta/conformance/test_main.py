"""The entry point: a package of others that hides one of ours is named in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tools.pages import ROOT
from hlo_conformance import PACKAGES, hidden_package


@pytest.mark.parametrize("name", PACKAGES)
def test_package_that_hides_ours_is_named(tmp_path: Path, name: str) -> None:
    other = tmp_path / name
    other.mkdir()
    (other / "__init__.py").touch()
    path = os.pathsep.join(map(str, (tmp_path, ROOT)))
    ran = subprocess.run(
        [sys.executable, "-c", "from hlo_conformance import main; main()"], check=False,
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert f"the package {name} in {other} hides ours in {ROOT / name}" in ran.stderr


def test_our_packages_are_not_hidden() -> None:
    assert hidden_package() == ""

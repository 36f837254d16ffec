"""The site, built once for all tests of a worker."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.tools.generated import PAGES_BY_NAME, write_pages
from docs.tools.pages import PAGES, ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built in its own folder: other tests may build it, too."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PAGES, folder / "docs", ignore=shutil.ignore_patterns(*PAGES_BY_NAME))
    list(write_pages(folder / "docs"))
    shutil.copy(ROOT / "zensical.toml", folder)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"

"""Sizes that keep the tree readable: lines of a file, files of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("conformance", "generators", "reference", "reports", "suites")
MOST_LINES = 500
MOST_FILES = 20


def _files(package: str) -> list[Path]:
    return [
        path
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_files_and_folders_are_small(package: str) -> None:
    files = _files(package)
    sources = [path for path in files if path.suffix in (".py", ".js", ".css", ".html")]
    assert len(sources) > 10
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in sources}
    assert not {str(path) for path, count in lines.items() if count > MOST_LINES}
    folders = [path.parent for path in files]
    assert not {str(one) for one in {*folders} if folders.count(one) > MOST_FILES}

"""Folders from which findings are collected."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.fuzzing.keeping.bundle import FINDING
from conformance.fuzzing.keeping.collection import load_findings


def test_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--findings: there is no "):
        load_findings([tmp_path / "nothing"])


def test_folder_without_findings_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no findings: give the folder of a campaign"):
        load_findings([tmp_path])


@pytest.mark.parametrize("content", ["no JSON", "{}"])
def test_finding_that_cannot_be_read_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / FINDING).write_text(content)
    with pytest.raises(UsageError):
        load_findings([tmp_path])


def test_nothing_is_found_in_nothing() -> None:
    assert load_findings([]) == ()

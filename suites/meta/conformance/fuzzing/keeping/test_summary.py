"""The campaign in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.errors import UsageError
from conformance.fuzzing.keeping.journal import FILE_NAME
from conformance.fuzzing.keeping.summary import is_campaign, load
from conformance.results.store import FILE_NAME as RESULTS


def test_a_folder_with_a_journal_and_no_run_is_a_campaign(tmp_path: Path) -> None:
    assert not is_campaign(tmp_path)
    (tmp_path / FILE_NAME).touch()
    assert is_campaign(tmp_path)
    (tmp_path / RESULTS).touch()
    assert not is_campaign(tmp_path)


def test_database_stands_for_its_folder(tmp_path: Path) -> None:
    assert is_campaign(tmp_path / FILE_NAME)


@pytest.mark.parametrize("name", ["", FILE_NAME])
def test_folder_without_a_campaign_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{tmp_path} holds no campaign: it has no {FILE_NAME}"):
        load(tmp_path / name if name else tmp_path)

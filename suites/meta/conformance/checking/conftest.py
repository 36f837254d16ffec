"""A fixture of commands that check files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.checking import files
from conformance.checking.file import check_file
from conformance.checking.settings import CheckedFile, Settings


@pytest.fixture
def check_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check files in this process: workers take seconds to start."""

    def check_here(
        _: object, given: Sequence[str], settings: Settings, __: int
    ) -> list[CheckedFile]:
        return [check_file(file, settings) for file in given]

    monkeypatch.setattr(files, "check_files", check_here)

"""Programs checked on a backend that is the reference with a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.backends import session
from conformance.checking.settings import CheckedFile, Settings
from conformance.gate.expectations import Expectation
from suites.meta.support.checking import check_text
from suites.meta.support.faults.changed_backend import Backend, Change


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., CheckedFile]:
    """Return a function that checks a text on inputs, with a change and known divergences."""

    def check(
        text: str, inputs: dict[str, Any], change: Change, *known: Expectation
    ) -> CheckedFile:
        monkeypatch.setattr(session, "cached_backend", lambda _: Backend(change))
        np.savez(tmp_path / "in.npz", **inputs)
        settings = Settings("cpu", inputs=tmp_path / "in.npz", expectations=known)
        return check_text(tmp_path, text, settings)

    return check

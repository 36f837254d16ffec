"""Findings as the journal stores them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.fuzzing.attribution.cause import Cause
from conformance.fuzzing.keeping.keeping import cause_in


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ({}, Cause({}, "", False, "")),
        (
            {"attribution": {"ways": {"without x": "pass"}, "partial": True, "culprit": "x"}},
            Cause({"without x": "pass"}, "", True, "x"),
        ),
        ({"attribution": {"note": "no time"}}, Cause({}, "no time", False, "")),
    ],
)
def test_attribution_is_read_from_the_content_of_a_finding(
    told: dict[str, Any], cause: Cause
) -> None:
    assert cause_in(told) == cause

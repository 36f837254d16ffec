"""A requested accuracy: by default the implementation's own, without a figure."""

from __future__ import annotations

from reference.ir.accuracy import DEFAULT, HIGHEST, MODES, TOLERANCE, ResultAccuracy


def test_nothing_is_requested_by_default() -> None:
    assert ResultAccuracy() == (DEFAULT, 0, 0, 0)


def test_modes_are_spelled_as_in_the_dialect() -> None:
    assert MODES == (DEFAULT, HIGHEST, TOLERANCE) == ("DEFAULT", "HIGHEST", "TOLERANCE")

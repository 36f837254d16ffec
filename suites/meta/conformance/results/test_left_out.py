"""Cases that a run did not try."""

from __future__ import annotations

from conformance.results.left_out import LeftOut

LEFT = LeftOut("add", "f32", "cpu", ((2, 4), (9, 10)))


def test_spans_are_half_open() -> None:
    assert [index for index in range(12) if index in LEFT] == [2, 3, 9]
    assert LEFT.cases == 3
    assert LEFT.key == ("add", "f32", "cpu")

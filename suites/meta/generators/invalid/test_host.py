"""Near misses of transfers and of what is started: channels, pairs, types."""

from __future__ import annotations

import pytest

from generators.invalid import host
from suites.meta.support.near_misses import assert_separate, attributes


@pytest.mark.parametrize("op", host.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(host, op)


def test_channels_of_a_type_that_there_is_not() -> None:
    found = [
        one
        for id_, program in host.NEAR_MISSES["send"]("send")
        for one in program.walk()
        if one.name == "send" and one.attribute("channel_type") in (0, 4)
    ]
    assert found


@pytest.mark.parametrize(("id_", "side"), [("C2", 0), ("C3", 1)])
def test_pairs_repeat_a_source_or_a_target(id_: str, side: int) -> None:
    for pairs in attributes(host, "recv", id_, "source_target_pairs"):
        ends = [pair[side] for pair in pairs]
        assert len(set(ends)) < len(ends)

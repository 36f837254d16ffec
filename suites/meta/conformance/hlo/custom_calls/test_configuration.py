"""Options of a custom call, as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.hlo.custom_calls.configuration import configuration, numbers
from conformance.hlo.unreadable import Unreadable
from suites.meta.conformance.hlo.instructions import custom_call, shape, site_of


def options(text: str, key: str = "") -> dict[str, Any]:
    return configuration(site_of(custom_call("foo", shape("f32"), text)), key)


def test_a_part_of_the_options_is_taken_by_its_key() -> None:
    assert options('{"gemm": {"beta": 1}, "x": 2}', "gemm") == {"beta": 1}
    assert options('{"x": 2}') == {"x": 2}
    assert options("") == options('{"x": 2}', "gemm") == {}


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [("{", "", "not JSON"), ("[1]", "", "no JSON object"), ('{"a": 1}', "a", "no JSON object")],
)
def test_other_options_are_not_read(text: str, key: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"custom call foo: its options are {reason}"):
        options(text, key)


def test_integers_are_written_as_strings() -> None:
    assert numbers(["1", "-2"]) == (1, -2)
    assert numbers(None) == ()

"""Text for people, on one line."""

from __future__ import annotations

import pytest

from conformance.text import (
    join_versions,
    list_differences,
    matches_any,
    one_line,
    spell_option,
)


def test_white_space_becomes_single_spaces() -> None:
    assert one_line("  a\n\tb  c ") == "a b c"
    assert one_line(ValueError("x\ny")) == "x y"


@pytest.mark.parametrize(
    ("name", "patterns", "found"),
    [
        ("add", ["add"], True),
        ("add", ["a*"], True),
        ("Add", ["a*"], False),
        ("add", ["mul*", "?dd"], True),
        ("add", [], False),
    ],
)
def test_globs_match_with_their_case(name: str, patterns: list[str], found: bool) -> None:
    assert matches_any(name, patterns) is found


@pytest.mark.parametrize(
    ("value", "text"), [([], "all"), (["a", 1], "a,1"), (None, "unknown"), (0, "0"), ("", "")]
)
def test_options_are_spelled_for_messages(value: object, text: str) -> None:
    assert spell_option(value) == text


def test_versions_are_listed() -> None:
    assert join_versions([("jaxlib", "0.10"), ("numpy", 2)]) == "jaxlib 0.10, numpy 2"


def test_only_differing_options_are_listed() -> None:
    there, here = {"seed": 1, "op": ["add"]}, {"seed": 1, "op": [], "profile": "smoke"}
    assert list_differences(there, here) == [
        "op add there and all here", "profile unknown there and smoke here",
    ]  # fmt: skip

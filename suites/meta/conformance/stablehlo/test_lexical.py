"""Strings, comments and locations: the parts of a text that do not belong to its program."""

from __future__ import annotations

import pytest

from conformance.stablehlo.lexical import (
    blank_strings,
    comments,
    extract_strings,
    remove_locations,
    restore_strings,
)

TEXT = """// add 1
%0 = "stablehlo.add"(%x) {name = "a \\"b\\" // c"} loc("f(x).py":1:2) // end
%1 = stablehlo.tanh %0 loc(fused["g", loc(unknown)])
#loc1 = loc("h")
"""


def test_contents_of_strings_and_comments_become_spaces() -> None:
    code = blank_strings(TEXT)
    assert len(code) == len(TEXT)
    assert [n for n, c in enumerate(code) if c == "\n"] == [
        n for n, c in enumerate(TEXT) if c == "\n"
    ]
    assert '"stablehlo.add"(%x)' in code
    for gone in ("add 1", "a \\", "// c", "f(x)", "end"):
        assert gone not in code


def test_only_names_of_operations_before_a_parenthesis_stay() -> None:
    assert blank_strings('"a.b"(x) "a.b" "plain"(x)') == '"a.b"(x) "   " "     "(x)'


def test_comments_in_strings_are_none() -> None:
    assert comments(TEXT) == ["// add 1", "// end"]


@pytest.mark.parametrize("text", [TEXT, "", '"x" "x" // y', 'a "\\\\" b'])
def test_what_is_set_aside_is_restore_strings(text: str) -> None:
    without, aside = extract_strings(text)
    assert restore_strings(without, aside) == text
    assert "add 1" not in without


def test_equal_strings_are_set_aside_once() -> None:
    without, aside = extract_strings('"x" "y" "x"')
    assert aside == ['"x"', '"y"']
    assert without.count("\0") == 3


def test_locations_become_spaces_with_their_parentheses() -> None:
    code = remove_locations(TEXT)
    assert "loc(" not in code
    assert "fused" not in code
    assert code.count("\n") == TEXT.count("\n")
    assert "%1 = stablehlo.tanh %0" in code
    assert code.splitlines()[1].endswith("// end")


def test_a_location_that_is_not_closed_ends_with_the_text() -> None:
    assert remove_locations("a loc(b") == "a " + " " * 5

"""Words and numbers of the reports."""

from __future__ import annotations

import math

import pytest

from reports import text


def test_numbers_are_short_and_honest():
    shown = {
        0.0: "0", 0.5: "0.50", 2.125: "2.1", 3.0: "3", 99.6: "99.6", 250.0: "250", 123456.0: "1e5",
        math.inf: "∞", -math.inf: "−∞", 1e300: "1e300", -2.0: "−2",
    }  # fmt: skip
    assert {error: text.ulp(error) for error in shown} == shown
    assert text.ulp(math.nan) == "NaN"
    assert text.ulp(None) == "–"
    assert [text.duration(s) for s in (0.84, 94.2, 750.0, 11_100.0, math.nan)] == [
        "0.8 s", "94 s", "12 min 30 s", "3 h 05 min", "–",
    ]  # fmt: skip


def test_words_for_a_shell_are_quoted_where_needed():
    assert text.shell_word("add-f32-cpu-17") == "add-f32-cpu-17"
    assert text.shell_word("a; rm -rf 'x'") == "'a; rm -rf '\\''x'\\'''"
    assert text.shell_word("") == "''"
    assert "\n" not in text.shell_word("a\nb")


def test_anchors_are_plain_and_differ():
    assert text.distinct_names(["a", "a", "b", "a", "a.2"]) == ["a", "a.2", "b", "a.3", "a.2.2"]
    assert text.slug("complex<f32>/x y") == "complex_f32_x_y"
    assert text.slug("<>") == "x"


@pytest.mark.parametrize(
    ("ulp", "shown"),
    [(None, "≤ 0.5"), (0.50001, "> 0.5"), (0.5006, "0.501"), (3.25, "3.250"), (6780.0, "6.78e+03")],
)
def test_an_error_just_over_half_an_ulp_is_not_shown_as_half_an_ulp(ulp, shown):
    assert text.worst_error(ulp) == shown

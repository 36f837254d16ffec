"""Markdown: short, complete, and without markup of others."""

from __future__ import annotations

import re

import pytest

from reports import markdown, view


@pytest.mark.slow
def test_markdown_is_short_and_complete(runs):
    written = markdown.markdown(runs["full"])
    totals = view.build(runs["full"]).totals
    assert len(written) < 20_000
    assert written.startswith("# The cpu backend does not conform: ")
    assert f"| cells tested | {totals.tested:,} | {totals.planned:,} |" in written
    for title in ("## Verdicts", "## New divergences", "## Known divergences", "## Worst accuracy"):
        assert title in written
    assert "[more](<https://github.com/openxla/xla/issues/1>)" in written
    for block in re.findall(r"(?:^\|.*\n?)+", written, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_markdown_of_hostile_text_holds_no_markup(runs):
    written = markdown.markdown(runs["nasty"])
    assert not re.search(r"<(?!/?code>)[a-z!/]", re.sub(r"`[^`\n]*`", "", written))
    assert not re.search(r"\]\((?!<https?://)", written.replace("\\]", ""))
    assert all(c >= " " or c == "\n" for c in written)
    for line in written.splitlines():
        assert not line.startswith("|") or line.endswith(" |")


def test_the_summary_shows_failed_batches_left_out_cases_and_the_cache(runs):
    written = markdown.markdown(runs["partial"])
    assert "The run fails: 1 lost batch, 1 incident." in written.splitlines()[0]
    assert (
        "- cpu: 1 lost batch; the budget left out up to 42 cases of 2 cells; "
        "3 of 9 cases from the cache"
    ) in written
    assert "- gpu: 1 lost batch, known\n" in written
    assert "## Batches and incidents" in written
    assert "(known by `slow-batch`)" in written
    assert "- a defect of the harness" in written
    assert "## Batches" not in markdown.markdown(runs["full"])

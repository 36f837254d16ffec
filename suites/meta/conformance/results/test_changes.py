"""What changed between two made-up runs, and how the reports tell it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from conformance.results.difference import Change, changes, differences, in_words, tally
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict
from reports import html, markdown
from suites.meta.support import synthetic_run as synthetic

CELL = ("tanh", "f32", "cpu")


def ended(*verdicts: Verdict, known: str = "", cell: tuple[str, str, str] = CELL) -> list[Record]:
    return [
        Record(*cell, n, f"{n:016x}", v, known=known if v.fails else "")
        for n, v in enumerate(verdicts)
    ]


def run_of(records: list[Record], planned=(CELL,), filtered=()) -> RunData:
    return synthetic.run_of(records, {}, planned, filtered)


P, I, D, C = Verdict.PASS, Verdict.INACCURATE, Verdict.DIVERGENT, Verdict.CRASHED  # noqa: E741


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        (ended(P, P), ended(P, D), True),
        (ended(P, I), ended(P, P), False),
        (ended(D, P), ended(D, D), True),
        (ended(C, P), ended(D, P), False),
        (ended(C, known="x"), ended(I), True),
        (ended(D, known="x"), ended(D), True),
        (ended(D, P), ended(D, D, P), None),
        (ended(P), ended(Verdict.UNSPECIFIED), None),
        (ended(P), ended(Verdict.UNSUPPORTED), True),
        (ended(P), [], None),
    ],
)
def test_a_change_is_worse_better_or_neither(before, after, worse) -> None:
    (found,) = changes(run_of(after), run_of(before))
    assert found.key == CELL
    assert found.worse is worse
    (back,) = changes(run_of(before), run_of(after))
    assert back.worse is (None if worse is None else not worse)
    assert (back.before, back.after) == (found.after, found.before)


def test_what_is_the_same_or_was_not_asked_for_is_no_change() -> None:
    run = run_of(ended(P, D))
    assert changes(run, run) == []
    left_out = run_of([], planned=(), filtered=(CELL,))
    assert changes(left_out, run) == changes(run, left_out) == []


def test_a_cell_that_a_run_lacks_is_untested_there() -> None:
    (found,) = changes(run_of(ended(D)), run_of([], planned=()))
    assert found == Change(*CELL, "untested", "divergent", None, 0, 1)


def many() -> tuple[RunData, RunData]:
    cells = [("tanh", of, "cpu") for of in ("bf16", "complex<f32>", "f16", "f32", "f64")]
    then, now = (P, I, P, C, P), (D, P, C, C, P)
    runs = [
        run_of([r for c, v in zip(cells, side, strict=True) for r in ended(v, cell=c)], cells)
        for side in (now, then)
    ]
    lost = replace(runs[0], records=[r for r in runs[0].records if r.element_type != "f64"])
    return lost, replace(runs[1], seed=7, versions={**lost.versions, "jax": "<b>0.11|"})


def test_the_worst_stand_first_and_are_counted() -> None:
    found = changes(*many())
    assert [(c.element_type, c.worse) for c in found] == [
        ("f16", True), ("bf16", True), ("f64", None), ("complex<f32>", False),
    ]  # fmt: skip
    assert tally(found) == (2, 1, 1)
    assert in_words(found) == "2 worse, 1 better, 1 other"


def test_runs_are_told_apart_by_what_differs() -> None:
    run, baseline = many()
    assert differences(run, run) == []
    assert differences(run, baseline) == [
        ("seed", "7", str(run.seed)), ("jax", "<b>0.11|", "0.12.0"),
    ]  # fmt: skip


def test_the_page_links_each_change_to_its_cell() -> None:
    run, baseline = many()
    page = html.html(run, baseline=baseline)
    section = re.search(r'<section id="changes".*?</section>', page, re.DOTALL)
    assert section is not None
    assert "4 cells changed: 2 worse, 1 better, 1 other." in section[0]
    links = re.findall(r'href="#cell=([^"]*)"', section[0])
    assert links == [f"tanh%2F{of}%2Fcpu" for of in ("f16", "bf16", "f64", "complex%3Cf32%3E")]
    assert "&lt;b&gt;0.11|" in section[0]
    assert page.index('id="changes"') < page.index('id="matrix"')
    assert 'id="changes"' not in html.html(run)
    assert "No cell changed" in html.html(run, baseline=run)


def test_hostile_text_in_a_baseline_is_inert() -> None:
    run, nasty = many()[0], synthetic.run("nasty")
    for page in (html.html(run, baseline=nasty), html.html(nasty, baseline=run)):
        assert page.count("</script>") == 2
        assert "<img" not in page
        assert not any(c < " " and c not in "\n\t" for c in page)
    written = markdown.markdown(nasty, run)
    assert not re.search(r"<(?!/?code>)[a-z!/]", re.sub(r"`[^`\n]*`", "", written))


def test_markdown_has_a_short_table() -> None:
    written = markdown.markdown(*many())
    assert "## What changed since the baseline" in written
    assert "| tanh | f16 | cpu | worse | pass | crashed, 1 new |" in written
    assert "since the baseline" not in markdown.markdown(many()[0])
    several = markdown.markdown(synthetic.run("empty"), synthetic.run("passing"))
    assert several.count("| untested |") <= markdown.CHANGES

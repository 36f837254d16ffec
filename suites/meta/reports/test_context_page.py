"""Earlier runs and findings of campaigns, in the page of a run and in its Markdown summary."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest

from conformance.fuzzing.keeping.collection import FoundCause
from conformance.outputs.finding import Cause, Finding
from conformance.outputs.run import Backend
from conformance.outputs.sweep import Sweep
from conformance.results.history import History, past_run
from conformance.verdict import Record, Verdict
from reports import html
from reports.context import Context
from reports.context_markdown import sections
from reports.page import context as page
from suites.meta.reports.browsing import (
    go,
    script,
    wait,
)
from suites.meta.reports.sweeps.made_up import function, point, result_class, sweep
from suites.meta.support import synthetic_run as synthetic

CELL = ("tanh", "f32", "cpu")


def past_runs() -> History:
    """Return three runs: a cell passed, then was known to fail, then failed anew."""
    told = (
        Record(*CELL, 0, "0" * 16, Verdict.PASS),
        synthetic.failure(CELL, 0, Verdict.DIVERGENT, known="subnormals"),
        synthetic.failure(CELL, 0, Verdict.DIVERGENT),
    )
    runs = [
        replace(
            synthetic.run_of([record], {}, [CELL, ("add", "f32", "cpu")]),
            started=f"2026-0{index}-01T09:30:00+00:00",
            versions={"jax": f"0.1{index}.0"},
        )
        for index, record in enumerate(told, 1)
    ]
    return History(tuple(past_run(Path(f"run-{run.started}"), run) for run in runs), runs[-1])


def nasty_runs() -> History:
    runs = [replace(synthetic.run("nasty"), started=one) for one in synthetic.NASTY[:3]]
    past = tuple(past_run(Path(run.started), run) for run in runs)
    return History(past, runs[-1])


def finding(text: str, number: int = 0) -> Finding:
    return Finding(
        name=f"{text}{number}", folder=f"corpus/{text}{number}", backend=text,
        verdict=Verdict.DIVERGENT, class_=text, culprit=text, element_types=(text,), message=text,
        programs=3, first_found="2026-01-02T03:04:05+00:00",
        last_found="2026-03-04T05:06:07+00:00", versions={text: text}, vanishes=(text,),
        program=f"func.func {text}",
    )  # fmt: skip


def cause(text: str, findings: int = 2) -> FoundCause:
    several = tuple(finding(text, number) for number in range(findings))
    described = Cause(
        cause=text, programs=3 * findings, first_found=several[0].first_found,
        last_found=several[0].last_found, findings=several,
    )  # fmt: skip
    return FoundCause(described, {one.folder: f"# {text}" for one in several})


def sweep_of(text: str, element_type: str = "f32") -> Sweep:
    """Return a sweep of one function, with a class of failures that no expectation matches."""
    failing = result_class(Verdict.DIVERGENT, example=point(text))
    failing = msgspec.structs.replace(failing, class_=text, message=text)
    swept = function(
        text, element_type, state="divergent", rule=text, worst_ulp=7.0, worst=point(text),
        planned=1 << 16, values=1 << 16, classes=(failing,),
    )  # fmt: skip
    backend = Backend(name=text, platform=text, device=text, versions={text: text})
    return sweep(swept, backend=backend, build=text, command=text, versions={text: text})


def plain_context() -> Context:
    causes = (cause("sine"), cause("reduce", page.SCRIPTS))
    return Context(past_runs(), causes, (sweep_of("tanh"), sweep_of("tanh", "f16")))


def nasty_context() -> Context:
    causes = tuple(cause(text) for text in synthetic.NASTY)
    return Context(nasty_runs(), causes, tuple(sweep_of(text) for text in synthetic.NASTY))


@cache
def document(name: str) -> str:
    context = {"plain": plain_context, "nasty": nasty_context}[name]()
    assert context.history is not None
    return html.html(context.history.newest, "", None, context)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name in ("plain", "nasty"):
        (made / name).mkdir()
        content = document(name).encode("utf-8", "backslashreplace")
        (made / name / "index.html").write_bytes(content)
    return made


def data_in(document: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', document, re.S)
    assert found
    return json.loads(found[1])


def test_a_run_by_itself_has_none_of_these_sections() -> None:
    document = html.html(synthetic.passing_run())
    assert 'id="history"' not in document
    assert 'id="campaigns"' not in document
    assert 'id="sweeps"' not in document
    assert (data_in(document)["history"], data_in(document)["causes"]) == (None, None)


def test_a_cell_is_a_character_for_each_run() -> None:
    history = data_in(document("plain"))["history"]
    codes = history["cells"]["/".join(CELL)]
    assert [history["outcomes"][code] for code in codes] == [
        ["pass", "conforms"], ["divergent", "known"], ["divergent", "new"],
    ]  # fmt: skip
    assert history["changed"] == ["/".join(CELL)]
    assert history["runs"][1]["differences"] == [["jax", "0.11.0", "0.12.0"]]


def test_sweeps_of_one_backend_share_a_table() -> None:
    section = document("plain").partition('<section id="sweeps"')[2].partition("</section>")[0]
    assert section.count("<h3>") == 1
    assert "2 functions, 131,072 values" in section
    row = re.search(r"<code>tanh</code></th>(.*)</tr>", section)
    assert row is not None
    assert row[1].count("<b>7.000</b>") == 2


@pytest.mark.browser
def test_a_cell_shows_its_outcome_in_each_run(browser, folder) -> None:
    go(browser, folder, "plain", f"#cell={'/'.join(CELL)}")
    wait(browser, "document.getElementById('detail').open")
    told = script(browser, "return document.getElementById('detail-body').innerText")
    dates = [told.index(f"2026-0{month}-01 09:30") for month in (3, 2, 1)]
    assert dates == sorted(dates)
    assert "jax 0.11.0 → 0.12.0" in told
    assert "divergent, new" in told


def test_markdown_has_both_and_no_markup_of_others() -> None:
    told = "\n\n".join(sections(plain_context()))
    assert "| tanh | f32 | cpu | pass | divergent, known | divergent, new |" in told
    assert "| sine | 6 | 2026-01-02 |" in told
    for line in "\n\n".join(sections(nasty_context())).splitlines():
        assert "<script" not in re.sub("`[^`]*`", "", line)
        assert not re.search(r"(?<!\\)\]\(javascript", line)

"""The reports, rendered from made-up runs: complete, safe, deterministic, right in their counts."""

import importlib.util
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from junitparser import Failure, JUnitXml, Skipped

from conformance.catalog import CATALOG
from conformance.errors import NotAvailable
from conformance.results.cells import CellResults
from conformance.results.summary import denominators
from conformance.verdict import HISTOGRAM_EDGES, Errors, Verdict
from reports import findings, html, junit, markdown, plots, squares, text, view
from reports.programs import pretty_forms
from suites.meta.support import synthetic_run as synthetic

RUNS = synthetic.RUNS
VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """What the tests ask of a page: its elements with attributes, and whether tags are balanced."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [a for _, a in self.elements if name in (a.get("class") or "").split()]


def data_of(source: str):
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', source, re.DOTALL
    )
    return json.loads(found[1])


@pytest.fixture(scope="module")
def runs():
    return {name: synthetic.run(name) for name in RUNS}


@pytest.fixture(scope="module")
def sources():
    return {name: synthetic.page(name) for name in RUNS}


@pytest.fixture(scope="module")
def pages(sources):
    return {name: Page(source) for name, source in sources.items()}


@pytest.mark.parametrize("name", RUNS)
def test_page_is_balanced_and_its_ids_are_unique(pages, name):
    page = pages[name]
    assert page.unbalanced == []
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for attributes in page.all("a") + page.all("use"):
        target = attributes["href"]
        assert not target.startswith("#") or target[1:] in ids


@pytest.mark.parametrize("name", RUNS)
def test_page_can_fetch_nothing(pages, sources, name):
    page = pages[name]
    policy = next(a for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].startswith("default-src 'none'; ")
    assert not re.search(r"https?:|\*|'self'|unsafe-eval", policy["content"])
    for _, attributes in page.elements:
        assert not set(attributes) & {"src", "srcset", "action", "poster", "background"}
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    style = re.search(r"<style>(.*?)</style>", sources[name], re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_hostile_text_is_inert(pages, sources):
    page, source = pages["nasty"], sources["nasty"]
    assert [a.get("type") for a in page.all("script")] == ["application/json", None]
    assert page.all("img") == []
    assert all(not key.startswith("on") for _, attributes in page.elements for key in attributes)
    assert all(re.match(r"#|https?://", a["href"]) for a in page.all("a"))
    assert source.count("</script>") == 2
    assert "<!--" not in source
    assert "{{ 7 * 7 }}" in "".join(page.words)
    assert "49" not in page.words
    assert not any(c < " " and c not in "\n\t" for c in source)
    assert not {"\u2028", "\u202e", "\ufffe"} & set(source)
    assert "\\u202e reversed" in source


def test_only_web_links_become_links():
    assert text.web_link("https://example.org/a?b=c#d") == "https://example.org/a?b=c#d"
    for refused in (
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//host/x", "https://",
        "http://[", "java\nscript:alert(1)", "https://a b", " https://x", "file:///etc/passwd", "",
    ):  # fmt: skip
        assert text.web_link(refused) == "", refused


@pytest.mark.parametrize("given", [*synthetic.NASTY, "\u2029", "a&b"])
def test_embedded_data_survives_and_cannot_end_its_element(given):
    kept = html.embedded({given: [given]})
    assert not set("<>&\u2028\u2029") & set(kept)
    assert json.loads(kept) == {given: [given]}


def test_long_text_is_cut_with_the_rest_on_demand(sources):
    assert "long " * 500 in sources["nasty"]
    assert len(sources["nasty"]) < 300_000
    assert "more characters left out" in sources["nasty"]
    parts = html._clip("line\n" * 10_000, 1_000)
    assert (len(parts.head) <= 1_000, len(parts.rest) <= html.EXPANDED_LIMIT) == (True, True)
    assert len(parts.head) + len(parts.rest) + parts.omitted == 50_000
    assert html._clip("short", 1_000) == html.Clipped("short", "", 0)


@pytest.mark.parametrize("name", RUNS)
def test_totals_add_up_and_equal_those_of_summary_json(runs, name):
    run, totals = runs[name], view.build(runs[name]).totals
    expected = denominators(run)
    assert totals.cells == totals.planned + totals.filtered == expected["cells"]
    assert totals.planned == totals.tested + totals.unsupported + totals.untested
    assert totals.planned == expected["cells_planned"]
    assert totals.tested == expected["cells_tested"]
    assert totals.untested == expected["cells_untested"]
    assert totals.unsupported == expected["cells_unsupported"]
    assert totals.filtered == expected["cells_filtered_out"]
    assert (totals.ops, totals.ops_tested) == (expected["ops"], expected["ops_tested"])
    assert sum(number for _, number in totals.by_verdict) == totals.cases == len(run.records)
    assert totals.new == sum(record.is_new_failure for record in run.records)


def test_denominators_are_printed(runs, sources):
    totals = view.build(runs["full"]).totals
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", sources["full"]))
    assert f"{totals.tested:,} of {totals.planned:,} planned cells tested" in plain
    assert f"in {totals.ops_tested} of {len(CATALOG)} ops of the catalog" in plain
    assert f"{totals.cases:,} cases, {totals.values:,} values" in plain
    for part in ("jax 0.12.0", "jaxlib 0.12.0.1", "AMD EPYC", "20261121", "hlo-conformance run"):
        assert part in plain


@pytest.mark.parametrize(
    ("name", "status", "headline"),
    [
        ("full", "fails", "The cpu backend does not conform: "),
        ("passing", "conforms", "The cpu backend conforms in every cell tested."),
        ("empty", "empty", "Nothing was tested, so this says nothing about conformance."),
    ],
)
def test_headline_answers_whether_it_conforms(runs, pages, name, status, headline):
    seen = view.build(runs[name])
    assert seen.status == status
    assert seen.headline.startswith(headline)
    assert f"status-{status}" in next(iter(pages[name].all("h1")))["class"]


def test_headline_tells_known_and_unreached_from_conforming(runs):
    run = runs["passing"]
    cell = run.planned[0]
    known = synthetic.failure(cell, 9, Verdict.DIVERGENT, known="f8-rounding")
    seen = view.build(replace(run, records=[*run.records, known]))
    assert (seen.status, seen.totals.known) == ("known", 1)
    assert "save for 1 known divergence" in seen.headline
    left = view.build(replace(run, planned=(*run.planned, ("tanh", "f32", "cpu"))))
    assert left.status == "partial"
    assert "1 planned cell was not tested" in left.headline
    refused = [replace(r, verdict=Verdict.UNSUPPORTED) for r in run.records]
    assert view.build(replace(run, records=refused)).status == "empty"


def test_each_cell_has_the_look_of_its_worst_verdict(runs, pages):
    seen = view.build(runs["full"])
    shown = {a["data-k"]: a for a in pages["full"].all("td") if "data-k" in a}
    assert len(shown) == seen.totals.planned == len(runs["full"].planned)
    worst = {"/".join(cell.key): cell for cell in runs["full"].cells.values()}
    for key, attributes in shown.items():
        classes = attributes["class"].split()
        assert f"s-{worst[key].state}" in classes
        is_known = worst[key].known > 0 and worst[key].new == 0
        assert ("known" in classes) == is_known, key
        assert worst[key].state.replace("_", " ") in attributes["aria-label"]
    assert {v.value for v in Verdict} | {"untested"} == {c.state for c in worst.values()}


def test_signs_differ_so_that_colour_never_stands_alone():
    assert len(set(squares.GLYPHS.values())) == len(squares.GLYPHS)
    assert (
        set(squares.GLYPHS)
        == set(squares.MEANINGS)
        == {*Verdict, squares.UNTESTED, squares.FILTERED}
    )


def test_filtered_untested_unsupported_look_different(pages, sources):
    filtered = [a for a in pages["passing"].all("td") if "s-filtered" in a["class"].split()]
    assert filtered
    assert "left out" in squares.MEANINGS[squares.FILTERED]
    assert len([a for a in pages["empty"].all("td") if "s-untested" in a["class"].split()]) == sum(
        len(row.element_types) for row in CATALOG.values()
    )
    style = re.search(r"<style>(.*?)</style>", sources["full"], re.DOTALL)[1]
    looks = [
        re.search(rf"\.s-{s} {{(.*?)}}", style)[1] for s in ("filtered", "untested", "unsupported")
    ]
    assert len(set(looks)) == 3


def test_cell_shows_error_against_budget():
    cell = ("tanh", "f32", "cpu")
    failing = synthetic.failure(cell, 1, Verdict.INACCURATE, worst_ulp=2.125, budget_ulp=3.0)
    for worst, budget, shown, share in (
        (2.125, 3.0, "2.1/3", 2.125 / 3), (0.0, 0.0, "0/0", None), (1.0, 0.0, "1/0", 1.0),
        (250_000.0, 3.0, "2e5/3", 1.0), (1127.0, 16.0, "1e3/16", 1.0),
        (99.5, 999.0, "100/999", 99.5 / 999),
        (math.inf, 3.0, "∞/3", 1.0), (math.nan, 3.0, "NaN/3", 1.0),
        (None, None, "", None), (None, 2.0, "0/2", None),
    ):  # fmt: skip
        record = replace(failing, worst_ulp=worst, budget_ulp=budget)
        found = squares.square_of(CellResults(*cell, record.verdict, (record,)))
        assert (found.accuracy, found.share) == (shown, share)
    exceeding = (replace(failing, worst_ulp=4.0, budget_ulp=16.0), replace(failing, worst_ulp=2.0))
    assert squares.square_of(CellResults(*cell, "inaccurate", exceeding)).accuracy == "2/3"


def test_every_failure_is_found_by_its_id_or_counted(runs, pages):
    seen = view.build(runs["full"])
    failing = {record.id for record in runs["full"].records if record.verdict.fails}
    assert {f.record.id for group in seen.groups for f in group.findings} >= failing
    listed = html._listed(seen.groups)
    for one in listed:
        assert len(one.whole) + len(one.brief) + one.omitted == len(one.group.findings)
    assert len(pages["full"].with_class("finding")) == sum(
        len(one.whole) + len(one.brief) for one in listed
    )
    statuses = html._statuses(seen)
    assert [status.name for status in statuses] == [findings.NEW, findings.KNOWN, findings.OPEN]
    assert [status.is_open for status in statuses] == [True, False, False]
    assert [one for status in statuses for one in status.listed] == listed


def test_programs_are_shown_in_the_pretty_form_and_kept_in_the_generic_one(tmp_path):
    html.render(synthetic.run("full"), tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8", errors="replace")
    pretty = re.findall(r'<pre class="pretty"[^>]*>(.*?)</pre>', page, re.DOTALL)
    generic = re.findall(r'<pre class="generic"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert len(pretty) == len(generic) > 10
    assert any(re.search(r"%\w+ = stablehlo\.add %", shown) for shown in pretty)
    assert all("&#34;stablehlo." in shown for shown in generic)
    assert "<pre tabindex" in page  # what MLIR refuses has no pretty form


def test_without_a_worker_programs_stay_as_they_are(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise NotAvailable("no process can be started")

    monkeypatch.setattr("reports.programs.LocalExecutor", refuse)
    assert pretty_forms(["module {}"]) == {}


def test_divergence_shows_program_inputs_bits_reason_and_replay(sources):
    source = sources["full"]
    for part in (
        "hlo-conformance replay add-f16-cpu-", "stablehlo.add", "1.1754944e-38", "0x00800000",
        "0x3e13cd3a", "0x3e13cd3c", "over budget",
        'href="https://github.com/openxla/xla/issues/1" rel="noreferrer noopener"',
        "rounded twice", "signal 6", "argument 0, f32[1, 2]", "0x80000000", "old-entry",
    ):  # fmt: skip
        assert part in source, part


def test_huge_class_is_cut_and_keeps_some_of_each_type():
    cells = [("add", of, "cpu") for of in ("bf16", "f16", "f32")]
    records = [
        synthetic.failure(cell, index, Verdict.DIVERGENT, kind="NaN")
        for cell in cells
        for index in range(400)
    ]
    (listed,) = html._listed(view.build(synthetic.run_of(records, {}, cells)).groups)
    assert len(listed.whole) == html.FULL_PER_GROUP
    assert len(listed.brief) == html.IDS_PER_GROUP
    assert listed.omitted == 1_200 - len(listed.whole) - len(listed.brief)
    assert [f.record.element_type for f in listed.whole[:3]] == ["bf16", "f16", "f32"]


def test_op_sections_give_rule_source_and_constraints(sources):
    for row in CATALOG.values():
        section = re.search(rf'id="op-{row.name}".*?</dl>', sources["full"], re.DOTALL)[0]
        for part in (row.family, row.tolerance.text[:20], ", ".join(row.constraints)):
            assert part.replace("&", "&amp;") in section


def test_full_report_is_small_and_the_same_every_time(runs, sources):
    assert len(sources["full"].encode()) < 6_000_000
    assert html.html(runs["nasty"]) == sources["nasty"]
    assert html.html(runs["passing"]) == sources["passing"]


def test_two_backends_get_a_matrix_each():
    run = synthetic.passing_run()
    twice = [replace(record, backend="gpu") for record in run.records]
    both = (*run.planned, *((op, of, "gpu") for op, of, _ in run.planned))
    made = synthetic.run_of([*run.records, *twice], run.errors, both, backends=("cpu", "gpu"))
    page = Page(html.html(made))
    assert [a["data-backend"] for a in page.with_class("matrix")] == ["cpu", "gpu"]
    assert view.build(made).headline == "The cpu and gpu backends conform in every cell tested."
    assert any(a.get("id") == "backend" for a in page.all("select"))


def test_render_writes_all_three(tmp_path, runs):
    for renderer, name in ((html, "index.html"), (junit, "junit.xml"), (markdown, "summary.md")):
        renderer.render(runs["nasty"], tmp_path)
        assert (tmp_path / name).read_text(encoding="utf-8")


SERIES = plots.Series("f32", (9, 5, 0, 0, 2, *[0] * 8, 1), ((1.0, 0.5), (-2e30, -4.0)), 3.0)


def test_pictures_are_small_themed_and_well_formed():
    for picture in (plots.histogram_svg([SERIES, SERIES], "a"), plots.scatter_svg(SERIES, "b")):
        ET.fromstring(picture)
        assert len(picture) < 9_000
        picture = re.sub(r'aria-label="[^"]*"', "", picture)
        assert not re.search(r"#[0-9a-f]{6}|<metadata|<!--|font-family|xlink|\d\.\d{2,}", picture)
        assert {"var(--ink)", "var(--plot)", "var(--bad)"} <= set(
            re.findall(r"var\(--\w+\)", picture)
        )
    assert plots.scatter_svg(SERIES, "b") == plots.scatter_svg(SERIES, "b")


def test_pictures_say_in_words_what_they_show():
    assert "f32 52.94 % of 17 exact, 3 over budget" in plots.histogram_svg([SERIES], "a")
    assert "2 inputs, worst 4 ulp, budget ±3 ulp" in plots.scatter_svg(SERIES, "b")
    label = plots.scatter_svg(replace(SERIES, label='<a"&'), "c")
    assert 'aria-label="Error against input, &lt;a&quot;&amp;: ' in label


@pytest.mark.parametrize(
    "points",
    [
        [], [(0.0, 0.0), (0.0, 0.0)], [(math.nan, 1.0), (1.0, math.inf)],
        [(5e-324, 1.0), (1e308, -1.0)],
        [(-3.0, 0.0), (-2.0, 0.0)], [(1.0, 1e15), (2.0, -1e300)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("budget", [None, 0.0, 0.5, 1e6])
def test_scatter_copes_with_odd_points(points, budget):
    picture = plots.scatter_svg(plots.Series("f64", (0,) * 14, tuple(points), budget), "x")
    ET.fromstring(picture)
    assert "nan" not in picture.lower()


def test_labels_of_a_picture_are_not_rounded():
    picture = plots.scatter_svg(replace(SERIES, budget=0.125), "b")
    assert ">budget ±0.125 ulp<" in picture
    assert ">0.125<" in picture


def test_thinning_keeps_the_worst():
    points = [(float(x), float(x % 7)) for x in range(5_000)] + [(0.5, -99.0)]
    kept = plots._thinned(points)
    assert len(kept) <= plots.POINTS_PER_PICTURE
    assert (0.5, -99.0) in kept
    assert kept == sorted(kept)


def test_bins_are_over_only_beyond_the_budget():
    last = len(HISTOGRAM_EDGES)
    assert [plots._is_over(b, 2.0) for b in (0, 1, 2, 3, last)] == [False, False, False, True, True]
    assert not plots._is_over(0, 0.0)
    assert plots._is_over(1, 0.0)
    assert not plots._is_over(last, None)
    assert plots.sparse([4, 0, 2, *[0] * (last - 4), 1, 3]) == {"0": 4, "2": 2, "1k": 1, ">": 3}


def test_errors_without_values_give_no_picture():
    run = synthetic.passing_run()
    cell = view.build(run).cells[run.planned[0]]
    assert view.errors_of(replace(run, errors={run.planned[0]: Errors()}), cell) is None


def test_junit_counts_and_kinds(tmp_path, runs):
    junit.render(runs["full"], tmp_path)
    parsed = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    totals = view.build(runs["full"]).totals
    assert parsed.tests == totals.planned
    assert parsed.skipped == totals.unsupported + totals.untested
    suites = list(parsed)
    assert [suite.name for suite in suites] == list(CATALOG)
    cases = [case for suite in suites for case in suite]
    assert len(cases) == totals.planned
    failing = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
    assert len(failing) == totals.cells_new
    assert sum(len(case.result) for case in failing) == totals.new
    skipped = {r.type for c in cases for r in c.result if isinstance(r, Skipped)}
    assert skipped == {"unsupported", "untested"}
    known = next(
        c for c in cases if "known by f8-rounding" in (c.system_out or "") and not c.result
    )
    assert known.name
    assert "replay: hlo-conformance replay" in failing[0].result[0].text


def test_junit_of_hostile_text_is_valid_xml(tmp_path, runs):
    junit.render(runs["nasty"], tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    words = "".join(root.itertext())
    assert "]]>" in words
    assert "\\u001b[31m" in words
    assert max(len(failure.text) for failure in root.iter("failure")) < 2 * junit.TEXT_LIMIT
    assert {case.get("name") for case in root.iter("testcase")} >= {"tanh[f32]@cpu"}


def test_junit_leaves_out_what_was_filtered(tmp_path, runs):
    junit.render(runs["passing"], tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == [
        "add[bf16]@cpu", "add[f32]@cpu", "exponential[bf16]@cpu", "exponential[f32]@cpu",
    ]  # fmt: skip


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


def test_replay_command_names_the_folder_where_needed(tmp_path):
    command_line = Path(importlib.util.find_spec("conformance.cli").origin).read_text("utf-8")
    assert f'DEFAULT_OUT = Path("{findings.DEFAULT_OUT}")' in command_line
    assert findings.db_of(findings.DEFAULT_OUT) == findings.db_of(tmp_path / "elsewhere") == ""
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / "results.sqlite").touch()
    run = synthetic.run("nasty")
    for renderer, name in ((html, "index.html"), (junit, "junit.xml")):
        renderer.render(run, folder)
        assert "tanh-f32-cpu-0 --db " in (folder / name).read_text(encoding="utf-8")
    command = view.build(run, findings.db_of(folder)).groups[0].findings[0].command
    assert command.endswith(f" --db '{folder}'")


def test_words_for_a_shell_are_quoted_where_needed():
    assert text.exposed("add-f32-cpu-17") == "add-f32-cpu-17"
    assert text.exposed("a; rm -rf 'x'") == "'a; rm -rf '\\''x'\\'''"
    assert text.exposed("") == "''"
    assert "\n" not in text.exposed("a\nb")


def test_anchors_are_plain_and_differ():
    assert text.unique(["a", "a", "b", "a", "a.2"]) == ["a", "a.2", "b", "a.3", "a.2.2"]
    assert text.slug("complex<f32>/x y") == "complex_f32_x_y"
    assert text.slug("<>") == "x"

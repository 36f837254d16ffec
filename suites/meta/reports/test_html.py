"""The page, rendered from made-up runs: complete, safe, deterministic, right in its counts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from reports import findings, html, text, view
from reports.page import divergences
from suites.meta.support import synthetic_run as synthetic

RUNS, NASTY = synthetic.RUNS, synthetic.NASTY


VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and whether its tags are balanced."""

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
def sources():
    return {name: synthetic.page(name) for name in RUNS}


@pytest.fixture(scope="module")
def pages(sources):
    return {name: Page(source) for name, source in sources.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_page_is_balanced_and_its_ids_are_unique(pages, name):
    page = pages[name]
    assert page.unbalanced == []
    assert page.open == []
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for attributes in page.all("a"):
        target = attributes["href"]
        assert not target.startswith("#") or "=" in target or target[1:] in ids


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
    assert all(re.match(r"#", a["href"]) for a in page.all("a"))
    assert source.count("</script>") == 2
    assert "<!--" not in source
    assert "{{ 7 * 7 }}" in "".join(page.words)
    assert "49" not in page.words
    assert not any(c < " " and c not in "\n\t" for c in source)
    assert not {"\u2028", "\u202e", "\ufffe"} & set(source)
    assert "\\u202e reversed" in source
    data = data_of(source)
    assert [group["link"] for group in data["groups"] if "link" in group] == []
    assert NASTY[2] in [group.get("inert") for group in data["groups"]]


def test_only_web_links_become_links():
    assert text.web_link("https://example.org/a?b=c#d") == "https://example.org/a?b=c#d"
    for refused in (
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//host/x", "https://",
        "http://[", "java\nscript:alert(1)", "https://a b", " https://x", "file:///etc/passwd", "",
    ):  # fmt: skip
        assert text.web_link(refused) == "", refused


@pytest.mark.parametrize("given", [*synthetic.NASTY, "\u2029", "a&b"])
def test_embedded_data_survives_and_cannot_end_its_element(given):
    kept = html.embed_json({given: [given]})
    assert not set("<\u2028\u2029") & set(kept)
    assert json.loads(kept) == {given: [given]}


@pytest.mark.parametrize("name", RUNS)
def test_totals_add_up_and_equal_summary_json(runs, name):
    run, totals = runs[name], view.build(runs[name]).totals
    expected = run.summary["denominators"]
    assert totals.cells == totals.planned + totals.filtered == expected["cells"]
    untried = totals.unsupported + totals.not_judged + totals.untested
    assert totals.planned == totals.tested + untried
    assert totals.planned == expected["cells_planned"]
    assert totals.tested == expected["cells_tested"]
    assert totals.untested == expected["cells_untested"]
    assert totals.unsupported == expected["cells_unsupported"]
    assert totals.not_judged == expected["cells_not_judged"]
    assert totals.filtered == expected["cells_filtered_out"]
    assert (totals.ops, totals.ops_tested) == (expected["ops"], expected["ops_tested"])
    assert sum(number for _, number in totals.by_verdict) == totals.cases == len(run.records)
    assert totals.new == sum(record.is_new_failure for record in run.records)


@pytest.mark.parametrize(
    ("name", "status", "headline"),
    [
        ("full", "fails", "The cpu backend does not conform: "),
        ("passing", "conforms", "The cpu backend conforms in all 4 cells tested."),
        ("empty", "empty", "Nothing was tested, so this says nothing about conformance."),
    ],
)
def test_headline_says_whether_the_backend_conforms(runs, pages, name, status, headline):
    seen = view.build(runs[name])
    assert seen.status == status
    assert seen.headline.startswith(headline)
    assert f"status-{status}" in next(iter(pages[name].all("h1")))["class"]


def test_every_failure_is_found_by_its_id_or_counted(runs, sources):
    seen = view.build(runs["full"])
    failing = {record.id for record in runs["full"].records if record.verdict.fails}
    assert {f.record.id for group in seen.groups for f in group.findings} >= failing
    listed = divergences.list_groups(seen.groups)
    groups = data_of(sources["full"])["groups"]
    for one, shown in zip(listed, groups, strict=True):
        assert len(one.whole) + len(one.brief) + one.omitted == len(one.group.findings)
        assert len(shown["whole"]) + len(shown["brief"]) + shown["omitted"] == shown["count"]
    statuses = [divergences.STATUSES[group["status"]] for group in groups]
    assert list(dict.fromkeys(statuses)) == [findings.NEW, findings.KNOWN, findings.OPEN]


def test_divergence_shows_program_inputs_bits_reason_and_replay(sources):
    data = data_of(sources["full"])
    said = json.dumps(data, ensure_ascii=False)
    for part in (
        "stablehlo.add", "1.1754944e-38", "0x00800000", "0x3e13cd3a", "0x3e13cd3c", "over budget",
        '"link": "https://github.com/openxla/xla/issues/1"', "rounded twice", "signal 6",
        "argument 0, f32[1, 2]", "0x80000000",
    ):  # fmt: skip
        assert part in said, part
    assert "old-entry" in sources["full"]
    assert data["replay"] == ["hlo-conformance replay ", ""]


def test_first_screen_shows_lost_batches_left_out_cases_and_the_cache(runs):
    source = html.html(runs["partial"])
    cpu, gpu = re.findall(r'<small class="remarks">(.*?)</small>', source)
    assert text_of(cpu) == (
        "1 lost batch; the budget left out up to 42 cases of 2 cells; 3 of 9 cases from the cache"
    )
    assert text_of(gpu) == "1 lost batch, known"
    links = re.findall(r'href="(.*?)"', cpu + gpu)
    assert links == ["#batches", "#matrix=cpu&amp;is=untested", "#batches"]
    aside = source[source.index('id="batches"') :]
    new, known, refused, incident = map(text_of, re.findall(r"<li>(.*?)</li>", aside)[:4])
    assert new.endswith("New, so the run fails.")
    assert known.endswith("Known by slow-batch: A batch may wait for a lock.")
    assert refused.endswith("No failure: the backend says that it does not implement the batch.")
    assert incident == "a defect of the harness"
    for name in ("full", "passing"):
        assert 'class="remarks"' not in synthetic.page(name)


def text_of(markup: str) -> str:
    """Return markup without its tags."""
    return re.sub("<.*?>", "", markup)


def test_programs_are_shown_in_the_pretty_form_and_stored_in_the_generic_one(tmp_path):
    html.render(synthetic.run("full"), tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8", errors="replace")
    programs = data_of(page)["programs"]
    both = [program for program in programs if len(program) == 4]
    assert len(both) > 5
    assert any(re.search(r"%\w+ = stablehlo\.add %", pretty) for pretty, *_ in both)
    assert all('"stablehlo.' in generic for _, _, generic, _ in both)
    assert any(len(program) == 2 for program in programs)  # MLIR refuses it: no pretty form

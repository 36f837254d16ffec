"""Every page: its commands are run or parsed, its links and the files that it names exist."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from conformance.backends.versions import libraries_of
from docs.tools.generated import PAGES_BY_NAME
from docs.tools.links import dead_links
from docs.tools.pages import (
    PAGES,
    ROOT,
    PageError,
    blocks,
    commands,
    run_page,
)
from docs.tools.parsing import parse_all

OWN = [page for page in sorted(PAGES.glob("*.md")) if page.name not in PAGES_BY_NAME]
"""The pages of docs/ that are written by hand."""

PROSE = [ROOT / "README.md", *OWN]
RUN = [page for page in PROSE if commands(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_of_a_page_print_the_stated_output(
    page: Path, tmp_path: Path, command: list[str]
) -> None:
    if page.name == "gate.md" and not libraries_of("xla-cpu-pjrt"):
        pytest.skip("xla-cpu-pjrt is not installed: it is there on Linux on x86-64 alone")
    run_page(page, tmp_path, command)


@pytest.mark.slow
def test_commands_of_the_generated_page_of_schemas_print_the_stated_output(
    tmp_path: Path, command: list[str]
) -> None:
    page = tmp_path / "schema.md"
    page.write_text(PAGES_BY_NAME[page.name](), encoding="utf-8")
    assert run_page(page, tmp_path, command) > 0


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_every_command_on_a_page_is_parsed(page: Path) -> None:
    parse_all(page.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_every_command_on_a_generated_page_is_parsed(name: str) -> None:
    parse_all(text_of_generated(name))


@functools.cache
def text_of_generated(name: str) -> str:
    return PAGES_BY_NAME[name]()


GENERATED = {name: functools.partial(text_of_generated, name) for name in PAGES_BY_NAME}


@pytest.mark.parametrize(
    "page", [*PROSE, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name
)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(dead_links(page, page.read_text(encoding="utf-8"), GENERATED)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_BY_NAME)
def test_every_link_of_a_generated_page_leads_somewhere(name: str) -> None:
    assert list(dead_links(PAGES / name, text_of_generated(name), GENERATED)) == []


@pytest.mark.parametrize(
    ("folder", "link"),
    [
        (PAGES, "no-such-page.md"),
        (PAGES, "made.md#no-such-heading"),
        (PAGES, "#no-such-heading"),
        (ROOT, "docs/made.md"),
        (ROOT, "docs/index.md#no-such-heading"),
    ],
)
def test_a_dead_link_is_found(folder: Path, link: str) -> None:
    text = f"# A page\n\n[b](#a-page) [c](https://x.org) [d]({link})\n\n```text\n[e](f.md)\n```\n"
    made = {"made.md": lambda: "# Made `here`\n"}
    assert list(dead_links(folder / "a.md", text, made)) == [link]
    right = text.replace(link, "docs/index.md" if folder == ROOT else "made.md#made-here")
    assert list(dead_links(folder / "a.md", right, made)) == []


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_commands_are_in_blocks_that_are_run(page: Path) -> None:
    """A block without `$` in front of its commands would escape the tests."""
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language, f"{page.name}:{block.line}: the block has no language"
        if block.language != "console" and not block.title:
            loose = [row for row in block.text.splitlines() if row.startswith("hlo-conformance ")]
            assert not loose, f"{page.name}:{block.line}: write a console block"


# The programs behind these tests

PAGE = """
```toml title="one.toml"
a = 1
```

<!-- a note -->
<!-- not run: it takes eight hours -->
```console
$ hlo-conformance fuzz \\
    --budget 8h
```

<!-- narrowed: --op add -->
```console
$ cat one.toml
a = 1
$ false   # exit code 1
```
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("# exit code 1", ""), "exit code 1, the page states 0"),
        (("$ false   # exit code 1", "$ true   # exit code 1"), "exit code 0, the page states 1"),
        (("one.toml\na = 1", "one.toml\na = 2"), "the page shows 'a = 2'"),
    ],
)
def test_a_page_with_a_wrong_statement_fails(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (tmp_path / "right").mkdir()
    assert run_page(page, tmp_path / "right") == 2
    assert change[0] in PAGE
    page.write_text(PAGE.replace(*change))
    (tmp_path / "wrong").mkdir()
    with pytest.raises(PageError, match=message):
        run_page(page, tmp_path / "wrong")


NAMED_PATH = re.compile(
    r"`((?:conformance|generators|reference|reports|suites|docs|benchmarks)/[\w./-]*)`"
)


@pytest.mark.parametrize("page", [*PROSE, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = NAMED_PATH.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []

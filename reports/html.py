"""The HTML report: one offline file that shows whether a backend conforms, and why not.

A content security policy forbids any download. Text from programs, messages and names is escaped
everywhere: by autoescaping in the markup, by \\u escapes in the embedded data, by `textContent` in
the script. The first screen is markup; the script draws the rest from the data on demand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from conformance.gate.baselines.comparison import Comparison
from conformance.judging.messages import additional_failure_line
from conformance.results.remarks import other_incidents
from conformance.results.summary import RunData
from reports import findings, squares, text, view
from reports.context import NOTHING, Context
from reports.page import divergences, first_screen
from reports.page.context import context_data
from reports.page.data import data_of
from reports.page.divergences import ListedGroup
from reports.programs import pretty_forms
from reports.view import View

if TYPE_CHECKING:  # it loads the sweep, and a report of none needs it not
    from conformance.outputs.sweep import Sweep
    from reports.sweeps.tables import Tables


def render(
    run: RunData,
    out: Path,
    comparison: Comparison | None = None,
    at: Path | None = None,
    context: Context = NOTHING,
) -> None:
    """Write `out`/index.html, with the changes since a baseline if there is a comparison.

    `at` is the folder in which `replay` finds the run, if it is not `out`.

    Raises:
        OSError: if the folder cannot be written.
    """
    write(view.build(run, findings.db_of(at or out), comparison), out, context)


def write(seen: View, out: Path, context: Context = NOTHING) -> None:
    """Write `out`/index.html from the view of a run.

    Raises:
        OSError: when the folder cannot be written.
    """
    groups = divergences.list_groups(seen.groups)
    with ThreadPoolExecutor(1) as beside:  # a worker prints programs while we gather the rest
        pretty = beside.submit(pretty_forms, divergences.programs_of(groups))
        page = _html(seen, groups, pretty.result, context)
    # a lone surrogate is no text: it becomes its escape, in the markup and in the data alike
    (out / "index.html").write_bytes(page.encode("utf-8", "backslashreplace"))


def html(
    run: RunData,
    db: str = "",
    comparison: Comparison | None = None,
    context: Context = NOTHING,
) -> str:
    """Return the report as one HTML document, with programs as they are stored.

    `db` is the folder for `replay`.
    """
    seen = view.build(run, db, comparison)
    return _html(seen, divergences.list_groups(seen.groups), dict, context)


def _html(
    seen: View, groups: list[ListedGroup], pretty: Callable[[], Mapping[str, str]], context: Context
) -> str:
    """Return the page. Programs have their `pretty` forms, which are computed last."""
    return template("index.html").render(
        view=seen,
        run=seen.run,
        totals=seen.totals,
        screen=first_screen.first_screen(seen),
        batches=first_screen.batches(seen),
        failing_batches=sum(batch.verdict.fails for batch in seen.run.lost_batches),
        incidents=other_incidents(seen.run),
        facts=first_screen.run_facts(seen),
        strip=first_screen.cells_by_state(seen),
        choices=first_screen.filter_choices(seen),
        context=context,
        sweeps=None if context.sweeps is None else _sweep_tables(context.sweeps),
        data=embed_json(data_of(seen, groups, pretty) | context_data(context)),
    )


def _sweep_tables(sweeps: Sequence[Sweep]) -> list[Tables]:
    """Return the tables of sweeps; their module is loaded only for a report of sweeps."""
    from reports.sweeps.tables import tables_of

    return tables_of(sweeps)


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of the pages, with common filters, glyphs and escaping."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        finalize=_remove_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "count": text.count, "ulp": text.ulp, "unit": squares.unit_of, "plural": text.plural,
        "visible": text.escape_controls, "clip_line": text.clip_line,
        "beside": additional_failure_line, "slug": text.slug,
        "words": squares.words, "duration": text.duration,
        "web_link": text.web_link, "clip": text.split_text, "fragment": text.fragment,
    }  # fmt: skip
    environment.filters.update(filters)
    constants: dict[str, Any] = {
        "glyphs": squares.GLYPHS, "meanings": squares.MEANINGS,
        "message_limit": text.MESSAGE_LIMIT, "program_limit": text.PROGRAM_LIMIT,
    }  # fmt: skip
    environment.globals.update(constants)
    return environment.get_template(name)


def _remove_controls(value: Any) -> Any:
    """Remove control characters; every {{ ... }} passes through this."""
    is_markup = hasattr(value, "__html__")
    return text.escape_controls(value) if isinstance(value, str) and not is_markup else value


def embed_json(value: Any) -> str:
    """Return JSON that is safe inside a <script> element: without < and line separators."""
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain

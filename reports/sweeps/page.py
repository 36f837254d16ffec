"""The page of a sweep: one offline HTML file, in the look of a run's report.

Worst errors stand first, op by element type; then failures, each function in detail, and the errors
of functions of one argument over the whole axis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import markupsafe
import msgspec

from conformance.errors import UsageError
from conformance.outputs.sweep import Sweep, SweptFunction
from conformance.results.store import FILE_NAME as RESULTS
from conformance.sweep.saving import AXIS, SUMMARY
from conformance.sweep.summary import WHOLE
from conformance.text import join_versions
from reference.ir.types import ELEMENT_TYPES
from reports import text
from reports.html import template
from reports.sweeps.curves import IN_A_PAGE, Curve, errors_by_exponent, exponents_of, picture
from reports.sweeps.tables import error_matrix, failures_of, numbers_of, tried_of

PAGE, BESIDE_A_RUN = "index.html", "sweep.html"
"""Names of the page, and of the page in a folder that holds a run, whose report is index.html."""

Axes = Mapping[str, Sequence[tuple[float, float]]]
"""Pairs of argument and error, for each function."""


def write(result: Sweep, folder: Path, out: Path) -> Path:
    """Write the page of the sweep in a folder into `out`; return its path.

    Raises:
        UsageError: when a folder cannot be read or written.
    """
    path = page_of(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        axes: Axes = json.loads((folder / AXIS).read_text("utf-8"))
        path.write_bytes(html(result, axes).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def page_of(folder: Path) -> Path:
    """Return the path of a sweep's page in a folder."""
    return folder / (BESIDE_A_RUN if (folder / RESULTS).is_file() else PAGE)


def html(result: Sweep, axes: Axes) -> str:
    """Return the page as one HTML document."""
    functions = result.functions
    failures = failures_of(functions)
    new = sum(failure.is_new for failure in failures)
    tried = tried_of(functions)
    is_whole = result.shard == WHOLE
    types, rows = error_matrix([(one, is_whole) for one in tried])
    return template("sweep.html").render(
        headline=_headline(result, new, len(tried)),
        status="fails" if new else "passes" if tried else "empty",
        values=sum(one.values for one in tried),
        functions=tried,
        described=[_describe_function(one, is_whole=is_whole) for one in tried],
        untried=[function for function in functions if function not in tried],
        new=new,
        known=len(failures) - new,
        failures=failures,
        types=types,
        rows=rows,
        pictures=list(_pictures(functions, axes)),
        facts=_facts(result),
        command=result.command,
    )


def _headline(result: Sweep, new: int, tried: int) -> str:
    name = result.backend.name
    if new:
        return f"{text.plural(new, 'new class', 'new classes')} of failures on {name}"
    if not tried:
        return f"Nothing was swept on {name}"
    return f"No unknown divergence on {name} in {text.plural(tried, 'function')}"


def _facts(result: Sweep) -> list[tuple[str, str]]:
    backend = result.backend
    versions = join_versions(backend.versions.items())
    about = (backend.platform, backend.device, versions)
    began = result.started.replace("T", " ").replace("+00:00", " UTC")
    shared = join_versions(sorted(result.versions.items()))
    return [
        (f"Backend {backend.name}", " · ".join(filter(None, about))),
        ("Versions", shared),
        ("Samples", f"at most {result.sample:,} arguments, seed {result.seed}"),
        *([] if result.shard == WHOLE else [("Part", result.shard)]),
        ("Start, time", f"{began}; {text.duration(result.seconds)}"),
    ]


def _describe_function(one: SweptFunction, *, is_whole: bool) -> dict[str, Any]:
    """Return the texts for a function's row."""
    share = 100 * one.correctly_rounded / max(one.values, 1)
    is_all = one.correctly_rounded == one.values
    return {
        "name": one.name,
        "values": f"{'all ' if is_whole and one.arguments == 'all' else ''}{one.values:,}"
        + ("" if one.values == one.planned else f" of {one.planned:,}"),
        "share": "100 %" if is_all else f"{min(share, 99.9999):.4f} %",
        "worst": "" if one.worst_ulp is None else text.worst_error(one.worst_ulp),
        "at": "" if one.worst is None else numbers_of(one.worst),
        "budget": "" if one.budget_ulp is None else f"{one.budget_ulp:g}",
        "order": "–" if one.inversions is None else f"{one.inversions:,}",
        "symmetry": "–" if one.asymmetries is None else f"{one.asymmetries:,}",
    }


def _pictures(
    functions: Sequence[SweptFunction], axes: Axes
) -> Iterator[tuple[str, markupsafe.Markup]]:
    """Yield name and picture of each function whose errors over the axis are known."""
    for function in functions:
        axis, element_type = axes.get(function.name, ()), ELEMENT_TYPES[function.element_type]
        if not axis or not element_type.is_float:
            continue
        exponents = exponents_of(element_type)
        negative, positive = (errors_by_exponent(axis, sign, exponents) for sign in (-1.0, 1.0))
        kind = "all" if function.arguments == "all" else "a sample of"
        curve = Curve(f"{kind} {function.values:,} values", "var(--plot)", negative, positive)
        title = f"Errors of {function.name} in ulp"
        drawn = picture(title, [curve], exponents, function.budget_ulp, IN_A_PAGE)
        yield function.name, markupsafe.Markup(drawn)  # noqa: S704 - `picture` escapes what it is given


def read(folder: Path) -> Sweep:
    """Return the results in a sweep's folder.

    Raises:
        UsageError: when it holds none, or cannot be read.
    """
    path = folder / SUMMARY
    try:
        return msgspec.json.decode(path.read_bytes(), type=Sweep)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror or error}; finish the sweep by its command"
        ) from error
    except msgspec.MsgspecError as error:
        said = f"{path} was not written by `sweep` of this version: {error}"
        raise UsageError(f"{said}; repeat that sweep with --fresh") from error

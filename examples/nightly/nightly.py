#!/usr/bin/env python3
"""Test the newest jax on PyPI: a run, a campaign, sweeps of the ops that changed, and a page.

    python3 examples/nightly/nightly.py FOLDER

The folder has the environment, a folder for each night, the corpus of all campaigns, and
index.html, which lists the nights. The command may be repeated at any time: it resumes interrupted
steps and skips finished steps. A night is a date and a version of jax. It exits with 1 when the run
or the campaign found something that no expectation matches, or when something was lost since the
night before. Options change what is tested; those of a quick try are

    --cases "--profile smoke --op tanh" --budget 30s

Needs Python 3.11 or later, and nothing else: cron, a systemd timer or a CI job can call it.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import shlex
import subprocess
import sys
import venv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
DONE = "done.json"
"""The file in which a finished night stores its exit codes."""

NO_SWEEP = 2
"""The exit code of `sweep` for an op that cannot be swept."""

MOST_NIGHTS = 30
"""Largest number of earlier nights in a report's history."""


def options() -> argparse.Namespace:
    """Return the parsed options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="the folder of all nights")
    add("--backend", default="cpu", help="the backend, as `run` takes it (default: cpu)")
    add("--cases", default="--profile standard", help="options of `run` that choose cases")
    add("--budget", default="1h", help="time for the campaign; 0s for none (default: 1h)")
    add("--sweep", default="--sample 262144", help="options of `sweep` on ops that changed")
    add("--most-sweeps", type=int, default=20, help="ops that are swept at most (default: 20)")
    add("--jax", default="jax", help="what pip installs or upgrades (default: jax)")
    add("--source", default=str(SOURCE), help="hlo-conformance, as pip takes it")
    add("--python", type=Path, help="use this environment as it is, and install nothing")
    add("--date", help="the night (default: today, in UTC)")
    return parser.parse_args()


def interpreter_of(folder: Path) -> Path:
    """Return the Python of the environment in the folder of all nights."""
    return folder / "environment" / "bin" / "python"


def environment(asked: argparse.Namespace) -> Path:
    """Return the Python of an environment with the newest jax."""
    if asked.python is not None:
        return asked.python
    python = interpreter_of(asked.folder)
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade"]
    subprocess.run([*install, asked.jax, asked.source], check=True)
    return python


def version_of(python: Path) -> str:
    """Return the version of jax in an environment."""
    words = "from importlib.metadata import version; print(version('jax'))"
    found = subprocess.run([python, "-c", words], check=True, capture_output=True, text=True)
    return found.stdout.strip()


class Night:
    """A night: its folder, and the command in its environment."""

    def __init__(self, folder: Path, python: Path) -> None:
        """Work in this folder."""
        self.folder, self._python = folder, python
        self.codes: dict[str, int] = {}

    def call(self, step: str, *arguments: str | Path) -> int:
        """Run `hlo-conformance` and return its exit code, also kept under the name of the step."""
        command = [self._python, "-m", "conformance", *arguments]
        print(f"-- {step}: {shlex.join(map(str, arguments))}", flush=True)
        code = subprocess.run(command, check=False, env=os.environ).returncode
        if code == 130:
            sys.exit(130)
        self.codes[step] = code
        return code


def read(path: Path) -> dict[str, Any]:
    """Return a JSON file's object; empty when there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def changed_ops(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the ops with a cell whose verdict, refusals or worst error differ between two runs."""

    def cells(summary: dict[str, Any]) -> dict[tuple[str, str, str], tuple[Any, ...]]:
        return {
            (one["op"], one["element_type"], one["backend"]): (
                one["verdict"], one["unsupported"], one["worst_ulp"],
            )
            for one in summary.get("cells", [])
        }  # fmt: skip

    old, new = cells(before), cells(now)
    return sorted({key[0] for key in old.keys() & new.keys() if old[key] != new[key]})


def nights_of(folder: Path) -> list[Path]:
    """Return the folders of all nights that ended, the newest first."""
    return sorted((one.parent for one in folder.glob(f"nights/*/{DONE}")), reverse=True)


def work(asked: argparse.Namespace, night: Night, before: Path | None) -> None:
    """Run the steps of a night."""
    folder, backend = night.folder, ("--backend", asked.backend)
    baseline = () if before is None else ("--baseline", before / "run")
    cases = shlex.split(asked.cases)
    if night.call("run", "run", *backend, *cases, *baseline, "--out", folder / "run") > 1:
        return
    if asked.budget != "0s":
        seed = ("--seed", folder.name[:10].replace("-", ""))
        campaign = ("--budget", asked.budget, "--corpus", asked.folder / "corpus")
        night.call("fuzz", "fuzz", *backend, *seed, *campaign, "--out", folder / "campaign")
    earlier = {} if before is None else read(before / "run" / "summary.json")
    for op in changed_ops(earlier, read(folder / "run" / "summary.json"))[: asked.most_sweeps]:
        out = folder / "sweeps" / op
        sweeping = shlex.split(asked.sweep)
        if night.call(f"sweep {op}", "sweep", op, *backend, *sweeping, "--out", out) == NO_SWEEP:
            del night.codes[f"sweep {op}"]  # only elementwise ops can be swept
        else:
            night.call(f"page of {op}", "report", out)


def report(asked: argparse.Namespace, night: Night, before: list[Path]) -> None:
    """Write the report of a night's run, with the nights before and the findings of campaigns."""
    given: list[str | Path] = [night.folder / "run"]
    if before:
        given += [*(one / "run" / "summary.json" for one in before[:MOST_NIGHTS]), "--history"]
        given += ["--baseline", before[0] / "run"]
    if any((asked.folder / "corpus").glob("*")):
        given += ["--findings", asked.folder / "corpus"]
    night.call("report", "report", *given)


def row(night: Path) -> str:
    """Return the line of the page about a night, with links to its reports."""
    found = read(night / "run" / "summary.json")
    share = ", ".join(
        f"{one['conforms']} of {one['planned']} cells conform" for one in found.get("shares", [])
    )
    new = f"{found.get('new_failures', 0)} new failures"
    lines = [f"<td>{html.escape(night.name)}</td>", f"<td>{share}</td>", f"<td>{new}</td>"]
    pages = [night / "run", night / "campaign", *sorted(night.glob("sweeps/*"))]
    there = [page for page in pages if (page / "index.html").exists()]
    where = night.parents[1]
    links = [
        f'<a href="{(one / "index.html").relative_to(where)}">{html.escape(one.name)}</a>'
        for one in there
    ]
    codes = read(night / DONE)
    bad = ", ".join(f"{step}: {code}" for step, code in codes.items() if code)
    return f"<tr>{''.join(lines)}<td>{' '.join(links)}</td><td>{html.escape(bad) or 'ok'}</td></tr>"


def write_page(folder: Path) -> Path:
    """Write the page that lists all nights, the newest first."""
    rows = "\n".join(map(row, nights_of(folder)))
    heads = "".join(f"<th>{name}</th>" for name in ("night", "run", "new", "pages", "exit codes"))
    page = folder / "index.html"
    page.write_text(
        f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Nights</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }}
td, th {{ text-align: left; padding: 0.2rem 1rem 0.2rem 0; vertical-align: top }}
</style>
<h1>Nights</h1>
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</html>
""",
        encoding="utf-8",
    )
    return page


def main() -> int:
    """Run the remaining steps of a night, and return its exit code."""
    asked = options()
    asked.folder = asked.folder.resolve()
    asked.folder.mkdir(parents=True, exist_ok=True)
    date = asked.date or datetime.now(UTC).date().isoformat()
    begun = sorted(asked.folder.glob(f"nights/{date}-*"))
    python = environment(asked) if asked.python or not begun else interpreter_of(asked.folder)
    folder = asked.folder / "nights" / f"{date}-jax-{version_of(python)}"
    folder.mkdir(parents=True, exist_ok=True)
    before = [one for one in nights_of(asked.folder) if one.name < folder.name]
    night = Night(folder, python)
    if not (folder / DONE).exists():
        work(asked, night, before[0] if before else None)
        if night.codes.get("run", 0) <= 1:
            report(asked, night, before)
        if max(night.codes.values()) <= 1:
            (folder / DONE).write_text(json.dumps(night.codes, indent=1), encoding="utf-8")
    codes = read(folder / DONE) or night.codes
    print(f"page: {write_page(asked.folder)}")
    return max(codes.values())


if __name__ == "__main__":
    sys.exit(main())

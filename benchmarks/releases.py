"""Run `smoke` on the CPU with each release of jax: `python -m benchmarks.releases [--op add]`.

    python -m benchmarks.releases [--version 0.10.0] [--op add] [--jobs 2]

The releases are those of the last eighteen months that PyPI has. Each gets an environment of its
own in the folder of `--out`, which is kept for the next time. Prints a row for each release: new
and known failures, and seconds; or the last line of a run that ended without a report.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.request import urlopen

from packaging.version import Version

from conformance.results.store import Store
from hlo_conformance import OLDEST_JAX

HELD_OUT = frozenset({"0.10.1", "0.11.0"})
"""Releases that a later measurement needs untouched."""

AGE = timedelta(days=548)
ROOT = Path(__file__).parents[1]


def recent_releases(listed: dict[str, list[dict[str, Any]]], now: datetime) -> list[str]:
    """Return the releases of the last eighteen months, oldest first.

    Args:
        listed: the files of each release, as PyPI's JSON has them under `releases`.
        now: the time.
    """
    uploaded = {v: files[0]["upload_time_iso_8601"] for v, files in listed.items() if files}
    recent = [
        Version(version)
        for version, time in uploaded.items()
        if now - datetime.fromisoformat(time) <= AGE and version not in HELD_OUT
    ]
    fit = [v for v in recent if v >= Version(OLDEST_JAX) and not v.is_prerelease]
    return [str(version) for version in sorted(fit)]


def make_environment(version: str, folder: Path) -> Path:
    """Return the Python of an environment with a release of jax, which is made if it is missing."""
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, str(ROOT), f"jax=={version}", f"jaxlib=={version}"], check=True)
        (folder / "complete").touch()
    return python


def run_release(version: str, python: Path, out: Path, options: list[str]) -> str:
    """Run `smoke` with a release; return its row of the table."""
    command = [str(python), "-m", "conformance", "run", "--profile", "smoke", "--backend", "cpu"]
    begun = perf_counter()
    done = subprocess.run(
        [*command, "--fresh", "--out", str(out), *options], check=False, capture_output=True,
        text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=ROOT,
    )  # fmt: skip
    seconds = perf_counter() - begun
    if done.returncode not in (0, 1) or not (out / "index.html").exists():
        return f"{version:10} no report: {(done.stderr.splitlines() or ['no message'])[-1]}"
    failing = [record for record in Store(out / "results.sqlite").records() if record.verdict.fails]
    known = sum(bool(one.known) for one in failing)
    return f"{version:10} {len(failing) - known:6} {known:6} {seconds:8.0f}"


def main() -> None:
    """Run each release, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="append", help="a release; repeatable, default all")
    parser.add_argument("--op", action="append", default=[], help="an op; default all")
    parser.add_argument("--jobs", default="2", help="worker processes of a run")
    parser.add_argument("--out", type=Path, default=Path("releases"), help="folder of all files")
    given = parser.parse_args()
    versions = given.version
    if not versions:
        with urlopen("https://pypi.org/pypi/jax/json", timeout=60) as answer:
            versions = recent_releases(json.load(answer)["releases"], datetime.now(UTC))
    options = ["--jobs", given.jobs, *(word for op in given.op for word in ("--op", op))]
    print(f"{'jax':10} {'new':>6} {'known':>6} {'seconds':>8}")
    out = given.out.resolve()
    for version in versions:
        try:
            python = make_environment(version, out / "environments" / version)
        except subprocess.CalledProcessError:
            print(f"{version:10} cannot be installed for {sys.executable}", flush=True)
            continue
        print(run_release(version, python, out / "runs" / version, options), flush=True)


if __name__ == "__main__":
    main()

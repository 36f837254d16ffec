"""The command line in tests: a small run, and the words of a process."""

from __future__ import annotations

import sys
from pathlib import Path

SMOKE = ("--op", "add", "--element-type", "f32", "--profile", "smoke")


def run_here(call, out: Path, backend: str = "reference", *more: object) -> tuple[int, str, str]:
    """Run one cell, by the fixture `call`."""
    return call("run", "--backend", backend, *SMOKE, "--out", out, "--jobs", 1, *more)


def command(*arguments: object) -> list[str]:
    """Return the words that start the command line in a process of its own."""
    return [sys.executable, "-m", "conformance", *map(str, arguments)]

"""A faulty copy of the PJRT plugin from PyPI."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.backends.versions import libraries_of

PACKAGE = "xla-cpu-pjrt"


def installed_plugin() -> Path:
    """Return the library of the plugin from PyPI; skip the test if it is not installed."""
    found = libraries_of(PACKAGE)
    if not found:
        pytest.skip(f"{PACKAGE} is not installed: it is there on Linux on x86-64 alone")
    return found[0]


def compile_faulty_plugin(library: Path, **faults: str) -> None:
    """Write the library of a plugin with faults, by the names that `faulty_plugin.c` lists; skip
    the test without a C compiler.
    """
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to make a plugin with")
    real = installed_plugin()
    names = {"REAL": str(real), "UNSUPPORTED": "", "ABORTS": "", "WRONG": ""} | faults
    defined = [f'-D{name}="{value}"' for name, value in names.items()]
    source, include = Path(__file__).with_name("faulty_plugin.c"), real.parent / "include"
    given = ["cc", "-shared", "-fPIC", f"-I{include}", *defined, "-o", library, source, "-ldl"]
    subprocess.run(given, check=True)

"""Functions that only workers load: each exists, in the room that calls it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import conformance
from conformance.executors.deferred import Deferred, modules_of

ROOT = Path(conformance.__file__).parent
_DEFERRED = re.compile(r'\bDeferred\(\s*"([\w.]+)", "(\w+)"\s*\)')


def test_deferred_functions_exist_in_the_calling_folder() -> None:
    count = 0
    for file in ROOT.rglob("*.py"):
        room = file.relative_to(ROOT).parts[0]
        for module, name in _DEFERRED.findall(file.read_text()):
            count += 1
            assert callable(Deferred(module, name).function)
            assert module.split(".")[:2] == ["conformance", room], file
    assert count > 15


def test_a_function_is_loaded_when_it_is_called() -> None:
    script = (
        "import sys\n"
        "from conformance.executors.deferred import Deferred, modules_of\n"
        "spell = Deferred('colorsys', 'rgb_to_hls')\n"
        "assert modules_of((spell, modules_of)) == ('colorsys', 'conformance.executors.deferred')\n"
        "assert 'colorsys' not in sys.modules\n"
        "assert spell(1, 1, 1) == (0.0, 1.0, 0.0)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_modules_are_named_once() -> None:
    assert modules_of((modules_of, Deferred.__call__)) == ("conformance.executors.deferred",)

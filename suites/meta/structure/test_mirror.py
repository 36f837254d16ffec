"""The tree of tests mirrors the packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
META = ROOT / "suites" / "meta"
PACKAGES = ("benchmarks", "conformance", "generators", "reference", "reports")

UNTESTED = Path(__file__).parent / "untested.txt"
"""Modules that still lack a test in the mirrored folder. The list only gets shorter."""

EXEMPT = {
    "conformance.__main__": "calls the command line, which test_cli.py runs",
    "reference.unspecified.reasons": "two names of types, which pyright checks",
}
"""Modules that need no test in the mirrored folder, each with the reason."""


def _folders(above: Path) -> set[str]:
    """Return the folders with Python files below these packages."""
    return {
        path.parent.relative_to(above).as_posix()
        for package in PACKAGES
        for path in (above / package).rglob("*.py")
    }


def test_each_folder_of_tests_is_a_folder_of_sources() -> None:
    tests = _folders(META)
    assert len(tests) > 40
    assert not tests - _folders(ROOT)


def test_each_module_is_imported_by_a_test_in_the_mirrored_folder() -> None:
    excused = {*UNTESTED.read_text().split(), *EXEMPT}
    missing = set(untested_modules(ROOT, META))
    assert not missing - excused, "write suites/meta/PACKAGE/.../test_MODULE.py"
    assert not excused - missing, f"tested by now, or gone: remove these from {UNTESTED.name}"


def test_a_test_in_another_folder_does_not_count(tmp_path: Path) -> None:
    for module in ("rooms/door.py", "rooms/lock.py", "rooms/sill.py"):
        _write(tmp_path / "reports" / module, "")
    _write(tmp_path / "meta/reports/rooms/test_door.py", "from reports.rooms import door\n")
    _write(tmp_path / "meta/reports/test_lock.py", "import reports.rooms.lock\n")
    _write(tmp_path / "meta/reports/rooms/helper.py", "import reports.rooms.sill\n")
    assert list(untested_modules(tmp_path, tmp_path / "meta")) == [
        "reports.rooms.lock",
        "reports.rooms.sill",
    ]


def untested_modules(root: Path, tests: Path) -> Iterator[str]:
    """Yield each module of the packages that no `test_*.py` of its mirrored folder imports."""
    for package in PACKAGES:
        for folder in sorted({path.parent for path in (root / package).rglob("*.py")}):
            place = folder.relative_to(root)
            imported = {
                name
                for test in (tests / place).glob("test_*.py")
                for name in _imported_names(ast.parse(test.read_text()))
            }
            for path in sorted(folder.glob("*.py")):
                module = ".".join((place / path.stem).parts)
                if path.name != "__init__.py" and module not in imported:
                    yield module


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a test imports, with the names that it takes from each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

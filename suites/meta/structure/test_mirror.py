"""The tree of tests mirrors the packages."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]
META = ROOT / "suites" / "meta"
PACKAGES = ("conformance", "generators", "reference", "reports")


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

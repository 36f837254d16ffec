"""Builds of one version are distinguished by their sources."""

from __future__ import annotations

from pathlib import Path

from conformance.results.versions import digest_of


def test_a_digest_of_sources_depends_on_paths_and_contents(tmp_path: Path) -> None:
    def of(name: str, files: dict[str, str]) -> str:
        folder = tmp_path / name / "reference"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return digest_of([folder])

    first = of("first", {"ops.py": "1", "ir/types.py": "2"})
    assert of("other place", {"ops.py": "1", "ir/types.py": "2", "notes.txt": "3"}) == first
    others = {
        of("content", {"ops.py": "1", "ir/types.py": "3"}),
        of("path", {"ops.py": "1", "ir/values.py": "2"}),
        of("fewer", {"ops.py": "1"}),
        of("swapped", {"ops.py": "2", "ir/types.py": "1"}),
    }
    assert len(others) == 4
    assert first not in others

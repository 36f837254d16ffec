"""Files whose entries all concern backends that are not tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.gate.other_backends import files_about_others
from conformance.gate.reading import ExpectationError

ENTRY = '[[known]]\nid = "{}"\nop = "add"\nreason = "so it is"\nbackends = ["{}"]\n'


def write(folder: Path, *backends: str) -> str:
    path = folder / "ours.toml"
    path.write_text("\n".join(ENTRY.format(f"n{n}", of) for n, of in enumerate(backends)))
    return str(path)


def test_file_about_the_tested_backend_is_not_listed(tmp_path: Path) -> None:
    assert files_about_others(write(tmp_path, "gpu", "cpu"), ["cpu"]) == []


def test_file_about_another_backend_is_listed_with_its_name(tmp_path: Path) -> None:
    path = write(tmp_path, "gpu")
    assert files_about_others(path, ["cpu", "interpreter"]) == [
        f"{path}: the entry is about gpu, none about cpu, interpreter"
    ]


def test_each_other_backend_is_named_once(tmp_path: Path) -> None:
    path = write(tmp_path, "gpu", "tpu", "gpu")
    (line,) = files_about_others(path, ["cpu"])
    assert line == f"{path}: all 3 entries are about gpu, tpu, none about cpu"


def test_shipped_files_are_never_listed() -> None:
    assert files_about_others(None, ["reference"]) == []


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text("[[known]\n")
    with pytest.raises(ExpectationError):
        files_about_others(str(path), ["cpu"])

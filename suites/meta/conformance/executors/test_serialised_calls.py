"""Calls as bytes for another machine: their files arrive with the same names and contents."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from conformance.executors.serialised_calls import (
    is_local,
    run_serialised,
    serialise_call,
    transferred_path,
    write_file,
)


def read(before: str, paths: list[Path]) -> list[str]:
    return [before + path.read_text() for path in paths]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return two files of the same name in different folders."""
    found = [tmp_path / folder / "data.txt" for folder in ("one", "other")]
    for path in found:
        path.parent.mkdir()
        path.write_text(path.parent.name)
    return found


def test_files_that_are_missing_are_read_where_they_were_put(
    tmp_path: Path, files: list[Path]
) -> None:
    folder = tmp_path / "carried"
    folder.mkdir()
    call = serialise_call(read, (">", [*files, files[0]]), ends_worker=True)
    assert [path for path, *_ in call.files] == [str(path) for path in files]
    assert call.ends_worker
    contents = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    for file, content in zip(call.files, contents, strict=True):
        write_file(file, content, folder)
        assert transferred_path(file, folder).name == "data.txt"
    assert pickle.loads(run_serialised(call.pickled, folder)) == [">one", ">other", ">one"]


def test_files_that_are_here_are_not_written(tmp_path: Path, files: list[Path]) -> None:
    folder = tmp_path / "carried"
    call = serialise_call(read, ("", files))
    write_file(call.files[0], b"something else", folder)
    assert not transferred_path(call.files[0], folder).exists()


def test_a_file_that_has_changed_is_another(files: list[Path]) -> None:
    (file,) = serialise_call(read, ("", files[:1])).files
    assert is_local(file)
    files[0].write_text("longer than before")
    assert not is_local(file)
    files[0].unlink()
    assert not is_local(file)


def test_paths_of_folders_and_missing_files_are_carried_as_they_are(tmp_path: Path) -> None:
    call = serialise_call(str, (tmp_path / "missing",))
    assert call.files == ()

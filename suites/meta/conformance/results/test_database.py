"""Databases: transactions, and a line of advice for each file that cannot be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conformance.results.database import Database, StoreError, discard


class Numbers(Database):
    """A database with a table of numbers."""

    HOLDS = "test"
    TABLES = "CREATE TABLE numbers (number INTEGER PRIMARY KEY);"
    FORMAT = 3
    APPLICATION = 77


class NewerNumbers(Numbers):
    """The same database in a later format."""

    FORMAT = 4


class OtherNumbers(Numbers):
    """The same tables of another application."""

    APPLICATION = 78


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with Numbers(tmp_path / "a.sqlite") as database:
        with database.transaction() as open_transaction:
            open_transaction.execute("INSERT INTO numbers VALUES (1)")

        def fail() -> None:
            with database.transaction() as failing:
                failing.execute("INSERT INTO numbers VALUES (2)")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert database.rows("SELECT number FROM numbers") == [(1,)]


def test_metadata_is_replaced_by_key(tmp_path: Path) -> None:
    with Numbers(tmp_path / "a.sqlite") as database:
        database.set_meta({"seed": 1, "ops": ["add"]})
        database.set_meta({"seed": 2})
    with Numbers(tmp_path / "a.sqlite", read_only=True) as database:
        assert database.meta() == {"ops": ["add"], "seed": 2}


def test_a_writer_ends_as_usual_while_another_process_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Numbers(path) as database:
        database.set_meta({"seed": 1})
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM meta").fetchone() == (1,)
        database.set_meta({"seed": 2})
    with closing(reader), Numbers(path, read_only=True) as database:
        assert database.meta() == {"seed": 2}
    with Numbers(path) as database:
        assert database.meta() == {"seed": 2}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_folder_has_one_writer_and_any_number_of_readers(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Numbers(path):
        with pytest.raises(StoreError, match="is in use by another command"):
            Numbers(path)
        with pytest.raises(StoreError, match="is in use by another command"):
            discard(path)
        with Numbers(path, read_only=True) as one, Numbers(path, read_only=True) as other:
            assert one.meta() == other.meta() == {}
    discard(path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (NewerNumbers, "has format 3, this hlo-conformance reads 4: read it with the version"),
        (OtherNumbers, "is a database, but not one of hlo-conformance"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, kind: type[Numbers], words: str) -> None:
    with Numbers(tmp_path / "a.sqlite"):
        pass
    with pytest.raises(StoreError, match=words):
        kind(tmp_path / "a.sqlite")
    with Numbers(tmp_path / "a.sqlite"):  # the refused file is unlocked again
        pass


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="give the folder of a test, or its database file"):
        Numbers(tmp_path / "none.sqlite", read_only=True)
    path = tmp_path / "text.sqlite"
    path.write_text("no database, but a text that is long enough " * 30)
    with pytest.raises(StoreError, match="is damaged or not a database"):
        Numbers(path)


def test_a_new_file_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Numbers, "TABLES", "CREATE TABLE numbers (")
    with pytest.raises(StoreError):
        Numbers(tmp_path / "a.sqlite")
    assert not (tmp_path / "a.sqlite").exists()
    monkeypatch.undo()
    with Numbers(tmp_path / "a.sqlite"), closing(sqlite3.connect(tmp_path / "a.sqlite")) as read:
        assert read.execute("PRAGMA user_version").fetchone() == (3,)

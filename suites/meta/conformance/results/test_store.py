"""The store: atomic writes, the same in any order, a line for each file that cannot be used."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.results.database import Database, StoreError, discard
from conformance.results.inputs import pack_inputs, unpack_inputs
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import load
from conformance.verdict import Detail, Element, Errors, Record, Timing, Verdict
from reference.ir.types import ALL, element_type_of, from_bits, to_bits

CELL = ("add", "complex<f32>", "cpu")


def a_record(index: int, verdict: Verdict = Verdict.PASS, cell=CELL) -> Record:
    detail = None
    if verdict is not Verdict.PASS:
        inputs = (("lhs", "1.0", "0x3f800000"), ("rhs", "nan", "0x7fc00000"))
        elements = (Element(0, (1, 2), "1", "0x1", "<2>", "0x2", 1.5, inputs),)
        detail = Detail('module @"ü" {}', b"\x00\xff", 1, 6, elements)
    return Record(*cell, index, "0123", verdict, "NaN", "said", 3, 18, 0.5, 1.0, "", detail)


def fill(store: Store, number: int, verdict: Verdict = Verdict.PASS) -> list[Record]:
    records = [a_record(number * 2, verdict), a_record(number * 2 + 1)]
    errors = Errors(points=[(float(number), 1.0)])
    errors.histogram[0] += 36
    timing = Timing(1, 2, 3, 4, 5, 6, 7)
    store.add_task(f"task {number}", CELL, records, errors, timing, modules=2, peak_rss_mb=100.5)
    return records


def test_stored_records_are_read_back(tmp_path: Path) -> None:
    with Store(tmp_path / "a" / "results.sqlite") as store:
        written = fill(store, 1, Verdict.DIVERGENT) + fill(store, 0, Verdict.CRASHED)
        store.set_meta({"seed": 7, "profile": "smoke", "versions": {"numpy": "2"}})
    with Store(tmp_path / "a" / "results.sqlite", read_only=True) as store:
        assert store.records() == sorted(written, key=lambda record: record.index)
        assert store.errors()[CELL].points == [(0.0, 1.0), (1.0, 1.0)]
        assert store.errors()[CELL].histogram[0] == 72
        assert store.finished_tasks() == {"task 0", "task 1"}
        assert store.totals() == (Timing(2, 4, 6, 8, 10, 12, 14), 4, 100.5)
        assert store.meta()["seed"] == 7
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["results.sqlite"]


def test_adding_a_task_again_changes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        fill(store, 0)
        before = (store.records(), store.errors(), store.totals())
        fill(store, 0, Verdict.DIVERGENT)
        assert (store.records(), store.errors(), store.totals()) == before


def test_a_task_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        fill(store, 0)
        with pytest.raises(StoreError):  # its second record collides with one that is there
            store.add_task("other", CELL, [a_record(9), a_record(1)], Errors(), Timing())
        assert store.finished_tasks() == {"task 0"}
        assert [record.index for record in store.records()] == [0, 1]


def test_expectations_are_assigned_to_records(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        bad, good = fill(store, 0, Verdict.DIVERGENT)
        store.settle([replace(bad, known="signed zero of add")])
        assert [record.known for record in store.records()] == ["signed zero of add", good.known]
        store.settle([replace(bad, known="")])
        assert not any(record.known for record in store.records())


WRITER = """
import os, sys
from pathlib import Path
from conformance.results.store import Store
from suites.meta.conformance.results.test_store import fill
store = Store(Path(sys.argv[1]))
for number in range(10_000):
    fill(store, number)
    os.write(1, b"%d\\n" % number)
"""


def test_killed_store_keeps_acknowledged_tasks(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        for _ in range(5):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
    with Store(path) as store:
        finished = store.finished_tasks()
        assert {f"task {number}" for number in range(acknowledged + 1)} <= finished
        assert len(store.records()) == 2 * len(finished)


def test_a_run_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        fill(store, 0)
        assert len(load(tmp_path).records) == 2


def not_a_database(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 1000)


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scribbled_over(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 8192)


def write_foreign_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE notes (text)")
    database.close()


@pytest.mark.parametrize(
    "damage", [not_a_database, cut_short, scribbled_over, write_foreign_database]
)
@pytest.mark.parametrize("read_only", [True, False])
def test_damage_is_one_clear_line(tmp_path: Path, damage, read_only: bool) -> None:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        for number in range(50):
            fill(store, number)
    damage(path)
    with pytest.raises(StoreError) as caught:
        Store(path, read_only=read_only).records()
    assert "results.sqlite" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="choose another folder"):
        Store(tmp_path / "file" / "results.sqlite")


def test_no_space_is_one_clear_line_and_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "results.sqlite") as store:
        fill(store, 0)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="no space"):
            all(fill(store, number) for number in range(1, 1000))
        stored = len(store.finished_tasks())
        assert stored > 1
    assert len(load(tmp_path).records) == 2 * stored


def test_inputs_of_every_element_type_survive() -> None:
    arrays = []
    for of in ALL:
        bits = np.arange(24, dtype=np.uint64).reshape(2, 3, 2, 2) * 0x0F37_91A5_C2E4_6B1D
        arrays.append(np.asarray(from_bits(bits >> 3, of)))
        arrays.append(np.asarray(arrays[-1][(0,) * arrays[-1].ndim]))
    packed = pack_inputs(arrays)
    assert packed == pack_inputs(arrays)
    for array, back in zip(arrays, unpack_inputs(packed), strict=True):
        assert element_type_of(back) is element_type_of(array)
        assert back.shape == array.shape
        np.testing.assert_array_equal(to_bits(back), to_bits(array))


@pytest.mark.parametrize("data", [b"", b"PK nonsense", pack_inputs([])[:-3]])
def test_invalid_archive_of_inputs_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not an archive of inputs"):
        unpack_inputs(data)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("details SET elements", '[{"index": 3}]'),
        ("details SET elements", "[3]"),
        ("details SET elements", '{"result": 0}'),
        ("details SET elements", "no JSON"),
        ("records SET failing", "no JSON"),
        ("tasks SET timing", "no JSON"),
        ("errors SET points", "no JSON"),
        ("errors SET histogram", '"text"'),
        ("meta SET value", "no JSON"),
        ("meta SET value", '"text"'),
    ],
)
def test_stored_values_of_another_form_are_one_clear_line(
    tmp_path: Path, column: str, value: str
) -> None:
    path = tmp_path / FILE_NAME
    with Store(path) as store:
        fill(store, 1, Verdict.DIVERGENT)
        store.set_meta({"planned": []})
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(f"UPDATE {column} = ?", (value,)).rowcount
        database.commit()
    with pytest.raises(StoreError) as caught:
        load(path)
    assert f"{path} is damaged" in str(caught.value)
    assert "repeat the command that wrote it with --fresh" in str(caught.value)
    assert "\n" not in str(caught.value)


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

"""Pages of sweeps are written again, and shards merged, where the user says."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.commands.sweep_reports import places, report_sweeps, save
from conformance.errors import UsageError
from conformance.sweep import runner
from conformance.sweep.planning import Options


def swept(out: Path, shard: tuple[int, int] = (1, 1)) -> Path:
    """Return the folder of a saved sweep of two ops on two small types, in four blocks."""
    options = Options(
        ("negate", "add"), out, "reference", ("f4E2M1FN", "f8E5M2"), jobs=1, shard=shard, sample=64
    )
    save(runner.sweep(options), out)
    return out


def test_files_of_a_sweep_are_where_the_lines_say(tmp_path: Path) -> None:
    out = swept(tmp_path / "sweep")
    assert places(out) == [f"results: {out}/sweep.json", f"report: {out}/index.html"]
    assert all(Path(line.partition(": ")[2]).is_file() for line in places(out))
    page = out / "index.html"
    text = page.read_text()
    page.unlink()
    quiet = report_sweeps([out], None, writes=False)
    assert (quiet.lines, quiet.exit_code, page.exists()) == ((), 0, False)
    assert len(quiet.result.functions) == 4
    again = report_sweeps([out / "sweep.json"], None, writes=True)
    assert (again.lines, page.read_text()) == ((f"report: {page}",), text)
    other = report_sweeps([out], tmp_path / "other", writes=True)
    assert other.lines == (f"report: {tmp_path}/other/index.html",)


def test_shards_are_merged_into_a_new_folder(tmp_path: Path) -> None:
    parts = [swept(tmp_path / str(n), (n, 2)) for n in (1, 2)]
    with pytest.raises(UsageError, match="give --out, a new folder"):
        report_sweeps(parts, None, writes=True)
    out = tmp_path / "all"
    found = report_sweeps(parts, out, writes=True)
    assert found.lines[0] == f"merged: 2 sweeps into {out}"
    assert list(found.lines[-2:]) == places(out)
    assert (found.exit_code, found.result.exit_code) == (0, 0)
    third = swept(tmp_path / "3", (1, 3))
    fourth = swept(tmp_path / "4", (2, 3))
    found = report_sweeps([third, fourth], tmp_path / "two", writes=True)
    assert "missing: shard 3/3" in found.lines[1]
    assert found.exit_code == 1

"""Tables of compilations: by purpose, and what planning could save at most."""

from __future__ import annotations

import psutil
import pytest

from benchmarks.compilations.__main__ import FULL, Seconds, print_limit, print_purposes
from benchmarks.compilations.log import BATCH, MISS, PART, Compilation

ROWS = [
    Compilation(BATCH, FULL, 0.01 * FULL, False),  # 10 ms each
    Compilation(BATCH, 1, 0.05, False),  # 40 ms more than in a full module
    Compilation(PART, 2, 0.3, True),
    Compilation(MISS, 1, 0.2, True),
    Compilation("failure, in isolation", 1, 0.1, False),
]


def test_modules_programs_and_seconds_by_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    print_purposes(ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:6] == [*["part", "of", "a", "refused", "batch,"], "refused"]
    assert lines[1].split()[6:] == ["1", "2", "0.3", "150.0", "ms"]
    assert lines[-1].split() == ["all", "5", str(FULL + 5), f"{0.01 * FULL + 0.65:.1f}"]


def test_savings_are_shares_of_all_processor_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    print_limit(ROWS, 10.0)
    out = capsys.readouterr().out
    shares = {
        line[:46].strip(): line.split()[-2:] for line in out.splitlines() if line.endswith("%")
    }
    assert shares[f"modules of less than {FULL} programs, filled"] == ["0.0", "0.4%"]
    assert shares["refusals of a backend, not asked"] == ["0.3", "3.0%"]
    assert shares["near misses, not asked"] == ["0.2", "2.0%"]
    assert shares["failures and errors, not confirmed"] == ["0.1", "1.0%"]
    assert shares["left"] == ["9.4", "93.6%"]
    assert shares["of these, programs in full modules"] == [
        f"{0.01 * FULL + 0.01:.1f}", f"{(0.01 * FULL + 0.01) / 10:.1%}"
    ]  # fmt: skip


def test_without_full_modules_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    print_limit(ROWS[1:], 10.0)
    assert capsys.readouterr().out.startswith("no module has")


def test_seconds_of_a_worker_are_its_last(monkeypatch: pytest.MonkeyPatch) -> None:
    class Worker:
        pid = 7

        def cpu_times(self) -> object:
            return type("Times", (), {"user": 2.0, "system": 0.5})

    class Parent:
        def children(self, *, recursive: bool) -> list[Worker]:
            assert recursive
            return [Worker()]

    monkeypatch.setattr(psutil, "Process", Parent)
    seconds = Seconds({7: 1.0, 8: 4.0})
    seconds.look()
    assert seconds.workers == {7: 2.5, 8: 4.0}

"""Start-up times: medians, their ratio to importing jax, and commands that fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import start_up
from benchmarks.start_up import BASE, commands, seconds, table


def test_a_median_and_its_ratio() -> None:
    head, base, slow = table({BASE: [2.0, 1.0, 9.0], "slow": [5.0, 3.0, 4.0]})
    assert head.split() == ["command", "seconds", "times", "'import", "jax'"]
    assert base.split()[-2:] == ["2.00", "1.0"]
    assert slow.split()[-2:] == ["4.00", "2.0"]


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (1, False), (2, True)])
def test_a_command_may_fail_as_recorded_but_not_otherwise(
    code: int, is_error: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.CompletedProcess(["x"], code)
    monkeypatch.setattr(start_up.subprocess, "run", lambda *_, **__: ended)
    if is_error:
        with pytest.raises(subprocess.CalledProcessError):
            seconds(["x"])
    else:
        assert seconds(["x"]) >= 0


def test_commands_use_files_that_were_made_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(start_up.subprocess, "run", lambda words, **_: ran.append(words))
    todo = commands(tmp_path)
    assert [words[3:] for words in ran] == [
        ["run", "--op", "add", "--profile", "smoke", "--out", str(tmp_path / "run")]
    ]
    assert todo[BASE] == [sys.executable, "-c", "import jax"]
    assert Path(todo["check add.mlir"][-1]).read_text() == start_up.PROGRAM

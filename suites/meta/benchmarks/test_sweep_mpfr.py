"""Arguments read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import sweep_mpfr
from benchmarks.sweep_mpfr import _read, main
from conformance.backends.base import Unsupported


def test_numbers_are_decimal_or_hexadecimal_one_or_two_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "arguments"
    path.write_text("0.5 0x1.8p1\n\n-inf nan\n")
    first, second = _read(path, "f32")
    assert first.tolist() == [0.5, -np.inf]
    assert second.tolist()[0] == 3
    assert np.isnan(second[1])
    assert first.dtype == np.float32


def test_numbers_are_rounded_to_the_type(tmp_path: Path) -> None:
    path = tmp_path / "arguments"
    path.write_text("1.001\n")
    (found,) = _read(path, "bf16")
    assert found.astype(float).tolist() == [1.0]


@pytest.mark.parametrize(("said", "code"), [("", 0), ("differs in 3 results", 1)])
def test_a_difference_from_mpfr_is_said_by_the_exit_code(
    said: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep_mpfr.mpfr, "disagreement", lambda *_: said)
    words = ["sweep_mpfr", "--op", "exponential", "--element-type", "f32", "--count", "5"]
    monkeypatch.setattr("sys.argv", words)
    assert main() == code
    assert capsys.readouterr().out == f"exponential f32: 5 arguments: {said or 'as MPFR'}\n"


def test_a_refusal_is_no_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> str:
        raise Unsupported("no f16")

    monkeypatch.setattr(sweep_mpfr.mpfr, "disagreement", refuse)
    monkeypatch.setattr("sys.argv", ["sweep_mpfr", "--op", "exponential", "--element-type", "f16"])
    assert main() == 0
    assert "unsupported: no f16" in capsys.readouterr().out

"""The page of measured errors: its pictures are drawn from stored sweeps, and sweeps are added."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.cli import app, exit_code_of
from docs.tools import accuracy


def test_pictures_match_the_measurements() -> None:
    found = accuracy.measurements()
    names = {path.stem for path in accuracy.FOLDER.glob("*.svg")}
    assert names == set(accuracy.drawn_ops(found)), "run: python -m docs.tools.accuracy"
    for op in names:
        text = (accuracy.FOLDER / f"{op}.svg").read_text(encoding="utf-8")
        assert text == accuracy.draw_picture(op, found), "run: python -m docs.tools.accuracy"
        assert ET.fromstring(text).tag.endswith("svg")
        assert len(text) < 40_000


def test_a_sweep_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "FOLDER", tmp_path)
    out = tmp_path / "swept"
    given = ["sweep", "tanh", "--element-type", "f32", "--sample", "512", "--jobs", "1"]
    for backend in ("reference:off_by_100_ulp@tanh", "reference"):
        asked = [*given, "--backend", backend, "--out", str(out), "--fresh"]
        assert exit_code_of(lambda asked=asked: app(asked, standalone_mode=False)) in (0, 1)
        path = accuracy.add(out, "test")
    (measurement,) = accuracy.measurements()
    assert path.parent == tmp_path
    (function,) = measurement.functions
    assert (function.op, function.worst_ulp, function.arguments) == ("tanh", None, "sample")
    assert function.correctly_rounded == function.values


def test_a_sweep_of_all_values_replaces_a_sample() -> None:
    found = {(one.op, one.element_type): one for one in accuracy.measurements()[0].functions}
    assert found["exponential", "f32"].values == 1 << 32
    assert found["exponential", "f16"].arguments == "all"


FROM_CUDA = ("cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "sine", "tan")
"""Functions of f32 that XLA takes unchanged from CUDA's library."""


@pytest.mark.parametrize("op", FROM_CUDA)
def test_gpu_sweeps_agree_with_published_errors(op: str) -> None:
    """V. Innocente's figures are rounded up to three digits, and of an older library."""
    told = json.loads(accuracy.LITERATURE.read_text("utf-8"))
    (others,) = (one["figures"] for one in told["sources"] if one["column"] == "CUDA 11.2")
    (own,) = (
        one
        for each in accuracy.measurements()
        for one in each.functions
        if (each.backend, one.op, one.element_type) == ("gpu", op, "f32")
    )
    assert own.values == 2**32
    assert own.worst_ulp is not None
    assert own.worst_ulp <= float(others[op]) <= own.worst_ulp + 0.012

"""The page of measured errors: its pictures are drawn from what is kept, and sweeps are added."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.cli import app, guarded
from docs.tools import accuracy


def test_pictures_are_those_of_the_measurements() -> None:
    found = accuracy.measurements()
    names = {path.stem for path in accuracy.FOLDER.glob("*.svg")}
    assert names == set(accuracy.drawn(found)), "run: python -m docs.tools.accuracy"
    for op in names:
        text = (accuracy.FOLDER / f"{op}.svg").read_text(encoding="utf-8")
        assert text == accuracy.drawing(op, found), "run: python -m docs.tools.accuracy"
        assert ET.fromstring(text).tag.endswith("svg")
        assert len(text) < 40_000


def test_a_sweep_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "FOLDER", tmp_path)
    out = tmp_path / "swept"
    given = ["sweep", "tanh", "--element-type", "f32", "--sample", "512", "--jobs", "1"]
    for backend in ("reference:off_by_100_ulp@tanh", "reference"):
        asked = [*given, "--backend", backend, "--out", str(out), "--fresh"]
        assert guarded(lambda asked=asked: app(asked, standalone_mode=False)) in (0, 1)
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

"""The files of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.sweep import saving
from conformance.sweep.judging import axis_shift
from reference.ir.types import element_type

F32 = element_type("f32")
SHIFT = axis_shift(F32)


def swept(*axes: tuple[str, bool, dict[int, float]]) -> Any:
    """Return a sweep whose functions have these largest errors by position of the axis."""
    domains = [
        SimpleNamespace(
            function=SimpleNamespace(name=name, operand_type=F32), is_mirrored=is_mirrored
        )
        for name, is_mirrored, _ in axes
    ]
    outcomes = [SimpleNamespace(axis=axis) for *_, axis in axes]
    return SimpleNamespace(plan=SimpleNamespace(domains=domains), outcomes=outcomes)


def written_axes(monkeypatch, folder: Path, *axes: tuple[str, bool, dict[int, float]]) -> Any:
    monkeypatch.setattr(saving, "json_text", lambda _: "{}\n")
    saving.save(swept(*axes), None, folder)  # type: ignore[arg-type]
    assert (folder / saving.SUMMARY).read_text() == "{}\n"
    assert sorted(path.name for path in folder.iterdir()) == [saving.AXIS, saving.SUMMARY]
    return json.loads((folder / saving.AXIS).read_text())


def code(number: float) -> int:
    return int(np.float32(number).view(np.uint32)) >> SHIFT


def test_errors_are_by_argument_in_order(monkeypatch, tmp_path: Path) -> None:
    errors = {code(2.0): 0.25, code(-1.0): 0.5, code(float("inf")): 9.0}
    found = written_axes(monkeypatch, tmp_path, ("tanh", True, errors))
    assert found == {"tanh": [[-1.0, 0.5], [2.0, 0.25]]}


def test_only_functions_of_one_number_have_an_axis(monkeypatch, tmp_path: Path) -> None:
    found = written_axes(monkeypatch, tmp_path, ("add", False, {0: 1.0}), ("sin", True, {}))
    assert found == {}

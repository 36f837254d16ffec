"""Programs that need too much memory: messages with limit, operation and advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.checking.command import Options, check
from conformance.checking.settings import Settings
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.limits import Limits
from conformance.triage.attribute import Explainer
from conformance.verdict import Verdict
from reference.ir.errors import out_of_memory
from reference.ir.program import Operation
from suites.meta.support.checking import FAULTY, check_text

LARGE = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %wide = stablehlo.broadcast_in_dim %x, dims = [1]
    : (tensor<8xf32>) -> tensor<1099511627776x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1099511627776x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}"""


def test_message_names_limit_operation_and_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, inputs = tmp_path / "program.mlir", tmp_path / "in.npz"
    path.write_text(LARGE)
    np.savez(inputs, x=np.ones(8, np.float32))
    assert check(Options((str(path),), "reference", inputs, 1, limits=Limits(240.0, 3 << 30))) == 4
    out = capsys.readouterr().out
    assert "not_judged (not evaluated): out of memory: Unable to allocate 32.0 TiB" in out
    assert "(broadcast_in_dim %wide (line 3))" in out
    assert "; a worker may use 3 GiB (--memory-limit 6 allows twice as much)" in out


def test_message_without_limit_names_the_machine(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(8, np.float32))
    found = check_text(tmp_path, LARGE, Settings("reference", inputs=tmp_path / "in.npz"))
    assert found.verdict is Verdict.NOT_JUDGED
    assert "this machine has no more memory" in found.message


def _too_large(*_: Any, **__: Any) -> Any:
    raise out_of_memory(Operation("negate", ()), MemoryError("Unable to allocate 3 GiB"))


def test_evaluations_after_the_first_may_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PermittedResults, "moved_samples", _too_large)
    found = check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    assert (found.verdict, found.kind) == (Verdict.NOT_JUDGED, "not evaluated")
    assert found.message.startswith("out of memory: Unable to allocate 3 GiB (negate); ")


def test_a_verdict_stands_if_its_explanation_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explainer, "explain", _too_large)
    found = check_text(tmp_path, FAULTY, Settings("reference:low_precision"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation.startswith("exponential %0 ")
    assert "the search for the cause was not finished: out of memory: " in found.message

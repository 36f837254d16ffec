"""`check` names the step of the compiler that makes a program wrong, where the stages show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.check.settings import Settings
from conformance.gate.reading import load
from conformance.results.versions import versions
from suites.meta.support.checking import checked

ALGSIMP = "rewriting: pass algsimp of pipeline simplification changes the meaning"


def program(id: str) -> str:  # noqa: A002
    """Return the counterexample of a known divergence of XLA on CPU that this jaxlib has."""
    entries = {entry.id: entry for entry in load("cpu", ("cpu",), versions())}
    if id not in entries:
        pytest.skip(f"this jaxlib is not known to have {id}")
    given = entries[id].counterexample
    assert given is not None
    return given.program


@pytest.mark.x86
@pytest.mark.parametrize("backend", ["cpu", "cpu-compile"])
def test_the_pass_that_changes_the_meaning(backend: str, tmp_path: Path) -> None:
    found = checked(tmp_path, program("truth-value-as-a-selection"), Settings(backend))
    assert found.verdict.fails
    assert found.message.endswith(ALGSIMP) or f"; {ALGSIMP};" in found.message


@pytest.mark.x86
def test_a_result_that_only_code_generation_explains(tmp_path: Path) -> None:
    found = checked(tmp_path, program("exponential-accuracy"), Settings("cpu"))
    assert found.verdict.fails
    assert "code generation or run time: no pass changes the meaning" in found.message


@pytest.mark.x86
def test_nothing_is_said_of_a_known_divergence_nor_of_a_pass(tmp_path: Path) -> None:
    known = load("cpu", ("cpu",), versions())
    text = program("truth-value-as-a-selection")
    found = checked(tmp_path, text, Settings("cpu", expectations=known))
    assert found.known
    assert "rewriting: pass" not in found.message
    right = "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> { return %x : tensor<2xi32> }"
    assert checked(tmp_path, right, Settings("cpu")).message == ""

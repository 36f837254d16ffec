"""Passes are read from a compiler's dumps and output, and settings reach the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.base import Settings, Unsupported
from conformance.backends.passes import Passes, dumped_passes, unfinished_passes
from conformance.backends.session import open_session
from suites.meta.support.small_programs import array, op_program, tensor_of


def test_passes_that_changed_the_program_are_read_from_dumped_files(
    tmp_path: Path,
) -> None:
    for name in (
        "module_0000.main.before_optimizations.txt",
        "module_0000.main.0000.simplification.after_pipeline-start.before_algsimp.txt",
        "module_0000.main.0001.simplification.after_algsimp.before_simplify-sorts.txt",
        "module_0000.main.0002.simplification.after_algsimp.before_simplify-sorts.txt",
        "module_0000.main.0003.HLO_passes.after_simplification.before_fusion.txt",
        "module_0000.main.0004.copy-insertion.after_adding_copies.txt",
        "module_0000.main.0005.HLO_passes.after_copy-insertion.before_dce.txt",
    ):
        (tmp_path / name).touch()
    assert dumped_passes(tmp_path) == Passes(("algsimp", "copy-insertion"), ("simplification",))


def test_unfinished_passes_are_listed_innermost_first() -> None:
    lines = """
I0 1 hlo_pass_pipeline.cc:303] Running HLO pass pipeline on module main: all
I0 1 hlo_pass_pipeline.cc:181]   HLO pass dce
I0 1 hlo_pass_pipeline.cc:176] HLO pass: dce time: 7 us (7 us) (cumulative: 7 us)
I0 1 hlo_pass_pipeline.cc:181]   HLO pass simplification
I0 1 hlo_pass_pipeline.cc:303] Running HLO pass pipeline on module main: simplification
I0 1 hlo_pass_pipeline.cc:181]   HLO pass algsimp
"""
    assert unfinished_passes(lines.splitlines()) == ("algsimp", "simplification")
    ended = "I0 1 x.cc:1] HLO pass: simplification time: 9 us (9 us)"
    assert unfinished_passes([*lines.splitlines(), ended]) == ()


def test_xla_disables_the_given_passes(tmp_path: Path) -> None:
    program = op_program("subtract", [tensor_of(4), tensor_of(4)], tensor_of(4))
    inputs = [array([1, 2, 3, 4]), array([4, 3, 2, 1])]
    whole, without = tmp_path / "whole", tmp_path / "without"
    session = open_session("cpu")
    for settings in (
        Settings(dump=str(whole)),
        Settings(without=("layout-assignment",), unoptimized=True, dump=str(without)),
    ):
        (result,) = next(session.configured(settings).run(program, [inputs]))
        assert result.tolist() == [-3, -1, 1, 3]
    assert "layout-assignment" in dumped_passes(whole).single
    assert "layout-assignment" not in dumped_passes(without).single
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_backend_without_compiler_refuses_settings(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} has no compiler"):
        open_session(backend).configured(Settings(unoptimized=True))

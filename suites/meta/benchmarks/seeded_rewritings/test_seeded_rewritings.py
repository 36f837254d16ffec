"""Slips in optimised modules: all that change a result by more than rounding are flagged."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.seeded_rewritings.__main__ import PROGRAMS, compile_program, optimise, report
from benchmarks.seeded_rewritings.measuring import (
    Ending,
    OptimisedProgram,
    SeededModule,
    draw_inputs,
    seed_slips,
)
from benchmarks.seeded_rewritings.messages import Message
from benchmarks.seeded_rewritings.sites import sites_in
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from suites.meta.conformance.hlo.modules import PAIRS, plain_of, stored_proto
from suites.meta.conformance.hlo.modules import PROGRAMS as COMPILED

WITHIN_ROUNDING = "constant off by a bit"
"""The kind of slip whose change may be smaller than rounding."""

PLACES = 2
"""Number of positions in a module at which each kind of slip is tried."""

BY_HAND = ("sort_kept_stable_by_an_index", "cublaslt_bias_relu", "cublas_triangular_solve")


def judged_slips(optimised: OptimisedProgram) -> list[SeededModule]:
    """Return the slips in a module, each judged; none that changes a result passes."""
    found = list(seed_slips(optimised, draw_inputs(optimised.program, 2), most=PLACES))
    permitted = [one for one in found if one.ending is Ending.PERMITTED]
    assert {one.slip for one in permitted} <= {WITHIN_ROUNDING}, "\n".join(report(permitted))
    return found


@pytest.mark.slow
def test_slips_in_modules_of_the_cpu_are_flagged() -> None:
    found = [one for path in PROGRAMS for one in judged_slips(optimise("cpu-compile", path))]
    flagged = Counter(one.slip for one in found if one.ending is Ending.FLAGGED)
    assert len(flagged) >= 30
    assert sum(flagged.values()) >= 80
    assert any(one.ending is Ending.EQUIVALENT for one in found)
    assert f"{len({one.slip for one in found})} kinds" in "\n".join(report(found))


@pytest.mark.parametrize(
    ("compiler", "hardware"), [("gpu-compile", Hardware.GPU), ("tpu-compile", Hardware.TPU)]
)
def test_slips_in_modules_of_gpu_and_tpu_are_flagged(compiler: str, hardware: Hardware) -> None:
    chosen = [path for path in COMPILED if path.stem in ("matmul_bias_relu", "scatter_of_rows")]
    for path in chosen:
        program, module = parse_module(path.read_text()), stored_proto(f"{path.stem}.{compiler}")
        found = judged_slips(OptimisedProgram(path.stem, program, module, hardware))
        assert any(one.ending is Ending.FLAGGED for one in found)


def test_slips_in_calls_of_libraries_are_flagged() -> None:
    found = [
        one
        for path in PAIRS
        if path.stem in BY_HAND
        for one in judged_slips(
            OptimisedProgram(
                path.stem, parse_module(plain_of(path)), stored_proto(path.stem), Hardware.GPU
            )
        )
    ]
    flagged = {one.slip for one in found if one.ending is Ending.FLAGGED}
    assert {"epilogue of cuBLASLt dropped", "other triangle solved by cuBLAS"} <= flagged


def test_module_is_serialised_unchanged() -> None:
    module = stored_proto("loop_over_a_tuple")
    assert Message.parse(module).serialise() == module
    assert len(list(sites_in(module))) == 16


def test_slip_in_a_module_that_is_wrong_is_flagged_if_it_fails_otherwise() -> None:
    text = """
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {{
  %0 = stablehlo.{op} %x, %y : tensor<3xi32>
  return %0 : tensor<3xi32>
}}"""
    right, wrong = (parse_module(text.format(op=op)) for op in ("add", "subtract"))
    module = compile_program("cpu-compile", wrong).module
    found = {
        one.slip: one.ending
        for one in seed_slips(OptimisedProgram("wrong", right, module), draw_inputs(right, 4))
    }
    assert found["sum replaced"] is Ending.FLAGGED  # it is right then

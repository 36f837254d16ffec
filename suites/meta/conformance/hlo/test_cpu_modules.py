"""XLA's modules for this machine's CPU compute the same as the compiled programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.backends.compiled.backend import CompiledBackend
from conformance.backends.compiled.compilers import cpu_compiler
from conformance.catalog import rule_of
from conformance.hlo.read import read_module
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from generators.cells.plan import case
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.types import element_type

F32 = element_type("f32")

OPS = (
    "add", "all_to_all", "case", "collective_permute", "compare", "dynamic_update_slice", "fft",
    "gather", "if", "map", "pad", "reduce", "reduce_window", "scatter", "select_and_scatter",
    "sort", "triangular_solve", "while",
)  # fmt: skip
"""One op of each kind that XLA rewrites as the rules permit; what it does not is in known/."""


@pytest.fixture(scope="module")
def compiler() -> CompiledBackend:
    return CompiledBackend("cpu-compile", cpu_compiler())


@pytest.mark.parametrize("op", OPS)
def test_an_optimised_module_is_judged_as_the_program(op: str, compiler: CompiledBackend) -> None:
    program = (made := case(op, F32, 0, 0)).program
    read = read_module(compiler.optimise(emit(program), program))
    assert read.process_count == program.process_count
    read = replace(read, process_grid=program.process_grid)
    rule = rule_of(program.subject)
    assert rule is not None
    for recipe in made.inputs:
        inputs = materialise(program, recipe)
        expected, actual = evaluate(program, inputs), evaluate(read, inputs)
        judged = judge(program, inputs, expected, actual, rule, platform="cpu")
        assert not judged.verdict.fails, judged.message

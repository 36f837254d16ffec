"""Findings: names and signatures, which must stay the same for equal programs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from conformance.fuzzing.finding import Finding, names_in, operations_of
from conformance.verdict import Verdict
from reference.ir.program import Dense, Function, Operation, Program, Region, Value, attributes
from suites.meta.support.small_programs import tensor_of

F32 = tensor_of(2)
X, C, Y, Z = (Value(name, F32) for name in "xcyz")
ONES = Dense.of(np.ones(2, np.float32), F32)


def program_with(*operations: Operation) -> Program:
    """Return a program of these operations that returns the last operation's result."""
    body = (*operations, Operation("return", operations[-1].results))
    return Program((Function("main", Region((X,), body), (F32,)),))


CONSTANT = Operation("constant", (), (C,), attributes(value=ONES))
ADD = Operation("add", (X, C), (Y,))
SINE = Operation("xla.Sine", (Y,), (Z,))
FINDING = Finding(
    Verdict.DIVERGENT, "NaN", culprit="add f32", program=program_with(CONSTANT, ADD, SINE),
    text="", inputs=(), expected=(), actual=(),
)  # fmt: skip


def test_a_signature_has_verdict_class_culprit_and_operations_without_constants() -> None:
    assert operations_of(FINDING.program) == "add f32,f32>f32; xla.Sine f32>f32"
    assert FINDING.signature == "divergent | NaN | add f32 | add f32,f32>f32; xla.Sine f32>f32"
    assert names_in(FINDING.signature) == ["add", "xla.Sine"]


def test_the_name_is_safe_in_paths_and_differs_with_the_signature() -> None:
    assert re.fullmatch(r"add-xla_Sine-[0-9a-f]{8}", FINDING.name)
    assert replace(FINDING, message="other words").name == FINDING.name
    assert replace(FINDING, kind="infinity").name != FINDING.name
    assert replace(FINDING, number=2).name == f"{FINDING.name}-2"


def test_a_program_of_constants_has_a_name() -> None:
    assert replace(FINDING, program=program_with(CONSTANT)).name.startswith("program-")

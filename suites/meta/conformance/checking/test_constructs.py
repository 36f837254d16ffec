"""Known divergences are known by the same entry in every construct that a program has.

The counterexamples of shipped entries of rewritings are placed in functions, composites, branches
and loops, and checked on XLA's CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.session import Session, open_session
from conformance.checking.program import ProgramChecker
from conformance.frontends.modules import unit_of
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.expectations import Expectation
from conformance.gate.reading import load
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program
from reference.ir.types import Array
from reference.ops.structure import is_constant
from suites.meta.support.ops.constructs import CONSTRUCTS

pytestmark = pytest.mark.x86
SHIPPED = load(None, ("cpu",), versions())
ABORTING = "running-fold-by-tiles"
"""An entry whose counterexample aborts XLA within a branch."""


def is_of_several(entry: Expectation) -> bool:
    """Return whether an entry's counterexample has several operations besides constants."""
    assert entry.counterexample is not None
    main = parse_module(entry.counterexample.program).main.body.operations[:-1]
    return sum(not is_constant(one) for one in main) > 1


ENTRIES = {
    one.id: one
    for one in SHIPPED
    if one.counterexample and one.cause is not None and one.id != ABORTING
    if "collective" not in one.id and is_of_several(one)
}

AROUND = ", constants around it"
RIGHT = {
    "first-of-a-sort": {"loop of one iteration", "loop of two iterations"},
    "exponential-that-overflows-in-a-sum": {"if", "if" + AROUND},
    "logistic-taken-apart-in-a-quotient": {
        "case" + AROUND, "if" + AROUND, "loop of one iteration",
    },
}  # fmt: skip
"""Constructs in which a counterexample is right: XLA keeps a sort within a loop, 0.12 rounds the
exponential there, and a logistic is expanded before or after the sum of one element is simplified.
"""


@pytest.fixture(scope="module")
def session() -> Session:
    return open_session("cpu")


def outcome(
    session: Session, entry: Expectation, program: Program, inputs: tuple[Array, ...]
) -> tuple[bool, tuple[str, ...]]:
    """Return whether a program fails, and the entries that know it."""
    found = ProgramChecker(unit_of(program), session, (entry,), 60.0).judge_inputs(inputs)
    return found.verdict.fails, found.known


@pytest.mark.slow
@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("id_", ENTRIES)
def test_entry_matches_its_counterexample_in_every_construct(
    session: Session, id_: str, construct: str
) -> None:
    entry = ENTRIES[id_]
    assert entry.counterexample is not None
    program = parse_module(entry.counterexample.program)
    inputs = parse_inputs(program, entry.counterexample.inputs)
    place, given = CONSTRUCTS[construct]
    if given is not None:
        of = np.bool_ if isinstance(given, bool) else np.int32
        inputs = (*inputs, np.array(given, of))
    is_wrong, known = outcome(session, entry, place(program), inputs)
    assert is_wrong or construct in RIGHT.get(id_, ())
    assert known == ((id_,) if is_wrong else ())


def test_wrong_result_of_branch_by_other_rewriting_is_new(session: Session) -> None:
    """An entry of another rewriting does not match the fault in a branch."""
    entries = {one.id: one for one in SHIPPED}
    zero, iota = entries["zero-left-out-of-a-sum"], entries["constant-taken-for-iota"]
    assert zero.counterexample is not None
    program = parse_module(zero.counterexample.program)
    inputs = parse_inputs(program, zero.counterexample.inputs)
    place, _ = CONSTRUCTS["case"]
    index = np.array(1, np.int32)
    assert outcome(session, iota, place(program), (*inputs, index)) == (True, ())

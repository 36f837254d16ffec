"""Properties of every case that the strategies can draw, of any op and element type."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.reading.refusal import ParseError
from generators.case.case import Case
from generators.chains.strategies import STRATEGIES
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate, mismatch
from reference.ir.types import ElementType, to_bits
from suites.meta.support.permitted import permitted_result

CELLS = [(op, of) for op, row in CATALOG.items() for of in row.element_types]

UNREAD = "collective_reduce"
"""Ops that the dialect of jaxlib 0.10, whose parser reads all text, does not have."""

FEWER = re.compile(r"requires (?:a single operand|one result)")
"""Messages of that dialect about ops that take any number of operands, though it takes only one."""

Drawn = tuple[tuple[str, ElementType], Case]
CASES = st.sampled_from(CELLS).flatmap(
    lambda cell: st.tuples(st.just(cell), STRATEGIES[cell[0]](cell[1]))
)


@given(CASES)
def test_a_drawn_program_breaks_no_constraint(drawn: Drawn) -> None:
    assert [ids for _, ids in check(drawn[1].program) if ids] == []


@given(CASES)
def test_a_drawn_program_survives_its_text(drawn: Drawn) -> None:
    program = drawn[1].program
    assume(program.subject.name != UNREAD)
    try:
        parsed = parse_module(emit(program))
    except ParseError as error:
        assume(not FEWER.search(str(error)))
        raise
    assert emit(parse_module(emit(parsed))) == emit(parsed)
    inputs = materialise(program, drawn[1].inputs[0])
    for one, other in zip(evaluate(program, inputs), evaluate(parsed, inputs), strict=True):
        assert np.array_equal(to_bits(one), to_bits(other))


@given(CASES)
def test_results_have_the_stated_type_and_permitted_results_pass(drawn: Drawn) -> None:
    (op, _), case = drawn
    for recipe in case.inputs:
        inputs = materialise(case.program, recipe)
        results = evaluate(case.program, inputs)
        types = case.program.main.result_types * case.program.process_count
        for array, of in zip(results, types, strict=True):
            assert not mismatch(array, of)
        rule = CATALOG[op].tolerance
        others = [permitted_result(result, rule) for result in results]
        judged = judge(case.program, inputs, results, others, rule)
        assert not judged.verdict.fails, judged.message

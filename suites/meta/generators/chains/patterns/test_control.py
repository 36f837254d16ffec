"""Loops with known trip counts, branches, calls, and gathers that compilers rewrite."""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.chains.chain import Chain
from generators.chains.patterns.control import PATTERNS
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.built_cases import evaluate_chain, steps_of, write_chains

ROWS = np.arange(12, dtype=np.int32).reshape(4, 3)


def operation(chain: Chain, name: str) -> Operation:
    return next(one for one in chain.operations if one.name == name)


def test_counters_reach_the_ends_of_their_type_and_never_wrap() -> None:
    """The loop ends, after at most seven iterations."""
    turns: set[int] = set()
    types: set[str] = set()
    for chain, result in write_chains(PATTERNS, "counted loop", "si32", (2,), 60):
        loop = operation(chain, "while")
        types.add(str(loop.operands[0].type.element))  # type: ignore[union-attr]
        count = 0

        def count_turns(one: Operation, results: tuple[Array, ...]) -> tuple[Array, ...]:
            nonlocal count
            step = loop.regions[1].operations[-1].operands[0].name  # noqa: B023
            count += one.name == "add" and one.results[0].name == step
            return results

        case = chain.case([result])
        evaluate(case.program, materialise(case.program, case.inputs[0]), on_result=count_turns)
        turns.add(count)
    assert turns == {0, 1, 2, 3, 5, 7}
    assert {"si4", "ui2", "ui8", "si64"} <= types


def test_comparisons_and_steps_of_a_loop() -> None:
    ways = {
        one.attribute("comparison_direction")
        for chain, _ in write_chains(PATTERNS, "counted loop", "f32", (2,), 100)
        for one in operation(chain, "while").regions[0].operations
        if one.name == "compare"
    }
    assert ways == {"LT", "LE", "GT", "GE", "NE"}


def test_a_loop_runs_once_or_not_at_all() -> None:
    given = np.array([3, 4], np.int32)
    seen: set[tuple[int, ...]] = set()
    for chain, result in write_chains(PATTERNS, "loop of at most one iteration", "si32", (2,), 40):
        seen.add(tuple(evaluate_chain(chain, result, given).tolist()))
    assert seen == {(3, 4), (6, 8)}


def test_branches_on_constants_and_parameters_in_and_out_of_range() -> None:
    constants: set[int] = set()
    parameters = 0
    for chain, _ in write_chains(PATTERNS, "conditional", "si32", (2,), 150):
        name = "case" if "case" in steps_of(chain) else "if"
        index = operation(chain, name).operands[0]
        made = next((one for one in chain.operations if index in one.results), None)
        parameters += made is None
        if made is not None and name == "case":
            constants.add(int(made.attribute("value").array))  # type: ignore[union-attr]
    assert constants == {0, 1, 2, -1, 7}
    assert parameters > 20


def test_a_function_is_called_once_or_twice() -> None:
    counts = {
        steps_of(chain).count("func.call")
        for chain, _ in write_chains(PATTERNS, "function call", "f32", (2,))
    }
    assert counts == {1, 2}


def test_all_rows_in_order_are_the_table() -> None:
    whole = 0
    for chain, result in write_chains(PATTERNS, "gather of rows", "si32", (4, 3), 100):
        if "reshape" in steps_of(chain) or "iota" not in steps_of(chain):
            continue
        found = evaluate_chain(chain, result, ROWS)
        turned = "reverse" in steps_of(chain)
        if found.shape == ROWS.shape:
            np.testing.assert_array_equal(found, ROWS[::-1] if turned else ROWS)
            whole += 1
    assert whole > 3


def test_one_row_is_taken_by_a_single_vector() -> None:
    ranks: Any = {
        len(operation(chain, "gather").operands[1].type.static_shape)  # type: ignore[union-attr]
        - int(operation(chain, "gather").attribute("index_vector_dim") == 0)  # type: ignore[arg-type]
        for chain, _ in write_chains(PATTERNS, "gather of rows", "si32", (4, 3), 40)
    }
    assert ranks == {0, 1}


def test_rows_are_gathered_and_scattered_back() -> None:
    for chain, result in write_chains(PATTERNS, "gather then scatter", "si32", (4, 3)):
        turned = "reverse" in steps_of(chain)
        found = evaluate_chain(chain, result, ROWS)
        np.testing.assert_array_equal(found, ROWS[::-1] if turned else ROWS)

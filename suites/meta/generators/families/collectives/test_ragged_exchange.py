"""Ragged exchanges: senders and receivers agree, and rows are received without overlap."""

from __future__ import annotations

import numpy as np
import pytest

from generators.families.collectives.ragged_exchange import ragged_all_to_all
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from suites.meta.support.built_cases import assert_valid, built, operations, sizes

OP = "mhlo.ragged_all_to_all"


def test_cases_are_valid_and_evaluated() -> None:
    """The evaluation refuses sizes that differ, rows out of range, and rows that overlap."""
    cases = built(ragged_all_to_all, "f32", 25)
    assert_valid(cases)
    for case in cases:
        evaluate(case.program, materialise(case.program, case.inputs[0]))


@pytest.mark.parametrize("kind", ["any", "nothing", "to one"])
def test_parts_of_a_kind(kind: str) -> None:
    for case in built(ragged_all_to_all, "f32", 12, {"parts": kind, "grid": "2 x 1"}):
        tables = [
            one.attribute("value").array  # type: ignore[union-attr]
            for one in operations([case], "constant")
            if len(sizes(one, -1)) > 1
        ]
        sent, received = tables[1], tables[3]
        assert sent.sum() == received.sum()
        if kind == "nothing":
            assert (sent.reshape(len(sent), -1).sum(axis=1) == 0).any()
        if kind == "to one":
            groups = sent.reshape(len(sent), sent.shape[1], -1)
            assert not groups[:, 1:].any()


def test_processes_select_their_own_rows_of_the_tables() -> None:
    for case in built(ragged_all_to_all, "f32", 10):
        slices = operations([case], "dynamic_slice")
        assert len(slices) == 4
        assert all(sizes(one, -1)[0] == 1 for one in slices)
        assert len({one.operands[1] for one in slices}) == 1
        (exchange,) = operations([case], OP)
        assert [sizes(exchange, n) for n in range(2, 6)] == [sizes(exchange, 2)] * 4


def test_offsets_have_a_dimension_of_updates_or_not() -> None:
    ranks = {len(sizes(one, 2)) for one in operations(built(ragged_all_to_all, "si32", 60), OP)}
    assert ranks == {1, 2}


def test_rows_are_of_any_rank_and_may_be_empty() -> None:
    shapes = [sizes(one)[1:] for one in operations(built(ragged_all_to_all, "f32", 80), OP)]
    assert {(), (3,), (2, 2), (0,)} <= set(shapes)
    assert np.unique([len(one) for one in shapes]).tolist() == [0, 1, 2]

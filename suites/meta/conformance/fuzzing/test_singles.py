"""Single operations in a campaign: each case of the plan once, then those behind them."""

from __future__ import annotations

from itertools import count, islice

import pytest

from conformance.campaign.planning import FASTEST, cases_of
from conformance.catalog import CATALOG
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.singles import PER_TRIAL, is_single
from conformance.fuzzing.trial import Trial
from generators.case.quantized_types import QuantizedColumn
from generators.cells import plan

OPS = frozenset({"reverse", "cbrt"})


def _cells(turn: int, *, quantized: bool) -> set[str]:
    """Return the programs of a round of the plan."""
    found = set()
    for op in OPS:
        size = cases_of(CATALOG[op], FASTEST)
        for column in plan.valid_columns(op):
            if quantized or not isinstance(column, QuantizedColumn):
                cases = plan.cases(op, column, 3, size, turn * size)
                found |= {one.program.digest for one in cases}
    return found


def test_every_case_of_a_round_comes_before_the_next_round() -> None:
    for backend, quantized in (("reference", True), ("cpu", False)):
        trial = Trial(backend, 3, 0, PER_TRIAL, OPS)
        columns = [(op, one) for op in OPS for one in plan.valid_columns(op)]
        cells = sum(
            cases_of(CATALOG[op], FASTEST)
            for op, one in columns
            if quantized or not isinstance(one, QuantizedColumn)
        )
        length = -(-cells // PER_TRIAL) * PER_TRIAL
        numbers = filter(is_single, count())
        for turn in range(2):
            told = {case_of(trial, n).program.digest for n in islice(numbers, length)}
            assert told == _cells(turn, quantized=quantized)


@pytest.mark.slow
def test_seeds_and_trials_have_different_orders() -> None:
    first = [
        [case_of(Trial("reference", seed, 0, 1), n).program.main.body.operations[-2].name
         for n in range(PER_TRIAL, 40 * PER_TRIAL, 2 * PER_TRIAL)]
        for seed in (1, 2)
    ]  # fmt: skip
    assert first[0] != first[1]
    assert len(set(first[0])) > 10


def test_every_other_trial_holds_longer_programs() -> None:
    kinds = [is_single(number) for number in range(4 * PER_TRIAL)]
    assert kinds == 2 * ([False] * PER_TRIAL + [True] * PER_TRIAL)

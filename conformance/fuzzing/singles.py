"""Programs of one operation in a campaign: cases of ops, as `run` plans them.

Combinations that longer programs contain only by chance are tried systematically: every other trial
holds cases of the plan that has every value of every attribute in few programs. They are compiled
several times as fast as longer programs, so longer programs still get most of the time.
"""

from __future__ import annotations

from functools import cache, lru_cache
from random import Random

from conformance.campaign.planning import FASTEST, cases_of
from conformance.catalog import CATALOG
from conformance.fuzzing.trial import Trial
from generators.case.case import Case
from generators.case.quantized_types import QuantizedColumn
from generators.cells import plan
from generators.chains.links import is_link
from reference.ir.types import ElementType
from reference.ops.table import OPS

PER_TRIAL = 16
"""Programs of a trial, compiled as one module: with more, a program costs hardly less."""

_SingleOpCell = tuple[str, ElementType | QuantizedColumn, int]
"""An op, a column of the op, and the number of a case within a round of the plan."""


def is_single(number: int) -> bool:
    """Return whether the program of that number in a campaign is a case of a single op."""
    return number // PER_TRIAL % 2 == 1


def single_op_case(trial: Trial, number: int) -> Case:
    """Return the case of a single op with that number in a campaign; `is_single` must hold for it.
    A campaign takes all cases of the plan's first round, trial by trial in a shuffled order, then
    the next cases of each cell, and so on.
    """
    cells = _cells(trial.ops, trial.guide.quantized)
    block, place = divmod(number, PER_TRIAL)
    trials = -(-len(cells) // PER_TRIAL)
    turn, block = divmod(block // 2, trials)
    first = _order(trials, trial.seed, turn)[block] * PER_TRIAL
    op, column, index = cells[(first + place) % len(cells)]
    return plan.case(op, column, trial.seed, turn * _count(op) + index)


def _count(op: str) -> int:
    """Return the number of cases of a cell in a round."""
    return cases_of(CATALOG[op], FASTEST)


@cache
def _cells(ops: frozenset[str], quantized: bool) -> tuple[_SingleOpCell, ...]:
    """Return the cells of a round for the ops of a campaign. The cases of a cell are consecutive,
    so that few trials are split if a backend refuses the whole cell.
    """
    chosen = [name for name, record in OPS.items() if is_link(record) and (not ops or name in ops)]
    return tuple(
        (op, column, index)
        for op in chosen
        for column in plan.valid_columns(op)
        if quantized or not isinstance(column, QuantizedColumn)
        for index in range(_count(op))
    )


@lru_cache(maxsize=2)
def _order(count: int, seed: int, turn: int) -> list[int]:
    """Return the shuffled order of the trials of a round."""
    order = list(range(count))
    Random(seed << 32 | turn).shuffle(order)  # noqa: S311 - a choice that anyone may foresee
    return order

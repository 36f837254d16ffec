"""Cases and programs as Hypothesis strategies, for property tests.

This is the only file that loads Hypothesis. A run draws its cases by index
(generators/cells/plan.py), a campaign its programs (strategy.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.case.case import Case
from generators.case.choices import Pick
from generators.chains.strategy import Ops, program
from generators.families.table import builder
from generators.programs.building import Builder
from reference.ir.types import ElementType
from reference.ops.table import OPS


@cache
def _integers(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def _draw_case(draw: DrawFn, build: Builder, element_type: ElementType) -> Case:
    return build(element_type, Pick(lambda count: draw(_integers(count)) if count > 1 else 0))


def strategy(op: str, element_type: ElementType) -> SearchStrategy[Case]:
    """Return cases of an op in one cell, as a Hypothesis strategy that shrinks to the simplest.

    Raises:
        ValueError: if the op does not take the element type.
    """
    if element_type not in OPS[op].element_types:
        raise ValueError(f"{op} takes no tensor of {element_type}")
    return _draw_case(builder(op), element_type)


STRATEGIES: dict[str, Callable[[ElementType], SearchStrategy[Case]]] = {
    op: partial(strategy, op) for op in OPS
}
"""The strategy of each op's cases, as a function of the element type."""


@st.composite
def _draw_program(draw: DrawFn, ops: Ops) -> Case:
    def draw_below(count: int) -> int:
        return draw(st.integers(0, count - 1)) if count > 1 else 0

    return program(Pick(draw_below), ops)


def programs(ops: Ops = frozenset()) -> SearchStrategy[Case]:
    """Return valid programs of 1 to about 12 operations, which shrink to the simplest."""
    return _draw_program(ops)

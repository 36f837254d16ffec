"""Cases as Hypothesis strategies, for property tests: the only file that loads Hypothesis.

A run draws its cases by index (generators/cells/plan.py) without Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.case.case import Case
from generators.case.choices import Pick
from generators.families.table import builder
from generators.programs.building import Builder
from reference.ir.types import ElementType
from reference.ops.table import OPS


@cache
def _integers(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def _drawn(draw: DrawFn, build: Builder, element_type: ElementType) -> Case:
    return build(element_type, Pick(lambda count: draw(_integers(count)) if count > 1 else 0))


def strategy(op: str, element_type: ElementType) -> SearchStrategy[Case]:
    """Return cases of an op in one cell, as a Hypothesis strategy that shrinks to the simplest.

    Raises:
        ValueError: if the op does not take the element type.
    """
    if element_type not in OPS[op].element_types:
        raise ValueError(f"{op} takes no tensor of {element_type}")
    return _drawn(builder(op), element_type)


STRATEGIES: dict[str, Callable[[ElementType], SearchStrategy[Case]]] = {
    op: partial(strategy, op) for op in OPS
}
"""For each op, the strategy of its cases as a function of the element type."""

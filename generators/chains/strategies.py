"""Programs of several operations as a Hypothesis strategy, for property tests.

A campaign draws its programs by index (strategy.py) without Hypothesis.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.case.case import Case
from generators.case.choices import Pick
from generators.chains.strategy import Ops, program


@st.composite
def _drawn(draw: DrawFn, ops: Ops) -> Case:
    def one_of(count: int) -> int:
        return draw(st.integers(0, count - 1)) if count > 1 else 0

    return program(Pick(one_of), ops)


def programs(ops: Ops = frozenset()) -> SearchStrategy[Case]:
    """Return valid programs of 1 to about 12 operations, which shrink to the simplest."""
    return _drawn(ops)

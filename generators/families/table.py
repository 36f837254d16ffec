"""Every op that has cases: what builds them, as one table over all families."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.case.case import Case
from generators.families import (
    contraction,
    control_flow,
    convolution,
    data_movement,
    dynamism,
    elementwise,
    fft,
    gathering,
    host,
    linear_algebra,
    normalization,
    quantization,
    random,
    reduction,
    sorting,
)
from generators.programs.building import Builder
from reference.ir.types import ElementType

_FAMILIES = (
    elementwise, data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

BUILDERS: dict[str, Builder] = {
    op: build for family in _FAMILIES for op, build in family.BUILDERS.items()
}
"""What builds the cases of each op."""

ELEMENT_TYPES_OF: dict[str, tuple[ElementType, ...]] = {
    op: types for family in _FAMILIES for op, types in family.ELEMENT_TYPES.items()
}
"""The element types of each op's cells, in the specification's order of types."""


def builder(op: str) -> Builder:
    """The function that builds an op's cases.

    Raises:
        KeyError: when the op has no cases.
    """
    if op not in BUILDERS:
        raise KeyError(f"no cases for op {op!r}; known: {', '.join(BUILDERS)}")
    return BUILDERS[op]


@cache
def _integers(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def _drawn(draw: DrawFn, build: Builder, of: ElementType) -> Case:
    return build(of, lambda count: draw(_integers(count)) if count > 1 else 0)


def strategy(op: str, element_type: ElementType) -> SearchStrategy[Case]:
    """Cases of an op in one cell, as a Hypothesis strategy that shrinks to the simplest.

    Raises:
        ValueError: when the op does not take the element type.
    """
    if element_type not in ELEMENT_TYPES_OF[op]:
        raise ValueError(f"{op} takes no tensor of {element_type}")
    return _drawn(builder(op), element_type)


STRATEGIES: dict[str, Callable[[ElementType], SearchStrategy[Case]]] = {
    op: partial(strategy, op) for op in ELEMENT_TYPES_OF
}
"""For each op, the strategy of its cases as a function of the element type."""

"""Cases of the ops of reference/ops/random.py."""

from __future__ import annotations

import math

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import shape, sizes_label
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import ElementType
from reference.ops.random import RNG_DISTRIBUTIONS

_SAMPLES = ((1000,), (25, 40), (2048,), (7, 11, 13), (1,), (500,))
_MOST_ELEMENTS = 4096

_SHAPES = (
    (), (1,), (2,), (3,), (4,), (5,), (7,), (8,), (1, 1), (2, 3), (3, 2), (3, 5), (5, 3), (4, 4),
    (3, 3, 3), (3, 4, 5), (5, 1, 3), (1, 6, 1), (2, 2, 2, 2), (0,), (3, 0), (0, 4), (33,), (257,),
    (1000,), (31, 33),
)  # fmt: skip
"""Shapes with dimensions of even and odd size at every position: the order of the output depends on
them.
"""

_UNIFORM: tuple[ProfileRow, ...] = (
    ("values:0", "values:1"), ("values:-1", "values:1"), ("values:2", "values:5"),
    ("values:0", "values:1"), ("values:-3", "within:-2:4"), ("values:1", "values:2"),
    ("within:-8:-1", "within:0:8"), ("lower", "upper"), ("values:0", "values:4"),
    ("special", "special"),
)  # fmt: skip
_NORMAL: tuple[ProfileRow, ...] = (
    ("values:0", "values:1"), ("values:1", "values:2"), ("moderate", "values:1"),
    ("values:-3", "values:0"), ("small_integers", "within:0:4"), ("values:0", "values:3"),
    ("unit", "within:1:2"), ("special", "special"),
)  # fmt: skip
_BOOLEAN: tuple[ProfileRow, ...] = (("values:0", "values:1"), ("bits", "bits"))
_SIGNED: tuple[ProfileRow, ...] = (
    ("values:0", "values:1"), ("within:-2:-1", "within:0:1"), ("values:0", "within:1:100"),
    ("lower", "upper"), ("within:-100:0", "within:1:50"), ("special", "special"),
)  # fmt: skip
_UNSIGNED: tuple[ProfileRow, ...] = (
    ("values:0", "values:1"), ("values:0", "within:1:100"), ("within:0:1", "within:2:3"),
    ("lower", "upper"), ("values:1", "within:2:50"), ("special", "special"),
)  # fmt: skip
"""Parameters of UNIFORM and NORMAL: mostly a < b, and deviations that are not negative."""


def sample_sizes(pick: Pick) -> tuple[int, ...]:
    """Return the shape of a sample: often so large that its distribution shows."""
    sizes = choose(pick, _SAMPLES) if seldom(pick, 3, "large sample") else shape(pick)
    return sizes[:1] if math.prod(sizes) > _MOST_ELEMENTS else sizes


def parameter_rows(element_type: ElementType, kind: str) -> tuple[ProfileRow, ...]:
    """Return the profiles of the two parameters of a distribution."""
    if element_type.is_float:
        return _NORMAL if kind == "NORMAL" else _UNIFORM
    if element_type.is_signed:
        return _SIGNED
    return _UNSIGNED if element_type.is_integer else _BOOLEAN


def _rng(element_type: ElementType, pick: Pick) -> Case:
    kind = "UNIFORM"
    if element_type.is_float:
        kind = choose(pick, RNG_DISTRIBUTIONS, "rng_distribution")
    sizes = sample_sizes(pick)
    scalar, index = TensorType((), element_type), TensorType((len(sizes),), TYPES["si64"])
    rows, values = parameter_rows(element_type, kind), "values:" + ",".join(map(str, sizes))
    return case(
        pick, "rng", {"a": scalar, "b": scalar, "shape": index}, (TensorType(sizes, element_type),),
        tuple((*row, values) for row in rows), {"rng_distribution": kind}, constants=("shape",),
    )  # fmt: skip


_STATES: tuple[ProfileRow, ...] = (
    ("small_integers",),
    ("bits",),
    ("special",),
    ("wide",),
    ("upper",),
)
_CHOICES = (
    ("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("THREE_FRY", 2), ("PHILOX", 3), ("DEFAULT", 2),
    ("THREE_FRY", 2), ("DEFAULT", 3),
)  # fmt: skip


def _rng_bit_generator(element_type: ElementType, pick: Pick) -> Case:
    algorithm, words = choose(pick, _CHOICES, "rng_algorithm, words of state")
    state = TensorType((words,), TYPES["ui64"])
    output = TensorType(choose(pick, _SHAPES, "output", sizes_label), element_type)
    given: dict[str, Attribute] = {"rng_algorithm": algorithm}
    return case(
        pick, "rng_bit_generator", {"initial_state": state}, (state, output), _STATES, given
    )


BUILDERS: dict[str, Builder] = {"rng": _rng, "rng_bit_generator": _rng_bit_generator}
"""The builder of each op's cases."""

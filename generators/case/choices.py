"""Choices: every decision that makes a case, from a number below a count to a named dimension.

A dimension of variation is a choice with a name: an attribute, a rank, a kind of sizes, the source
of an operand. Its options are grouped into values by their labels. The options that a builder
offers at a named choice are the only declaration of a dimension, so no second list can disagree. A
plan (generators/cells/coverage.py) decides the values of named choices; unplanned values and all
other choices are drawn.

A builder's named choices, and their options, may depend on the element type and on earlier named
choices, but not on unnamed choices: then every value that was ever offered can be obtained again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


EMPTINESS = frozenset({"with 0", "empty"})
"""Labels of values with which all results of a case may be empty."""

PARAMETER, ARRAY, SPLAT = "a parameter", "a constant", "a splat"
"""Sources of an operand."""

NARROWING = EMPTINESS | {ARRAY, SPLAT}
"""Values that reduce the coverage or the inputs of a case. A plan aims at them separately, never in
addition to another aim."""

SCALAR = "a scalar"
"""A rank of 0. The first cases have other ranks, because a single element covers less."""


@dataclass(frozen=True, slots=True)
class NamedChoice:
    """A named choice that a builder made: the values offered, and the value taken.

    Values of a dimension that is not `paired` form no pairs with others.
    """

    dimension: str
    offered: tuple[str, ...]
    taken: str
    paired: bool = True


class Pick:
    """The choices that make one case: pick(n) returns a number in [0, n); smaller is simpler.

    `planned` are values of dimensions that are taken if they are offered. `turn` distinguishes the
    cases of a cell: round-robin choices start there; None draws instead. `asked` records each named
    choice except those in `hidden`, which are drawn. `has_empty_results` says that all
    results of the case are empty, which hides everything else. `shape` is used for the first
    requested shape, if set.
    """

    __slots__ = (
        "_draw",
        "_left",
        "_planned",
        "_turn",
        "asked",
        "has_empty_results",
        "hidden",
        "shape",
    )

    def __init__(
        self,
        draw: Callable[[int], int],
        planned: Mapping[str, str] | None = None,
        turn: int | None = None,
    ) -> None:
        """Choose by `draw` all choices that are not planned."""
        self._draw, self._planned, self._turn = draw, planned or {}, turn
        self.shape: tuple[int, ...] | None = None
        self.hidden: frozenset[str] = frozenset()
        self.start()

    def start(self, *, freely: bool = False) -> None:
        """Reset the record of choices to build the case again; `freely` ignores the plan."""
        self._left = {} if freely else dict(self._planned)
        self.asked: list[NamedChoice] = []
        self.has_empty_results = False

    def set_plan(self, planned: Mapping[str, str]) -> None:
        """Plan these values of dimensions for the following choices, and no others."""
        self._left = dict(planned)

    def __call__(self, count: int) -> int:
        """Return a number in [0, `count`)."""
        return self._draw(count)

    def choose_named(
        self,
        dimension: str,
        options: Sequence[T],
        label: Callable[[T], str],
        *,
        paired: bool = True,
    ) -> T:
        """Return one of the options, with the planned value if an option has it.

        A dimension that occurs several times in a case (a stride for each axis) takes the planned
        value the first time, and then any value.
        """
        if dimension in self.hidden:
            return options[self._draw(len(options)) if len(options) > 1 else 0]
        labels, offered = _option_labels(tuple(options), label)
        wanted = self._left.pop(dimension, None)
        if wanted in labels:
            options = [o for o, own in zip(options, labels, strict=True) if own == wanted]
        at = self._draw(len(options)) if len(options) > 1 else 0
        taken = wanted if wanted in labels else labels[at]
        self.asked.append(NamedChoice(dimension, offered, taken, paired))
        return options[at]

    @property
    def is_planned(self) -> bool:
        """Whether the case belongs to a cell's plan; other cases are drawn independently."""
        return self._turn is not None

    def round_robin(self, count: int, step: int) -> int:
        """Return a number in [0, `count`), equally often over the cases of a cell.

        `step` numbers such choices within a case. Each iteration uses another order.
        """
        if self._turn is None:
            return self._draw(count)
        turns, at = divmod(self._turn + step, count)
        stride = _STRIDES[turns % len(_STRIDES)]
        return (at * stride + turns) % count if count % stride else at


def _option_labels(
    options: tuple[T, ...], label: Callable[[T], str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the label of each option, and the distinct labels in order."""
    try:
        return _cached_labels(options, _types_of(options), label)
    except TypeError:  # options such as dictionaries of attributes have no hash
        return _cached_labels.__wrapped__(options, (), label)


def _types_of(option: object) -> object:
    """Return the type of an option; of a tuple, the types of its parts.

    False and 0 are equal, so their types tell them apart.
    """
    if isinstance(option, tuple):
        return tuple(map(_types_of, option))  # type: ignore[reportUnknownArgumentType]
    return type(option)


@lru_cache(maxsize=4096)
def _cached_labels(
    options: tuple[Any, ...], types: object, label: Callable[[Any], str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    del types  # a part of the key only
    labels = tuple(map(label, options))
    return labels, tuple(dict.fromkeys(labels))


_STRIDES = (7, 11, 13, 17, 19, 23)
"""Primes: multiples of a prime visit all numbers below a count that it does not divide."""


def label_of(option: object) -> str:
    """Return the label of an option that is a value of its own: its text, or its name."""
    if isinstance(option, tuple):
        return " ".join(map(label_of, option)) or "none"  # type: ignore[reportUnknownArgumentType]
    if isinstance(option, dict):
        return label_of(tuple(option.values()))  # type: ignore[reportUnknownArgumentType]
    return "none" if option is None else str(getattr(option, "name", option))


def name_of(function: Callable[..., object]) -> str:
    """Return the label of an option that is a function: its name in words."""
    return function.__name__.strip("_").replace("_", " ")


def choose(
    pick: Pick,
    options: Sequence[T],
    dimension: str = "",
    label: Callable[[T], str] = label_of,
    *,
    paired: bool = True,
) -> T:
    """Return one of the options, simplest first; a named `dimension` records the choice.

    A repeated option is drawn more often. Values of a dimension that is not `paired` are wanted in
    each column, but not with every value of the other dimensions.
    """
    if dimension:
        return pick.choose_named(dimension, options, label, paired=paired)
    return options[pick(len(options))]


def seldom(pick: Pick, one_in: int, dimension: str = "", *, paired: bool = True) -> bool:
    """Return True once in `one_in` times; as a dimension, its values are "yes" and "no"."""
    options = (False,) * (one_in - 1) + (True,)
    return choose(pick, options, dimension, _spell_boolean, paired=paired)


def _spell_boolean(option: bool) -> str:
    return "yes" if option else "no"

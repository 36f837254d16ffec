"""Choices: every decision that makes a case, from one number below a count to a named dimension.

A dimension of variation is a choice with a name: an attribute, a rank, a kind of sizes, where an
operand comes from. Its options fall into values, told apart by their labels. What a builder offers
at a named choice is what it declares: nothing else lists dimensions, so nothing can disagree with
them. A plan (generators/cells/coverage.py) decides the values of named choices; what it leaves open
is drawn, as are all other choices.

Whether a builder comes to a named choice, and what it offers there, may depend on the element type
and on named choices before it, but not on others: then every value that was ever offered can be
had again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


EMPTINESS = frozenset({"with 0", "empty"})
"""Values with which all results of a case may be empty."""

PARAMETER, ARRAY, SPLAT = "a parameter", "a constant", "a splat"
"""Where an operand comes from."""

NARROWING = EMPTINESS | {ARRAY, SPLAT}
"""Values with which a case shows less of everything else, none of it or with fewer inputs: a plan
takes them where it aims at them, and not beside what it aims at."""

SCALAR = "a scalar"
"""A rank of 0: its single element shows less than tensors do, so the first cases are of others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A named choice that a builder came to: the values offered, and the one that was taken.

    Those of a dimension that is not `paired` make no pairs with others.
    """

    dimension: str
    offered: tuple[str, ...]
    taken: str
    paired: bool = True


class Pick:
    """The choices that make one case. pick(n) is one of 0, ..., n - 1; smaller is simpler.

    `planned` are values of dimensions, to be taken where they are offered. `turn` tells a case from
    the others of its cell: what goes round in turn starts there; None draws instead. `asked` grows
    with each named choice but those in `hidden`, which are drawn; `nothing` says that all results
    of the case are empty, which hides everything else. `shape` is taken, where there is one, for
    the first shape that is asked for.
    """

    __slots__ = ("_draw", "_left", "_planned", "_turn", "asked", "hidden", "nothing", "shape")

    def __init__(
        self,
        draw: Callable[[int], int],
        planned: Mapping[str, str] | None = None,
        turn: int | None = None,
    ) -> None:
        """Choose by `draw` what is not planned."""
        self._draw, self._planned, self._turn = draw, planned or {}, turn
        self.shape: tuple[int, ...] | None = None
        self.hidden: frozenset[str] = frozenset()
        self.start()

    def start(self, *, freely: bool = False) -> None:
        """Forget what was asked, because the case is made anew; `freely` without the plan."""
        self._left = {} if freely else dict(self._planned)
        self.asked: list[Asked] = []
        self.nothing = False

    def aim(self, planned: Mapping[str, str]) -> None:
        """Plan these values of dimensions for what is asked next, and nothing else."""
        self._left = dict(planned)

    def __call__(self, count: int) -> int:
        """One of 0, ..., `count` - 1."""
        return self._draw(count)

    def named(
        self,
        dimension: str,
        options: Sequence[T],
        label: Callable[[T], str],
        *,
        paired: bool = True,
    ) -> T:
        """One of the options: of the planned value where one of them has it.

        A dimension that is asked for several times in a case (a stride for each axis) takes the
        planned value the first time, and then any.
        """
        if dimension in self.hidden:
            return options[self._draw(len(options)) if len(options) > 1 else 0]
        labels, offered = _labels(tuple(options), label)
        wanted = self._left.pop(dimension, None)
        if wanted in labels:
            options = [o for o, own in zip(options, labels, strict=True) if own == wanted]
        at = self._draw(len(options)) if len(options) > 1 else 0
        taken = wanted if wanted in labels else labels[at]
        self.asked.append(Asked(dimension, offered, taken, paired))
        return options[at]

    @property
    def takes_turns(self) -> bool:
        """Whether the case is one of a cell's, and not drawn by itself."""
        return self._turn is not None

    def in_turn(self, count: int, step: int) -> int:
        """One of 0, ..., `count` - 1: over the cases of a cell, each as often as the others.

        `step` numbers such choices within a case. Every round goes in another order.
        """
        if self._turn is None:
            return self._draw(count)
        turns, at = divmod(self._turn + step, count)
        stride = _STRIDES[turns % len(_STRIDES)]
        return (at * stride + turns) % count if count % stride else at


def _labels(
    options: tuple[T, ...], label: Callable[[T], str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The label of each option, and the different ones in order."""
    try:
        return _known_labels(options, label)
    except TypeError:  # options such as dictionaries of attributes have no hash
        return _known_labels.__wrapped__(options, label)


@lru_cache(maxsize=4096)
def _known_labels(
    options: tuple[Any, ...], label: Callable[[Any], str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    labels = tuple(map(label, options))
    return labels, tuple(dict.fromkeys(labels))


_STRIDES = (7, 11, 13, 17, 19, 23)
"""Primes: multiples of one run through all numbers below a count that it does not divide."""


def label_of(option: object) -> str:
    """The label of an option, where each is a value of its own: its text, or its name."""
    if isinstance(option, tuple):
        return " ".join(map(label_of, option)) or "none"  # type: ignore[reportUnknownArgumentType]
    if isinstance(option, dict):
        return label_of(tuple(option.values()))  # type: ignore[reportUnknownArgumentType]
    return "none" if option is None else str(getattr(option, "name", option))


def name_of(function: Callable[..., object]) -> str:
    """The label of an option that is a function: its name in words."""
    return function.__name__.strip("_").replace("_", " ")


def choose(
    pick: Pick,
    options: Sequence[T],
    dimension: str = "",
    label: Callable[[T], str] = label_of,
    *,
    paired: bool = True,
) -> T:
    """One of the options, the first being the simplest, as a value of a dimension if that is named.

    Options may repeat: what stands there twice is drawn twice as often. Values of a dimension that
    is not `paired` are wanted in each column, but not with every value of the other dimensions.
    """
    if dimension:
        return pick.named(dimension, options, label, paired=paired)
    return options[pick(len(options))]


def seldom(pick: Pick, one_in: int, dimension: str = "", *, paired: bool = True) -> bool:
    """True once in so many times; as a dimension, "yes" or "no"."""
    options = (False,) * (one_in - 1) + (True,)
    return choose(pick, options, dimension, _yes_or_no, paired=paired)


def _yes_or_no(option: bool) -> str:
    return "yes" if option else "no"

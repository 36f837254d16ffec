"""Claims about the cases or the near misses of an op: values that occur, or the only ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from generators.case.case import Case
from generators.families.table import builder
from reference.ir.program import Dense, Operation
from suites.meta.support.built_cases import assert_valid, built, operations

ValueOf = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """Values that `value_of` takes: all of `values`, and if `exact` no others.

    `source` selects the examples. It is the id of a constraint for near misses, and `Planned` for
    cases. More than `share` of the examples have one of the values.
    """

    op: str
    text: str
    value_of: ValueOf
    values: frozenset[Any]
    exact: bool
    source: Any
    share: float = 0

    def contradiction(self, examples: Iterable[Any]) -> str | None:
        """Return what the examples contradict, or None."""
        given = [self.value_of(example) for example in examples]
        taken = [v for value in given for v in (value if isinstance(value, Items) else [value])]
        missing = self.values - set(taken)
        other = set(taken) - self.values if self.exact else frozenset()
        stated = sum(value in self.values for value in taken)
        if not (missing or other) and stated > self.share * len(taken):
            return None
        return (
            f"{self.op} {self.source}: {self.text}: missing {missing}, not stated {other}, "
            f"{stated} of {len(taken)}"
        )


class Items(tuple[Any, ...]):
    """Several values of one example."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """Cases of an element type in which some dimensions have planned values.

    `of_cases` says that claims look at cases, and not at their operations of the op.
    """

    element_type: str = "f32"
    values: tuple[tuple[str, str], ...] = ()
    count: int = 60
    turn: int | None = None
    of_cases: bool = False


def planned(
    of: str = "f32", count: int = 60, values: Mapping[str, str] | None = None, *,
    turn: int | None = None, of_cases: bool = False,
) -> Planned:  # fmt: skip
    """Return a source of cases of an element type; `values` are planned values of dimensions."""
    return Planned(of, tuple((values or {}).items()), count, turn, of_cases)


def includes(op: str, source: Any, text: str, value_of: ValueOf, values: Iterable[Any]) -> Claim:
    """Claim that each of the values occurs."""
    return Claim(op, text, value_of, frozenset(values), False, source)


def equals(op: str, source: Any, text: str, value_of: ValueOf, values: Iterable[Any]) -> Claim:
    """Claim that each of the values occurs, and no other."""
    return Claim(op, text, value_of, frozenset(values), True, source)


def occurs(op: str, source: Any, text: str, predicate: ValueOf) -> Claim:
    """Claim that the predicate holds for at least one example."""
    return includes(op, source, text, lambda one: bool(predicate(one)), {True})


def holds(op: str, source: Any, text: str, predicate: ValueOf) -> Claim:
    """Claim that there are examples, and that the predicate holds for each."""
    return equals(op, source, text, lambda one: bool(predicate(one)), {True})


def holds_mostly(op: str, source: Any, text: str, predicate: ValueOf) -> Claim:
    """Claim that the predicate, or each of several, holds for more than half of the examples."""
    return Claim(op, text, predicate, frozenset({True}), False, source, 0.5)


def varies(op: str, source: Any, text: str, predicate: ValueOf) -> Claim:
    """Claim that the predicate holds for some examples, and not for others."""
    return equals(op, source, text, lambda one: bool(predicate(one)), {True, False})


def contradictions(claims: Iterable[Claim], examples_of: Callable[[Any], Any]) -> list[str]:
    """Return what contradicts the claims; the examples of a source are made once."""
    made: dict[Any, Any] = {}
    found: list[str] = []
    for claim in claims:
        if claim.source not in made:
            made[claim.source] = examples_of(claim.source)
        found += filter(None, [claim.contradiction(made[claim.source])])
    return found


def drawn_contradictions(op: str, claims: Iterable[Claim]) -> list[str]:
    """Return what drawn cases of the op contradict; cases of one plan are drawn once."""
    drawn: dict[Planned, list[Case]] = {}

    def examples_of(source: Planned) -> list[Any]:
        plan = replace(source, count=0, of_cases=False)
        if len(drawn.get(plan, ())) < source.count:
            drawn[plan] = built(
                builder(op), source.element_type, source.count, dict(source.values), source.turn
            )
            assert_valid(drawn[plan])
        cases = drawn[plan][: source.count]
        return cases if source.of_cases else operations(cases, op)

    return contradictions((claim for claim in claims if claim.op == op), examples_of)


# --- Values of an operation or of a case ---------------------------------------------------------


def plain(value: Any) -> Any:
    """Return an attribute as a value that has a hash; arrays as tuples."""
    if isinstance(value, Dense):
        value = np.asarray(value.array).tolist()
    return tuple(map(plain, value)) if isinstance(value, list) else value


def attribute(name: str) -> Callable[[Operation], Any]:
    """Return a function that reads an attribute of an operation."""
    return lambda one: plain(one.attribute(name))


def items_of(name: str) -> Callable[[Operation], Items]:
    """Return a function that reads the numbers in an attribute of an operation."""
    return lambda one: Items(np.ravel(np.asarray(plain(one.attribute(name)) or ())).tolist())


def shape(number: int = 0) -> Callable[[Operation], tuple[int, ...]]:
    """Return a function that reads the shape of an operand; of the first result for -1."""
    return lambda one: (one.results[0] if number < 0 else one.operands[number]).type.shape  # type: ignore[union-attr]


def shapes(*numbers: int) -> Callable[[Operation], Any]:
    """Return a function that reads several shapes."""
    return lambda one: tuple(shape(number)(one) for number in numbers)


def element(number: int = 0) -> Callable[[Operation], str]:
    """Return a function that reads the element type of an operand; of a result for -1."""
    return lambda one: str(
        (one.results[0] if number < 0 else one.operands[number]).type.element_type  # type: ignore[union-attr]
    )


def profiles(case: Case) -> Items:
    """Return the profiles of a case."""
    return Items(profile for recipe in case.inputs for profile in recipe.profiles)

"""Covering arrays: a plan of the values of named dimensions in each case of an op.

This is a greedy one-test-at-a-time construction of a covering array of strength two (AETG: Cohen,
Dalal, Fredman and Patton, 1997), continued to triples, for dimensions that are only known from the
offers of builders.

The cases of an op are planned in order: case 0 of every column, then case 1, and so on. An offer is
a value, or a combination of values, that a builder could take. Each case aims at an offer that no
case has taken yet: a value new to the op, a value new to the column, a pair of values new to the
op, a pair new to the column, three values new to the column. Its other values cover as many new
pairs as possible, and are drawn if none is left. A case with only empty results hides its other
choices: it counts only for the values that make it empty, which form no pairs.

After `TOGETHER` cases of each column, every column is planned independently, so that a late case
does not require cases of other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from generators.case.choices import EMPTINESS, NARROWING, SCALAR, NamedChoice, Pick
from generators.cells.coverage_column import (
    TRIES,
    Column,
    Pair,
    Triple,
    Value,
    last_contributing_case,
    pop_missing,
    rotate_pairs,
    values_offered_until,
)
from generators.cells.coverage_report import MOST_NAMED, CoverageReport

TOGETHER = 16
"""Number of cases of each column that are planned jointly with cases of other columns."""

_EARLY = 3
"""Number of cases of a column in the shortest runs."""

_FIRST = 2
"""Number of cases of a column in the shortest run of most ops: these cases have no scalars."""

_LATE = NARROWING | {SCALAR}
"""Values that the first cases take only if they are the aim."""

_NEW_VALUE = 100
"""The weight of a value that is new to a column: as much as this number of new pairs."""

_SHIFT = 24
_LOW = (1 << _SHIFT) - 1
_WORD = (1 << 64) - 1
_MIXING = 0x9E3779B97F4A7C15
"""An odd number by which numbers are multiplied to mix their order (D. Knuth, TAOCP 3, 6.4)."""

Build = Callable[[int, int, dict[str, str]], Pick]
"""A function build(column, index, planned): the choices by which a case was made."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """Values of a dimension that a case was offered at once.

    The `paired` values form pairs with values of other dimensions.
    """

    number: int
    values: tuple[Value, ...]
    paired: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of a case: up to three values, and the values taken before their offer."""

    values: tuple[Value, ...]
    before: tuple[Value, ...]


class Coverage:
    """The plan of an op's cases under one seed, extended on demand."""

    def __init__(self, columns: int, build: Build) -> None:
        """Plan for `columns` columns, building each case with `build`."""
        self._build = build
        self.columns = [Column() for _ in range(columns)]
        self.names: list[tuple[str, str]] = [("", "")]
        """The dimension and the label of each value. None is number 0: with it, a pair would be the
        number of the other value."""
        self._numbers: dict[tuple[str, str], Value] = {}
        self._alone: set[Value] = set()
        self._empty: set[Value] = set()
        self._offers: dict[tuple[str, tuple[str, ...]], _Offer] = {}
        self._values: set[Value] = set()
        self._pairs: set[Pair] = set()

    def plan_case(self, column: int, index: int) -> dict[str, str]:
        """Return the labels that the case of that index takes, by dimension."""
        own = self.columns[column]
        while len(own.plans) <= index:
            if len(own.plans) < TOGETHER:
                for number in range(len(self.columns)):
                    self._plan_next(number)
            else:
                self._plan_next(column)
        return own.plans[index]

    def _plan_next(self, number: int) -> None:
        column = self.columns[number]
        index = len(column.plans)
        if index == TOGETHER:  # from here on each column is planned independently
            left = {p: before for p, before in column.new_pairs.items() if p not in self._pairs}
            column.new_pairs = rotate_pairs(left, number, len(self.columns))
        aim = self._choose_aim(column)
        plan = (
            self._extend_plan(column, aim.values if aim else ())
            if index
            else self._first_plan(number)
        )
        pick = self._build(number, index, plan)
        if aim and not self._is_reached(aim, pick.asked):
            again = dict(self.names[value] for value in (*aim.before, *aim.values))
            if again != plan:  # as it was when the offer was made
                plan, pick = again, self._build(number, index, again)
        self._record_case(column, pick)
        column.plans.append(plan)

    def _first_plan(self, number: int) -> dict[str, str]:
        """Return a plan for the first case of a column, from the offers to the column before."""
        plan: dict[str, str] = {}
        before = self.columns[number - 1].options if number else {}
        for dimension, options in before.items():
            shown = [v for v in options if self.names[v][1] not in _LATE] or [*options]
            plan[dimension] = self.names[shown[number % len(shown)]][1]
        return plan

    def _number_of_value(self, dimension: str, label: str) -> Value:
        name = (dimension, label)
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def _is_reached(self, aim: Aim, asked: Sequence[NamedChoice]) -> bool:
        taken = {(one.dimension, one.taken) for one in asked}
        return all(self.names[value] in taken for value in aim.values)

    def measure(self, cases: Mapping[int, Collection[int]], names: Sequence[str]) -> CoverageReport:
        """Return the coverage of the cases of these indices, by the index of their column.

        `names` are the names of all columns. The declared values are those offered up to the last
        of these cases, in columns that have any: later plans do not change the result.
        """
        values = declared = out_of_reach = 0
        pairs: set[Pair] = set()
        missing: list[str] = []
        met_anywhere, offered_anywhere = set[Value](), dict[Value, None]()
        for number, indices in cases.items():
            last = max(indices)
            self.plan_case(number, last)
            column = self.columns[number]
            rows = [set(column.rows[index]) for index in indices]
            met = set[Value]().union(*rows)
            offered = values_offered_until(last, *column.options.values())
            lost = [value for value in offered if value not in met]
            met_anywhere |= met
            offered_anywhere.update(dict.fromkeys(offered))
            values, declared = values + len(met), declared + len(offered)
            out_of_reach += sum(column.aimed.get(value, last + 1) <= last for value in lost)
            missing += [f"{names[number]}: {self._text(value)}" for value in lost]
            for row in rows:
                pairs |= self._pairs_of([*row])
        declared_pairs = self._offered_pairs(cases)
        pairs &= declared_pairs
        lost_pairs = sorted(declared_pairs - pairs)[:MOST_NAMED]
        missing += [f"{self._text(p >> _SHIFT)}, {self._text(p & _LOW)}" for p in lost_pairs]
        counts = (values, declared, out_of_reach, len(pairs), len(declared_pairs))
        by_dimension = self._count_by_dimension(offered_anywhere, met_anywhere)
        return CoverageReport(*counts, tuple(missing[:MOST_NAMED]), by_dimension)

    def _count_by_dimension(
        self, offered: Collection[Value], met: Collection[Value]
    ) -> dict[str, tuple[int, int]]:
        """Count covered and offered values by dimension."""
        found: dict[str, tuple[int, int]] = {}
        for value in offered:
            dimension = self.names[value][0]
            reached, all_values = found.get(dimension, (0, 0))
            found[dimension] = (reached + (value in met), all_values + 1)
        return dict(sorted(found.items()))

    def count_needed(self, count: int) -> list[int]:
        """Return how many of its first `count` cases each column needs for their coverage.

        A column needs all cases up to the last that contributes. A case contributes if it takes or
        is offered a value new to the column or a pair new to the op, or is the first to aim at it.
        """
        for number in range(len(self.columns)):
            self.plan_case(number, count - 1)
        needed = [last_contributing_case(column, count) + 1 for column in self.columns]
        pairs: set[Pair] = set()
        for index in range(count):
            for number, column in enumerate(self.columns):
                met = self._pairs_of(column.rows[index])
                if not met <= pairs:
                    pairs |= met
                    needed[number] = max(needed[number], index + 1)
        offered = dict.fromkeys(pairs, -1)
        for column in self.columns:
            for pair, index in column.offered_pairs.items():
                offered[pair] = min(offered.get(pair, index), index)
        for number, column in enumerate(self.columns):
            first = (i for p, i in column.offered_pairs.items() if i == offered[p] and i < count)
            needed[number] = max(needed[number], max(first, default=-1) + 1)
        return needed

    def _pairs_of(self, row: Sequence[Value]) -> set[Pair]:
        """Return the pairs that a case takes."""
        names = self.names
        shown = [(value, names[value][0]) for value in sorted(set(self._pair_values(row)))]
        return {a << _SHIFT | b for (a, one), (b, other) in combinations(shown, 2) if one != other}

    def _offered_pairs(self, cases: Mapping[int, Collection[int]]) -> set[Pair]:
        """Return the pairs offered to these cases and to the cases planned jointly with them."""
        together = min(max(map(max, cases.values()), default=-1), TOGETHER - 1)
        pairs: set[Pair] = set()
        for index, column in enumerate(self.columns):
            last = max(cases[index]) if index in cases else together
            pairs.update(values_offered_until(last, column.offered_pairs))
        return pairs

    def dimensions(self) -> dict[str, list[str]]:
        """Return the dimensions with all offered values, in the order of their first offer."""
        found: dict[str, list[str]] = {}
        for dimension, label in self.names[1:]:
            found.setdefault(dimension, []).append(label)
        return found

    def _text(self, value: Value) -> str:
        return "{} {}".format(*self.names[value])

    def _choose_aim(self, column: Column) -> Aim | None:
        """Return the aim of the column's next case, None if all offers are covered."""
        value = self._missing_value(column)
        if value is not None:
            return Aim((value,), pop_missing(column, column.missing_values, value))
        while column.new_pairs and (pair := next(iter(column.new_pairs))) in self._pairs:
            del column.new_pairs[pair]
        for pairs in (column.new_pairs, column.missing_pairs):
            if pairs:
                pair = next(iter(pairs))
                before = pop_missing(column, pairs, pair)
                return Aim((pair >> _SHIFT, pair & _LOW), before)
        triple = self._missing_triple(column)
        return Aim(triple, ()) if triple else None

    def _missing_triple(self, column: Column) -> Triple | None:
        """Return three values that the column covers in pairs but not as a triple, for every other
        case.

        The other cases draw unnamed choices freely. Narrowing values are excluded.
        """
        if len(column.plans) % 2:
            return None
        if not column.triples:
            for row in column.rows:
                column.triples.update(self._triples(row))
        if column.to_combine is None:
            column.to_combine = self._triangles(column)
        found = next((one for one in column.to_combine if one not in column.triples), None)
        if found is None:  # other pairs may have been covered since
            column.to_combine = None
        return found

    def _triples(self, row: Sequence[Value]) -> Iterator[Triple]:
        """Yield the triples of a case's values, without values that form no pairs or are
        narrowing."""
        shown = {value for value in self._pair_values(row) if self.names[value][1] not in NARROWING}
        for triple in combinations(sorted(shown), 3):
            if len({self.names[value][0] for value in triple}) == len(triple):
                yield triple

    def _triangles(self, column: Column) -> Iterator[Triple]:
        """Yield values of three dimensions that were covered in pairs, in a mixed order."""
        beside: dict[Value, set[Value]] = {}
        for pair in column.pairs:
            beside.setdefault(pair >> _SHIFT, set()).add(pair & _LOW)
        for pair in sorted(column.pairs, key=lambda pair: (pair * _MIXING) & _WORD):
            low, high = pair >> _SHIFT, pair & _LOW
            for third in sorted(beside[low] & beside.get(high, set())):
                if not any(self.names[value][1] in NARROWING for value in (low, high, third)):
                    yield low, high, third

    def _missing_value(self, column: Column) -> Value | None:
        """Return a value that is new to the op, or new to the column when its turn comes.

        The first cases cover as much as they can, for short runs. Narrowing values come after them,
        because they combine with fewer other values.
        """
        missing = column.missing_values
        fresh = (value for value in missing if value not in self._values)
        early = len(column.plans) < _EARLY
        if len(column.plans) < _FIRST:
            missing = [v for v in missing if self.names[v][1] != SCALAR] or missing
        turn = (value for value in missing if (self.names[value][1] in NARROWING) is not early)
        return next(fresh, next(turn, next(iter(missing), None)))

    def _extend_plan(self, column: Column, aimed: tuple[Value, ...]) -> dict[str, str]:
        """Return a plan for these values, extended by values that are new or form new pairs."""
        plan = dict(self.names[value] for value in aimed)
        chosen = [*aimed]
        wanted = column.new_pairs or column.missing_pairs
        left_out = _LATE if len(column.plans) < _FIRST else NARROWING
        for dimension, options in column.options.items():
            if dimension in plan:
                continue
            best, most = None, 0
            for value in options:
                if self.names[value][1] in left_out:
                    continue
                worth = sum(
                    (value << _SHIFT | other if value < other else other << _SHIFT | value)
                    in wanted
                    for other in chosen
                )
                if value not in column.values:
                    worth += _NEW_VALUE
                if worth > most:
                    best, most = value, worth
            if best is not None:
                chosen.append(best)
                plan[dimension] = self.names[best][1]
        return plan

    def _record_case(self, column: Column, pick: Pick) -> None:
        """Record the values that a case was offered and took."""
        taken: list[Value] = []
        filled: list[Value] = []
        for asked in pick.asked:
            offer = self._offers.get((asked.dimension, asked.offered))
            if offer is None:
                offer = self._new_offer(asked)
            before = tuple(filled)
            if offer.number not in column.offers:
                column.offers.add(offer.number)
                self._record_offered_values(column, asked.dimension, offer.values, before)
            if asked.paired:
                self._record_offered_pairs(column, offer, before)
            value = self._number_of_value(asked.dimension, asked.taken)
            taken.append(value)
            if value not in self._empty:
                filled.append(value)
        if pick.has_empty_results:
            taken = [value for value in taken if value in self._empty]
        column.rows.append(tuple(taken))
        self._record_values(column, taken)
        pairs = self._record_pairs(column, taken)
        if column.triples:
            column.triples.update(self._triples(taken))
        if (
            len(column.plans) < TOGETHER
        ):  # cases that columns plan independently must not affect others
            self._values.update(taken)
            self._pairs |= pairs

    def _new_offer(self, asked: NamedChoice) -> _Offer:
        values = tuple(self._number_of_value(asked.dimension, label) for label in asked.offered)
        self._empty.update(value for value in values if self.names[value][1] in EMPTINESS)
        if not asked.paired:
            self._alone.update(values)
        paired = tuple(value for value in values if value not in self._empty)
        offer = _Offer(len(self._offers), values, paired)
        self._offers[asked.dimension, asked.offered] = offer
        return offer

    def _record_offered_values(
        self, column: Column, dimension: str, values: tuple[Value, ...], before: tuple[Value, ...]
    ) -> None:
        """Record values that the column is offered for the first time together."""
        known, index = column.options.setdefault(dimension, {}), len(column.plans)
        for value in values:
            known.setdefault(value, index)
            if value not in column.values and column.tries.get(value, 0) < TRIES:
                column.missing_values.setdefault(value, before)

    def _record_offered_pairs(
        self, column: Column, offer: _Offer, before: tuple[Value, ...]
    ) -> None:
        """Record the pairs of offered values with values taken before."""
        names, met, index = self.names, column.met, len(column.plans)
        dimension, number = names[offer.values[0]][0], offer.number << _SHIFT
        for other in self._pair_values(before):
            if number | other in met or names[other][0] == dimension:
                continue
            met.add(number | other)
            for value in offer.paired:
                pair = value << _SHIFT | other if value < other else other << _SHIFT | value
                if pair in column.pairs:
                    continue
                column.offered_pairs.setdefault(pair, index)
                column.missing_pairs.setdefault(pair, before)
                if pair not in self._pairs:
                    column.new_pairs.setdefault(pair, before)

    def _pair_values(self, taken: Sequence[Value]) -> list[Value]:
        """Return the values that form pairs."""
        return [value for value in taken if value not in self._empty and value not in self._alone]

    def _record_values(self, column: Column, values: Sequence[Value]) -> None:
        for value in values:
            column.values.add(value)
            column.missing_values.pop(value, None)

    def _record_pairs(self, column: Column, values: Sequence[Value]) -> set[Pair]:
        """Record the pairs of values taken; return those that are new to the column."""
        pairs = self._pairs_of(values) - column.pairs
        column.pairs |= pairs
        for pair in pairs:
            column.missing_pairs.pop(pair, None)
            column.new_pairs.pop(pair, None)
        return pairs

"""The changes that a compiler makes to a program, as text that an expectation can name.

Values are written as expressions: `divide(divide(a, b), c) => divide(a, multiply(b, c))`. What both
programs compute alike is a letter, constants are `C`. An element type is written where it is not
that of the first operand: `convert<bf16>(a)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

import numpy as np

from conformance.transforms.values import evaluate_values_by_process
from reference.ir.op import Structure
from reference.ir.program import Attribute, Operation, Program, Region, TensorType, Value, ValueType
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of
from reference.numerics.alike import equal_results
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

DEPTH = 5
"""Largest number of nested operations that are written; deeper ones are `...`."""

ValuesByProcess = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
"""The values of two programs by name, in each process."""

_PREDICATE = ELEMENT_TYPES["i1"]


@dataclass(frozen=True, slots=True)
class Change:
    """An operation whose value a compiler computes in another way, and both ways as text."""

    operation: Operation
    text: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A value as a tree of what it is computed from; without an operation, an argument.

    `key` is the same for equal expressions of programs that one `_Reader` reads. `regions` have the
    expressions of what each region returns. `is_constant` says that it is a constant, or moves
    elements of constants.
    """

    key: int
    value: Value
    operation: Operation | None = None
    operands: tuple[Expression, ...] = ()
    regions: tuple[tuple[Expression, ...], ...] = ()
    is_constant: bool = False

    @property
    def name(self) -> str:
        """The name of the operation, "" for an argument."""
        return "" if self.operation is None else self.operation.name

    @property
    def attributes(self) -> tuple[tuple[str, Attribute], ...]:
        """The attributes of the operation."""
        return () if self.operation is None else self.operation.attributes

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of: operands, then results of regions."""
        return (*self.operands, *(one for region in self.regions for one in region))

    def differs_in_parts_from(self, other: Expression) -> bool:
        """Return whether it differs from another expression in nothing but its parts."""
        mine, others = self.parts, other.parts
        return bool(mine) and (self.name, self.value.type, self.attributes, len(mine)) == (
            other.name, other.value.type, other.attributes, len(others)
        )  # fmt: skip


@dataclass(slots=True)
class _Reader:
    """Reader of expressions; equal expressions have the same key, in different programs, too."""

    keys: dict[object, int] = field(default_factory=dict[object, int])

    def results(self, program: Program) -> tuple[Expression, ...]:
        """Return what main returns."""
        body = program.main.body
        return self._returned(body, self._arguments(body, 0), 1)

    def _arguments(self, region: Region, depth: int) -> dict[str, Expression]:
        return {
            argument.name: Expression(self._key("argument", depth, index, argument.type), argument)
            for index, argument in enumerate(region.arguments)
        }

    def _returned(
        self, region: Region, values: Mapping[str, Expression], depth: int
    ) -> tuple[Expression, ...]:
        found = dict(values)
        for operation in region.operations[:-1]:
            operands = tuple(found[operand.name] for operand in operation.operands)
            regions = tuple(
                self._returned(one, found | self._arguments(one, depth), depth + 1)
                for one in operation.regions
            )
            parts = (
                tuple(operand.key for operand in operands),
                tuple(tuple(one.key for one in region) for region in regions),
            )
            is_constant = _is_constant(operation, operands)
            for index, result in enumerate(operation.results):
                stated = operation.name, operation.attributes, result.type
                key = self._key(*stated, index, parts)
                found[result.name] = Expression(
                    key, result, operation, operands, regions, is_constant
                )
        return tuple(found[operand.name] for operand in region.operations[-1].operands)

    def _key(self, *described: object) -> int:
        return self.keys.setdefault(described, len(self.keys))


def _is_constant(operation: Operation, operands: Sequence[Expression]) -> bool:
    record = OPS.get(operation.name)
    if record is None:
        return False
    is_stated = record.structure is Structure.CONSTANT
    return is_stated or (record.moves_elements and all(operand.is_constant for operand in operands))


def find_changes(
    before: Program, after: Program, inputs: Sequence[Array], of: Collection[int] | None = None
) -> tuple[Change, ...]:
    """Return the changes between two programs that change values on these inputs.

    Where only operands of an operation are computed otherwise, these are the changes. Given the
    numbers `of` results, their changes are returned though values are equal.

    Raises:
        EvaluationError: if a program cannot be evaluated.
    """
    reader = _Reader()
    values = [({}, {})] if of is not None else _values_by_process(before, after, inputs)
    roots = [*zip(reader.results(before), reader.results(after), strict=False)]
    found: dict[tuple[int, int], Change] = {}
    left = roots if of is None else [roots[number] for number in sorted(of)]
    seen = set[tuple[int, int]]()
    while left:
        old, new = left.pop(0)
        keys = old.key, new.key
        if keys in seen or old.key == new.key or _have_equal_values(old, new, values):
            continue
        seen.add(keys)
        parts = _parts_apart(old, new, values)
        if parts and _are_counterparts(old, new, parts, values):
            left += parts
            continue
        moved = _without_movement(old, new)
        if moved != (old, new) and _keep_order((old, new), moved, values):
            left.insert(0, moved)
            continue
        old, new = moved
        operation = old.operation or new.operation
        if operation is not None:
            found[keys] = Change(operation, _describe(old, new))
    return tuple(found.values())


def _parts_apart(
    old: Expression, new: Expression, values: ValuesByProcess
) -> list[tuple[Expression, Expression]]:
    """Return the pairs of parts whose values differ, of expressions that differ in nothing else, or
    in that the new one is computed in a wider type and rounded.
    """
    if old.differs_in_parts_from(new):
        others = new.parts
    elif new.name == "convert" and new.operands[0].name == old.name:
        others = tuple(map(_before_conversion, new.operands[0].parts))
        if [one.value.type for one in others] != [one.value.type for one in old.parts]:
            return []
    else:
        return []
    pairs = zip(old.parts, others, strict=True)
    return [
        pair
        for pair in pairs
        if pair[0].key != pair[1].key and not _have_equal_values(*pair, values)
    ]


def _before_conversion(one: Expression) -> Expression:
    return one.operands[0] if one.name == "convert" else one


def _without_movement(old: Expression, new: Expression) -> tuple[Expression, Expression]:
    """Return what both move to other positions, if the old one only moves what is computed."""
    computed = _moved(old)
    if computed is old or computed.operation is None or computed.is_constant:
        return old, new
    return (old, new) if _moved(new).key == computed.key else (computed, _moved(new))


def _keep_order(
    pair: tuple[Expression, Expression],
    moved: tuple[Expression, Expression],
    values: ValuesByProcess,
) -> bool:
    """Return whether the elements of both expressions, in row-major order, are those of what they
    move.
    """
    for own in values:
        for outer, inner, known in zip(pair, moved, own, strict=True):
            result, computed = known.get(outer.value.name), known.get(inner.value.name)
            if not (isinstance(result, np.ndarray) and isinstance(computed, np.ndarray)):
                return False
            if not equal_results([result.reshape(-1)], [computed.reshape(-1)]):
                return False
    return True


def _moved(one: Expression) -> Expression:
    """Return what operations of one operand move to other positions."""
    while one.name in OPS and OPS[one.name].moves_elements and len(one.operands) == 1:
        (one,) = one.operands
    return one


def _are_counterparts(
    old: Expression,
    new: Expression,
    parts: Sequence[tuple[Expression, Expression]],
    values: ValuesByProcess,
) -> bool:
    """Return whether the new part of each pair is computed in place of the old part.

    It is not if an operand has moved, as in `divide(a, divide(b, c)) => divide(multiply(a, c), b)`,
    or if all parts are other numbers of the same operands, as in
    `divide(divide(a, b), divide(a, c)) => divide(multiply(a, c), multiply(a, b))`.
    """
    shared = _shared_keys(old, new)
    if len(parts) > 1 and all(_are_far(*pair, values) for pair in parts):
        used = [shared & {*_keys(one), *_keys(other)} for one, other in parts]
        if frozenset.intersection(*used):
            return False
    moved = [(one.key in shared or one.is_constant, other.key in shared) for one, other in parts]
    return not any(is_old or (is_new and len(parts) > 1) for is_old, is_new in moved)


def _values_by_process(before: Program, after: Program, inputs: Sequence[Array]) -> ValuesByProcess:
    """Return the values of two programs; none if only one of them is partitioned, or if the inputs
    are not split as a program's processes take them.
    """
    takes = [one.process_count * len(one.main.arguments) for one in (before, after)]
    if before.process_count != after.process_count or takes != [len(inputs)] * 2:
        return [({}, {})]
    each = (evaluate_values_by_process(one, inputs) for one in (before, after))
    return [*zip(*each, strict=True)]


def _have_equal_values(old: Expression, new: Expression, values: ValuesByProcess) -> bool:
    """Return whether expressions of two programs have equal values in all processes."""
    pairs = [(own.get(old.value.name), others.get(new.value.name)) for own, others in values]
    return all(
        isinstance(first, np.ndarray)
        and isinstance(second, np.ndarray)
        and equal_results([first], [second])
        for first, second in pairs
    )


def _are_far(old: Expression, new: Expression, values: ValuesByProcess) -> bool:
    """Return whether an element of one is more than twice that of the other, in any process."""
    pairs = [(own.get(old.value.name), others.get(new.value.name)) for own, others in values]
    return any(_have_far_elements(*pair) for pair in pairs)


def _have_far_elements(first: Any, second: Any) -> bool:
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
        return False
    if first.shape != second.shape or not element_type_of(first).is_float:
        return False
    with np.errstate(all="ignore"):
        sizes = [np.abs(to_float64(one)) for one in (first, second)]
        return bool((np.maximum(*sizes) > 2 * np.minimum(*sizes)).any())


def _describe(old: Expression, new: Expression) -> str:
    writer = _Writer(_shared_keys(old, new))
    texts = writer.write(old), writer.write(new)
    if texts[0] != texts[1]:
        return " => ".join(texts)
    return f"{texts[0]} with other {', '.join(sorted(_other_attributes(old, new))) or 'types'}"


def _other_attributes(old: Expression, new: Expression) -> set[str]:
    """Return the names of the attributes that differ in expressions with the same text."""
    found, seen, left = set[str](), set[int](), [(old, new)]
    while left:
        one, other = left.pop()
        if one.key != other.key and one.key not in seen:
            seen.add(one.key)
            found |= {name for name, _ in set(one.attributes) ^ set(other.attributes)}
            left += zip(one.parts, other.parts, strict=False)
    return found


def _shared_keys(old: Expression, new: Expression) -> frozenset[int]:
    return frozenset(_keys(old)) & frozenset(_keys(new))


def _keys(root: Expression) -> Iterator[int]:
    """Yield the keys of an expression and of all expressions that it is made of."""
    seen: set[int] = set()
    left = [root]
    while left:
        one = left.pop()
        if one.key not in seen:
            seen.add(one.key)
            yield one.key
            left += one.parts


@dataclass(slots=True)
class _Writer:
    """Writer of expressions: `shared` are the keys of those that both programs have."""

    shared: frozenset[int]
    letters: dict[int, str] = field(default_factory=dict[int, str])

    def write(self, one: Expression, depth: int = DEPTH) -> str:
        """Return the text of an expression of at most `depth` nested operations."""
        if one.is_constant:
            return "C"
        if one.operation is None or one.key in self.shared:
            return self._letter(one.key)
        if not depth:
            return "..."
        regions = (self._list(region, depth) for region in one.regions)
        bodies = "".join(f"{{{region}}}" for region in regions)
        return f"{_name_text(one)}{_type_text(one)}{bodies}({self._list(one.operands, depth)})"

    def _list(self, several: Sequence[Expression], depth: int) -> str:
        return ", ".join(self.write(one, depth - 1) for one in several)

    def _letter(self, key: int) -> str:
        if key not in self.letters:
            turn, letter = divmod(len(self.letters), len(ascii_lowercase))
            self.letters[key] = ascii_lowercase[letter] + (str(turn) if turn else "")
        return self.letters[key]


def _name_text(one: Expression) -> str:
    """Return the name of an operation's op, or of the op that it is lowered to."""
    record = OPS.get(one.name)
    return record.twin if record is not None and record.twin else one.name


def _type_text(one: Expression) -> str:
    """Return the element type of a value in angle brackets, "" if it is that of an operand."""
    own = _element_type(one.value.type)
    first = _element_type(one.operands[0].value.type) if one.operands else None
    return "" if own is None or own in (first, _PREDICATE) else f"<{own}>"


def _element_type(of: ValueType) -> object:
    return of.element_type if isinstance(of, TensorType) else None

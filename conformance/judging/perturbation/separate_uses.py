"""Every use of a value by itself: a compiler may compute a value again wherever it is used.

Fused into one use a product may be contracted with the sum that takes it, and in another be
rounded: x * s - max(x * s) is then no zero. So in evaluations that move results, each use of what
an elementwise operation has rounded moves separately. Operations that only hand such values on
(broadcasts, slices, negations) are repeated for each use.

What costs more to compute again than to keep (contractions, reductions, solvers) has one value.

Where one elementwise operation takes the same elements of a value several times, itself and what
reshapes or sums over one element make of it (conformance/judging/perturbation/same_elements.py),
they are one use: e / reshape(e) is 1. That holds for functions, of narrow types also: no compiler
that was measured rounds one of the two and keeps the other in the wider type that it computes in.
A product may still go into one operand unrounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.catalog import rule_of
from conformance.judging.perturbation.same_elements import roots
from conformance.transforms.extract import with_main
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ops.structure import is_inside
from reference.ops.table import OPS

VERSIONS = 4
"""How many versions of a value there are at most; further uses share them."""

GROWTH = 2
"""How many times as many operations there may be in a region, those that are repeated included."""


@dataclass(frozen=True, slots=True)
class Separated:
    """A program whose values move apart, and the names of those that have several versions.

    Further versions of those are results of an `optimization_barrier` that takes the value.
    """

    program: Program
    apart: frozenset[str]


def separated(program: Program, fixed: Collection[str] = ()) -> Separated:
    """The program with a version of each value for each of its uses, where that may matter.

    The values of main that are `fixed` have one version.
    """
    apart: set[str] = set()
    main = program.main
    body = _Region(main.body, apart, fixed).separated()
    return Separated(with_main(program, replace(main, body=body)), frozenset(apart))


def rounds(operation: Operation) -> bool:
    """Whether an operation works element by element and may round."""
    if not OPS[operation.name].lifts or len(operation.results) != 1:
        return False
    rule, of = rule_of(operation), operation.results[0].type
    inexact = isinstance(of, TensorType) and (of.stored.is_float or of.stored.is_complex)
    return inexact and rule is not None and rule.ulps is not None


def computes_the_same_again(operation: Operation) -> bool:
    """Whether a rounded result, computed twice for one operation, has the same bits both times.

    It has unless a compiler may take the exact result of one of them into the next operation.
    """
    if not rounds(operation) or OPS[operation.name].unrounded is not None:
        return False
    of = operation.results[0].type
    return isinstance(of, TensorType) and of.stored.is_float


def copies(program: Program) -> dict[str, Value]:
    """Return the values of main that are a rounded value again, each with that value.

    The rounded values are among them. Only those that are computed the same again count.
    """
    return roots(program.main.body, computes_the_same_again)


def hands_on(operation: Operation) -> bool:
    """Whether an operation makes its one result of its operands' elements, without rounding them.

    An operation with a region, such as `sort` with its comparator, costs too much to be repeated.
    """
    record = OPS[operation.name]
    if operation.regions or not operation.operands or record.structure is not Structure.COMPUTES:
        return False
    if len(operation.results) != 1 or not isinstance(operation.results[0].type, TensorType):
        return False
    return record.elementwise or record.moves_elements


def _carrying(region: Region, fixed: Collection[str], same: Mapping[str, Value]) -> frozenset[str]:
    """The values of a region that hold what one of its elementwise operations has rounded.

    Those that are the `same` elements as another are among them.
    """
    found: set[str] = set()
    for operation in region.operations:
        if any(value.name in fixed for value in operation.results):
            continue
        if operation.name in OPS and (
            rounds(operation)
            or any(value.name in same for value in operation.results)
            or (hands_on(operation) and any(v.name in found for v in operation.operands))
        ):
            found |= {value.name for value in operation.results}
    return frozenset(found)


def cheap(operation: Operation) -> bool:
    """Whether a compiler may rather compute an operation again than keep its result."""
    return operation.name in OPS and (rounds(operation) or hands_on(operation))


class _Region:
    """One region: its operations are gone through from the last to the first.

    The first use that is met has the value itself, the others have versions of it.
    """

    def __init__(self, region: Region, apart: set[str], fixed: Collection[str] = ()) -> None:
        self._region, self._apart = region, apart
        self._same = roots(region, computes_the_same_again, fixed)
        self._carrying = _carrying(region, fixed, self._same)
        self._of: dict[str, Value] = {}  # the version of another value that a version is made of
        self._names: dict[str, list[str]] = {}
        self._left = GROWTH * len(region.operations)

    def separated(self) -> Region:
        """The region with a version of each value for each use."""
        done: list[Operation] = []
        for operation in reversed(self._region.operations):
            done += reversed(list(self._versions(operation)))
        return replace(self._region, operations=tuple(reversed(done)))

    def _versions(self, operation: Operation) -> Iterator[Operation]:
        """The operation, and what gives the further versions of its result."""
        yield self._using(operation, operation.results)
        for value in operation.results:
            further = self._names.get(value.name, [])[1:]
            if not further:
                continue
            if rounds(operation):
                self._apart.add(value.name)
            for name in further:
                results = (Value(name, value.type),)
                if rounds(operation):
                    yield Operation("optimization_barrier", (value,), results)
                else:  # it hands on what others have rounded
                    yield self._using(operation, results)

    def _using(self, operation: Operation, results: tuple[Value, ...]) -> Operation:
        """The operation that makes these results, with its own versions of what it takes."""
        mine: dict[str, Value] = {}  # that takes a value twice has it once
        given = self._of.get(results[0].name) if results else None
        if given is not None:
            mine[operation.operands[0].name] = self._made_of(operation.operands[0], given)
        elif operation.name in OPS and OPS[operation.name].elementwise:
            mine |= self._as_one_use(operation)
        for value in operation.operands:
            if value.name not in mine:
                mine[value.name] = self._version(value)
        regions = tuple(
            _Region(one, self._apart).separated() if is_inside(operation) else one
            for one in operation.regions
        )
        operands = tuple(mine[value.name] for value in operation.operands)
        return replace(operation, operands=operands, results=results, regions=regions)

    def _as_one_use(self, operation: Operation) -> dict[str, Value]:
        """Versions of the operands that are the same elements, made of one version of these."""
        taken = {one.name: one for one in operation.operands if one.name in self._same}
        names = [self._same[name].name for name in taken]
        versions: dict[str, Value] = {}
        found: dict[str, Value] = {}
        for value in taken.values():
            root = self._same[value.name]
            if names.count(root.name) > 1:
                if root.name not in versions:
                    versions[root.name] = self._version(root)
                found[value.name] = self._made_of(value, versions[root.name])
        return found

    def _made_of(self, value: Value, version: Value) -> Value:
        """A version of a value that is made of this version of the value whose elements it has."""
        if self._same[value.name].name == value.name:
            return version
        mine = self._version(value)
        self._of.setdefault(mine.name, version)
        return mine

    def _version(self, value: Value) -> Value:
        """One more version of a value, or one of those that there are."""
        if value.name not in self._carrying:
            return value
        names = self._names.setdefault(value.name, [])
        if not names:
            names.append(value.name)
        elif len(names) < VERSIONS and self._left > 0:
            names.append(f"{value.name}~{len(names)}")
            self._left -= 1
        return Value(names[-1], value.type)

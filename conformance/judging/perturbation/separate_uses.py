"""A version of a value for each use, because a compiler may recompute a value for each use.

Fused into one use, a product may be contracted with a sum; in another use it may be rounded: x * s
- max(x * s) is then not zero. So evaluations that move results move each use of a rounded
elementwise result separately. Operations that only propagate such values (broadcasts, slices,
negations) are repeated for each use.

Results that are costlier to recompute than to keep (contractions, reductions, solvers) have one
version.

Where an elementwise operation takes the same elements of a value several times, directly and
through reshapes or sums over one element (conformance/judging/perturbation/same_elements.py), they
are one use: e / reshape(e) is 1. That holds for functions, also of narrow types: no compiler that
was measured rounds one use and keeps the other use in the wider type. A product may still enter one
operand unrounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.catalog import rule_of
from conformance.judging.perturbation.same_elements import find_roots
from conformance.transforms.extract import replace_main
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ops.structure import is_inside
from reference.ops.table import OPS

VERSIONS = 4
"""Largest number of versions of a value; further uses share them."""

GROWTH = 2
"""Largest growth of a region's number of operations by repeated operations, as a factor."""


@dataclass(frozen=True, slots=True)
class SeparatedProgram:
    """A program whose uses of some values move separately, and the names of these values.

    Further versions of a value are results of an `optimization_barrier` on it.
    """

    program: Program
    apart: frozenset[str]


def separate_uses(program: Program, fixed: Collection[str] = ()) -> SeparatedProgram:
    """Return the program with a version of each value for each use that may matter.

    Values of main in `fixed` have one version.
    """
    apart: set[str] = set()
    main = program.main
    body = _RegionSeparator(main.body, apart, fixed).separate()
    return SeparatedProgram(replace_main(program, replace(main, body=body)), frozenset(apart))


def is_rounding(operation: Operation) -> bool:
    """Return whether an operation is elementwise and may round."""
    if not OPS[operation.name].lifts or len(operation.results) != 1:
        return False
    rule, of = rule_of(operation), operation.results[0].type
    inexact = isinstance(of, TensorType) and (of.stored.is_float or of.stored.is_complex)
    return inexact and rule is not None and rule.ulps is not None


def is_recomputed_identically(operation: Operation) -> bool:
    """Return whether a rounded result has the same bits each time one operation uses it.

    It has unless a compiler may contract it with the next operation.
    """
    if not is_rounding(operation) or OPS[operation.name].unrounded is not None:
        return False
    of = operation.results[0].type
    return isinstance(of, TensorType) and of.stored.is_float


def find_copies(program: Program) -> dict[str, Value]:
    """Return the values of main that equal a rounded value, each with that value.

    Rounded values map to themselves. Only those that are recomputed identically count.
    """
    return find_roots(program.main.body, is_recomputed_identically)


def is_propagating(operation: Operation) -> bool:
    """Return whether an operation copies elements of its operands into one result unrounded.

    An operation with a region, such as `sort` with its comparator, is too costly to repeat.
    """
    record = OPS[operation.name]
    if operation.regions or not operation.operands or record.structure is not Structure.COMPUTES:
        return False
    if len(operation.results) != 1 or not isinstance(operation.results[0].type, TensorType):
        return False
    return record.elementwise or record.moves_elements


def _rounded_values(
    region: Region, fixed: Collection[str], same: Mapping[str, Value]
) -> frozenset[str]:
    """Return the values of a region that hold rounded results of its elementwise operations.

    Values in `same` are included.
    """
    found: set[str] = set()
    for operation in region.operations:
        if any(value.name in fixed for value in operation.results):
            continue
        if operation.name in OPS and (
            is_rounding(operation)
            or any(value.name in same for value in operation.results)
            or (is_propagating(operation) and any(v.name in found for v in operation.operands))
        ):
            found |= {value.name for value in operation.results}
    return frozenset(found)


def is_cheap(operation: Operation) -> bool:
    """Return whether a compiler may prefer to recompute an operation over keeping its result."""
    return operation.name in OPS and (is_rounding(operation) or is_propagating(operation))


class _RegionSeparator:
    """Separates the uses in a region, from its last operation to its first.

    The first use found keeps the value itself, the others get further versions.
    """

    def __init__(self, region: Region, apart: set[str], fixed: Collection[str] = ()) -> None:
        self._region, self._apart = region, apart
        self._same = find_roots(region, is_recomputed_identically, fixed)
        self._carrying = _rounded_values(region, fixed, self._same)
        self._of: dict[str, Value] = {}  # the version of another value that a version is made of
        self._names: dict[str, list[str]] = {}
        self._left = GROWTH * len(region.operations)

    def separate(self) -> Region:
        """Return the region with a version of each value for each use."""
        done: list[Operation] = []
        for operation in reversed(self._region.operations):
            done += reversed(list(self._versions(operation)))
        return replace(self._region, operations=tuple(reversed(done)))

    def _versions(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operation, and the operations that define further versions of its result."""
        yield self._rewire(operation, operation.results)
        for value in operation.results:
            further = self._names.get(value.name, [])[1:]
            if not further:
                continue
            if is_rounding(operation):
                self._apart.add(value.name)
            for name in further:
                results = (Value(name, value.type),)
                if is_rounding(operation):
                    yield Operation("optimization_barrier", (value,), results)
                else:  # the operation propagates rounded values
                    yield self._rewire(operation, results)

    def _rewire(self, operation: Operation, results: tuple[Value, ...]) -> Operation:
        """Return the operation with these results and its own versions of operands."""
        mine: dict[str, Value] = {}  # an operation that takes a value twice takes one version
        given = self._of.get(results[0].name) if results else None
        if given is not None:
            mine[operation.operands[0].name] = self._derived_version(operation.operands[0], given)
        elif operation.name in OPS and OPS[operation.name].elementwise:
            mine |= self._shared_versions(operation)
        for value in operation.operands:
            if value.name not in mine:
                mine[value.name] = self._version(value)
        regions = tuple(
            _RegionSeparator(region, self._apart).separate() if is_inside(operation) else region
            for region in operation.regions
        )
        operands = tuple(mine[value.name] for value in operation.operands)
        return replace(operation, operands=operands, results=results, regions=regions)

    def _shared_versions(self, operation: Operation) -> dict[str, Value]:
        """Return versions of operands with the same elements, derived from one version."""
        taken = {
            operand.name: operand for operand in operation.operands if operand.name in self._same
        }
        names = [self._same[name].name for name in taken]
        versions: dict[str, Value] = {}
        found: dict[str, Value] = {}
        for value in taken.values():
            root = self._same[value.name]
            if names.count(root.name) > 1:
                if root.name not in versions:
                    versions[root.name] = self._version(root)
                found[value.name] = self._derived_version(value, versions[root.name])
        return found

    def _derived_version(self, value: Value, version: Value) -> Value:
        """Return a version of a value, derived from this version of its root."""
        if self._same[value.name].name == value.name:
            return version
        mine = self._version(value)
        self._of.setdefault(mine.name, version)
        return mine

    def _version(self, value: Value) -> Value:
        """Return a further version of a value, or the last if there are enough."""
        if value.name not in self._carrying:
            return value
        names = self._names.setdefault(value.name, [])
        if not names:
            names.append(value.name)
        elif len(names) < VERSIONS and self._left > 0:
            names.append(f"{value.name}~{len(names)}")
            self._left -= 1
        return Value(names[-1], value.type)

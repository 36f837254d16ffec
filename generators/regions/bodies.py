"""Bodies of reductions as small programs: associative, with an identity, and data that suit them.

Beside the ops that are monoids by themselves there are bodies of several results (the place of the
largest element, sums with counts), ones that are not commutative (composition of affine maps,
matrix products, the first and the last valid element) and ones with constants inside. Each is
associative exactly on the data that comes with it, so that every order gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from generators.values.shaped_values import is_shaped
from reference.ir.program import Attribute, Dense, Operation, Region, TensorType, Value, attributes
from reference.ir.types import ALL, BOOLEAN, ELEMENT_TYPES, Array, ElementType
from reference.numerics.rounding import round_to

_I1 = BOOLEAN[0]


def scalar(of: ElementType) -> TensorType:
    """The type of scalars of an element type: what bodies work on."""
    return TensorType((), of)


@dataclass(slots=True)
class BodyBuilder:
    """A region being written: arguments, then one operation after the other."""

    arguments: tuple[Value, ...]
    operations: list[Operation] = field(default_factory=list[Operation])

    @classmethod
    def of(cls, *types: ElementType, prefix: str = "a") -> BodyBuilder:
        """An empty block that takes scalars of these types."""
        return cls(tuple(Value(f"{prefix}{n}", scalar(of)) for n, of in enumerate(types)))

    def op(
        self, name: str, *operands: Value, to: ElementType | None = None, **given: Attribute
    ) -> Value:
        """The result of one more operation, of the type of its last operand unless said."""
        of = scalar(to) if to is not None else operands[-1].type
        value = Value(f"v{len(self.operations)}", of)
        self.operations.append(Operation(name, operands, (value,), attributes(**given)))
        return value

    def constant(self, number: float, of: ElementType) -> Value:
        """One more constant."""
        return self.op("constant", to=of, value=literal(number, of))

    def compare(self, lhs: Value, rhs: Value, direction: str) -> Value:
        """One more comparison, by the default order of the type."""
        return self.op("compare", lhs, rhs, to=_I1, comparison_direction=direction)

    def returns(self, *results: Value) -> Region:
        """The finished region."""
        return Region(self.arguments, (*self.operations, Operation("return", results)))


def number_of(number: float, of: ElementType) -> Array:
    """A scalar of a type: an integer is kept exactly, anything else rounded."""
    if of.is_float:
        return round_to(np.asarray(number, np.float64), of)
    if of.is_boolean:
        return np.asarray(bool(number))
    return np.asarray(number).astype(of.storage)


def literal(number: float, of: ElementType) -> Dense:
    """A scalar constant."""
    return Dense.of(number_of(number, of), scalar(of))


@dataclass(frozen=True, slots=True)
class Monoid:
    """A body with its identity: element types of the inputs, init values, profiles of the data.

    `outside` are operations around it, whose results it names.
    """

    name: str
    region: Region
    inputs: tuple[ElementType, ...]
    identity: tuple[Dense, ...]
    rows: tuple[ProfileRow, ...]
    outside: tuple[Operation, ...] = ()

    @property
    def results(self) -> tuple[ElementType, ...]:
        """The element types of the results: those of the body."""
        types = (value.type for value in self.region.operations[-1].operands)
        return tuple(of.element for of in types if isinstance(of, TensorType))


def _every(of: ElementType) -> tuple[ProfileRow, ...]:
    return tuple((name,) for name in profiles_of(of))


def _smallest(of: ElementType, *, largest: bool = False) -> float:
    """The least value of a type, or the greatest: infinite where it can be."""
    if of.is_boolean or of.is_integer:
        return (of.max_integer if largest else of.min_integer) if of.is_integer else largest
    fmt = of.float_format
    top = np.inf if fmt.has_infinity else fmt.max_finite
    if largest:
        return top
    return -top if fmt.signed else fmt.smallest


def ops_of(of: ElementType) -> tuple[str, ...]:
    """The ops that are monoids on a type by themselves, the simplest first."""
    if of.is_boolean:
        return ("or", "and", "xor", "add", "multiply", "maximum", "minimum")
    if of.is_integer:
        return ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
    if of.is_complex:
        return ("add", "multiply")
    if not of.float_format.has_zero:
        return ("multiply", "maximum", "minimum")
    return ("add", "maximum", "minimum", "multiply")


def identity_of(op: str, of: ElementType) -> float:
    """What leaves every element of a type as it is under an op of `ops_of`."""
    if op in ("add", "or", "xor"):
        return 0
    if op == "multiply":
        return 1
    if op == "and":
        return -1 if of.is_signed else _smallest(of, largest=True)
    return _smallest(of, largest=op == "minimum")


_SUMS: tuple[ProfileRow, ...] = (
    ("small_integers",), ("small_integers",), ("unit",), ("moderate",), ("near_one",),
    ("within:-1:1",), ("special",), ("mixed",), ("wide",), ("large",), ("tiny",), ("midpoints",),
    ("negative_zeros",), ("mixed_zeros",),
)  # fmt: skip
_PRODUCTS: tuple[ProfileRow, ...] = (
    ("within:-1:1",), ("within:1:2",), ("near_one",), ("near_one",), ("perfect_powers",),
    ("small_integers",), ("special",), ("unit",), ("moderate",), ("mixed_zeros",),
)  # fmt: skip


def rows_of(op: str, of: ElementType) -> tuple[ProfileRow, ...]:
    """Profiles for an op's data: of sums and products mostly such that they do not overflow."""
    every = _every(of)
    if of.is_integer or of.is_boolean or op in ("maximum", "minimum"):
        return every
    wanted = _SUMS if op == "add" else _PRODUCTS
    names = profiles_of(of)
    return tuple(row for row in wanted if is_shaped(row[0]) or row[0] in names)


def fold_of(
    op: str, of: ElementType, to: ElementType | None = None, *, swapped: bool = False
) -> Monoid:
    """A body of one op, on arguments of type `to` (its own if not given), in either order."""
    wide = to or of
    block = BodyBuilder.of(wide, wide)
    pair = block.arguments[::-1] if swapped else block.arguments
    region = block.returns(block.op(op, *pair))
    identity = literal(identity_of(op, of), of)
    return Monoid(op, region, (of,), (identity,), rows_of(op, of))


def wider_than(of: ElementType) -> tuple[ElementType, ...]:
    """Types to which `of` is promoted in a body without loss."""
    if of.is_boolean:
        return ()
    if of.is_integer or of.is_complex:
        return tuple(row for row in ALL if row.kind is of.kind and row.bits > of.bits)
    wide = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",), "f64": ()}
    return tuple(ELEMENT_TYPES[name] for name in wide.get(of.name, ("f32", "bf16")))


def _place(of: ElementType, index: ElementType, largest: bool) -> Monoid:
    """The largest (or smallest) element and its index, the first of equal ones; NaN wins."""
    block = BodyBuilder.of(of, index, of, index)
    value, at, other, other_at = block.arguments
    take = block.compare(value, other, "GT" if largest else "LT")
    if of.is_float:
        take = block.op("or", take, block.compare(value, value, "NE"))
    earlier = block.compare(at, other_at, "LT")
    tie = block.op("and", block.compare(value, other, "EQ"), earlier)
    take = block.op("or", take, tie)
    region = block.returns(
        block.op("select", take, value, other), block.op("select", take, at, other_at)
    )
    start = literal(_smallest(of, largest=not largest), of)
    rows = tuple((name, "permutation") for (name,) in _every(of))
    name = "place of the largest" if largest else "place of the smallest"
    return Monoid(name, region, (of, index), (start, literal(index.max_integer, index)), rows)


def _together(of: ElementType, first: str, other: ElementType, second: str) -> Monoid:
    """Two ops side by side, each on an input of its own."""
    block = BodyBuilder.of(of, other, of, other)
    one, two, right_one, right_two = block.arguments
    region = block.returns(block.op(first, one, right_one), block.op(second, two, right_two))
    identity = (
        literal(identity_of(first, of), of), literal(identity_of(second, other), other),
    )  # fmt: skip
    seconds = rows_of(second, other)
    rows = tuple((*row, *seconds[n % len(seconds)]) for n, row in enumerate(rows_of(first, of)))
    return Monoid(f"{first} and {second}", region, (of, other), identity, rows)


def _affine(of: ElementType) -> Monoid:
    """x -> a x + b, then x -> c x + d: (a c, b c + d). Not commutative."""
    block = BodyBuilder.of(of, of, of, of)
    a, b, c, d = block.arguments
    product = block.op("multiply", a, c)
    region = block.returns(product, block.op("add", block.op("multiply", b, c), d))
    rows: tuple[ProfileRow, ...] = (("values:1", "small_integers"), ("within:0:1", "within:-1:1"))
    if of.is_integer:
        rows = (*rows, ("small_integers", "small_integers"), ("bits", "bits"))
    elif of.bits >= 16:
        rows = (*rows, ("within:-1:1", "small_integers"))
    return Monoid("affine maps", region, (of, of), (literal(1, of), literal(0, of)), rows)


def _matrices(of: ElementType) -> Monoid:
    """Products of two by two matrices of wrapping integers. Not commutative."""
    block = BodyBuilder.of(*(of,) * 8)
    a, b = block.arguments[:4], block.arguments[4:]

    def entry(row: int, column: int) -> Value:
        left = block.op("multiply", a[2 * row], b[column])
        return block.op("add", left, block.op("multiply", a[2 * row + 1], b[2 + column]))

    region = block.returns(*(entry(row, column) for row in range(2) for column in range(2)))
    identity = tuple(literal(number, of) for number in (1, 0, 0, 1))
    rows: tuple[ProfileRow, ...] = (("small_integers",) * 4, ("bits",) * 4)
    return Monoid("matrices", region, (of,) * 4, identity, rows)


def _flagged(of: ElementType, first: bool) -> Monoid:
    """The first (or last) element whose flag is set. Not commutative."""
    block = BodyBuilder.of(of, _I1, of, _I1)
    value, valid, other, other_valid = block.arguments
    if first:
        chosen = block.op("select", valid, value, other)
    else:
        chosen = block.op("select", other_valid, other, value)
    region = block.returns(chosen, block.op("or", valid, other_valid))
    start = 0 if not of.is_float or of.float_format.has_zero else 1
    rows = tuple((name, "bits") for (name,) in _every(of))
    # where no flag is set at all, some element is left, whichever: only the flag is determined
    return Monoid(
        "first valid" if first else "last valid", region, (of, _I1),
        (literal(start, of), literal(0, _I1)), (*rows, ("small_integers", "values:1"))
        if of.is_integer or of.is_float or of.is_complex else rows,
    )  # fmt: skip


def _bounded(
    of: ElementType, name: str, op: str, number: int, row: ProfileRow, *, outside: bool
) -> Monoid:
    """Sums that an op with a constant keeps small; the constant is in the body or around it."""
    block = BodyBuilder.of(of, of)
    around = BodyBuilder(())
    total = block.op("add", *block.arguments)
    if outside:
        limit = Value("limit", scalar(of))
        around.operations.append(
            Operation("constant", (), (limit,), attributes(value=literal(number, of)))
        )
    else:
        limit = block.constant(number, of)
    region = block.returns(block.op(op, total, limit))
    identity = (literal(0, of),)
    return Monoid(name, region, (of,), identity, (row,), tuple(around.operations))


def _capped(of: ElementType, *, outside: bool) -> Monoid:
    """Sums of numbers that are not negative, never more than a constant."""
    return _bounded(of, "capped sum", "minimum", 50, ("within:0:9",), outside=outside)


def _masked(of: ElementType, *, outside: bool) -> Monoid:
    """Sums modulo 32, by a mask that is a constant."""
    return _bounded(of, "masked sum", "and", 31, ("within:0:31",), outside=outside)


@cache
def several(of: ElementType) -> tuple[Callable[[], Monoid], ...]:
    """Bodies on a type that are more than one op, as functions that make them."""
    found: list[Callable[[], Monoid]] = []
    si32, f32 = ELEMENT_TYPES["si32"], ELEMENT_TYPES["f32"]
    plain = not of.is_complex and not of.is_boolean
    if plain:
        found += [lambda: _place(of, si32, True), lambda: _place(of, si32, False)]
    found += [lambda: _flagged(of, True), lambda: _flagged(of, False)]
    if "add" in ops_of(of):
        found.append(lambda: _together(of, "add", si32, "add"))
    if plain:
        other = f32
        if of.is_float:  # XLA does not mix precisions
            other = of if "add" in ops_of(of) else si32
        found.append(lambda: _together(of, "maximum", other, "add"))
    if of.is_integer:
        found += [lambda: _affine(of), lambda: _matrices(of)]
        if of.bits >= 8:
            found += [lambda: _capped(of, outside=True), lambda: _masked(of, outside=False)]
    elif of.is_float and of.bits >= 16:
        found += [lambda: _affine(of), lambda: _capped(of, outside=False)]
    return tuple(found)


def selector(of: ElementType, direction: str) -> Region:
    """The predicate of select_and_scatter; complex numbers are compared by their real parts."""
    block = BodyBuilder.of(of, of)
    left, right = block.arguments
    if of.is_complex:
        left, right = (block.op("real", value, to=of.part) for value in (left, right))
    return block.returns(block.compare(left, right, direction))


__all__ = [
    "BodyBuilder", "Monoid", "fold_of", "identity_of", "literal", "number_of", "ops_of",
    "rows_of", "scalar", "selector", "several", "wider_than",
]  # fmt: skip

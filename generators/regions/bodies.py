"""Bodies of reductions as small programs: associative, with an identity and suitable data.

Besides ops that are monoids there are bodies of several results (the position of the largest
element, sums with counts), non-commutative bodies (composition of affine maps, matrix products, the
first and the last valid element) and bodies with constants. Each is exactly associative on its
data, so that every order gives the same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from generators.values.shaped_values import is_shaped
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
)
from reference.ir.types import ALL, BOOLEAN, ELEMENT_TYPES, Array, ElementType
from reference.numerics.rounding import round_to

_I1 = BOOLEAN[0]


def scalar(element_type: ElementType) -> TensorType:
    """Return the type of scalars of an element type, which bodies work on."""
    return TensorType((), element_type)


@dataclass(slots=True)
class BodyBuilder:
    """A region under construction: arguments, then operations.

    `prefix` begins the names of its values, which must differ from outer names.
    """

    arguments: tuple[Value, ...]
    operations: list[Operation] = field(default_factory=list[Operation])
    prefix: str = "v"

    @classmethod
    def of(cls, *types: ElementType, prefix: str = "a") -> BodyBuilder:
        """Return an empty block that takes scalars of these types."""
        return cls(tuple(Value(f"{prefix}{n}", scalar(of)) for n, of in enumerate(types)))

    def op(
        self,
        name: str,
        *operands: Value,
        to: ElementType | TensorType | None = None,
        **given: Attribute,
    ) -> Value:
        """Add an operation and return its result, of the type of its last operand by default."""
        of = scalar(to) if isinstance(to, ElementType) else to or operands[-1].type
        (value,) = self.ops(name, operands, (of,), given)
        return value

    def ops(
        self,
        name: str,
        operands: tuple[Value, ...],
        types: tuple[ValueType, ...],
        given: Mapping[str, Attribute] | None = None,
        regions: tuple[Region, ...] = (),
    ) -> tuple[Value, ...]:
        """Add an operation and return its results, of these types."""
        names = [f"{self.prefix}{len(self.operations)}"]
        names += [f"{names[0]}.{number}" for number in range(1, len(types))]
        values = tuple(map(Value, names, types))
        stated = attributes(**(given or {}))
        self.operations.append(Operation(name, operands, values, stated, regions))
        return values

    def constant(self, number: float, element_type: ElementType) -> Value:
        """Add a constant."""
        return self.op("constant", to=element_type, value=literal(number, element_type))

    def compare(self, lhs: Value, rhs: Value, direction: str) -> Value:
        """Add a comparison, by the default order of the type."""
        return self.op("compare", lhs, rhs, to=_I1, comparison_direction=direction)

    def finish_region(self, *results: Value) -> Region:
        """Return the finished region."""
        return Region(self.arguments, (*self.operations, Operation("return", results)))


def number_of(number: float, element_type: ElementType) -> Array:
    """Return a scalar of a type: integers exactly, other numbers rounded."""
    if element_type.is_float:
        return round_to(np.asarray(number, np.float64), element_type)
    if element_type.is_boolean:
        return np.asarray(bool(number))
    return np.asarray(number).astype(element_type.storage)


def literal(number: float, element_type: ElementType) -> Dense:
    """Return a scalar constant."""
    return Dense.of(number_of(number, element_type), scalar(element_type))


@dataclass(frozen=True, slots=True)
class Monoid:
    """A reduction body and its identity: element types of the inputs, init values, data profiles.

    `always` are profiles of data that each of its cases should have. `outside` are operations of
    the enclosing program whose results it uses; `functions` are its callees. `few` says that it
    needs few elements, because the reference applies it sequentially.
    """

    name: str
    region: Region
    inputs: tuple[ElementType, ...]
    identity: tuple[Dense, ...]
    rows: tuple[ProfileRow, ...]
    outside: tuple[Operation, ...] = ()
    functions: tuple[Function, ...] = ()
    few: bool = False
    always: tuple[ProfileRow, ...] = ()

    @property
    def results(self) -> tuple[ElementType, ...]:
        """The element types of the results, which the body returns."""
        types = (value.type for value in self.region.operations[-1].operands)
        return tuple(of.element for of in types if isinstance(of, TensorType))


def _rows_of_all_profiles(element_type: ElementType) -> tuple[ProfileRow, ...]:
    return tuple((name,) for name in profiles_of(element_type))


def _extreme_number(element_type: ElementType, *, largest: bool = False) -> float:
    """Return the least value of a type, or the greatest if `largest`; infinite if possible."""
    if element_type.is_boolean or element_type.is_integer:
        return (
            (element_type.max_integer if largest else element_type.min_integer)
            if element_type.is_integer
            else largest
        )
    fmt = element_type.float_format
    top = np.inf if fmt.has_infinity else fmt.max_finite
    if largest:
        return top
    return -top if fmt.signed else fmt.smallest


def monoid_ops(element_type: ElementType) -> tuple[str, ...]:
    """Return the ops that are monoids on a type, the simplest first."""
    if element_type.is_boolean:
        return ("or", "and", "xor", "add", "multiply", "maximum", "minimum")
    if element_type.is_integer:
        return ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
    if element_type.is_complex:
        return ("add", "multiply")
    if not element_type.float_format.has_zero:
        return ("multiply", "maximum", "minimum")
    return ("add", "maximum", "minimum", "multiply")


def identity_of(op: str, element_type: ElementType) -> float:
    """Return the identity element of an op of `monoid_ops`."""
    if op in ("add", "or", "xor"):
        return 0
    if op == "multiply":
        return 1
    if op == "and":
        return -1 if element_type.is_signed else _extreme_number(element_type, largest=True)
    return _extreme_number(element_type, largest=op == "minimum")


_SUMS: tuple[ProfileRow, ...] = (
    ("small_integers",), ("small_integers",), ("unit",), ("moderate",), ("near_one",),
    ("within:-1:1",), ("special",), ("mixed",), ("wide",), ("large",), ("tiny",), ("midpoints",),
    ("negative_zeros",), ("mixed_zeros",),
)  # fmt: skip
_PRODUCTS: tuple[ProfileRow, ...] = (
    ("within:-1:1",), ("within:1:2",), ("near_one",), ("near_one",), ("perfect_powers",),
    ("small_integers",), ("special",), ("unit",), ("moderate",), ("mixed_zeros",),
)  # fmt: skip


def rows_of(op: str, element_type: ElementType) -> tuple[ProfileRow, ...]:
    """Return profile rows for an op's data; most sums and products do not overflow."""
    every = _rows_of_all_profiles(element_type)
    if element_type.is_integer or element_type.is_boolean:
        return every
    if op in ("maximum", "minimum"):
        return (*every, ("mixed_zeros",))  # comparisons do not say which zero is greater
    wanted = _SUMS if op == "add" else _PRODUCTS
    names = profiles_of(element_type)
    return tuple(row for row in wanted if is_shaped(row[0]) or row[0] in names)


def fold_of(
    op: str, element_type: ElementType, to: ElementType | None = None, *, swapped: bool = False
) -> Monoid:
    """Return the body of one op on arguments of type `to` (default: `element_type`).

    `swapped` exchanges the arguments.
    """
    wide = to or element_type
    block = BodyBuilder.of(wide, wide)
    pair = block.arguments[::-1] if swapped else block.arguments
    region = block.finish_region(block.op(op, *pair))
    identity = literal(identity_of(op, element_type), element_type)
    rows = rows_of(op, element_type)
    # nearly zero elements are easily treated as equal, which random data would hardly show
    small = {("subnormal",), ("mixed_zeros",)} if op in ("maximum", "minimum") else ()
    always = tuple(row for row in rows if row in small)
    return Monoid(op, region, (element_type,), (identity,), rows, always=always)


def wider_than(element_type: ElementType) -> tuple[ElementType, ...]:
    """Return types to which `element_type` is promoted in a body without loss."""
    if element_type.is_boolean:
        return ()
    if element_type.is_integer or element_type.is_complex:
        return tuple(
            row for row in ALL if row.kind is element_type.kind and row.bits > element_type.bits
        )
    wide = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",), "f64": ()}
    return tuple(ELEMENT_TYPES[name] for name in wide.get(element_type.name, ("f32", "bf16")))


def _extremum_and_index(element_type: ElementType, index: ElementType, largest: bool) -> Monoid:
    """Return the body of argmax (or argmin): the first extreme element and its index; NaN wins."""
    block = BodyBuilder.of(element_type, index, element_type, index)
    value, at, other, other_at = block.arguments
    take = block.compare(value, other, "GT" if largest else "LT")
    if element_type.is_float:
        take = block.op("or", take, block.compare(value, value, "NE"))
    earlier = block.compare(at, other_at, "LT")
    tie = block.op("and", block.compare(value, other, "EQ"), earlier)
    take = block.op("or", take, tie)
    region = block.finish_region(
        block.op("select", take, value, other), block.op("select", take, at, other_at)
    )
    start = literal(_extreme_number(element_type, largest=not largest), element_type)
    rows = tuple((name, "permutation") for (name,) in _rows_of_all_profiles(element_type))
    name = "place of the largest" if largest else "place of the smallest"
    return Monoid(
        name, region, (element_type, index), (start, literal(index.max_integer, index)), rows
    )


def _independent_ops(
    element_type: ElementType, first: str, other: ElementType, second: str
) -> Monoid:
    """Return a body of two independent ops, one for each input."""
    block = BodyBuilder.of(element_type, other, element_type, other)
    one, two, right_one, right_two = block.arguments
    region = block.finish_region(block.op(first, one, right_one), block.op(second, two, right_two))
    identity = (
        literal(identity_of(first, element_type), element_type),
        literal(identity_of(second, other), other),
    )  # fmt: skip
    seconds = rows_of(second, other)
    rows = tuple(
        (*row, *seconds[n % len(seconds)]) for n, row in enumerate(rows_of(first, element_type))
    )
    return Monoid(f"{first} and {second}", region, (element_type, other), identity, rows)


def _affine_maps(element_type: ElementType) -> Monoid:
    """Return the composition of affine maps, not commutative: (a, b), (c, d) -> (a c, b c + d)."""
    block = BodyBuilder.of(element_type, element_type, element_type, element_type)
    a, b, c, d = block.arguments
    product = block.op("multiply", a, c)
    region = block.finish_region(product, block.op("add", block.op("multiply", b, c), d))
    rows: tuple[ProfileRow, ...] = (("values:1", "small_integers"), ("within:0:1", "within:-1:1"))
    if element_type.is_integer:
        rows = (*rows, ("small_integers", "small_integers"), ("bits", "bits"))
    elif element_type.bits >= 16:
        rows = (*rows, ("within:-1:1", "small_integers"))
    return Monoid(
        "affine maps",
        region,
        (element_type, element_type),
        (literal(1, element_type), literal(0, element_type)),
        rows,
    )


def _matrix_products(element_type: ElementType) -> Monoid:
    """Return the product of 2 x 2 matrices of wrapping integers, not commutative."""
    block = BodyBuilder.of(*(element_type,) * 8)
    a, b = block.arguments[:4], block.arguments[4:]

    def entry(row: int, column: int) -> Value:
        left = block.op("multiply", a[2 * row], b[column])
        return block.op("add", left, block.op("multiply", a[2 * row + 1], b[2 + column]))

    region = block.finish_region(*(entry(row, column) for row in range(2) for column in range(2)))
    identity = tuple(literal(number, element_type) for number in (1, 0, 0, 1))
    rows: tuple[ProfileRow, ...] = (("small_integers",) * 4, ("bits",) * 4)
    return Monoid("matrices", region, (element_type,) * 4, identity, rows)


def _flagged_element(element_type: ElementType, first: bool) -> Monoid:
    """Return a body that selects the first (or last) element whose flag is set, not commutative."""
    block = BodyBuilder.of(element_type, _I1, element_type, _I1)
    value, valid, other, other_valid = block.arguments
    if first:
        chosen = block.op("select", valid, value, other)
    else:
        chosen = block.op("select", other_valid, other, value)
    region = block.finish_region(chosen, block.op("or", valid, other_valid))
    start = 0 if not element_type.is_float or element_type.float_format.has_zero else 1
    rows = tuple((name, "bits") for (name,) in _rows_of_all_profiles(element_type))
    # without a set flag any element may result: only the flag is determined
    return Monoid(
        "first valid" if first else "last valid", region, (element_type, _I1),
        (literal(start, element_type), literal(0, _I1)), (*rows, ("small_integers", "values:1"))
        if element_type.is_integer or element_type.is_float or element_type.is_complex else rows,
    )  # fmt: skip


def _bounded_sum(
    element_type: ElementType, name: str, op: str, number: int, row: ProfileRow, *, outside: bool
) -> Monoid:
    """Return a body that adds, then applies `op` with a constant of itself or the outer program."""
    block = BodyBuilder.of(element_type, element_type)
    around = BodyBuilder(())
    total = block.op("add", *block.arguments)
    if outside:
        limit = Value("limit", scalar(element_type))
        around.operations.append(
            Operation("constant", (), (limit,), attributes(value=literal(number, element_type)))
        )
    else:
        limit = block.constant(number, element_type)
    region = block.finish_region(block.op(op, total, limit))
    identity = (literal(0, element_type),)
    return Monoid(name, region, (element_type,), identity, (row,), tuple(around.operations))


def _capped_sum(element_type: ElementType, *, outside: bool) -> Monoid:
    """Return a sum of non-negative numbers that a constant limits."""
    return _bounded_sum(element_type, "capped sum", "minimum", 50, ("within:0:9",), outside=outside)


def _masked_sum(element_type: ElementType, *, outside: bool) -> Monoid:
    """Return a sum modulo 32, by a constant mask."""
    return _bounded_sum(element_type, "masked sum", "and", 31, ("within:0:31",), outside=outside)


@cache
def multi_op_bodies(element_type: ElementType) -> tuple[Monoid, ...]:
    """Return bodies on a type that consist of several ops."""
    si32, f32 = ELEMENT_TYPES["si32"], ELEMENT_TYPES["f32"]
    plain = not element_type.is_complex and not element_type.is_boolean
    bodies: list[Monoid] = []
    if plain:
        bodies += [_extremum_and_index(element_type, si32, largest) for largest in (True, False)]
    bodies += [_flagged_element(element_type, first) for first in (True, False)]
    if "add" in monoid_ops(element_type):
        bodies.append(_independent_ops(element_type, "add", si32, "add"))
    if plain:
        other = f32
        if element_type.is_float:  # XLA does not mix precisions
            other = element_type if "add" in monoid_ops(element_type) else si32
        bodies.append(_independent_ops(element_type, "maximum", other, "add"))
    if element_type.is_integer:
        bodies += [_affine_maps(element_type), _matrix_products(element_type)]
        if element_type.bits >= 8:
            bodies += [
                _capped_sum(element_type, outside=True),
                _masked_sum(element_type, outside=False),
            ]
    elif element_type.is_float and element_type.bits >= 16:
        bodies += [_affine_maps(element_type), _capped_sum(element_type, outside=False)]
    return tuple(bodies)


def selector(element_type: ElementType, direction: str) -> Region:
    """Return the predicate of select_and_scatter; complex numbers are compared by real parts."""
    block = BodyBuilder.of(element_type, element_type)
    left, right = block.arguments
    if element_type.is_complex:
        left, right = (block.op("real", value, to=element_type.part) for value in (left, right))
    return block.finish_region(block.compare(left, right, direction))


__all__ = [
    "BodyBuilder",
    "Monoid",
    "fold_of",
    "identity_of",
    "literal",
    "monoid_ops",
    "multi_op_bodies",
    "number_of",
    "rows_of",
    "scalar",
    "selector",
    "wider_than",
]  # fmt: skip

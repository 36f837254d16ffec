"""The catalog: one row per op, in the specification's order. This file is the coverage page."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from conformance import tolerance as t
from conformance.tolerance import Rule
from generators.elementwise import ELEMENT_TYPES_OF
from reference.ops import OPS
from reference.types import ElementType

ARITHMETIC = "arithmetic"
ELEMENTARY = "elementary functions"
BITWISE = "bits"
COMPARISON = "comparison and selection"
CONVERSION = "conversion"
ROUNDING = "rounding"
CREATION = "creation"


@dataclass(frozen=True, slots=True)
class Row:
    """One op: its family, the rule that judges it, and its share of a run's cases.

    `weight` multiplies the cases of a profile, for ops with more to reach than one element type.
    """

    name: str
    family: str
    tolerance: Rule
    weight: int = 1

    @property
    def dialect(self) -> str:
        """Where the op is specified."""
        return "stablehlo"

    @property
    def element_types(self) -> tuple[ElementType, ...]:
        """The types of the op's cells: those of its principal operand (or of its output)."""
        return ELEMENT_TYPES_OF[self.name]

    @property
    def constraints(self) -> tuple[str, ...]:
        """The ids of the constraints that the reference checks."""
        return OPS[self.name].constraints


_ROWS = (
    Row("abs", ARITHMETIC, t.MODULUS),
    Row("add", ARITHMETIC, t.ROUNDED),
    Row("and", BITWISE, t.DATA),
    Row("atan2", ELEMENTARY, t.ATAN2),
    Row("bitcast_convert", CONVERSION, t.BITS, weight=2),
    Row("cbrt", ELEMENTARY, t.CBRT),
    Row("ceil", ROUNDING, t.ROUNDED),
    Row("clamp", COMPARISON, t.DATA),
    Row("compare", COMPARISON, t.DATA, weight=2),
    Row("complex", CREATION, t.DATA),
    Row("constant", CREATION, t.DATA),
    Row("convert", CONVERSION, t.CONVERTED, weight=3),
    Row("cosine", ELEMENTARY, t.TRIGONOMETRIC),
    Row("count_leading_zeros", BITWISE, t.DATA),
    Row("divide", ARITHMETIC, t.DIVIDED),
    Row("exponential", ELEMENTARY, t.EXPONENTIAL),
    Row("exponential_minus_one", ELEMENTARY, t.EXPM1),
    Row("floor", ROUNDING, t.ROUNDED),
    Row("imag", CREATION, t.DATA),
    Row("iota", CREATION, t.DATA),
    Row("is_finite", COMPARISON, t.DATA),
    Row("log", ELEMENTARY, t.LOG),
    Row("log_plus_one", ELEMENTARY, t.LOG1P),
    Row("logistic", ELEMENTARY, t.LOGISTIC),
    Row("maximum", COMPARISON, t.DATA),
    Row("minimum", COMPARISON, t.DATA),
    Row("multiply", ARITHMETIC, t.MULTIPLIED),
    Row("negate", ARITHMETIC, t.DATA),
    Row("not", BITWISE, t.DATA),
    Row("or", BITWISE, t.DATA),
    Row("popcnt", BITWISE, t.DATA),
    Row("power", ELEMENTARY, t.POWER),
    Row("real", CREATION, t.DATA),
    Row("reduce_precision", CONVERSION, t.CONVERTED, weight=2),
    Row("remainder", ARITHMETIC, t.ROUNDED),
    Row("round_nearest_afz", ROUNDING, t.ROUNDED),
    Row("round_nearest_even", ROUNDING, t.ROUNDED),
    Row("rsqrt", ELEMENTARY, t.RSQRT),
    Row("select", COMPARISON, t.DATA),
    Row("shift_left", BITWISE, t.DATA),
    Row("shift_right_arithmetic", BITWISE, t.DATA),
    Row("shift_right_logical", BITWISE, t.DATA),
    Row("sign", ARITHMETIC, t.SIGNED),
    Row("sine", ELEMENTARY, t.TRIGONOMETRIC),
    Row("sqrt", ELEMENTARY, t.SQUARE_ROOT),
    Row("subtract", ARITHMETIC, t.ROUNDED),
    Row("tan", ELEMENTARY, t.TANGENT),
    Row("tanh", ELEMENTARY, t.TANH),
    Row("xor", BITWISE, t.DATA),
)

CATALOG: dict[str, Row] = {row.name: row for row in _ROWS}
"""Every op by its mnemonic, in the specification's order."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the report's matrix: an op, an element type, a backend."""

    op: str
    element_type: ElementType
    backend: str

    @property
    def row(self) -> Row:
        """The catalog's row of the op."""
        return CATALOG[self.op]

    def __str__(self) -> str:
        return f"{self.op}[{self.element_type}]@{self.backend}"


def matching(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that any of the shell-style patterns matches, in the order of `names`.

    No pattern at all means every name. complex<f32> also goes by complex_f32, which needs no quotes
    in a shell.

    Raises:
        LookupError: when a pattern matches no name; its argument is that pattern.
    """
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in names):
            raise LookupError(pattern)
    return [name for name in names if not patterns or any(_matches(name, p) for p in patterns)]


def _matches(name: str, pattern: str) -> bool:
    plain = name.replace("<", "_").replace(">", "")
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(plain, pattern)


def cells(
    ops: Sequence[str] = (), element_types: Sequence[str] = (), backends: Sequence[str] = ("cpu",)
) -> list[Cell]:
    """The cells that the patterns of ops and element types choose, on every backend given.

    Raises:
        LookupError: when a pattern matches nothing that the catalog knows.
    """
    chosen = matching(ops, list(CATALOG))
    known = list(dict.fromkeys(of.name for row in _ROWS for of in row.element_types))
    types = set(matching(element_types, known))
    return [
        Cell(op, of, backend)
        for backend in backends
        for op in chosen
        for of in CATALOG[op].element_types
        if of.name in types
    ]

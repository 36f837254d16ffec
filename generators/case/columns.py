"""The columns of the matrix op x element type: element types, quantized types, near misses.

A cell of column `invalid` holds an op's near misses: programs that a backend must refuse.
"""

from __future__ import annotations

from dataclasses import dataclass

from generators.case.quantized_types import QUANTIZED_COLUMNS, QuantizedColumn
from reference.ir.types import ElementType, element_type


@dataclass(frozen=True, slots=True)
class Invalid:
    """The column of near misses, programs that break exactly one constraint."""

    name: str = "invalid"

    def __str__(self) -> str:
        return self.name


INVALID = Invalid()

Column = ElementType | QuantizedColumn | Invalid
"""The third coordinate of a cell, besides its op and its backend."""


def column(name: str) -> Column:
    """Return the column of that name.

    Raises:
        KeyError: if there is none.
    """
    if name in QUANTIZED_COLUMNS:
        return QUANTIZED_COLUMNS[name]
    return INVALID if name == INVALID.name else element_type(name)

"""Items: programs with their inputs, and the answers of a backend to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.backends.base import BackendError, Unsupported
from conformance.catalog import Cell
from reference.ir.program import Program
from reference.ir.types import Array

Inputs = tuple[Array, ...]

Results = list[list[Array]]
"""The results of an item, for each of its input sets."""

BackendAnswer = Results | BackendError
"""The backend's results of an item, or its error."""


class Unwritable(Unsupported):
    """Raised for a program that cannot be written as text, so that no backend can run it."""


@dataclass(frozen=True, slots=True)
class Item:
    """A program with its input sets, and the reference's results for each.

    `index` is its number among the cases of a cell, or among the programs of a campaign.
    `expected` is empty if the item is not judged, or not yet.
    """

    index: int
    program: Program
    inputs: list[Inputs]
    expected: list[Inputs]


@dataclass(frozen=True, slots=True)
class CellItem(Item):
    """An item that is a case of a cell, whose rule judges it."""

    cell: Cell

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """The first fields of its record: op, element type, backend, index, digest."""
        return *self.cell.key, self.index, self.program.digest


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """The answer to an item, and the batch that it was compiled with."""

    answer: BackendAnswer
    batch: Sequence[Item]

"""Cases of CHLO's elementwise ops of several shapes."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import shape
from generators.families import elementwise
from generators.families.chlo import functions
from generators.families.elementwise import compare_attributes
from generators.families.xla.elementwise import binary_case
from generators.programs.building import Builder, case
from generators.values import profiles
from generators.values.profiles import Values
from reference.ir.op import Op, plain_name
from reference.ir.program import TensorType
from reference.ir.types import BOOLEAN, ElementType
from reference.ops.chlo.broadcasting import OPS as RECORDS

_VALUES = elementwise.VALUES | functions.VALUES


def _values(record: Op) -> Values:
    return _VALUES.get(plain_name(record.twin), profiles.ANY)


def _binary(record: Op, element_type: ElementType, pick: Pick) -> Case:
    """Return a case of operands of different ranks, or of the shapes that XlaBuilder admits."""
    given: dict[str, Any] = {}
    if "comparison_direction" in record.attributes:
        given = choose(pick, compare_attributes(element_type), "direction and type", paired=False)
    if choose(pick, ("by dimensions", "as in numpy"), "ranks") == "by dimensions":
        return binary_case(record, element_type, pick, _values(record), given)
    sizes = shape(pick, min_rank=1)
    short = sizes[1 + pick(len(sizes)) :]
    sides = choose(pick, ((short, sizes), (sizes, short)), "short", _side)
    types = {
        name: TensorType(side, element_type)
        for name, side in zip(record.operands, sides, strict=True)
    }
    result = record.infer(*types.values(), **given)
    rows = profiles.rows(element_type, _values(record))
    return case(pick, record.name, types, (result,), rows, given)


def _side(sides: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    return "lhs" if len(sides[0]) < len(sides[1]) else "rhs"


def _select(record: Op, element_type: ElementType, pick: Pick) -> Case:
    sizes = shape(pick, min_rank=1)

    def part(name: str) -> tuple[int, ...]:
        kind = choose(pick, ("whole", "of lower rank", "sizes of 1"), name)
        if kind == "of lower rank":
            return sizes[1 + pick(len(sizes)) :]
        return sizes if kind == "whole" else tuple(1 if pick(2) else size for size in sizes)

    element_types = {"pred": BOOLEAN[0], "on_true": element_type, "on_false": element_type}
    types = {name: TensorType(part(name), of) for name, of in element_types.items()}
    result = record.infer(*types.values())
    rows = profiles.select_rows(element_type)
    return case(pick, record.name, types, (result,), rows)


BUILDERS: dict[str, Builder] = {
    record.name: partial(_select if "pred" in record.operands else _binary, record)
    for record in RECORDS
}
"""The builder of each op's cases."""

"""Cases of XlaBuilder's elementwise ops: operands of two shapes with every kind of broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import shape
from generators.families import elementwise
from generators.families.xla.twins import rename_to_op, twins
from generators.programs.building import Builder, case
from generators.values import profiles
from generators.values.profiles import Values
from reference.ir.accuracy import HIGHEST, TOLERANCE, ResultAccuracy
from reference.ir.op import Op
from reference.ir.program import TensorType
from reference.ir.types import ElementType
from reference.ops.xla.elementwise import OPS as RECORDS

ALIKE, SCALAR, ONES, MAPPED = "alike", "a scalar", "sizes of 1", "of lower rank"
LEFT, RIGHT = "lhs", "rhs"

Sizes = tuple[int, ...]


def _shapes(pick: Pick) -> tuple[Sizes, Sizes, dict[str, Any]]:
    """Return two shapes that can be broadcast to one, and `broadcast_dimensions` if needed."""
    kind = choose(pick, (ALIKE, SCALAR, ONES, MAPPED, ONES, MAPPED), "shapes")
    if kind == ALIKE:
        sizes = shape(pick)
        return sizes, sizes, {}
    sizes = shape(pick, min_rank=2 if kind == MAPPED else 1)
    which = choose(pick, (LEFT, RIGHT), "broadcast")
    given: dict[str, Any] = {}
    if kind == SCALAR:
        other: Sizes = ()
        if choose(pick, (True, False)):  # the program is the same with or without
            given = {"broadcast_dimensions": ()}
    elif kind == ONES:
        other = tuple(1 if pick(2) else size for size in sizes)
        sizes = tuple(1 if small != 1 and not pick(3) else size
                      for size, small in zip(sizes, other, strict=True))  # fmt: skip
    else:
        kept = [d for d in range(len(sizes)) if not pick(2)][: len(sizes) - 1] or [pick(len(sizes))]
        with_ones = choose(pick, (False, True), "size of 1 of the lower rank")
        other = tuple(1 if with_ones and n == 0 else sizes[d] for n, d in enumerate(kept))
        given = {"broadcast_dimensions": tuple(kept)}
    return (other, sizes, given) if which == LEFT else (sizes, other, given)


def binary_case(
    record: Op,
    element_type: ElementType,
    pick: Pick,
    values: Values = profiles.ANY,
    attributes: Mapping[str, Any] | None = None,
) -> Case:
    """Return a case of a binary op with operands of two shapes, and of these attributes."""
    lhs, rhs, given = _shapes(pick)
    given |= attributes or {}
    types = {"lhs": TensorType(lhs, element_type), "rhs": TensorType(rhs, element_type)}
    result = record.infer(*types.values(), **given)
    rows, related = profiles.rows(element_type, values), lhs == rhs and values.related
    return case(pick, record.name, types, (result,), rows, given, related=related)


_ASKED: tuple[ResultAccuracy | None, ...] = (
    None, None, ResultAccuracy(HIGHEST),
    ResultAccuracy(TOLERANCE, ulps=4), ResultAccuracy(TOLERANCE, rtol=1e-3),
    ResultAccuracy(TOLERANCE, atol=1e-2, rtol=1e-2, ulps=1),
)  # fmt: skip


def _describe_accuracy(accuracy: ResultAccuracy | None) -> str:
    if accuracy is None or accuracy.mode != TOLERANCE:
        return accuracy.mode if accuracy else "nothing"
    return "ulps" if not accuracy.rtol else "atol, rtol, ulps" if accuracy.atol else "rtol"


def accurate(build: Builder, record: Op, element_type: ElementType, pick: Pick) -> Case:
    """Return a case of the twin that may state a required accuracy."""
    accuracy = choose(pick, _ASKED, "result_accuracy", _describe_accuracy)
    made = build(element_type, pick)
    given = {} if accuracy is None else {"result_accuracy": accuracy}
    return Case(rename_to_op(made.program, record, lambda _: given), made.inputs)


BUILDERS: dict[str, Builder] = (
    twins(elementwise.BUILDERS, (record for record in RECORDS if record.operands != ("lhs", "rhs")))
    | {
        record.name: partial(accurate, elementwise.BUILDERS[record.twin], record)
        for record in RECORDS
        if "result_accuracy" in record.attributes
    }
    | {
        record.name: partial(
            binary_case, record, values=elementwise.VALUES.get(record.twin, profiles.ANY)
        )
        for record in RECORDS
        if record.operands == ("lhs", "rhs")
    }
)
"""The builder of each op's cases."""

"""Near misses of XlaBuilder's branches, loops, calls and tuples."""

from __future__ import annotations

from collections.abc import Iterator

from generators.families.xla.control_flow import branch
from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    TupleType,
    Value,
    attributes,
)
from reference.ir.types import element_type

_F32, _SI32, _I1 = element_type("f32"), element_type("si32"), element_type("i1")


def _conditional(op: str) -> Iterator[Miss]:
    of, other = tensor(_F32, 2), tensor(_F32, 3)
    same, different = branch(of, "its argument"), branch(other, "its argument")
    types = {"index": tensor(_SI32), "x": of, "y": of}
    for index in (tensor(_F32), tensor(_SI32, 1)):
        yield "P1", program(op, types | {"index": index}, (of,), (same, same))
    one = {"index": tensor(_I1), "x": of}
    yield "P1", program(op, one, (of,), (same,))
    yield "P2", program(op, types | {"y": other}, (of,), (same, same))
    yield "P3", program(op, types | {"y": other}, (of,), (same, different))


def _select(op: str) -> Iterator[Miss]:
    of, other = tensor(_F32, 2), tensor(_F32, 3)
    pair = TupleType((of, of))
    for pred in (tensor(_I1, 2), tensor(_SI32)):
        yield "P1", _select_between_tuples(op, pred, pair, pair)
    for theirs in (TupleType((of, other)), TupleType((of,))):
        yield "P2", _select_between_tuples(op, tensor(_I1), pair, theirs)


def _select_between_tuples(
    op: str, pred: TensorType, on_true: TupleType, on_false: TupleType
) -> Program:
    """Return the program of a selection between two tuples; it returns the first element."""
    values = Value("pred", pred), Value("on_true", on_true), Value("on_false", on_false)
    chosen, first = Value("chosen", on_true), Value("first", on_true.types[0])
    operations = (
        Operation(op, values, (chosen,)),
        Operation("get_tuple_element", (chosen,), (first,), attributes(index=0)),
        Operation("return", (first,)),
    )
    return Program((Function("main", Region(values, operations), (first.type,)),))


NEAR_MISSES: dict[str, Misses] = {"Conditional": _conditional, "Select (tuples)": _select}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""

"""Every op's type function takes operands of any types: other operands break a constraint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from conformance.catalog import CATALOG
from generators.cells import plan
from reference.interpreter.verify import given_attributes
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Operation, TensorType, ValueType
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

_OTHER_ELEMENTS = ("i1", "si32", "f32", "complex<f32>", "f8E4M3")


def _others(of: ValueType) -> Iterator[ValueType]:
    """Yield types near that type: of other ranks, sizes, unknown sizes, element types."""
    if not isinstance(of, TensorType):
        yield TensorType((2,), ELEMENT_TYPES["f32"])
        return
    sizes = of.shape
    larger = tuple(size + 1 if size is not None else 1 for size in sizes)
    unknown, empty = (None,) * len(sizes), (0,) * len(sizes)
    first = (*larger[:1], *sizes[1:])
    for other in ((), sizes[1:], (1, *sizes), (*sizes, 3), empty, larger, first, unknown):
        yield TensorType(other, of.element_type)
    yield from (TensorType(sizes, ELEMENT_TYPES[name]) for name in _OTHER_ELEMENTS)


def _operations(op: str) -> Iterator[Operation]:
    """Return the operations of the first cases in some columns, as written and lowered."""
    columns = plan.valid_columns(op)
    for column in {columns[0], columns[len(columns) // 2], columns[-1]}:
        program = plan.case(op, column, 0, 0, None).program
        yield from program.walk()
        yield from lower_program(program).walk()


@pytest.mark.parametrize("op", CATALOG)
def test_other_operands_are_typed_or_break_a_constraint(op: str) -> None:
    """Programs of users and variations in campaigns have any types; none may end in an error."""
    tried = 0
    for operation in _operations(op):
        record = OPS.get(operation.name)  # a return has none
        if record is None or record.needs_result:
            continue
        types = [value.type for value in operation.operands]
        for place, of in enumerate(types):
            for other in _others(of):
                given = (*types[:place], other, *types[place + 1 :])
                attributes = given_attributes(operation)
                with suppress(ConstraintViolation):
                    record.infer(*given, regions=operation.regions, **attributes)
                tried += 1
    if not tried:
        pytest.skip("no operation of its cases takes operands and tells its result type")

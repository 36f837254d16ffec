"""XlaBuilder's branches, loops, calls and tuples.

Source: XLA operation semantics, each op by its name. A computation of XlaBuilder sees only its
parameters. A branch of StableHLO has no parameters, so the operand replaces them. `Select` also
selects between tuples, by a scalar `pred`; StableHLO's `select` takes arrays only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reference.ir.constraints import require
from reference.ir.op import Op, Rounding, Structure
from reference.ir.program import Region, TensorType, TupleType, Value, ValueType
from reference.ir.regions import argument_types, output_types
from reference.ir.substitution import replace_inside_region
from reference.ir.types import ELEMENT_TYPES
from reference.ops.xla.building import Building, lowered_op, renamed_op

Values = tuple[Value, ...]
PREDICATE = TensorType((), ELEMENT_TYPES["i1"])
INDEX = TensorType((), ELEMENT_TYPES["si32"])


def apply_computation(region: Region, operand: Value) -> Region:
    """Return a computation of one parameter as a branch without parameters that uses the
    operand."""
    (argument,) = region.arguments
    return replace_inside_region(replace(region, arguments=()), {argument.name: operand})


def _branch_conditions(
    branch_index: TensorType, branch_operands: tuple[TensorType, ...], *,
    branch_computations: tuple[Region, ...], **_: Any,
) -> None:  # fmt: skip
    """Require P1 to P3 of Conditional.

    P1: the index is a scalar of PRED, with two branches, or of S32. P2: each branch takes one
    argument, of its operand's type. P3: all branches return one type.
    """
    two = branch_index == PREDICATE and len(branch_computations) == 2
    require("P1", two or branch_index == INDEX, branch_index)
    takes = tuple(map(argument_types, branch_computations))
    require("P2", takes == tuple((of,) for of in branch_operands), takes)
    gives = {output_types(region) for region in branch_computations}
    require("P3", len(gives) == 1, gives)


def _conditional(
    building: Building, branch_index: Value, branch_operands: Values, *,
    branch_computations: tuple[Region, ...],
) -> Values:  # fmt: skip
    regions = tuple(map(apply_computation, branch_computations, branch_operands))
    name = "if" if branch_index.type == PREDICATE else "case"
    return building.ops(name, branch_index, regions=regions)


def _call(building: Building, operands: Values, *, computation: str) -> Values:
    return building.ops("func.call", *operands, results=building.results, callee=computation)


def _select_conditions(pred: ValueType, on_true: ValueType, on_false: ValueType, **_: Any) -> None:
    """Require P1 and P2 of Select.

    P1: `pred` is a scalar of i1. P2: the alternatives are tuples of the same types.
    """
    require("P1", pred == PREDICATE, pred)
    require("P2", isinstance(on_true, TupleType) and on_true == on_false, f"{on_true}, {on_false}")


def _select_tuple(building: Building, pred: Value, on_true: Value, on_false: Value) -> Value:
    """Select one of two tuples element by element, the only form that StableHLO has."""
    of, parts = on_true.type, list[Value]()
    assert isinstance(of, TupleType)
    for index, kind in enumerate(of.types):
        pair = [
            building.op("get_tuple_element", whole, index=index) for whole in (on_true, on_false)
        ]
        nested = isinstance(kind, TupleType)
        part = (
            _select_tuple(building, pred, *pair) if nested else building.op("select", pred, *pair)
        )
        parts.append(part)
    return building.op("tuple", *parts)


OPS: tuple[Op, ...] = (
    renamed_op("AfterAll", "after_all", operands=("*tokens",)),
    lowered_op(
        "Call", "composite", _call, operands=("*operands",), attributes=("computation",),
        callee="computation", needs_result=True, regions=(), scoped=False,
    ),
    renamed_op(
        "CompositeCall", "composite", callee="computation", operands=("*operands",),
        needs_result=True, scoped=False,
        renames={"computation": "decomposition", "attributes": "composite_attributes"},
    ),
    lowered_op(
        "Conditional", "case", _conditional, operands=("branch_index", "*branch_operands"),
        regions=("*branch_computations",), conditions=_branch_conditions,
        constraints=("P1", "P2", "P3"), structure=Structure.COMPUTES, rounding=Rounding.MOVES,
    ),
    renamed_op("CustomCall", "custom_call"),
    renamed_op("GetTupleElement", "get_tuple_element", operands=("tuple_data",)),
    renamed_op("OptimizationBarrier", "optimization_barrier"),
    lowered_op(
        "Select (tuples)", "tuple", _select_tuple, operands=("pred", "on_true", "on_false"),
        conditions=_select_conditions, constraints=("P1", "P2"), structure=Structure.COMPUTES,
        rounding=Rounding.MOVES, carries=(1, 2),
    ),
    renamed_op("Tuple", "tuple", operands=("*elements",)),
    renamed_op("While", "while", operands=("*init",), renames={"condition": "cond"}),
)  # fmt: skip

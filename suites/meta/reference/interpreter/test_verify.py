"""Operations checked against the constraints of their ops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reference.interpreter.verify import (
    check,
    explain_failure,
    given_attributes,
    stated_results,
    violations,
)
from reference.ir.constants import matrix
from reference.ir.program import (
    Attribute,
    Dense,
    Operation,
    Program,
    QuantizedType,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import ElementType, element_type
from reference.ops.table import OPS

F32, SI32 = element_type("f32"), element_type("si32")


def tensor(*shape: int, of: ElementType | QuantizedType = F32) -> TensorType:
    return TensorType(shape, of)


def program_of(op: str, *types: TensorType, **given: Attribute) -> Program:
    """Return the program of an op; the last type is the result's."""
    *operands, result = types
    values = tuple(Value(f"v{index}", of) for index, of in enumerate(operands))
    return single_op(op, values, (result,), given)


def test_ids_of_violated_constraints() -> None:
    good, bad = tensor(2), tensor(3)
    assert violations(program_of("add", good, good, good).subject) == ()
    assert violations(program_of("add", good, good, bad).subject) == ("C1",)
    assert violations(program_of("select", bad, good, good, good).subject) == ("I1", "C1")


def test_an_operation_that_does_not_fit_its_op() -> None:
    one = tensor(2)
    assert violations(program_of("add", one, one).subject) == ("operands",)
    assert violations(program_of("add", one, one, one, extra=1).subject) == ("attributes",)
    two = replace(program_of("abs", one, one).subject, results=(Value("a", one), Value("b", one)))
    assert violations(two) == ("result",)


def test_an_op_of_another_dialect_has_no_constraints() -> None:
    assert violations(Operation("mine.op")) == ()


def test_waived_constraints_are_not_violated() -> None:
    broken = program_of("add", tensor(2), tensor(2), tensor(3)).subject
    assert violations(replace(broken, waives=("C1",))) == ()
    assert violations(replace(broken, waives=("C2",))) == ("C1",)


@pytest.mark.parametrize(("root", "ids"), [(0, ()), (1, ()), (2, ("C6",)), (-1, ("C6",))])
def test_values_of_constants_are_checked_if_the_program_is_known(
    root: int, ids: tuple[str, ...]
) -> None:
    """The root of a group of two is its number in the group: 0 or 1."""
    roots = Dense.of(np.array([root], np.int32), tensor(1, of=SI32))
    given = {"replica_groups": matrix([[0, 1]]), "has_dynamic_root": True}
    program = single_op(
        "collective_broadcast", (Value("operand", tensor(2)), roots), (tensor(2),), given
    )
    assert violations(program.subject) == ()
    assert violations(program.subject, program) == ids


def test_attributes_of_other_dialects_and_of_accuracy_are_left_out() -> None:
    given = {"mhlo.layout": "", "result_accuracy": "", "dimensions": (0,)}
    operation = program_of("reverse", tensor(2), tensor(2), **given).subject
    assert given_attributes(operation) == {"dimensions": (0,)}


def test_result_types_as_an_ops_functions_take_them() -> None:
    operation = program_of("abs", tensor(2), tensor(2)).subject
    assert stated_results(OPS["abs"], operation) == {"result": tensor(2)}
    assert stated_results(OPS["sort"], operation) == {"results": (tensor(2),)}


def test_each_broken_operation_of_a_program() -> None:
    broken = program_of("add", tensor(2), tensor(2), tensor(3))
    assert check(broken) == [(broken.subject, ("C1",))]
    assert check(program_of("add", tensor(2), tensor(2), tensor(2))) == []


def test_quantized_types_have_constraints_of_their_own() -> None:
    of = tensor(2, of=QuantizedType(element_type("si8"), 5, -5, F32, (1.0,), (0,)))
    (_, ids), *_ = check(program_of("abs", of, of))
    assert any(id_.startswith("quantized type C") for id_ in ids)
    assert len(ids) == len(set(ids))


def test_a_violation_explains_a_failure_better_than_numpy() -> None:
    broken = program_of("add", tensor(2), tensor(2), tensor(3)).subject
    assert explain_failure(broken, "no broadcast") == "breaks C1"
    sound = program_of("add", tensor(2), tensor(2), tensor(2)).subject
    assert explain_failure(sound, ValueError("no broadcast")) == "no broadcast"

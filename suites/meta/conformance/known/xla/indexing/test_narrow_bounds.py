"""Updates at start indices of types that have no room for the bound."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.indexing.narrow_bounds import CUT
from conformance.known.xla.indexing.out_of_bounds import BOUND
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate

TEXT = """
func.func @main(%x: tensor<300x2xi16>, %u: tensor<1x1xi16>, %i: tensor<KIND>, %j: tensor<KIND>)
    -> tensor<300x2xi16> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j
    : (tensor<300x2xi16>, tensor<1x1xi16>, tensor<KIND>, tensor<KIND>) -> tensor<300x2xi16>
  return %0 : tensor<300x2xi16>
}"""


@pytest.mark.parametrize(
    ("kind", "dtype", "start", "written", "is_explained"),
    [
        ("ui8", np.uint8, 150, 43, True),  # 299 is 43 in eight bits
        ("ui8", np.uint8, 150, 44, False),
        ("ui8", np.uint8, 20, 43, False),
        ("i32", np.int32, 150, 43, False),
    ],
)
def test_bound_is_truncated_to_the_index_type(
    kind: str, dtype: type, start: int, written: int, is_explained: bool
) -> None:
    program = parse_module(TEXT.replace("KIND", kind))
    inputs = [np.zeros((300, 2), np.int16), np.ones((1, 1), np.int16)]
    inputs += [np.array(start, dtype), np.array(1, dtype)]
    actual = np.zeros((300, 2), np.int16)
    actual[written, 1] = 1
    rule = CATALOG[program.subject.name].tolerance
    found = judge(program, inputs, evaluate(program, inputs), [actual], rule, platform="cpu")
    assert found.verdict.fails
    assert ({kind for _, kind in found.findings} == {BOUND}) == is_explained


def test_update_outside_of_result_is_missing() -> None:
    """A bound of 299 is 43 in eight bits, a bound of 199 is -57: before the beginning of memory."""
    program = parse_module(TEXT.replace("KIND", "i8").replace("300", "200"))
    inputs = [np.zeros((200, 2), np.int16), np.ones((1, 1), np.int16)]
    inputs += [np.array(100, np.int8), np.array(1, np.int8)]
    rule = CATALOG[program.subject.name].tolerance
    expected = evaluate(program, inputs)
    found = judge(program, inputs, expected, [inputs[0]], rule, platform="cpu")
    assert {kind for _, kind in found.findings} == {BOUND}


def test_bound_that_the_index_type_holds_predicts_nothing() -> None:
    """300 - 2 in si8 is 42: the update is at 42, not at 100."""
    update, starts = np.array([7, 8], np.int32), np.array(100, np.int8)
    for size, first in ((300, 42), (100, None)):
        operand = np.zeros(size, np.int32)
        assert CUT.otherwise is not None
        found = CUT.otherwise(None, (operand, update, starts), (operand,))  # type: ignore[arg-type]
        if first is None:
            assert found is None
        else:
            assert found is not None
            assert np.flatnonzero(found[0]).tolist() == [first, first + 1]

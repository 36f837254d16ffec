"""Near misses break exactly the constraint that they are for."""

import pytest

from generators.invalid.table import INSEPARABLE, near_misses
from reference.interpreter.evaluate import check
from reference.ops.table import OPS
from suites.meta.support.drawn_cases import ELEMENT_TYPES_OF


@pytest.mark.parametrize("op", ELEMENT_TYPES_OF)
def test_near_misses_break_exactly_one_constraint(op: str) -> None:
    misses = near_misses(op)
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)], program
    listed = {*OPS[op].constraints, *OPS[op].inputs}
    assert {id_ for id_, _ in misses} == listed - set(INSEPARABLE.get(op, ()))
    assert len({program.digest for _, program in misses}) == len(misses)

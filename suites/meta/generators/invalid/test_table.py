"""The near misses of every op, by name."""

from __future__ import annotations

import pytest

from generators.invalid.table import INSEPARABLE, NEAR_MISSES, near_misses
from reference.ops.table import OPS


def test_every_op_with_constraints_has_near_misses() -> None:
    assert {name for name, record in OPS.items() if record.constraints} <= set(NEAR_MISSES)


def test_constraints_that_no_program_breaks_in_isolation_are_constraints_of_the_op() -> None:
    for op, ids in INSEPARABLE.items():
        assert set(ids) <= {*OPS[op].constraints, *OPS[op].inputs}


def test_near_misses_of_an_op_by_name() -> None:
    assert {id_ for id_, _ in near_misses("transpose")} == {"C1", "C2", "C3", "C4"}
    with pytest.raises(KeyError, match="no near misses for op 'sinh'"):
        near_misses("sinh")

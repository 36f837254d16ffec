"""The tables against the specification: every op, every input's name, every constraint's id.

`data/specification.json` has the names and ids of StableHLO's specification (facts, as data).
"""

import json
from pathlib import Path

import pytest

from conformance.catalog import CATALOG
from generators.cells.columns import ordered_misses
from generators.invalid.table import INSEPARABLE, NEAR_MISSES
from reference.interpreter.evaluate import check
from reference.ir.op import Dialect
from reference.ops.table import OPS

SPECIFICATION = json.loads((Path(__file__).parent / "data" / "specification.json").read_text())

ONLY_IN_THE_DIALECT = {"dynamic_gather": {"operand_batching_dims", "start_indices_batching_dims"}}
"""Inputs that an op has in the dialect, but not in its section of the specification; the section of
`gather` has them.
"""

HERE = sorted(SPECIFICATION)

BEYOND = {"dynamic_gather": {"operand_batching_dims", "start_indices_batching_dims"}}
"""Attributes that the dialect has and the specification's table does not: `dynamic_gather` is said
to be identical to `gather`, and JAX writes it with batching dimensions."""


def test_the_catalog_is_the_specifications_list_of_ops() -> None:
    assert set(CATALOG) == set(HERE) | {
        name
        for name, record in OPS.items()
        if not record.specified and record.dialect is not Dialect.MHLO
    }
    assert set(OPS) >= set(CATALOG)
    dialects = list(Dialect)
    assert list(CATALOG) == sorted(CATALOG, key=lambda op: (dialects.index(OPS[op].dialect), op))


@pytest.mark.parametrize("op", HERE)
def test_inputs_are_named_as_in_the_specification(op: str) -> None:
    row = OPS[op]
    attributes = [name for name in row.attributes if name not in BEYOND.get(op, ())]
    named = [*row.operands, *attributes, *row.regions]
    known = {name.removeprefix("*") for name in named} - ONLY_IN_THE_DIALECT.get(op, set())
    assert known == set(SPECIFICATION[op]["inputs"])
    order = [name for name in SPECIFICATION[op]["inputs"] if name in row.attributes]
    assert attributes == order


@pytest.mark.parametrize("op", HERE)
def test_every_constraint_of_the_specification_is_known(op: str) -> None:
    assert list(OPS[op].constraints) == SPECIFICATION[op]["constraints"]


@pytest.mark.parametrize("op", HERE)
def test_near_misses_break_exactly_the_constraint_they_name(op: str) -> None:
    listed = {*OPS[op].constraints, *OPS[op].inputs}
    alone = listed - set(INSEPARABLE.get(op, ()))
    if op not in NEAR_MISSES:
        assert not alone
        return
    misses = ordered_misses(op)
    for id_, program in misses:
        assert [ids for _, ids in check(program)] == [(id_,)], program
    assert {id_ for id_, _ in misses} == alone
    assert len({program.digest for _, program in misses}) == len(misses)

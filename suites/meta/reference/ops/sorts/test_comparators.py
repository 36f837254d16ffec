"""Cases of sort: comparators of every kind, and near misses."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.transforms.inline import inline_subject_bodies
from generators.case.choices import Pick
from generators.cells.plan import cases
from generators.invalid.table import near_misses
from generators.regions.comparators import comparators
from reference.interpreter.evaluate import check
from reference.ir.types import ALL, ELEMENT_TYPES
from reference.ops.sorts.comparators import order_of
from reference.ops.table import OPS


def test_comparators_of_every_kind_are_drawn() -> None:
    forms: set[str] = set()
    for case in cases("sort", ELEMENT_TYPES["f32"], seed=6, count=200):
        operation = inline_subject_bodies(case.program).subject
        order = order_of(operation.regions[0])
        forms.add("none" if order is None else f"{len(order.keys)} keys")
        if order is not None:
            forms |= {f"{key.compare_type} {key.descending}" for key in order.keys}
        a: dict[str, Any] = dict(operation.attributes)
        forms |= {f"stable {a['is_stable']}", f"negative {a['dimension'] < 0}"}
        forms.add(f"{len(operation.operands)} operands")
    assert forms >= {
        "none", "1 keys", "2 keys", "FLOAT False", "FLOAT True", "TOTALORDER False",
        "TOTALORDER True", " False", "stable True", "stable False", "negative True",
        "negative False", "1 operands", "2 operands", "3 operands",
    }  # fmt: skip


@pytest.mark.parametrize("of", ALL, ids=str)
def test_drawn_comparators_match_their_description(of: Any) -> None:
    simplest = comparators(of, Pick(lambda _: 0))
    assert simplest.inputs == (of,)
    assert all(len(row) == len(simplest.inputs) for row in simplest.rows)


def test_near_misses_break_their_stated_constraint() -> None:
    found = {id_ for id_, _ in near_misses("sort")}
    assert found == {*OPS["sort"].constraints, *OPS["sort"].inputs}
    for id_, made in near_misses("sort"):
        assert [ids for _, ids in check(made)] == [(id_,)]

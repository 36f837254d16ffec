"""Headings of the page: each op of XlaBuilder has exactly one."""

from __future__ import annotations

from reference.ir.op import Dialect
from reference.ops.table import OPS
from reference.ops.xla.page import HEADINGS, UNSUPPORTED_HEADINGS


def test_each_op_has_one_heading() -> None:
    listed = [op for ops in HEADINGS.values() for op in ops]
    assert len(listed) == len(set(listed))
    assert set(listed) == {name for name, one in OPS.items() if one.dialect is Dialect.XLA}


def test_a_heading_without_an_op_has_a_reason() -> None:
    assert not HEADINGS.keys() & UNSUPPORTED_HEADINGS.keys()
    assert all(len(why) > 20 for why in UNSUPPORTED_HEADINGS.values())

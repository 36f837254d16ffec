"""The records of the specification's ops, by family and by mnemonic."""

from __future__ import annotations

from collections import Counter

from reference.ir.op import Dialect
from reference.ops import stablehlo


def test_each_op_belongs_to_one_family() -> None:
    names = Counter(record.name for records in stablehlo.FAMILIES.values() for record in records)
    assert max(names.values()) == 1
    assert set(names) == set(stablehlo.OPS)
    assert all(name == record.name for name, record in stablehlo.OPS.items())


def test_a_family_has_the_name_of_its_module() -> None:
    assert {"elementwise", "sorting", "gathering", "fft"} <= set(stablehlo.FAMILIES)
    assert {record.name for record in stablehlo.FAMILIES["fft"]} == {"fft"}
    assert all(stablehlo.FAMILIES.values())


def test_all_are_of_the_dialect() -> None:
    assert {record.dialect for record in stablehlo.OPS.values()} == {Dialect.STABLEHLO}

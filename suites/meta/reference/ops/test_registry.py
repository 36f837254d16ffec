"""Tables of a package are merged family by family, and must be complete."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from reference.ir.op import Op
from reference.ops import registry
from reference.ops.registry import assemble, is_not_needed
from reference.ops.table import OPS

FAMILIES = {"first": (OPS["abs"], OPS["add"]), "second": (OPS["sort"],)}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Return the tables of a package of two families; tests may change them."""
    tables = {"first": {"abs": 1, "add": 2}, "second": {"sort": 3}}
    monkeypatch.setattr(registry, "FAMILIES", FAMILIES)
    parent = ModuleType("made_up")
    parent.__path__ = []
    monkeypatch.setitem(sys.modules, "made_up", parent)
    for family, table in tables.items():
        module = ModuleType(f"made_up.{family}")
        module.TABLE = table  # type: ignore[attr-defined]
        module.__spec__ = ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, f"made_up.{family}", module)
    return tables


def test_tables_of_all_families_are_merged(package: dict[str, dict[str, Any]]) -> None:
    assert assemble("made_up", "TABLE") == {"abs": 1, "add": 2, "sort": 3}
    del package["first"]["add"]
    assert assemble("made_up", "TABLE", needed=is_not_needed) == {"abs": 1, "sort": 3}


def test_an_entry_that_is_needed_must_not_be_missing(package: dict[str, dict[str, Any]]) -> None:
    package["first"].clear()

    def except_abs(op: Op) -> bool:
        return op.name != "abs"

    with pytest.raises(LookupError, match="has no entry for add"):
        assemble("made_up", "TABLE", needed=except_abs)


def test_an_op_of_another_family_is_an_error(package: dict[str, dict[str, Any]]) -> None:
    package["second"]["abs"] = 4
    with pytest.raises(LookupError, match="has abs, no ops of second"):
        assemble("made_up", "TABLE")


def test_only_a_family_that_needs_no_entry_may_lack_a_module(
    package: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    del package
    monkeypatch.delitem(sys.modules, "made_up.second")
    with pytest.raises(ModuleNotFoundError):
        assemble("made_up", "TABLE")
    assert "sort" not in assemble("made_up", "TABLE", needed=is_not_needed)

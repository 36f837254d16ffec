"""Tables with an entry per op, assembled from one module per family."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reference.ir.op import Op
from reference.ops.table import FAMILIES


def _is_needed(_: Op) -> bool:
    return True


def is_not_needed(_: Op) -> bool:
    """Return False: no op needs an entry."""
    return False


def assemble(
    package: str, name: str, *, needed: Callable[[Op], bool] = _is_needed
) -> dict[str, Any]:
    """Return one table, merged from the tables called `name` of a package's modules, a module per
    family. A family whose ops need no entry may lack a module.

    Args:
        package: the package of the modules, which are named like the families of
            `reference.ops.table`.
        name: a dict in each module, by mnemonic.
        needed: returns whether an op must have an entry.

    Raises:
        LookupError: if a module has entries for ops of other families, or lacks required entries.
    """
    table: dict[str, Any] = {}
    for family, records in FAMILIES.items():
        module = f"{package}.{family}"
        required = {record.name for record in records if needed(record)}
        if not required and find_spec(module) is None:
            continue
        entries: dict[str, Any] = getattr(import_module(module), name)
        strange = set(entries) - {record.name for record in records}
        missing = required - set(entries)
        if strange:
            raise LookupError(f"{module}.{name} has {_join_names(strange)}, no ops of {family}")
        if missing:
            raise LookupError(f"{module}.{name} has no entry for {_join_names(missing)}")
        table |= entries
    return table


def _join_names(names: set[str]) -> str:
    return ", ".join(sorted(names))

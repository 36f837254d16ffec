"""Operations that crash MLIR's verifier, found before it sees them. Loads jaxlib."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from jaxlib.mlir import ir

from conformance.stablehlo.lexical import blank_strings

_DIALECT, _STAND_IN = "stablehlo", "unchecked"
"""An unknown dialect, whose operations are parsed and not verified. Both names have the same
length, so that lines and columns stay."""


def _has_no_group(operation: ir.Operation) -> str:
    """Return the constraint that an all_to_all without groups breaks, or ""."""
    given: Any = operation.attributes
    if "replica_groups" not in given:
        return ""
    groups: Any = given["replica_groups"]
    is_matrix = isinstance(groups, ir.DenseElementsAttr)
    shape = ir.ShapedType(groups.type).shape if is_matrix else []
    if len(shape) != 2 or shape[0]:
        return ""
    return "replica_groups must hold at least one group (C8: as many ids in each as split_count)"


FATAL: dict[str, Callable[[ir.Operation], str]] = {"all_to_all": _has_no_group}
"""A function for each op that returns why an operation crashes the process, or "".

jaxlib 0.10.2 divides by the number of groups of an all_to_all; 0.12 refuses it.
"""

_NAMES = "|".join(FATAL)
_FATAL = re.compile(rf'"{_DIALECT}\.(?:{_NAMES})"\s*\(')
_GENERIC = re.compile(rf'(?<="){_DIALECT}(?=\.(?!return")\w+"\s*\()')
"""Operations in generic form. All are parsed unverified, not only the fatal operations: the
verifier of an enclosing operation may ask for the op inside. A `return` is kept, as
operations in pretty form require it."""


def may_be_fatal(text: str) -> bool:
    """Return whether a text names an op on which the verifier can crash the process."""
    return _FATAL.search(text) is not None


@contextmanager
def unregistered_allowed(context: ir.Context) -> Generator[None]:
    """Accept operations of unknown dialects in a context, within the block."""
    before = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        yield
    finally:
        context.allow_unregistered_dialects = before


def fatal_operations(text: str) -> list[tuple[str, str]]:
    """Return location and reason of each operation on which the verifier would crash the process.

    A text that cannot be parsed has none, as the verifier does not run.
    """
    code = blank_strings(text)
    pieces: list[str] = []
    done = 0
    for found in _GENERIC.finditer(code):
        pieces += [text[done : found.start()], _STAND_IN]
        done = found.end()
    context: Any = ir.Context.current
    with unregistered_allowed(context):
        try:
            module = ir.Module.parse("".join([*pieces, text[done:]]))
        except ir.MLIRError:
            return []
        return list(_walk(module.operation))


def _walk(operation: ir.Operation) -> Iterator[tuple[str, str]]:
    dialect, _, name = operation.name.partition(".")
    if dialect == _STAND_IN and name in FATAL:
        reason = FATAL[name](operation)
        if reason:
            yield str(operation.location), f"'{_DIALECT}.{name}' op {reason}"
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _walk(view.operation)

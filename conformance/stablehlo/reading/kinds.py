"""Readers for each kind of attribute; they return None for an attribute of another kind.

`conformance.stablehlo.attributes` gives the kind of each attribute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from conformance.stablehlo.attributes import AttributeKind
from conformance.stablehlo.configurations import configuration
from conformance.stablehlo.reading.constants import dense, scalar
from conformance.stablehlo.reading.types import value_type
from reference.ir.accuracy import MODES, ResultAccuracy
from reference.ir.aliases import OutputOperandAlias
from reference.ir.program import Attribute
from reference.ir.types import from_mlir


def _number(attribute: Any, kind: AttributeKind) -> int | None:
    found = isinstance(attribute, ir.IntegerAttr) and str(attribute.type) == kind.name
    return int(attribute.value) if found else None


def _float(attribute: Any, _: AttributeKind) -> float | None:
    found = isinstance(attribute, ir.FloatAttr) and str(attribute.type) == "f32"
    return float(attribute.value) if found else None


def _bool(attribute: Any, _: AttributeKind) -> bool | None:
    return bool(attribute.value) if isinstance(attribute, ir.BoolAttr) else None


def _string(attribute: Any, _: AttributeKind) -> str | None:
    return str(attribute.value) if isinstance(attribute, ir.StringAttr) else None


def _symbol(attribute: Any, _: AttributeKind) -> str | None:
    return str(attribute.value) if isinstance(attribute, ir.FlatSymbolRefAttr) else None


_ASKED = {
    "atol": re.compile(r"atol = ([^,>]+)"),
    "rtol": re.compile(r"rtol = ([^,>]+)"),
    "ulps": re.compile(r"ulps = (\d+)"),
    "mode": re.compile(r"mode = [^>]*?\b([A-Z]+)>"),
}


def _accuracy(attribute: Any, _: AttributeKind) -> ResultAccuracy | None:
    """Read a result accuracy from its text, as jaxlib has no class for it; absent fields stay
    absent.
    """
    said = {name: found[1] for name, one in _ASKED.items() if (found := one.search(str(attribute)))}
    if said.get("mode") not in MODES:
        return None
    return ResultAccuracy(
        said["mode"], float(said.get("atol", 0)), float(said.get("rtol", 0)),
        int(said.get("ulps", 0)),
    )  # fmt: skip


def _i64_array(attribute: Any, _: AttributeKind) -> tuple[int, ...] | None:
    return tuple(attribute) if isinstance(attribute, ir.DenseI64ArrayAttr) else None


def _i32_array(attribute: Any, _: AttributeKind) -> tuple[int, ...] | None:
    return tuple(attribute) if isinstance(attribute, ir.DenseI32ArrayAttr) else None


def _bool_array(attribute: Any, _: AttributeKind) -> tuple[bool, ...] | None:
    found = isinstance(attribute, ir.DenseBoolArrayAttr)
    return tuple(bool(one) for one in attribute) if found else None


def _enum(attribute: Any, kind: AttributeKind) -> str | None:
    found = re.fullmatch(rf"#(?:stablehlo|chlo|mhlo)<{kind.keyword} (\w+)>", str(attribute))
    return found[1] if found else None


def _reader_of_all(
    read: Callable[[Any, AttributeKind], Attribute | None],
) -> Callable[[Any, AttributeKind], tuple[Attribute, ...] | None]:
    def all_of(attribute: Any, kind: AttributeKind) -> tuple[Attribute, ...] | None:
        if not isinstance(attribute, ir.ArrayAttr):
            return None
        values = [read(one, kind) for one in attribute]
        kept = tuple(value for value in values if value is not None)
        return kept if len(kept) == len(values) else None

    return all_of


def _dictionary(attribute: Any, _: AttributeKind) -> tuple[Attribute, ...] | None:
    if not isinstance(attribute, ir.DictAttr):
        return None
    pairs = tuple((str(entry.name), _entry(entry.attr)) for entry in attribute)
    return None if any(value is None for _, value in pairs) else pairs


def _entry(found: Any) -> Any:
    """Return an entry of a dictionary; None for a value without a counterpart here."""
    if isinstance(found, ir.BoolAttr | ir.StringAttr):
        return found.value
    if isinstance(found, ir.IntegerAttr) and str(found.type) == "i64":
        return int(found.value)
    if isinstance(found, ir.TypeAttr):
        with suppress(KeyError):  # a type of no element
            return from_mlir(str(found.value))
        return None
    if isinstance(found, ir.ArrayAttr):
        values = tuple(map(_entry, found))
        return None if None in values else values
    return None


def _alias(attribute: Any, _: AttributeKind) -> OutputOperandAlias | None:
    if not stablehlo.OutputOperandAlias.isinstance(attribute):
        return None
    given: Any = stablehlo.OutputOperandAlias(attribute)
    return OutputOperandAlias(
        tuple(given.output_tuple_indices), given.operand_index, tuple(given.operand_tuple_indices)
    )


_READ: dict[str, Callable[[Any, AttributeKind], Attribute | None]] = {
    "i64": _number,
    "i32": _number,
    "float": _float,
    "bool": _bool,
    "unit": lambda attribute, _: True if isinstance(attribute, ir.UnitAttr) else None,
    "string": _string,
    "symbol": _symbol,
    "symbols": _reader_of_all(_symbol),
    "accuracy": _accuracy,
    "i64_array": _i64_array,
    "i32_array": _i32_array,
    "bool_array": _bool_array,
    "configuration": lambda attribute, _: configuration(attribute),
    "aliases": _reader_of_all(_alias),
    "dictionary": _dictionary,
    "enum": _enum,
    "enums": _reader_of_all(_enum),
}
"""Readers by the kinds of `stablehlo.attributes`; they return None for another kind."""


def read_as(kind: AttributeKind, attribute: Any, owner: ir.Operation) -> Attribute | None:
    """Return the attribute's value if it is of this kind, else None."""
    if kind.name == "dense":
        found = isinstance(attribute, ir.DenseElementsAttr)
        found_type = value_type(attribute.type, owner) if found else None
        return scalar(attribute) if found_type is None else dense(attribute, found_type)
    return _READ[kind.name](attribute, kind)

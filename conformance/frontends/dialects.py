"""Conversion of bytecode, portable artifacts and CHLO ops to StableHLO text.

Source: jaxlib's passes and deserialisers (0.10.2 and 0.12.0, measured).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from conformance.stablehlo.parse import ParseError, Unreadable
from conformance.stablehlo.reading.fatal import (
    fatal_operations,
    may_be_fatal,
    unregistered_allowed,
)
from reference.ops.table import OPS

BYTECODE = b"ML\xefR"
"""First bytes of MLIR bytecode, and so of a portable artifact of StableHLO."""

_LEGALISE = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
_CHLO = re.compile(r'=\s*"?chlo\.(\w+)')

_KEPT = tuple(name for name in OPS if name.startswith("chlo."))
"""Ops of CHLO that the reference evaluates itself. Their expansion by StableHLO's pass is not
needed, and for ragged dots not always equal to the op (docs/interpreter.md).
"""

_HIDDEN = "kept."
"""Prefix that hides the names of these ops from the pass, which ignores unknown dialects."""


def module_text(data: bytes) -> str:
    """Return the text of a module, given MLIR text, bytecode or a portable artifact.

    Raises:
        ParseError: when it is neither.
        Unreadable: for an artifact of versions or dialects that jaxlib cannot read.
    """
    if data.startswith(BYTECODE):
        return _read_bytecode(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        hint = "of an export of jax, give mlir_module() or mlir_module_serialized"
        raise ParseError(f"neither text nor bytecode of MLIR; {hint}") from None


def _read_bytecode(data: bytes) -> str:
    with make_ir_context() as context:
        context.allow_unregistered_dialects = False
        try:
            if b"StableHLO_v" in data[:64]:
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            newer = _version_error(data)
            if newer:
                raise Unreadable(newer) from None
            reason = str(error).strip().partition("\n")[0]
            raise ParseError(f"bytecode that jaxlib cannot read: {reason}") from None
        return print_module(module)


def _version_error(data: bytes) -> str:
    """Return why a portable artifact of a later version cannot be read; "" for other data."""
    written = re.search(rb"StableHLO_v(\d+)\.(\d+)\.(\d+)", data[:64])
    known = stablehlo.get_current_version()
    if written is None or tuple(map(int, written.groups())) <= tuple(map(int, known.split("."))):
        return ""
    version = b".".join(written.groups()).decode()
    return f"a portable artifact of StableHLO {version}, but jaxlib reads versions up to {known}"


def expand_chlo(text: str) -> str:
    """Return the module with CHLO ops expanded to StableHLO's, each with its op's location.

    Ops that the reference has stay. A text without other CHLO ops is returned as it is.

    Raises:
        ParseError: when the text is no valid module.
        Unreadable: when jaxlib cannot expand an op.
    """
    if "chlo." not in text:
        return text
    register()
    with make_ir_context():
        try:
            if may_be_fatal(text) and fatal_operations(text):
                return text
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return text  # the parser says what is wrong with it
        names = {f"chlo.{name}" for name in _CHLO.findall(str(module))}
        if names <= {*_KEPT}:
            return text
        with unregistered_allowed(module.context):
            _rename(module, {name: _HIDDEN + name for name in _KEPT})
            _legalise(module)
            _rename(module, {_HIDDEN + name: name for name in _KEPT})
        names = {f"chlo.{name}" for name in _CHLO.findall(str(module))}
        left = sorted(names - {*_KEPT})
        if left:
            raise Unreadable(f"jaxlib cannot expand to StableHLO: {', '.join(left)}")
        return print_module(module)


def _legalise(module: ir.Module) -> None:
    try:
        PassManager.parse(_LEGALISE).run(module.operation)
    except ir.MLIRError as error:
        found = [str(one.message) for one in error.error_diagnostics]
        reason = (found or [str(error)])[0].partition("\n")[0]
        raise Unreadable(f"CHLO: {reason}") from None


def _rename(module: ir.Module, names: Mapping[str, str]) -> None:
    """Rename operations of a module, also nested operations."""
    found: list[ir.Operation] = []

    def find_operation(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in names:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(find_operation)
    for one in found:
        named = [one.attributes[number] for number in range(len(one.attributes))]
        attributes = {attribute.name: attribute.attr for attribute in named}
        types, operands = [result.type for result in one.results], list(one.operands)
        place = ir.InsertionPoint(one)
        other = ir.Operation.create(
            names[one.name], types, operands, attributes, loc=one.location, ip=place
        )
        for old, new in zip(one.results, other.results, strict=True):
            old.replace_all_uses_with(new)
        one.erase()


@cache
def register() -> None:
    """Make StableHLO's passes known to MLIR, once in a process."""
    stablehlo.register_stablehlo_passes()


def print_module(module: ir.Module) -> str:
    """Return the text of a module, with the locations of its operations."""
    return str(module.operation.get_asm(enable_debug_info=True))

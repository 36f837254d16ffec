"""Conversion of bytecode, portable artifacts and CHLO ops to StableHLO text.

Source: jaxlib's passes and deserialisers (0.10.2 and 0.12.0, measured).
"""

from __future__ import annotations

import re
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
_CHLO = "chlo."
_HIDDEN = "kept."
"""Prefix that hides ops of CHLO from the pass, which ignores unknown dialects."""


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

    Ops that the reference has stay: their expansion is part of what is tested. A text without other
    CHLO ops is returned as it is.

    Raises:
        ParseError: when the text is no valid module.
        Unreadable: when jaxlib cannot expand an op.
    """
    if _CHLO not in text:
        return text
    register()
    with make_ir_context():
        try:
            if may_be_fatal(text) and fatal_operations(text):
                return text
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return text  # the parser says what is wrong with it
        written = _find_operations(module, _CHLO)
        kept = [one for one in written if _is_kept(one)]
        if len(kept) == len(written):
            return text
        with unregistered_allowed(module.context):
            for one in kept:
                _rename(one, _HIDDEN + one.name)
            _legalise(module)
            left = sorted({operation.name for operation in _find_operations(module, _CHLO)})
            for operation in _find_operations(module, _HIDDEN):
                _rename(operation, operation.name.removeprefix(_HIDDEN))
        if left:
            raise Unreadable(f"jaxlib cannot expand to StableHLO: {', '.join(left)}")
        return print_module(module)


def _is_kept(operation: ir.Operation) -> bool:
    """Return whether the reference has an op; an op that it lowers needs operands of known
    sizes."""
    record = OPS.get(operation.name)
    if record is None or record.lower is None:
        return record is not None
    return not any("?" in str(value.type) for value in operation.operands)


def _legalise(module: ir.Module) -> None:
    try:
        PassManager.parse(_LEGALISE).run(module.operation)
    except ir.MLIRError as error:
        found = [str(diagnostic.message) for diagnostic in error.error_diagnostics]
        reason = (found or [str(error)])[0].partition("\n")[0]
        raise Unreadable(f"CHLO: {reason}") from None


def _find_operations(module: ir.Module, prefix: str) -> list[ir.Operation]:
    """Return the operations of a module, also nested ones, whose names have a prefix."""
    found: list[ir.Operation] = []

    def find_operation(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith(prefix):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(find_operation)
    return found


def _rename(operation: ir.Operation, name: str) -> None:
    """Replace an operation by an equal one of another name."""
    named = [operation.attributes[number] for number in range(len(operation.attributes))]
    attributes = {attribute.name: attribute.attr for attribute in named}
    types, operands = [result.type for result in operation.results], list(operation.operands)
    place = ir.InsertionPoint(operation)
    other = ir.Operation.create(name, types, operands, attributes, loc=operation.location, ip=place)
    for old, new in zip(operation.results, other.results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()


@cache
def register() -> None:
    """Make StableHLO's passes known to MLIR, once in a process."""
    stablehlo.register_stablehlo_passes()


def print_module(module: ir.Module) -> str:
    """Return the text of a module, with the locations of its operations."""
    return str(module.operation.get_asm(enable_debug_info=True))

"""Error messages of XLA: not implemented, refused as invalid, or an internal error.

Source: jaxlib 0.10.2 and 0.12.0, measured.
"""

from __future__ import annotations

import re

from conformance.backends.base import (
    BackendError,
    DeviceError,
    Failed,
    Rejected,
    Unsupported,
)
from conformance.text import one_line
from reference.ir.program import Program, TensorType
from reference.ops.table import OPS

_UNSUPPORTED = (
    re.compile(r"\bUNIMPLEMENTED\b"),
    re.compile(r"can't be translated to XLA HLO"),
    re.compile(r"op expected bounded result"),
    re.compile(r"SPMD partitioner supports only "),
    re.compile(r"failed to legalize operation"),
    re.compile(r"Unknown NumPy dtype"),
    re.compile(r"Invalid XLA PrimitiveType: \d+ \(F6"),  # of an older compiler for TPUs
    re.compile(r"PRIMITIVE_TYPE_INVALID", re.IGNORECASE),  # a type that HLO has not
    re.compile(r"(?:operand|result) #\d+ type is not supported"),  # the same, of plugins
    re.compile(r"unsupported op in async_start"),
    re.compile(r"async_start currently requires one argument"),
    re.compile(r"CompositeOp with regions not supported"),
    re.compile(r"dot algorithm not known to be supported"),
    re.compile(r"Algorithm not supported by"),
    re.compile(r"No registered implementation for (?:(?:un)?typed )?custom call"),
    re.compile(r"element type \S+ not supported by NCCL"),
    re.compile(r"Unsupported dot precision algorithm"),
    re.compile(r"GEMM is not supported by cublasLt"),
    re.compile(r"No FFI handler registered for "),
    re.compile(r"Custom emitter for \S+ not found"),  # of the TPU's compiler
    re.compile(r"INT2 is not supported for "),  # the same
    re.compile(r"Tpu does not support int2 type usage"),  # the same
    re.compile(r"Unexpected operand type for FFT: (?:f64|c128)"),  # the same
    re.compile(r"Accuracy analysis for \w+ is not implemented yet"),  # the same
    re.compile(r"No implementation found for requested accuracy"),
    re.compile(r"unknown (?:StableHLO attribute|stablehlo type)"),  # of an older dialect
    re.compile(r"attribute created with unregistered dialect"),  # such as #complex.number
    re.compile(r"'mhlo.scan' op (?:.* Associativity of|expects regions)"),  # of jaxlib 0.9's MHLO
    re.compile(r"CompileTimeHostOffloadOutputLocationMismatch"),  # a result left in host memory
)
"""Words of XLA's messages about programs that it does not implement."""

_REJECTED = (
    re.compile(r"^INVALID_ARGUMENT"),
    re.compile(r"is not equal to ratio of bit-widths"),
    re.compile(r"incompatible shapes for broadcasting"),  # of CHLO's ops
    re.compile(r"size of operand dimension \d+ \(\d+\) is not "),  # the same, of jaxlib 0.8
    re.compile(r"Expected element type in shape to be"),
    re.compile(r"\[hlo verifier\]"),
    re.compile(r"during context \[pre-optimization\]"),  # the same, of the TPU's compiler
    re.compile(r"during context \[Unknown\]"),  # the same, of a GPU's client before compilation
    re.compile(r"indices parameter must be an integral tensor"),
    re.compile(r"RET_CHECK failure \(\S+\) dynamic_root\.IsArray\(\)"),
)
"""Words of messages of XLA's shape inference, about programs that MLIR's verifier accepts."""

_UNSUPPORTED_F6 = re.compile(r"Failed to translate module to LLVM IR")
"""Words of XLA:CPU's internal error on conversions of f6 types: LLVM has no 6-bit float."""

_DEVICE_ERROR = re.compile(
    r"CUDA_ERROR_(?:ASSERT|HARDWARE_STACK_ERROR|ILLEGAL_ADDRESS|ILLEGAL_INSTRUCTION"
    r"|INVALID_ADDRESS_SPACE|INVALID_PC|LAUNCH_FAILED|LAUNCH_TIMEOUT|MISALIGNED_ADDRESS)\b"
)
"""Errors of CUDA that a process cannot continue after: every later call returns the same error.

Source: CUDA Driver API, `CUresult`.
"""

_UNREGISTERED = re.compile(r"unregistered operation '(?:stablehlo\.)?((?:(?:chlo|mhlo)\.)?\w+)'")
"""Words of the error of a jaxlib whose dialect is older than an op."""

_LOCATION = re.compile(
    r'(?:loc\(.*?\)\): |(?:loc\()?"?(?:-|<\w+>)"?:\d+(?::\d+)?\)?:? ?)(?:error: )?'
)
_METADATA = re.compile(r", metadata=\{[^{}]*\}")
"""The source location of an instruction, which is removed because the program is shown."""

_PATH = re.compile(r"(?<![\w/])/?(?:[\w.+-]+/)+(?:([\w.+-]+\.(?:cc|cpp|h))|[\w.+-]+)")


def short_message(message: str) -> str:
    """Return an error message on one line, without locations and without folders of paths."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return "no message"
    said = _PATH.sub(lambda path: path[1] or "…", _LOCATION.sub("", lines[0]))
    return one_line(_METADATA.sub("", said))[:300]


def refused_by_verifier(text: str) -> str | None:
    """Return why MLIR's verifier refuses a module, or None."""
    from conformance.stablehlo.parse import diagnose

    return diagnose(text)


def verifier_error(refusal: str) -> BackendError:
    """Return the error for a refusal of MLIR's verifier: unsupported, or an invalid program."""
    newer = _UNREGISTERED.search(refusal)
    known = any(words.search(refusal) for words in _UNSUPPORTED)
    known = known or (newer is not None and newer[1] in OPS)
    return Unsupported(refusal) if known else Rejected(refusal)


def classify(message: str, text: str, program: Program) -> BackendError:
    """Return the kind of answer that an error message of XLA is, for a module and its program.

    A program is Rejected if MLIR's verifier refuses the text, or XLA's own verifier does. It is
    Unsupported if the message has words that are known to mean that; the verifier has such words,
    too (algorithms of a dot, which the specification leaves to the hardware). Everything else is
    Failed, or DeviceError if the process can no longer use its device.
    """
    broken = _DEVICE_ERROR.search(message)
    if broken is not None:
        return DeviceError(broken[0])
    refusal = refused_by_verifier(text)
    if refusal is not None:
        return verifier_error(refusal)
    line = short_message(message)
    if any(words.search(message) for words in _UNSUPPORTED):
        return Unsupported(line)
    if _UNSUPPORTED_F6.search(message) and _f6_in(program):
        return Unsupported(f"no code generation for f6 types ({line})")
    if any(words.search(message) for words in _REJECTED):
        return Rejected(line)
    return Failed(line)


def _f6_in(program: Program) -> bool:
    values = (
        *(value for function in program.functions for value in function.arguments),
        *(value for operation in program.walk() for value in operation.results),
    )
    return any(
        isinstance(value.type, TensorType) and str(value.type.element_type).startswith("f6E")
        for value in values
    )

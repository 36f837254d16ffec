"""XLA through PJRT: the one file that uses jax's private names.

Source: jaxlib 0.10.2 and 0.12.0, measured. A CPU client is made directly, so that it neither
starts the accelerators of a machine nor keeps them from being opened beside it.
"""

from __future__ import annotations

import os
import platform as machine
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from conformance.backends.base import BackendError, Description, Failed, Rejected, Unsupported
from conformance.errors import NotAvailable
from reference.interpreter import quantized
from reference.ir.program import Program, TensorType, ValueType
from reference.ir.types import Array
from reference.ops.structure import HOST

_HLO = ("cpu", "gpu")
"""Platforms whose client translates to HLO, which has no quantized types: the translation of a
quantized op "can't be translated to XLA HLO", or ends with a type that is "PRIMITIVE_TYPE_INVALID"
(jaxlib 0.10.2 and 0.12.0). To be told so for each program costs what compiling one does."""

_JAX_NAME = {"gpu": "cuda", "tpu": "tpu"}
_MEND = {
    "cpu": "install jax with its jaxlib: pip install -U jax",
    "gpu": 'install jax with CUDA (pip install -U "jax[cuda12]") on a machine with an NVIDIA GPU',
    "tpu": 'install jax with TPU support (pip install -U "jax[tpu]") on a TPU machine',
}

_UNSUPPORTED = (
    re.compile(r"\bUNIMPLEMENTED\b"),
    re.compile(r"can't be translated to XLA HLO"),
    re.compile(r"op expected bounded result"),
    re.compile(r"failed to legalize operation .* explicitly marked illegal", re.DOTALL),
    re.compile(r"Unknown NumPy dtype"),
    re.compile(r"PRIMITIVE_TYPE_INVALID", re.IGNORECASE),  # a type that HLO has not
    re.compile(r"unsupported op in async_start"),
    re.compile(r"async_start currently requires one argument"),
    re.compile(r"CompositeOp with regions not supported"),
    re.compile(r"dot algorithm not known to be supported"),
    re.compile(r"Algorithm not supported by"),
    re.compile(r"No registered implementation for (?:un)?typed custom call"),
)
"""What XLA says when it does not implement a program."""

_REJECTED = (
    re.compile(r"^INVALID_ARGUMENT"),
    re.compile(r"is not equal to ratio of bit-widths"),
    re.compile(r"Expected element type in shape to be"),
    re.compile(r"\[hlo verifier\]"),
)
"""What XLA's own shape inference says to programs that MLIR's verifier has let through."""

_UNSUPPORTED_F6 = re.compile(r"Failed to translate module to LLVM IR")
"""What XLA:CPU says (as an internal error) of conversions of f6 types: LLVM has no 6-bit float."""

_LOCATION = re.compile(
    r'(?:loc\(.*?\)\): |(?:loc\()?"?(?:-|<\w+>)"?:\d+(?::\d+)?\)?:? ?)(?:error: )?'
)
_PATH = re.compile(r"(?<![\w/])/?(?:[\w.+-]+/)+[\w.+-]+")


def one_line(message: str) -> str:
    """What an error message says, on one line, without paths and locations."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return "no message"
    return " ".join(_PATH.sub("…", _LOCATION.sub("", lines[0])).split())[:300]


def _refused_by_verifier(text: str) -> str | None:
    from conformance.stablehlo.parse import diagnose

    return diagnose(text)


def classify(message: str, text: str, program: Program) -> BackendError:
    """The kind of answer that an error message of XLA is, for a module and its program.

    A program is Rejected when MLIR's verifier refuses the text, or XLA's own does; Unsupported by
    the words known for that only, which the verifier has too (of algorithms of a dot, which the
    specification leaves to hardware); all else is a failure of the backend.
    """
    refusal = _refused_by_verifier(text)
    if refusal is not None:
        known = any(words.search(refusal) for words in _UNSUPPORTED)
        return Unsupported(refusal) if known else Rejected(refusal)
    line = one_line(message)
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


@cache
def _jax() -> Any:
    """The jax module, quiet, with 64-bit types, and leaving a GPU's memory to others."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ImportError as error:
        why = str(error).partition("\n")[0]
        raise NotAvailable(f"jax cannot be imported ({why}); {_MEND['cpu']}") from error
    jax.config.update("jax_enable_x64", True)
    return jax


@cache
def _load_lapack() -> None:
    """Let jaxlib's handlers of LAPACK find its routines (scipy's), or calling one is fatal."""
    from jax._src.lax import linalg

    linalg.initialize_lapack()


@cache
def _cpu_device() -> Any:
    _jax()
    from jaxlib import xla_client

    return xla_client.make_cpu_client(asynchronous=False).devices()[0]


def _device(platform: str) -> Any:
    """The first device of a platform; nothing stands in for one that is not there."""
    if platform == "cpu":
        return _cpu_device()
    jax = _jax()
    try:
        devices = jax.devices(_JAX_NAME[platform])
    except (RuntimeError, AssertionError) as error:
        raise NotAvailable(_missing(platform, one_line(str(error)))) from error
    seen = [device for device in devices if device.platform == platform]
    if not seen:
        kinds = ", ".join(sorted({f"{d.platform} {d.device_kind}" for d in devices}))
        raise NotAvailable(_missing(platform, f"what it sees is {kinds or 'nothing'}"))
    return seen[0]


def _missing(platform: str, why: str) -> str:
    seen = f"no {platform.upper()} is seen by jax {_jax().__version__}"
    return f"{platform}: {seen} ({why.rstrip('.')}); {_MEND[platform]}"


class PjrtExecutable:
    """A module compiled by XLA, with what is needed to pass its arguments."""

    def __init__(self, loaded: Any, device: Any, text: str, program: Program) -> None:
        """Keep a loaded executable; the program tells the argument types."""
        import jaxlib._jax as private

        jax = _jax()
        self._loaded, self._devices = loaded, [device]
        self._put = private.batched_device_put
        self._sharding = jax.sharding.SingleDeviceSharding(device)
        self._text, self._program = text, program
        self._types = [_static(argument.type) for argument in program.main.arguments]
        self._abstract = [
            jax.core.ShapedArray(of.static_shape, of.element.storage) for of in self._types
        ]

    def execute(self, inputs: Sequence[Array]) -> list[Array]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            BackendError: XLA's answer, when it is an error.
            ValueError: when the arguments are not those of main.
        """
        self._check(inputs)
        # jax.device_put does the same at ten times the cost (70 us an array)
        put, sharding, devices = self._put, self._sharding, self._devices
        try:
            buffers = [
                put(abstract, sharding, [array], devices, True)
                for abstract, array in zip(self._abstract, inputs, strict=True)
            ]
            out = self._loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
            return [np.asarray(shards[0]) for shards in out]
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), self._text, self._program) from error

    def _check(self, inputs: Sequence[Array]) -> None:
        if len(inputs) != len(self._types):
            raise ValueError(f"main takes {len(self._types)} arguments, {len(inputs)} given")
        for number, (array, of) in enumerate(zip(inputs, self._types, strict=True)):
            if array.shape != of.shape or array.dtype != of.element.storage:
                given = f"{array.dtype} of shape {array.shape}"
                raise ValueError(f"argument {number} of main is {of}, given {given}")


def _tensor(of: ValueType) -> TensorType:
    if not isinstance(of, TensorType):
        raise Unsupported(f"only tensors go in and out of main, not {of}")
    return of


def _static(of: ValueType) -> TensorType:
    if not _tensor(of).is_static:
        raise Unsupported(f"only tensors of static shape go into main, not {of}")
    return _tensor(of)


class PjrtBackend:
    """XLA on one device of a platform: `cpu`, `gpu` (CUDA) or `tpu`."""

    def __init__(self, platform: str) -> None:
        """Find the device.

        Raises:
            NotAvailable: when jax sees none of this platform, with how to mend it.
        """
        self.name = platform
        self._device = _device(platform)
        self._client = self._device.client

    def describe(self) -> Description:
        """The device, and the versions that decide what it answers."""
        import importlib.metadata

        kind = str(self._device.device_kind)
        versions = [(name, importlib.metadata.version(name)) for name in ("jax", "jaxlib")]
        runtime = str(self._client.platform_version).partition("\n")[0]
        if runtime != self._client.platform:  # on CPU this says nothing but "cpu"
            versions.append(("runtime", runtime))
        device = f"{kind} ({machine.machine()})" if self.name == "cpu" else kind
        return Description(self.name, str(self._client.platform), device, tuple(versions))

    def refusal(self, program: Program) -> BackendError | None:
        """What cannot go in or out of main here, waits for ever, or is never translated."""
        waiting = {operation.name for operation in program.walk()} & HOST
        if waiting:
            return Unsupported(f"{min(waiting)}: jaxlib has no way to do the host's part of it")
        if self.name in _HLO and any(map(quantized.mentioned, program.walk())):
            return Unsupported("quantized types can't be translated to XLA HLO")
        try:
            for of in (a.type for a in program.main.arguments):
                self._check_transfer(_static(of))
            for of in program.main.result_types:
                self._check_transfer(_tensor(of))
        except Unsupported as error:
            return error
        return None

    def compile(self, text: str, program: Program) -> PjrtExecutable:
        """Compile a module (see `conformance.backends.base.Backend`)."""
        import jaxlib._jax as private

        refusal = self.refusal(program)
        if refusal is not None:
            invalid = _refused_by_verifier(text)
            raise refusal if invalid is None else Rejected(invalid)
        if "lapack_" in text:
            _load_lapack()
        devices = private.DeviceList((self._device,))
        try:
            loaded = self._client.compile_and_load(text, devices, private.CompileOptions())
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), text, program) from error
        return PjrtExecutable(loaded, self._device, text, program)

    def _check_transfer(self, of: TensorType) -> None:
        """Refuse what jax before 0.11 cannot move between numpy and a device: f6."""
        version = str(_jax().__version__)
        release = tuple(int(part) for part in version.split(".")[:2])
        if str(of.element_type).startswith("f6E") and release < (0, 11):
            raise Unsupported(f"jax {version} cannot transfer {of.element_type}; 0.12 can")

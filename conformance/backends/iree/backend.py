"""IREE as a backend: its compiler and its runtime in this process (the extra `iree`).

A module is compiled for the CPU (`llvm-cpu`) or for IREE's own bytecode of vectors (`vmvx`), and
run by the driver `local-sync`, on one thread. Source: the Python packages iree-base-compiler and
iree-base-runtime 3.13, and the header iree/compiler/embedding_api.h.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from conformance.backends.base import (
    Backend,
    BackendError,
    Description,
    Failed,
    Rejected,
    Settings,
    Unsupported,
    outer_types,
    single_process_inputs,
)
from conformance.backends.versions import distribution_versions
from conformance.backends.xla_messages import verifier_error
from conformance.errors import NotAvailable
from conformance.text import one_line
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program, TensorType, Value
from reference.ir.types import Array

_HAL = {
    "i1": "BOOL_8", "si8": "SINT_8", "si16": "SINT_16", "si32": "SINT_32", "si64": "SINT_64",
    "ui8": "UINT_8", "ui16": "UINT_16", "ui32": "UINT_32", "ui64": "UINT_64", "f16": "FLOAT_16",
    "bf16": "BFLOAT_16", "f32": "FLOAT_32", "f64": "FLOAT_64", "complex<f32>": "COMPLEX_64",
    "complex<f64>": "COMPLEX_128", "f8E4M3FN": "FLOAT_8_E4M3_FN", "f8E5M2": "FLOAT_8_E5M2",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ", "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
}  # fmt: skip
"""The element types that a buffer view of IREE may have, by the specification's names."""

_UNSUPPORTED = re.compile(
    r"failed to legalize|not supported|unsupported|unimplemented|not implemented|not yet supported",
    re.IGNORECASE,
)
"""Words of the compiler's messages about programs that it does not implement."""

_INVALID = re.compile("incompatible shapes for broadcasting")
"""Words of a pass about programs that the verifier should have refused."""

_NOT_IMPLEMENTED = re.compile(r"\bUNIMPLEMENTED;")
"""The status of the runtime's errors about what a device does not implement."""

_ERROR = 2
"""The severity of an error in iree/compiler/embedding_api.h."""


class IreeBackend:
    """IREE's compiler for a target, and a device that runs what it makes."""

    hardware = Hardware.CPU

    def __init__(self, name: str, target: str) -> None:
        """Load compiler and runtime.

        Raises:
            NotAvailable: when they are not installed.
        """
        try:
            self._compiler: Any = import_module("iree.compiler.api")
            self._runtime: Any = import_module("iree.runtime")
        except ImportError as error:
            why = str(error).partition("\n")[0]
            raise NotAvailable(
                f"IREE cannot be imported ({why}); pip install 'hlo-conformance[iree]'"
            ) from error
        self.name = name
        self._target = target
        self._config = self._runtime.Config("local-sync")

    def describe(self) -> Description:
        """Return the target, and the versions of compiler and runtime."""
        versions = distribution_versions("iree-base-compiler", "iree-base-runtime")
        return Description(self.name, "iree", f"IREE's {self._target}", versions)

    def configured(self, settings: Settings) -> Backend:
        """Raise Unsupported: the settings are those of XLA's passes."""
        del settings
        raise Unsupported(f"the backend {self.name} takes no compiler options")

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs that IREE has no dialect or no buffer views for."""
        if program.process_count > 1:
            return Unsupported("a program of several processes")
        foreign = next((op.name for op in program.walk() if op.name.startswith("mhlo.")), None)
        if foreign is not None:
            return Unsupported(f"{foreign}: IREE has no dialect of this name")
        for of in outer_types(program):
            if not (isinstance(of, TensorType) and of.is_static):
                return Unsupported(f"an argument or a result of type {of}")
            if of.stored.name not in _HAL:
                return Unsupported(f"a buffer view of element type {of.stored.name}")
        return None

    def compile(self, text: str, program: Program) -> IreeExecutable:
        """Compile a module (see `conformance.backends.base.Backend`)."""
        refusal = self.refusal(program)
        if refusal is not None:
            raise refusal
        flags = [
            "--iree-hal-target-device=local",
            f"--iree-hal-local-target-device-backends={self._target}",
            "--iree-input-type=stablehlo",
            "--iree-input-demote-f64-to-f32=false",
            *(["--iree-llvmcpu-target-cpu=host"] if self._target == "llvm-cpu" else ()),
        ]
        module = _compile(self._compiler, text, flags)
        return IreeExecutable(self._runtime, self._config, module, program)


class IreeExecutable:
    """A compiled module, loaded to the device."""

    def __init__(self, runtime: Any, config: Any, module: bytes, program: Program) -> None:
        """Load a module that was compiled from a program."""
        self._runtime, self._device = runtime, config.device
        self._arguments = program.main.arguments
        self._results = program.main.body.operations[-1].operands
        instance = config.vm_instance
        loaded = runtime.VmModule.copy_buffer(instance, module)
        hal = runtime.create_hal_module(instance, self._device)
        self._context = runtime.VmContext(instance, modules=[hal, loaded])
        self._main = loaded.lookup_function(program.main.name)

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            Unsupported: when the device does not implement an operation.
            Failed: when the runtime stops with another message.
        """
        arrays = single_process_inputs(inputs)
        given = self._runtime.VmVariantList(len(arrays))
        made = self._runtime.VmVariantList(len(self._results))
        for array, value in zip(arrays, self._arguments, strict=True):
            given.push_ref(self._view(array, value))
        try:
            self._context.invoke(self._main, given, made)
        except RuntimeError as error:
            reason = one_line(str(error))
            unsupported = _NOT_IMPLEMENTED.search(reason)
            raise (Unsupported(reason) if unsupported else Failed(reason)) from error
        return [[self._array(made, *result) for result in enumerate(self._results)]]

    def _view(self, array: Array, value: Value) -> Any:
        """Return a view of a copy of an array in the device's memory."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        runtime = self._runtime
        buffer = self._device.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING,
            device=self._device,
            buffer=data if data.size else np.zeros(1, np.uint8),  # there are no empty buffers
            element_type=None,
        )
        element = getattr(runtime.HalElementType, _HAL[_tensor(value).stored.name])
        return runtime.HalBufferView(buffer, list(array.shape), element)

    def _array(self, made: Any, number: int, value: Value) -> Array:
        """Return a result; of an i1, any other bits than zero are true."""
        element_type = _tensor(value).stored
        view = made.get_as_object(number, self._runtime.HalBufferView)
        shape, whole = tuple(view.shape), view.get_buffer().byte_length()
        length = prod(shape) * element_type.storage.itemsize
        if length > whole:
            raise Failed(f"result {number} has {whole} bytes where its shape needs {length}")
        if not length:
            return np.zeros(shape, element_type.storage)
        data = np.array(view.map().asarray([whole], np.dtype(np.uint8)))[:length]
        return (data != 0 if element_type.is_boolean else data.view(element_type.storage)).reshape(
            shape
        )


def _tensor(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p
)


def _compile(api: Any, text: str, flags: Sequence[str]) -> bytes:
    """Return a module compiled by IREE.

    Raises:
        BackendError: with the compiler's messages.
    """
    session = api.Session()
    session.set_flags(*flags)
    invocation = session.invocation()
    said: list[str] = []

    def note(severity: int, start: Any, size: int, _: object) -> None:
        if severity >= _ERROR:
            said.append(start[:size].decode(errors="replace"))

    told = _CALLBACK(note)
    library: Any = api.ctypes_dl._dylib  # noqa: SLF001 - the package has no such method
    enable = library.ireeCompilerInvocationEnableCallbackDiagnostics
    enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p]
    enable.restype = None
    enable(invocation._inv_p, 0, told, None)  # noqa: SLF001 - the same
    try:
        source = api.Source.wrap_buffer(session, text.encode() + b"\0")
        if not invocation.parse_source(source):
            raise verifier_error(_reason(said))
        if not invocation.execute():
            reason = _reason(said)
            if _INVALID.search(reason):
                raise Rejected(reason)
            raise Unsupported(reason) if _UNSUPPORTED.search(reason) else Failed(reason)
        output = api.Output.open_membuffer()
        try:
            invocation.output_vm_bytecode(output)
            return bytes(output.map_memory())
        finally:
            output.close()
    finally:
        invocation.close()
        session.close()


def _reason(said: Sequence[str]) -> str:
    return one_line("; ".join(said)) or "the compiler fails without a message"

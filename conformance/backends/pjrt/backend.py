"""The backend that compiles and runs programs through a PJRT client."""

from __future__ import annotations

import copy
import platform as machine
from typing import Any, Self

from conformance.backends import isa
from conformance.backends.base import BackendError, Description, Settings, Unsupported
from conformance.backends.pjrt.clients import (
    CPU_DEVICES,
    cpu_devices,
    first_device,
    jax_module,
    limited_device,
    load_handlers,
    runtime_of,
    targeted_instruction_sets,
)
from conformance.backends.pjrt.executables import (
    PjrtExecutable,
    SharedExecutable,
    require_static_tensor_type,
    require_tensor_type,
)
from conformance.backends.pjrt.options import compile_options
from conformance.backends.verification import verify
from conformance.backends.versions import distribution_versions
from conformance.backends.xla_messages import classify
from conformance.backends.xla_refusals import transfer_refusal, xla_refusal
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program, QuantizedType, TensorType

_HARDWARE = {
    "gpu": Hardware.GPU, "cuda": Hardware.GPU, "rocm": Hardware.GPU, "tpu": Hardware.TPU,
}  # fmt: skip
"""Kinds of hardware by the names that clients give their platforms."""


class PjrtBackend:
    """XLA on a device of a platform that jax supports (`cpu`, `gpu`, `tpu`) or of a plugin."""

    def __init__(self, name: str, platform: str = "", *, device: Any = None) -> None:
        """Find the first device of a platform, or use the given device.

        `name` is the backend's name in records. In `cpu:AVX2` the part behind the colon is the
        largest instruction set that XLA may use.

        Raises:
            NotAvailable: if jax finds no device of this platform, or the CPU lacks this instruction
            set; the message says how to mend it.
        """
        self.name = name
        self._settings = Settings()
        self._platform = platform
        maximum = name.partition(":")[2] if platform == "cpu" else ""
        if device is None:
            device = limited_device(maximum) if maximum else first_device(platform)
        self._device = device
        self._client = self._device.client
        self.hardware = _HARDWARE.get(str(self._client.platform), Hardware.CPU)

    def configured(self, settings: Settings) -> Self:
        """Return the same device with other settings (see `conformance.backends.base.Backend`)."""
        other = copy.copy(self)
        other._settings = settings
        return other

    def describe(self) -> Description:
        """Return the device, and the versions on which its results depend."""
        kind, platform = str(self._device.device_kind), str(self._client.platform)
        device = f"{kind} ({machine.machine()})" if platform == "cpu" else kind
        versions = (*distribution_versions("jax", "jaxlib"), *self._versions())
        return Description(self.name, platform, device, versions)

    def _versions(self) -> tuple[tuple[str, str], ...]:
        """Return the versions of the libraries that jaxlib loads, and the instruction sets of XLA's
        CPU.
        """
        runtime = runtime_of(self._client)
        sets = targeted_instruction_sets(self._device) if self._platform == "cpu" else None
        return (
            *((("runtime", runtime),) if runtime else ()),
            *((("instruction sets", isa.instruction_sets_text(sets)),) if sets is not None else ()),
        )

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs with untransferable values, that wait for ever, or that XLA
        never translates.
        """
        refused = xla_refusal(program, self._platform)
        if refused is not None:
            return refused
        if any(isinstance(of, TensorType) and of.bounds for of in program.main.result_types):
            return Unsupported("jaxlib does not report the sizes of results of bounded size")
        try:
            for of in (a.type for a in program.main.arguments):
                self._check_transfer(require_static_tensor_type(of))
            for of in program.main.result_types:
                self._check_transfer(require_tensor_type(of))
        except Unsupported as error:
            return error
        return None

    def compile(self, text: str, program: Program) -> PjrtExecutable | SharedExecutable:
        """Compile a module (see `conformance.backends.base.Backend`)."""
        import jaxlib._jax as private

        verify(text, program, self.refusal)
        load_handlers(text)
        shared = program.shared_among > 1
        devices = self._devices(max(program.process_count, program.shared_among))
        options = compile_options(text, program, devices, self._settings)
        try:
            loaded = devices[0].client.compile_and_load(
                text, private.DeviceList(tuple(devices)), options
            )
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), text, program) from error
        executable = SharedExecutable if shared else PjrtExecutable
        return executable(loaded, devices, text, program)

    def _devices(self, count: int) -> list[Any]:
        """Return a device for each process; the CPU has as many as are needed, up to a limit.

        Raises:
            Unsupported: when there are fewer.
        """
        if count == 1:
            return [self._device]
        devices = cpu_devices(CPU_DEVICES) if self._platform == "cpu" else self._client.devices()
        if count > len(devices):
            raise Unsupported(f"the program needs {count} devices, {len(devices)} are available")
        return devices[:count]

    def _check_transfer(self, tensor_type: TensorType) -> None:
        """Raise Unsupported if a tensor cannot be moved between numpy and a device.

        These are quantized tensors, because PJRT has no buffers for them, and f6 before jax 0.11.
        """
        if isinstance(tensor_type.element_type, QuantizedType):
            raise Unsupported(
                f"PJRT has no buffers of quantized types such as {tensor_type.element_type}"
            )
        refused = transfer_refusal(tensor_type, str(jax_module().__version__))
        if refused is not None:
            raise refused

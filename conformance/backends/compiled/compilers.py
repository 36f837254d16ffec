"""XLA's compilers for CPU, GPU and TPU, which return optimised modules on any machine.

Source: jax.experimental.topologies of jax 0.10.2 and 0.12.0, measured. The compilers for GPU and
TPU are in the plugins of these devices. They take a description of the device in place of the
device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from conformance.backends.compiled import costly
from conformance.backends.compiled.targets import gpu_description
from conformance.backends.pjrt.clients import CPU_DEVICES, cpu_devices, jax_module, load_topology
from conformance.backends.versions import distribution_versions, libraries_of
from conformance.backends.xla_messages import short_message
from conformance.errors import NotAvailable
from conformance.stablehlo.context import reading_context
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program


def omit_no_passes(program: Program) -> tuple[str, ...]:
    """Return no passes to omit: every program is compiled with all passes."""
    del program
    return ()


_SMALL, MOST_DEVICES = 1, 8
"""Numbers of devices of the two topologies: for programs of one process, and of several."""

_TPU_GRID = {_SMALL: "2x2", MOST_DEVICES: "2x4"}
_TPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""Environment in which libtpu does not ask the network for a TPU and does not lock out other
workers.
"""

_TPU_ACCELERATORS = {"v5e": "v5litepod-8", "v6e": "v6e-8"}
"""Accelerator types of libtpu by generation."""

_CUDA = ("jax-cuda13-pjrt", "jax-cuda12-pjrt")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler of XLA with a description of its device.

    Attributes:
        platform: the platform of the device, as reports name it.
        target: the device that is compiled for.
        hardware: the hardware whose tolerances apply.
        distributions: the installed packages that decide what it compiles.
        describe_devices: returns this many devices to compile for; devices are described, not used.
        compile_module: compiles a text for devices with options, and returns the executable.
        passes_to_omit: returns the passes that a program is compiled without.
    """

    platform: str
    target: str
    hardware: Hardware
    distributions: tuple[str, ...]
    describe_devices: Callable[[int], list[Any]]
    compile_module: Callable[[str, list[Any], Any], Any]
    passes_to_omit: Callable[[Program], tuple[str, ...]] = omit_no_passes

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """The versions of jax and of the packages that contain the compiler."""
        return distribution_versions("jax", *self.distributions)

    def optimise(self, text: str, devices: list[Any], options: Any) -> bytes:
        """Compile a module and return the optimised HLO module as a serialised proto.

        The text of the module would not do: it abbreviates large constants.

        Raises:
            RuntimeError: when the compiler refuses the module, in its words.
        """
        compiled = self.compile_module(text, devices, options)
        return compiled.hlo_modules()[0].as_serialized_hlo_module_proto()


def cpu_compiler() -> Compiler:
    """Return XLA's compiler for this machine's CPU."""
    return Compiler(
        "cpu", "this machine's CPU", Hardware.CPU, ("jaxlib",), _cpu_devices, _compile_and_load
    )


def gpu_compiler(target: str) -> Compiler:
    """Return XLA's compiler for an NVIDIA GPU.

    Args:
        target: a name of `GPU_TARGETS`.

    Raises:
        NotAvailable: when jax's CUDA plugin is not installed or does not load.
    """
    installed = [name for name in _CUDA if _is_installed(name)]
    if not installed:
        raise NotAvailable(
            "gpu-compile: jax's CUDA plugin, which contains XLA's GPU compiler, is not installed: "
            "pip install 'hlo-conformance[gpu-compile]' (380 MB unpacked; no GPU is needed)"
        )
    config = gpu_description(target)

    def devices(count: int) -> list[Any]:
        return _gpu_devices(installed[0], config, _topology_size(count))[:count]

    _check_loads("gpu-compile", installed[0], devices)
    distributions = ("jaxlib", installed[0])
    return Compiler("cuda", target, Hardware.GPU, distributions, devices, _compile_for_gpu)


def tpu_compiler(generation: str) -> Compiler:
    """Return XLA's compiler for a TPU.

    Args:
        generation: a name of `TPU_TOPOLOGIES`.

    Raises:
        NotAvailable: when libtpu is not installed or does not load.
    """
    if not _is_installed("libtpu"):
        raise NotAvailable(
            "tpu-compile: libtpu, which contains XLA's TPU compiler, is not installed: "
            "pip install 'hlo-conformance[tpu-compile]' (480 MB unpacked; no TPU is needed)"
        )

    def devices(count: int) -> list[Any]:
        return _tpu_devices(generation, _topology_size(count))[:count]

    _check_loads("tpu-compile", "libtpu", devices)
    return Compiler(
        "tpu",
        f"TPU {generation}",
        Hardware.TPU,
        ("jaxlib", "libtpu"),
        devices,
        _compile_without_device,
        costly.passes_to_omit,
    )


def _check_loads(family: str, distribution: str, devices: Callable[[int], list[Any]]) -> None:
    """Describe devices with a plugin, to check that the plugin works with this jaxlib.

    Raises:
        NotAvailable: when it does not.
    """
    try:
        devices(_SMALL)
    except (RuntimeError, NotImplementedError, ValueError) as error:
        ((_, plugin), (_, jaxlib)) = distribution_versions(distribution, "jaxlib")
        raise NotAvailable(
            f"{family}: {distribution} {plugin} does not compile with jaxlib {jaxlib} "
            f"({short_message(str(error))}): install versions that match"
        ) from error


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _topology_size(count: int) -> int:
    return _SMALL if count <= _SMALL else MOST_DEVICES


# --- Devices -------------------------------------------------------------------------------------


def _cpu_devices(count: int) -> list[Any]:
    return cpu_devices(1 if count == 1 else CPU_DEVICES)[:count]


@cache
def _gpu_devices(distribution: str, config: str, count: int) -> list[Any]:
    """Describe GPUs to jax's CUDA plugin, loaded without jax: jax would ask for cuDNN first."""
    described = load_topology(
        distribution, _library(distribution), target_config=config, topology=f"1x1x{count}"
    )
    return list(described)


def _library(distribution: str) -> Path:
    """Return the plugin's library.

    Raises:
        ValueError: if the package has no library.
    """
    found = libraries_of(distribution) or ()
    if len(found) != 1:
        raise ValueError(f"{len(found)} plugins in the package")
    return found[0]


@cache
def _tpu_devices(generation: str, count: int) -> list[Any]:
    accelerator = {"TPU_ACCELERATOR_TYPE": _TPU_ACCELERATORS[generation]}
    for name, value in (_TPU_ENVIRONMENT | accelerator).items():
        os.environ.setdefault(name, value)
    jax_module()
    from jax.experimental import topologies

    described = topologies.get_topology_desc(
        platform="tpu", topology_name=f"{generation}:{_TPU_GRID[count]}"
    )
    return list(described.devices)


# --- Compilation ---------------------------------------------------------------------------------


def _compile_and_load(text: str, devices: list[Any], options: Any) -> Any:
    """Compile for a device of this machine: jaxlib 0.10 cannot compile for a CPU without
    loading.
    """
    import jaxlib._jax as private

    return devices[0].client.compile_and_load(text, private.DeviceList(tuple(devices)), options)


def _compile_for_gpu(text: str, devices: list[Any], options: Any) -> Any:
    """Compile without LLVM's expensive passes, which come after all rewriting.

    The optimised modules that were compared (add, tanh, dot_general) are the same bit for bit.
    """
    options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    return _compile_without_device(text, devices, options)


def _compile_without_device(text: str, devices: list[Any], options: Any) -> Any:
    import jaxlib._jax as private
    from jaxlib.mlir import ir

    with reading_context():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from error
        return devices[0].client.compile(module, private.DeviceList(tuple(devices)), options)

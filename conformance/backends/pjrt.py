"""XLA through PJRT: the only file that uses jax's private names.

Source: jaxlib 0.10.2 and 0.12.0, measured. A CPU client is made directly, so that it does not start
the accelerators of the machine, nor block them for others.
"""

from __future__ import annotations

import copy
import os
import platform as machine
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from conformance.backends import isa
from conformance.backends.base import (
    BackendError,
    Description,
    Settings,
    Unsupported,
    single_process_inputs,
)
from conformance.backends.verification import verify
from conformance.backends.versions import distribution_versions
from conformance.backends.xla_messages import classify, short_message
from conformance.errors import NotAvailable
from conformance.stablehlo.shardings import is_annotated
from conformance.tolerance.hardware import Hardware
from reference.interpreter import quantized
from reference.ir.program import Operation, Program, QuantizedType, TensorType, ValueType
from reference.ir.types import Array
from reference.ops.structure import COMMUNICATION, HOST

_HLO = ("cpu", "gpu")
"""Platforms whose client translates to HLO, which has no quantized types: the translation of a
quantized op "can't be translated to XLA HLO", or ends with a type that is "PRIMITIVE_TYPE_INVALID"
(jaxlib 0.10.2 and 0.12.0). To ask XLA about each program would cost as much as to compile it.
"""

_HARDWARE = {
    "gpu": Hardware.GPU, "cuda": Hardware.GPU, "rocm": Hardware.GPU, "tpu": Hardware.TPU,
}  # fmt: skip
"""Kinds of hardware by the names that clients give their platforms."""

_JAX_NAME = {"gpu": "cuda", "tpu": "tpu"}
_MEND = {
    "cpu": "install jax with its jaxlib: pip install -U jax",
    "gpu": 'install jax with CUDA (pip install -U "jax[cuda12]") on a machine with an NVIDIA GPU',
    "tpu": 'install jax with TPU support (pip install -U "jax[tpu]") on a TPU machine',
}


@cache
def jax_module() -> Any:
    """Return the jax module: quiet, with 64-bit types, and without preallocated GPU memory."""
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
def load_lapack() -> None:
    """Register scipy's LAPACK routines with jaxlib's handlers; without them a call crashes."""
    from jax._src.lax import linalg

    linalg.initialize_lapack()


BYTE = 8

CPU_DEVICES = 8
"""Devices of the client that programs of several processes run on."""


@cache
def cpu_devices(count: int) -> list[Any]:
    """Return the devices of a client with this number of devices, all on this machine's CPU."""
    jax_module()
    from jaxlib import xla_client

    return xla_client.make_cpu_client(asynchronous=False, num_devices=count).devices()


def _device(platform: str) -> Any:
    """Return the first device of a platform; a missing platform is not replaced by another
    platform.
    """
    if platform == "cpu":
        return cpu_devices(1)[0]
    jax = jax_module()
    try:
        devices = jax.devices(_JAX_NAME[platform])
    except (RuntimeError, AssertionError) as error:
        raise NotAvailable(_unavailable_message(platform, short_message(str(error)))) from error
    seen = [device for device in devices if device.platform == platform]
    if not seen:
        kinds = ", ".join(sorted({f"{d.platform} {d.device_kind}" for d in devices}))
        raise NotAvailable(_unavailable_message(platform, f"its devices: {kinds or 'none'}"))
    return seen[0]


def _unavailable_message(platform: str, why: str) -> str:
    seen = f"jax {jax_module().__version__} finds no {platform.upper()}"
    return f"{platform}: {seen} ({why.rstrip('.')}); {_MEND[platform]}"


_TRIVIAL = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.add %x, %x : tensor<f32>
  return %y : tensor<f32>
}"""


def _targeted_instruction_sets(device: Any) -> frozenset[str] | None:
    """Return the instruction sets that XLA targets on a device, read from a compiled program.

    None if the program does not state them.
    """
    import jaxlib._jax as private

    devices = private.DeviceList((device,))
    loaded = device.client.compile_and_load(_TRIVIAL, devices, private.CompileOptions())
    return isa.sets_of_executable(device.client.serialize_executable(loaded))


def _limited_device(maximum: str) -> Any:
    """Return a CPU device for which XLA targets no instruction sets above a maximum.

    Raises:
        NotAvailable: if this machine lacks the instruction set, or XLA already targets more in this
            process.
    """
    if maximum not in isa.host_sets():
        had = isa.as_text(isa.host_sets())
        raise NotAvailable(
            f"cpu:{maximum}: this machine's CPU ({machine.machine()}) has no {maximum} (it has: "
            f"{had}); choose an older instruction set, or run on cpu"
        )
    with isa.request_in_block(maximum):
        device = _device("cpu")
        more = (_targeted_instruction_sets(device) or frozenset()) & isa.excluded_sets(maximum)
        if more:
            raise NotAvailable(
                f"cpu:{maximum}: XLA targets {', '.join(sorted(more))} already in this process, "
                "and chooses once: open this backend first, or in a process of its own"
            )
    return device


def load_plugin(name: str, path: Path) -> Any:
    """Return a client of the PJRT plugin in a library, registered as `name` in this process.

    jax itself is not told: `jax.devices()` is unchanged.

    Raises:
        RuntimeError: if jaxlib cannot load or start it, with jaxlib's message.
    """
    jax_module()
    from jaxlib import xla_client

    if not xla_client.pjrt_plugin_loaded(name):
        xla_client.load_pjrt_plugin_dynamically(name, str(path))
    if not xla_client.pjrt_plugin_initialized(name):
        xla_client.initialize_pjrt_plugin(name)
    return xla_client.make_c_api_client(name, {}, None)


def load_topology(name: str, path: Path, **description: str) -> list[Any]:
    """Return devices that a PJRT plugin can compile for, described by the plugin's options.

    Raises:
        RuntimeError: if jaxlib cannot load or start the plugin, with jaxlib's message.
    """
    jax_module()
    from jaxlib import xla_client

    loaded = _loaded_plugins.get(name)
    if loaded is None:
        loaded = xla_client.load_pjrt_plugin_dynamically(name, str(path))
        _loaded_plugins[name] = loaded
    if not xla_client.pjrt_plugin_initialized(name):
        xla_client.initialize_pjrt_plugin(name)
    topology = xla_client.make_c_api_device_topology(loaded, "", **description)
    return topology._make_compile_only_devices()


_loaded_plugins: dict[str, Any] = {}
"""Interfaces of plugins that this process has loaded only to compile for devices."""


def runtime_of(client: Any) -> str:
    """Return the version that a client reports besides its platform's name; "" if none."""
    lines = str(client.platform_version).splitlines()
    said = [line for line in lines if line not in ("PJRT C API", client.platform)]
    return said[0] if said else ""


class PjrtExecutable:
    """A module that XLA has compiled, with the types and devices of its arguments."""

    def __init__(self, loaded: Any, devices: list[Any], text: str, program: Program) -> None:
        """Wrap an executable that is loaded for one device per process; `program` supplies the
        types.
        """
        import jaxlib._jax as private

        jax = jax_module()
        self._loaded = loaded
        self._put = private.batched_device_put
        self._places = [(jax.sharding.SingleDeviceSharding(d), [d]) for d in devices]
        self._joined_array = None
        if len(devices) > 1:  # to jax every process has a copy; that they differ it need not know
            mesh = jax.sharding.Mesh(np.array(devices), ("process",))
            sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
            join = jax.make_array_from_single_device_arrays
            self._joined_array = lambda abstract, parts: join(abstract.shape, sharding, parts)
        self._text, self._program = text, program
        self._types = [_static(argument.type) for argument in program.main.arguments]
        self._abstract = [
            jax.core.ShapedArray(of.static_shape, of.element.storage) for of in self._types
        ]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            BackendError: XLA's answer, when it is an error.
            ValueError: when the arguments are not those of main.
        """
        if len(inputs) != len(self._places):
            raise ValueError(f"{len(self._places)} processes, arguments for {len(inputs)}")
        for arguments in inputs:
            self._check(arguments)
        # jax.device_put does the same at ten times the cost (70 us an array)
        put, together = self._put, self._joined_array
        try:
            buffers = [
                [put(abstract, sharding, [array], device, True) for abstract, array in
                 zip(self._abstract, arguments, strict=True)]
                for arguments, (sharding, device) in zip(inputs, self._places, strict=True)
            ]  # fmt: skip
            whole = buffers[0]
            if together is not None:
                whole = [
                    together(of, list(p)) for of, *p in zip(self._abstract, *buffers, strict=True)
                ]
            out = self._loaded.execute_sharded(whole).disassemble_into_single_device_arrays()
            return [[np.asarray(shards[n]) for shards in out] for n in range(len(inputs))]
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), self._text, self._program) from error

    def _check(self, inputs: Sequence[Array]) -> None:
        if len(inputs) != len(self._types):
            raise ValueError(f"main takes {len(self._types)} arguments, {len(inputs)} given")
        for number, (array, of) in enumerate(zip(inputs, self._types, strict=True)):
            if array.shape != of.shape or array.dtype != of.element.storage:
                given = f"{array.dtype} of shape {array.shape}"
                raise ValueError(f"argument {number} of main is {of}, given {given}")


def _moves_parts_of_bytes(operation: Operation) -> bool:
    """Return whether the operation is a collective of elements of two or four bits.

    These corrupt the process, which then crashes at once, later, or computes other programs wrongly
    (jaxlib 0.10.2 and 0.12.0). So not even a worker may run them.
    """
    types = (value.type for value in (*operation.operands, *operation.results))
    return operation.name in COMMUNICATION and any(
        isinstance(of, TensorType) and of.stored.bits < BYTE and not of.stored.is_boolean
        for of in types
    )


def _tensor(value_type: ValueType) -> TensorType:
    if not isinstance(value_type, TensorType):
        raise Unsupported(f"arguments and results of main must be tensors, not {value_type}")
    return value_type


def _static(value_type: ValueType) -> TensorType:
    if not _tensor(value_type).is_static:
        raise Unsupported(f"arguments of main must be tensors of static shape, not {value_type}")
    return _tensor(value_type)


class SharedExecutable:
    """A module of one process that XLA has partitioned among devices."""

    def __init__(self, loaded: Any, devices: list[Any], text: str, program: Program) -> None:
        """Wrap an executable that is loaded for these devices; it knows the sharding of its
        values.
        """
        self._loaded, self._devices, self._text, self._program = loaded, devices, text, program
        self._types = [_static(argument.type) for argument in program.main.arguments]
        self._results = [_tensor(of) for of in program.main.result_types]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`) on arrays as a whole.

        Raises:
            BackendError: XLA's answer, when it is an error.
        """
        jax, arguments = jax_module(), single_process_inputs(inputs)
        try:
            shardings = self._shardings(self._loaded.get_parameter_shardings(), self._types)
            given = [
                jax.make_array_from_callback(array.shape, sharding, array.__getitem__)
                for array, sharding in zip(arguments, shardings, strict=True)
            ]
            out = self._loaded.execute_sharded(given).disassemble_into_single_device_arrays()
            placed = self._shardings(self._loaded.get_output_shardings(), self._results)
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), self._text, self._program) from error
        return [
            [
                _joined_array(parts, sharding, of)
                for parts, sharding, of in zip(out, placed, self._results, strict=True)
            ]
        ]

    def _shardings(self, given: Any, types: Sequence[TensorType]) -> list[Any]:
        """Return jax's shardings of values; a value without a sharding is replicated on each
        device.
        """
        from jax._src.sharding_impls import GSPMDSharding

        if given is None:
            return [GSPMDSharding.get_replicated(tuple(self._devices)) for _ in types]
        return [GSPMDSharding(tuple(self._devices), one) for one in given]


def _joined_array(parts: Sequence[Any], sharding: Any, of: TensorType) -> Array:
    """Return the array whose parts are on devices; of replicas, the last device's copy."""
    whole = np.empty(of.static_shape, of.storage)
    places = sharding.devices_indices_map(of.static_shape)
    for part in parts:
        whole[places[part.device]] = np.asarray(part)
    return whole


def compile_options(text: str, program: Program, devices: list[Any], settings: Settings) -> Any:
    """Return the compile options for a program whose processes or partitions have these devices."""
    import jaxlib._jax as private
    from jaxlib import xla_client

    options = private.CompileOptions()
    shared = program.shared_among > 1
    grid = (1, program.shared_among) if shared else program.process_grid
    if grid is not None:
        replicas, partitions = grid
        numbers = np.array([device.id for device in devices]).reshape(grid)
        build = options.executable_build_options
        build.device_assignment = xla_client.DeviceAssignment.create(numbers)
        options.num_replicas = build.num_replicas = replicas
        options.num_partitions = build.num_partitions = partitions
        build.use_spmd_partitioning = partitions > 1
        build.use_shardy_partitioner = shared and not is_annotated(text)
    if settings != Settings():
        _set(options.executable_build_options.debug_options, settings)
    return options


def _set(options: Any, settings: Settings) -> None:
    """Apply settings to XLA's options; options without a setting keep their defaults."""
    if settings.without:
        options.xla_disable_hlo_passes = ",".join(settings.without)
    if settings.unoptimized:
        options.xla_backend_optimization_level = 0
    if settings.dump:
        options.xla_dump_to = settings.dump
        options.xla_dump_hlo_pass_re = ".*"  # noqa: S105 - passes of a compiler
        if settings.dump_as_protos:
            options.xla_dump_hlo_as_proto = True


class PjrtBackend:
    """XLA on one device, of a platform that jax knows (`cpu`, `gpu`, `tpu`) or of a plugin."""

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
            device = _limited_device(maximum) if maximum else _device(platform)
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
        sets = _targeted_instruction_sets(self._device) if self._platform == "cpu" else None
        return (
            *((("runtime", runtime),) if runtime else ()),
            *((("instruction sets", isa.as_text(sets)),) if sets is not None else ()),
        )

    def refusal(self, program: Program) -> BackendError | None:
        """Return the error for programs with untransferable values, that wait for ever, or that XLA
        never translates.
        """
        waiting = {operation.name for operation in program.walk()} & HOST
        if waiting:
            return Unsupported(f"{min(waiting)}: jaxlib has no interface for host transfers")
        if any(isinstance(of, TensorType) and of.bounds for of in program.main.result_types):
            return Unsupported("jaxlib does not report the sizes of results of bounded size")
        if self._platform == "cpu" and any(map(_moves_parts_of_bytes, program.walk())):
            return Unsupported(
                "collectives of elements narrower than a byte write outside their buffers"
            )
        if self._platform in _HLO and any(map(quantized.has_quantized_values, program.walk())):
            return Unsupported("quantized types can't be translated to XLA HLO")
        try:
            for of in (a.type for a in program.main.arguments):
                self._check_transfer(_static(of))
            for of in program.main.result_types:
                self._check_transfer(_tensor(of))
        except Unsupported as error:
            return error
        return None

    def compile(self, text: str, program: Program) -> PjrtExecutable | SharedExecutable:
        """Compile a module (see `conformance.backends.base.Backend`)."""
        import jaxlib._jax as private

        verify(text, program, self.refusal)
        if "lapack_" in text:
            load_lapack()
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
        version = str(jax_module().__version__)
        release = tuple(int(part) for part in version.split(".")[:2])
        if str(tensor_type.element_type).startswith("f6E") and release < (0, 11):
            raise Unsupported(f"jax {version} cannot transfer {tensor_type.element_type}; 0.12 can")

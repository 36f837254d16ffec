"""Clients of XLA and of PJRT plugins, and their devices.

A CPU client is made directly, so that it does not start the accelerators of the machine, nor block
them for others.
"""

from __future__ import annotations

import os
import platform as machine
from functools import cache
from pathlib import Path
from typing import Any

from conformance.backends import isa
from conformance.backends.xla_messages import short_message
from conformance.errors import NotAvailable
from reference.custom_calls.sparse import CSR

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


def load_handlers(text: str) -> None:
    """Register jaxlib's handlers of the custom calls in a module's text.

    Without handlers of LAPACK a call crashes.
    """
    for part, load in (("lapack_", _load_lapack), (CSR, _load_sparse)):
        if part in text:
            load()


@cache
def _load_lapack() -> None:
    from jax._src.lax import linalg

    linalg.initialize_lapack()


@cache
def _load_sparse() -> None:
    from jax.experimental import sparse  # pyright: ignore[reportUnusedImport] # noqa: F401


CPU_DEVICES = 8
"""Devices of the client that programs of several processes run on."""


@cache
def cpu_devices(count: int) -> list[Any]:
    """Return the devices of a client with this number of devices, all on this machine's CPU."""
    jax_module()
    from jaxlib import xla_client

    return xla_client.make_cpu_client(asynchronous=False, num_devices=count).devices()


def first_device(platform: str) -> Any:
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


def targeted_instruction_sets(device: Any) -> frozenset[str] | None:
    """Return the instruction sets that XLA targets on a device, read from a compiled program.

    None if the program does not state them.
    """
    import jaxlib._jax as private

    devices = private.DeviceList((device,))
    loaded = device.client.compile_and_load(_TRIVIAL, devices, private.CompileOptions())
    return isa.sets_of_executable(device.client.serialize_executable(loaded))


def limited_device(maximum: str) -> Any:
    """Return a CPU device for which XLA targets no instruction sets above a maximum.

    Raises:
        NotAvailable: if this machine lacks the instruction set, or XLA already targets more in this
            process.
    """
    if maximum not in isa.host_sets():
        had = isa.instruction_sets_text(isa.host_sets())
        raise NotAvailable(
            f"cpu:{maximum}: this machine's CPU ({machine.machine()}) has no {maximum} (it has: "
            f"{had}); choose an older instruction set, or run on cpu"
        )
    with isa.temporary_maximum(maximum):
        device = first_device("cpu")
        more = (targeted_instruction_sets(device) or frozenset()) & isa.excluded_sets(maximum)
        if more:
            raise NotAvailable(
                f"cpu:{maximum}: XLA targets {', '.join(sorted(more))} already in this process, "
                "and chooses once: open this backend first, or in a process of its own"
            )
    return device


def load_plugin(name: str, path: Path) -> Any:
    """Return a client of the PJRT plugin in a library, registered as `name` in this process.

    The client is not registered with jax: `jax.devices()` is unchanged.

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

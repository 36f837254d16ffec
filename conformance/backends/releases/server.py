"""XLA for CPUs behind the protocol of docs/backends.md, for any release of jaxlib since 0.4.30.

This file runs in an environment with jax and jaxlib alone. Of this project it only loads
`command/forking.py`, which imports the standard library alone.
"""

import os
import re
import runpy
import sys
import tempfile
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
import ml_dtypes
import numpy as np
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import xla_client
from jaxlib.mlir.dialects import stablehlo

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*)>")
_FLOATS = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}
_NAMES = _FLOATS | {
    "i1": "bool", "complex<f32>": "complex64", "complex<f64>": "complex128",
    **{f"{u}i{bits}": f"{u}int{bits}" for u in ("u", "") for bits in (2, 4, 8, 16, 32, 64)},
}  # fmt: skip
_FORKING = Path(__file__).parent.with_name("command") / "forking.py"
_INTERNAL = vars(xla_client)["_xla"]  # the module that all releases have
_UNIMPLEMENTED = re.compile(
    r"UNIMPLEMENTED|(?i:not (?:yet )?(?:supported|implemented))|unsupported|Invalid element type"
)

_DEVICES = 8  # of the client for programs of several processes


def dtype_of(name: str) -> np.dtype[Any]:
    """Return numpy's type of an element type that MLIR spells so; KeyError if this release lacks
    it.
    """
    known = _NAMES.get(name) or re.sub(r"^f(\d)(E.*)$", r"float\1_\2", name).lower()
    own = getattr(ml_dtypes, known, None)
    if own is None and not hasattr(np, known) and known != "bool":
        raise KeyError(name)
    return np.dtype(own or known)


class Server:
    """The streams, and the programs by number."""

    def __init__(self) -> None:
        """Take standard output for messages; what libraries print goes to standard error."""
        self.read = sys.stdin.buffer
        self.write = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self.several: list[Any] = []
        self.programs: dict[str, tuple[Any, list[Any]]] = {}
        self.artifacts: dict[str, bytes] = {}

    @cached_property
    def device(self) -> Any:
        """The CPU, with which XLA starts threads that a forked process would lack."""
        return jax.devices("cpu")[0]

    def answer(self, word: str, text: str) -> None:
        """Write an answer with a text."""
        data = text.encode()
        self.write.write(b"%s %d\n%s" % (word.encode(), len(data), data))

    def answer_ok(self) -> None:
        """Write the answer without results."""
        self.write.write(b"ok\n")
        self.write.flush()

    def serve(self) -> None:
        """Answer requests until the stream ends."""
        for line in iter(self.read.readline, b""):
            request, *words = line.decode().split()
            data = self.read.read(int(words[-1])) if request in ("compile", "listen") else b""
            arrays: list[Any] = []
            unknown = ""
            for _ in range(int(words[2]) if request == "execute" else 0):
                spelling, length = self.read.readline().decode().split()
                content = self.read.read(int(length))
                try:
                    arrays.append(array_of(spelling, content))
                except KeyError as error:
                    unknown = f"this release has no element type {error}"
            try:
                if unknown:
                    self.answer("unsupported", unknown)
                else:
                    self.reply(request, words, data, arrays)
            except Rejected as error:
                self.answer("rejected", str(error))
            except Exception as error:  # whatever XLA raises is its answer
                said = str(error)
                self.answer("unsupported" if _UNIMPLEMENTED.search(said) else "failed", said)
            self.write.flush()

    def reply(self, request: str, words: list[str], data: bytes, arrays: list[Any]) -> None:
        """Write the answer to a request that has been read."""
        if request == "describe":
            self.describe()
        elif request == "listen":
            fork_server = runpy.run_path(str(_FORKING))["listen"]
            fork_server(data.decode(), lambda: Server().serve(), self.answer_ok)
        elif request == "compile":
            self.programs[words[0]] = self.compile(data)
            self.artifacts[words[0]] = data
            self.answer_ok()
        elif request == "execute":
            self.execute(*self.programs[words[0]], arrays)
        elif request == "module":
            module = self.programs[words[0]][0].hlo_modules()[0]
            found = module.as_serialized_hlo_module_proto()
            self.write.write(b"ok %d\n%s" % (len(found), found))
        elif request == "stages":
            self.stages(self.artifacts[words[0]])
        else:
            self.programs.pop(words[0], None)
            self.artifacts.pop(words[0], None)
            self.answer_ok()

    def describe(self) -> None:
        """Answer with the versions, when XLA has started."""
        assert self.device.platform == "cpu"
        lines = [
            "protocol 1", "hardware cpu", "platform cpu", "device XLA on this machine's CPU",
            "forks yes",
            f"program portable {stablehlo.get_current_version()}",
            f"version jax {jax.__version__}", f"version jaxlib {jaxlib.version.__version__}",
        ]  # fmt: skip
        self.answer("ok", "\n".join(lines))

    def stages(self, artifact: bytes) -> None:
        """Answer with the modules between XLA's passes, as it dumps them."""
        with tempfile.TemporaryDirectory() as folder:
            self.compile(artifact, folder)
            found = sorted(Path(folder).glob("*.hlo.pb"))
            self.write.write(b"ok %d\n" % len(found))
            for path in found:
                module = path.read_bytes()
                self.write.write(b"%s %d\n%s" % (path.name.encode(), len(module), module))

    def compile(self, artifact: bytes, dump: str = "") -> tuple[Any, list[Any]]:
        """Return the loaded executable of a portable artifact, and the device of each process.

        The modules between the passes are written to the folder `dump`.
        """
        try:
            with make_ir_context():
                text = str(_INTERNAL.mlir.deserialize_portable_artifact(artifact))
        except Exception as error:
            raise Rejected(str(error)) from error
        options = xla_client.CompileOptions()
        devices = self.place(text, options)
        client = devices[0].client
        if dump:
            debug = options.executable_build_options.debug_options
            debug.xla_dump_to, debug.xla_dump_hlo_pass_re = dump, ".*"
            debug.xla_dump_hlo_as_proto, debug.xla_backend_optimization_level = True, 0
        if hasattr(client, "compile_and_load"):
            placed = xla_client.DeviceList(tuple(devices))
            return client.compile_and_load(text.encode(), placed, options), devices
        return client.compile(text, options), devices

    def place(self, text: str, options: Any) -> list[Any]:
        """Return a device for each process that a module states, and state them in the options."""
        replicas, partitions = (
            int(found[1]) if (found := re.search(rf"mhlo\.{name} = (\d+)", text)) else 1
            for name in ("num_replicas", "num_partitions")
        )
        if replicas * partitions == 1:
            return [self.device]
        if not self.several:
            client = xla_client.make_cpu_client(asynchronous=False, num_devices=_DEVICES)
            self.several = client.devices()
        if replicas * partitions > _DEVICES:
            raise NotImplementedError(f"more than {_DEVICES} devices are unsupported")
        devices = self.several[: replicas * partitions]
        build = options.executable_build_options
        numbers = np.array([device.id for device in devices]).reshape(replicas, partitions)
        build.device_assignment = xla_client.DeviceAssignment.create(numbers)
        options.num_replicas = build.num_replicas = replicas
        options.num_partitions = build.num_partitions = partitions
        build.use_spmd_partitioning = partitions > 1
        return devices

    def execute(self, program: Any, devices: list[Any], arrays: list[Any]) -> None:
        """Answer with the results of each process, one after the other."""
        count = len(arrays) // len(devices)
        parts = [
            [jax.device_put(array, device) for array in arrays[n * count : (n + 1) * count]]
            for n, device in enumerate(devices)
        ]
        given = parts[0]
        if len(devices) > 1:  # to jax every process has a copy; that they differ it need not know
            mesh = jax.sharding.Mesh(np.array(devices), ("process",))
            placed = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
            join = jax.make_array_from_single_device_arrays
            given = [join(one[0].shape, placed, list(one)) for one in zip(*parts, strict=True)]
        out = program.execute_sharded(given).disassemble_into_single_device_arrays()
        results = [_as_written(np.asarray(one[n])) for n in range(len(devices)) for one in out]
        self.write.write(b"ok %d\n" % len(results))
        for result in results:
            sizes = "".join(f"{size}x" for size in result.shape)
            data = result.tobytes()
            self.write.write(
                b"tensor<%s%s> %d\n%s" % (sizes.encode(), spell(result), len(data), data)
            )


def _as_written(array: Any) -> Any:
    """Return an array of i1 that has other bytes than 0 and 1 as one of ui8, any other as it is."""
    is_i1 = array.dtype == np.bool_ and (array.view(np.uint8) > 1).any()
    return array.view(np.uint8) if is_i1 else array


class Rejected(Exception):
    """Raised for a program that the release's dialect refuses."""


def array_of(spelling: str, data: bytes) -> Any:
    """Return an array of this tensor type with these bytes."""
    found = _TENSOR.fullmatch(spelling)
    if found is None:
        raise KeyError(spelling)
    shape = tuple(int(size) for size in found[1].split("x")[:-1])
    return np.frombuffer(data, dtype_of(found[2]), prod(shape)).reshape(shape)


def spell(array: Any) -> bytes:
    """Return the element type of an array as MLIR spells it."""
    name = array.dtype.name
    for spelled, known in _NAMES.items():
        if known == name:
            return spelled.encode()
    bits, _, rest = name.removeprefix("float").partition("_")
    return f"f{bits}{rest.upper()}".encode()


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    Server().serve()

"""XLA through PJRT: the one file that uses jax's private names.

Source: jaxlib 0.10.2 and 0.12.0, measured; see docs/architecture.md.
"""

from __future__ import annotations

import os
import platform as machine
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from conformance.backends.base import (
    BackendError,
    Description,
    Failed,
    NotAvailable,
    Rejected,
    Unsupported,
)
from reference.program import Program, TensorType, ValueType
from reference.types import Array

_JAX_PLATFORM = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
_MEND = {
    "cpu": "install jax with its jaxlib: pip install -U jax",
    "gpu": 'install jax with CUDA (pip install -U "jax[cuda12]") on a machine with an NVIDIA GPU',
    "tpu": 'install jax with TPU support (pip install -U "jax[tpu]") on a TPU machine',
}

_UNSUPPORTED = (
    ("UNIMPLEMENTED", re.compile(r"^UNIMPLEMENTED\b|\bUNIMPLEMENTED: ")),
    ("not translated", re.compile(r"can't be translated to XLA HLO")),
    ("not legalized", re.compile(r"failed to legalize operation .*explicitly marked illegal")),
    (
        "type not known",
        re.compile(r"Unknown NumPy dtype|Unhandled primitive type|Unsupported type"),
    ),
    ("not supported", re.compile(r"not (?:yet )?(?:supported|implemented) (?:by|on|in|for) ")),
)
"""What a backend says when it does not implement a program: a reason, and the words."""

_REJECTED = re.compile(
    r"Unable to parse module|INVALID_ARGUMENT: .*(?:verif|op operand|op result|op attribute"
    r"|requires|must be|expect|infer|parse)|'[\w.]+' op "
)
"""What a verifier says about a program that it holds for invalid."""

_LOCATION = re.compile(r'(?:loc\()?"?(?:-|<[^>]*>|/[^\s":]*)"?:\d+:\d+\)?:?\s*(?:error:\s*)?')
_PATH = re.compile(r"(?<![\w/])/(?:[\w.+-]+/)+[\w.+-]+")


def one_line(message: str) -> str:
    """The part of an error message that says something: one line, no paths or locations."""
    lines = [_PATH.sub("…", _LOCATION.sub("", line)).strip() for line in message.splitlines()]
    kept = [line.removeprefix("error: ") for line in lines if line and line != "error:"]
    if not kept:
        return "no message"
    first = kept[0]
    if (
        first.endswith(("assembly:", "failed:", "failed", "following diagnostics:"))
        and len(kept) > 1
    ):
        first = f"{first.rstrip(':')}: {kept[1]}"
    return first[:300]


def classify(message: str) -> BackendError:
    """The kind of answer that an error message of XLA is.

    A program is Unsupported only by the known words for that, Rejected only by a verifier's;
    everything else is a failure of the backend.
    """
    line = one_line(message)
    if any(words.search(message) for _, words in _UNSUPPORTED):
        return Unsupported(line)
    if _REJECTED.search(message):
        return Rejected(line)
    return Failed(line)


@cache
def _jax(platform: str) -> Any:
    """The jax module, set up for this platform before its first import in the process."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if platform == "cpu":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
        import jaxlib._jax  # noqa: F401 - its absence is a broken installation
    except ImportError as error:
        raise NotAvailable(
            f"{platform}: jax cannot be imported ({error}); {_MEND['cpu']}"
        ) from error
    jax.config.update("jax_enable_x64", True)
    return jax


class PjrtExecutable:
    """A module compiled by XLA, with what is needed to pass its arguments."""

    def __init__(self, loaded: Any, device: Any, program: Program, jax: Any) -> None:
        """Keep the loaded executable; `program` gives the argument types."""
        import jaxlib._jax as private

        self._loaded, self._device = loaded, device
        self._put = private.batched_device_put
        self._sharding = jax.sharding.SingleDeviceSharding(device)
        arguments = program.main.arguments
        self._types = [_static(argument.type) for argument in arguments]
        self._abstract = [
            jax.core.ShapedArray(of.static_shape, of.element.storage) for of in self._types
        ]

    def execute(self, inputs: Sequence[Array]) -> list[Array]:
        """Run main on these arguments (see `conformance.backends.base.Executable`)."""
        if len(inputs) != len(self._types):
            raise ValueError(f"main takes {len(self._types)} arguments, {len(inputs)} given")
        for number, (array, of) in enumerate(zip(inputs, self._types, strict=True)):
            if array.shape != of.static_shape or array.dtype != of.element.storage:
                given = f"{array.dtype} of shape {array.shape}"
                raise ValueError(f"argument {number} must be {of}, given {given}")
        try:
            put, sharding, device = self._put, self._sharding, [self._device]
            buffers = [
                put(abstract, sharding, [array], device, True)
                for abstract, array in zip(self._abstract, inputs, strict=True)
            ]
            out = self._loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
            return [np.asarray(shards[0]) for shards in out]
        except (RuntimeError, TypeError, ValueError) as error:
            _raise(error)


def _raise(error: Exception) -> NoReturn:
    raise classify(str(error)) from error


def _static(of: ValueType) -> TensorType:
    if not isinstance(of, TensorType):
        raise Unsupported(f"arguments and results must be tensors, not {of}")
    if not of.is_static:
        raise Unsupported(f"arguments and results must have static shapes, not {of}")
    return of


class PjrtBackend:
    """XLA on one device of a platform: `cpu`, `gpu` (CUDA) or `tpu`."""

    def __init__(self, platform: str) -> None:
        """Find the device; nothing stands in for one that is not there.

        Raises:
            NotAvailable: when jax sees no device of this platform, with how to mend it.
        """
        self.name = platform
        self._module = _jax(platform)
        try:
            devices = self._module.devices(_JAX_PLATFORM[platform])
        except (RuntimeError, AssertionError) as error:
            raise NotAvailable(self._missing(one_line(str(error)))) from error
        seen = [d for d in devices if d.platform == platform or d.client.platform == platform]
        if not seen:
            kinds = (
                ", ".join(sorted({f"{d.platform} ({d.device_kind})" for d in devices})) or "none"
            )
            raise NotAvailable(self._missing(f"its devices are: {kinds}"))
        self._device = seen[0]
        self._client = self._device.client

    def _missing(self, why: str) -> str:
        known = f"no {self.name.upper()} is seen by jax {self._module.__version__}"
        return f"{self.name}: {known} ({why}); {_MEND[self.name]}"

    def describe(self) -> Description:
        """The device, and the versions that decide what it answers."""
        import jaxlib

        kind = str(self._device.device_kind)
        versions = (
            ("jax", str(self._module.__version__)),
            ("jaxlib", str(jaxlib.__version__)),
            ("platform", str(self._client.platform_version).splitlines()[0]),
        )
        device = f"{kind} ({machine.machine()})" if self.name == "cpu" else kind
        return Description(self.name, str(self._client.platform), device, versions)

    def compile(self, text: str, program: Program) -> PjrtExecutable:
        """Compile a module (see `conformance.backends.base.Backend`)."""
        import jaxlib._jax as private

        for of in (*(a.type for a in program.main.arguments), *program.main.result_types):
            self._check_transfer(_static(of))
        devices = private.DeviceList((self._device,))
        try:
            loaded = self._client.compile_and_load(text, devices, private.CompileOptions())
        except (RuntimeError, TypeError, ValueError) as error:
            _raise(error)
        return PjrtExecutable(loaded, self._device, program, self._module)

    def _check_transfer(self, of: TensorType) -> None:
        """f6 arrays cannot be given to, or taken from, jax before 0.11."""
        release = tuple(int(part) for part in self._module.__version__.split(".")[:2])
        if of.element.name.startswith("f6") and release < (0, 11):
            version = self._module.__version__
            raise Unsupported(f"jax {version} cannot transfer {of.element} arrays; 0.12 can")

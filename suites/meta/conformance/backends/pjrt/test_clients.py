"""A client opens only its own platform, and says what is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conformance.backends import isa
from conformance.backends.pjrt import clients
from conformance.backends.pjrt.clients import cpu_devices, first_device, limited_device, runtime_of
from conformance.backends.session import open_session
from conformance.errors import NotAvailable


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_missing_device_says_what_to_install(name):
    try:
        backend = open_session(name)
    except NotAvailable as error:
        message = str(error)
        assert re.match(rf"{name}: jax \S+ finds no {name.upper()} ", message)
        assert "pip install" in message
        assert "\n" not in message
    else:
        assert backend.describe().platform in {"gpu": ("cuda",), "tpu": ("tpu",)}[name]


def test_the_cpu_backend_starts_no_other_platform():
    code = """
import jax
from conformance.backends.session import open_session
from conformance.errors import UsageError
open_session("cpu")
import jax._src.xla_bridge as bridge
assert not bridge.backends_are_initialized()
assert jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_cpu_client_has_as_many_devices_as_it_is_asked_for() -> None:
    devices = cpu_devices(3)
    assert [device.platform for device in devices] == ["cpu"] * 3
    assert cpu_devices(3) is devices
    assert first_device("cpu").client is not devices[0].client


def test_devices_of_another_platform_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jax for AMD's GPUs gives its devices as `cuda`."""
    asked: list[str] = []
    device = SimpleNamespace(platform="rocm", device_kind="MI300X")

    def devices(name: str) -> list[SimpleNamespace]:
        asked.append(name)
        return [device, device]

    jax = SimpleNamespace(devices=devices, __version__="9.9")
    monkeypatch.setattr(clients, "jax_module", lambda: jax)
    with pytest.raises(NotAvailable, match=r"^gpu: jax 9\.9 finds no GPU \(.*: rocm MI300X\); "):
        first_device("gpu")
    assert asked == ["cuda"]
    device.platform = "gpu"
    assert first_device("gpu") is device


def test_an_instruction_set_that_the_machine_lacks_is_not_available() -> None:
    with pytest.raises(NotAvailable, match=r"^cpu:AVX9: .* has no AVX9 \(it has: ") as caught:
        limited_device("AVX9")
    assert isa.instruction_sets_text(isa.host_sets()) in str(caught.value)


@pytest.mark.parametrize(
    ("version", "runtime"),
    [
        ("PJRT C API\ncuda 12090", "cuda 12090"),
        ("PJRT C API\nTFRT TPU v5\nBuilt on", "TFRT TPU v5"),
        ("cuda", ""),
        ("", ""),
    ],
)
def test_runtime_is_the_first_line_that_is_no_platform(version: str, runtime: str) -> None:
    assert runtime_of(SimpleNamespace(platform="cuda", platform_version=version)) == runtime

"""A client opens its own platform alone, and says what is missing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

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

"""Names of backends, and how each describes itself."""

from __future__ import annotations

import pytest

from conformance.backends.registry import BACKENDS, parse
from conformance.backends.session import open_session
from conformance.errors import UsageError


def test_unknown_names_say_what_is_known():
    known = ", ".join(BACKENDS)
    with pytest.raises(UsageError, match=f"unknown backend 'abacus'; known: {known}"):
        parse("abacus")
    with pytest.raises(UsageError, match="unknown backend 'gpu:3'; did you mean gpu"):
        parse("gpu:3")
    with pytest.raises(UsageError, match=r"unknown fault 'zzzz'; known: right, .*hang"):
        parse("reference:zzzz")
    for name in ("sign_lost@nonsense", "reversed_elements@add"):
        with pytest.raises(UsageError, match="cannot be confined to operations"):
            parse(f"reference:{name}")


def test_descriptions_name_device_and_versions():
    cpu = open_session("cpu").describe()
    assert (cpu.name, cpu.platform) == ("cpu", "cpu")
    assert {"jax", "jaxlib"} <= dict(cpu.versions).keys()
    assert "3 ulp" in open_session("reference:off_by_three_ulp").describe().device
    compiled = {"cpu-compile", "gpu-compile", "tpu-compile"}
    assert {name for name, of in BACKENDS.items() if of.only_compiles} == compiled

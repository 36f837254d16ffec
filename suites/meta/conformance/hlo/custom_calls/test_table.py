"""The table of custom calls, and custom calls that the reference evaluates without the table."""

from __future__ import annotations

import pytest

from conformance.hlo.custom_calls import (
    cublas,
    cudnn,
    cudnn_norm,
    libraries,
    partitioning,
    sizes,
    table,
    tpu,
)
from conformance.hlo.unreadable import Unreadable
from reference.custom_calls.targets import BUILT_IN
from reference.ir.program import Value
from suites.meta.conformance.hlo.instructions import custom_call, shape, site_of
from suites.meta.support.small_programs import tensor_of

MODULES = (cublas, cudnn, cudnn_norm, libraries, partitioning, sizes, tpu)
X = Value("x", tensor_of(2, 2))


def test_each_target_is_in_one_table() -> None:
    assert len(table.TARGETS) == sum(len(module.TARGETS) for module in MODULES)
    for module in MODULES:
        assert module.TARGETS.items() <= table.TARGETS.items()


@pytest.mark.parametrize("target", partitioning.TARGETS)
def test_calls_of_partitioners_change_no_value(target: str) -> None:
    site = site_of(custom_call(target, shape("f32", 2, 2)), [X])
    assert table.read_custom_call(site) is X


def test_calls_that_the_reference_evaluates_stay_calls() -> None:
    target = "lapack_spotrf_ffi"
    assert target in BUILT_IN
    site = site_of(custom_call(target, shape("f32", 2, 2), "{uplo = 76 : ui8}"), [X])
    table.read_custom_call(site)
    (operation,) = site.building.operations
    assert operation.attribute("call_target_name") == target
    assert operation.attribute("backend_config") == (("uplo", 76, "ui8"),)
    assert operation.attribute("api_version") == 4


def test_unknown_call_is_not_read() -> None:
    with pytest.raises(Unreadable, match="custom call foo: its meaning is unknown"):
        table.read_custom_call(site_of(custom_call("foo", shape("f32")), [X]))

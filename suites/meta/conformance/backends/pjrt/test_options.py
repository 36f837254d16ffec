"""The compile options that XLA gets with a program."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.backends.base import Settings
from conformance.backends.pjrt.options import compile_options
from suites.meta.support.small_programs import op_program, tensor_of

PLAIN = op_program("negate", [tensor_of(2)], tensor_of(2))
ANNOTATED = 'mhlo.sharding = "{replicated}"'


def options(program=PLAIN, text: str = "", count: int = 1, settings: Settings | None = None) -> Any:
    devices = [SimpleNamespace(id=number) for number in range(count)]
    return compile_options(text, program, devices, settings or Settings())


def test_program_of_one_process_has_the_defaults() -> None:
    found = options()
    assert (found.num_replicas, found.num_partitions) == (1, 1)
    assert not found.executable_build_options.use_spmd_partitioning


@pytest.mark.parametrize(("grid", "spmd"), [((2, 1), False), ((1, 2), True), ((2, 3), True)])
def test_processes_are_replicas_and_partitions(grid: tuple[int, int], spmd: bool) -> None:
    found = options(replace(PLAIN, process_grid=grid), count=grid[0] * grid[1])
    build = found.executable_build_options
    assert (found.num_replicas, found.num_partitions) == grid
    assert (build.num_replicas, build.num_partitions) == grid
    assert build.use_spmd_partitioning is spmd
    assert not build.use_shardy_partitioner
    assert build.device_assignment.replica_count() == grid[0]


@pytest.mark.parametrize(("text", "shardy"), [("", True), (ANNOTATED, False)])
def test_a_shared_program_is_partitioned_by_its_dialect(text: str, shardy: bool) -> None:
    found = options(replace(PLAIN, shared_among=4), text, 4)
    assert found.num_partitions == 4
    assert found.executable_build_options.use_shardy_partitioner is shardy


def test_settings_become_options_of_xla() -> None:
    settings = Settings(without=("a", "b"), unoptimized=True, dump="folder", dump_as_protos=True)
    whole = options(settings=settings)  # which owns its parts
    debug = whole.executable_build_options.debug_options
    assert debug.xla_disable_hlo_passes == "a,b"
    assert debug.xla_backend_optimization_level == 0
    assert debug.xla_dump_to == "folder"
    assert debug.xla_dump_hlo_as_proto
    plain = options(settings=Settings(unoptimized=True))
    assert plain.executable_build_options.debug_options.xla_disable_hlo_passes == ""

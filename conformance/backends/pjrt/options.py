"""The compile options that XLA gets with a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.backends.base import Settings
from conformance.stablehlo.shardings import is_annotated
from reference.ir.program import Program


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

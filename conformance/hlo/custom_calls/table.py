"""Every supported target with its meaning."""

from __future__ import annotations

from conformance.hlo.custom_calls import (
    cublas,
    cudnn,
    cudnn_norm,
    libraries,
    partitioning,
    sizes,
    tpu,
)
from conformance.hlo.shapes import Tree, leaf_types
from conformance.hlo.site import Handler, Site
from reference.custom_calls.targets import BUILT_IN

TARGETS: dict[str, Handler] = {
    **cublas.TARGETS,
    **cudnn.TARGETS,
    **cudnn_norm.TARGETS,
    **libraries.TARGETS,
    **partitioning.TARGETS,
    **sizes.TARGETS,
    **tpu.TARGETS,
}
"""The function that reads the calls of each target."""


def read_custom_call(site: Site) -> Tree:
    """Add the operations that a custom call means.

    Raises:
        Unreadable: when neither this table nor the reference knows the target.
    """
    target = site.instruction.custom_call_target
    handler = TARGETS.get(target)
    if handler is not None:
        return handler(site)
    if target not in BUILT_IN:
        raise site.unreadable("its meaning is unknown")
    options = libraries.options_of(site)
    types = list(leaf_types(site.instruction.shape))
    return site.tree(site.building.add(
        "custom_call", site.values, types, call_target_name=target, backend_config=options,
        api_version=4 if isinstance(options, tuple) else 1,
    ))  # fmt: skip


HANDLERS: dict[str, Handler] = {"custom-call": read_custom_call}
"""The function that reads each opcode."""

"""Programs as portable artifacts: StableHLO's bytecode that other versions can read.

Source: StableHLO's document on compatibility: an artifact written for a version is read by this
version and later ones.
"""

from __future__ import annotations

from conformance.backends.base import Unsupported


def portable_artifact(text: str, version: str) -> bytes:
    """Return a module as a portable artifact for a version of StableHLO.

    Raises:
        Unsupported: if that version cannot express it.
    """
    from jaxlib.mlir.dialects import stablehlo

    own = stablehlo.get_current_version()
    target = stablehlo.get_smaller_version(own, version)
    try:
        return stablehlo.serialize_portable_artifact_str(text, target)
    except Exception as error:  # jaxlib raises errors of several kinds
        reason = " ".join(str(error).split())
        raise Unsupported(f"StableHLO {target} cannot express it: {reason}") from error

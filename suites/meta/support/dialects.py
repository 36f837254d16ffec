"""What the dialect of the jaxlib here cannot read, as it is older than the specification."""

import re

from conformance.stablehlo.parse import diagnose

_NEWER = re.compile(
    r"unregistered operation 'stablehlo\.collective_reduce'"
    r"|'stablehlo\.collective_broadcast' op requires (?:a single operand|one result)"
)


def is_newer(text: str) -> bool:
    """Whether a module has an op, or a form of one, that the dialect does not have yet."""
    return _NEWER.search(diagnose(text) or "") is not None

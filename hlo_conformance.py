"""Entry point of the command `hlo-conformance`: refuses packages of others that hide ours, and
releases of jax that are too old.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("conformance", "generators", "reference", "reports", "suites")
"""Our packages; a folder or a distribution of the same name may come first on the path."""

OLDEST_JAX = "0.6"


def main() -> None:
    """Run the command line, or exit with 2 if a package of ours is hidden, or with 3 if jax is too
    old.
    """
    for code, refusal in ((2, hidden_package), (3, unfit_jax)):
        if line := refusal():
            sys.stderr.write(f"hlo-conformance: {line}\n")
            sys.exit(code)
    from conformance.cli import main as run_command

    run_command()


def hidden_package() -> str:
    """Return which package of ours is hidden by which other, as a sentence; "" for none."""
    ours = Path(__file__).resolve().parent
    for name in PACKAGES:
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin]) if spec else []
        if places and (ours / name).resolve() not in [Path(str(p)).resolve() for p in places]:
            return (
                f"the package {name} in {places[0]} hides ours in {ours / name}: start in another "
                "folder, or remove the other package from PYTHONPATH or from this environment"
            )
    return ""


def unfit_jax() -> str:
    """Return which of jax and jaxlib is older than what needs it, as a sentence; "" for none."""
    try:
        jax, jaxlib = distribution("jax"), distribution("jaxlib")
    except PackageNotFoundError:
        return ""  # backends that need it say so
    if _release(jax.version) < _release(OLDEST_JAX):
        return f"needs jax >= {OLDEST_JAX}, found jax {jax.version}: pip install -U jax"
    found = re.search(r"^jaxlib[^;\n]*>=\s*([\d.]+)", "\n".join(jax.requires or ()), re.M)
    if found and _release(jaxlib.version) < _release(found[1]):
        return (
            f"jax {jax.version} needs jaxlib >= {found[1]}, found jaxlib {jaxlib.version}: "
            "pip install -U jax"
        )
    return ""


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))

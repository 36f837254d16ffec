"""Entry point of the command `hlo-conformance`: refuses packages of others that hide ours."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("conformance", "generators", "reference", "reports", "suites")
"""Our packages; a folder or a distribution of the same name may come first on the path."""


def main() -> None:
    """Run the command line, or exit with 2 if a package of ours is hidden."""
    hidden = hidden_package()
    if hidden:
        sys.stderr.write(f"hlo-conformance: {hidden}\n")
        sys.exit(2)
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

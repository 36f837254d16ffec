"""Export the programs, or check the programs of a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from .recipe import RECIPES, Recipe


def select_recipes(names: list[str]) -> list[Recipe]:
    """Return the recipes whose names contain any of these strings; all without parts."""
    from . import networks, optimizers, physics, reinforcement, sampling, solvers

    _ = networks, optimizers, physics, reinforcement, sampling, solvers
    return [recipe for recipe in RECIPES if not names or any(part in recipe.name for part in names)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="the recipes and the packages that each needs")
    listing.add_argument("names", nargs="*", help="parts of names; else all")
    exporting = commands.add_parser("export", help="make the programs whose packages are installed")
    exporting.add_argument("folder", type=Path)
    exporting.add_argument("names", nargs="*", help="parts of names; else all")
    checking = commands.add_parser("check", help="check the programs of a folder")
    checking.add_argument("folder", type=Path)
    checking.add_argument("names", nargs="*", help="parts of names; else all")
    checking.add_argument("--backend", default=["cpu"], nargs="+", help="as of hlo-conformance")
    checking.add_argument("--faults", action="store_true", help="fakes with gross errors instead")
    checking.add_argument(
        "--inputs", choices=("real", "drawn"), nargs="+", default=["real", "drawn"]
    )
    checking.add_argument("--timeout", type=float, default=240.0, help="seconds for a program")
    checking.add_argument("--jobs", type=int, default=1, help="programs at a time")
    arguments = parser.parse_args()
    if arguments.command == "check":
        from .checking import FAULTS, check_all

        faults = [f"reference:{fault}" for fault in FAULTS]
        check_all(
            arguments.folder,
            arguments.names,
            arguments.inputs,
            faults if arguments.faults else arguments.backend,
            timeout=arguments.timeout,
            jobs=arguments.jobs,
        )
        return
    recipes = select_recipes(arguments.names)
    if arguments.command == "list":
        for recipe in recipes:
            print(f"{recipe.name:38} {' '.join(recipe.packages)}")
        return
    from .exporting import export_all

    made = export_all(recipes, arguments.folder)
    print(f"{made} of {len(recipes)} programs")


if __name__ == "__main__":
    main()

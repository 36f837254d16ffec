"""Seed slips into optimised modules, and count those that change a result and are flagged.

    python -m benchmarks.seeded_rewritings [--backend cpu-compile] [--program GLOB] [--sets 4]

Each program of `programs/` is compiled. Each slip of `slips.py` is seeded into each instruction of
the optimised module that it fits, one at a time. The module is read back, evaluated on drawn inputs
and judged as on that backend. Slips that change no bit of a result count as equivalent.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.seeded_rewritings.measuring import (
    Ending,
    OptimisedProgram,
    SeededModule,
    draw_inputs,
    seed_slips,
)
from conformance.backends.compiled.backend import CompiledBackend
from conformance.backends.session import cached_backend
from conformance.errors import NotAvailable, UsageError
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.ir.program import Program

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))
COMPILERS = ("cpu-compile", "gpu-compile", "tpu-compile")


def optimise(backend: str, path: Path) -> OptimisedProgram:
    """Return a program of a file, compiled.

    Raises:
        NotAvailable: when the compiler is not installed.
        UsageError: when the backend runs programs.
    """
    program = parse_module(path.read_text(encoding="utf-8"))
    return replace(compile_program(backend, program), name=f"{path.stem} {backend}")


def compile_program(backend: str, program: Program) -> OptimisedProgram:
    """Return a program with the module that a compiler makes of it; errors as for `optimise`."""
    compiler = cached_backend(backend)
    if not isinstance(compiler, CompiledBackend):
        raise UsageError(f"{backend} is no compiler without a device: {', '.join(COMPILERS)} are")
    module = compiler.optimise(emit(program), program)
    return OptimisedProgram(backend, program, module, compiler.hardware)


def main(line: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 where a slip changes a result and is not flagged."""
    given = _arguments(line)
    found: list[SeededModule] = []
    for backend in given.backend or COMPILERS:
        try:
            cached_backend(backend)
        except NotAvailable as error:
            print(error)
            continue
        for path in PROGRAMS:
            if not given.program or any(fnmatch(path.stem, one) for one in given.program):
                optimised = optimise(backend, path)
                sets = draw_inputs(optimised.program, given.sets, given.seed)
                found += seed_slips(optimised, sets)
    print("\n".join(report(found)))
    return int(any(one.ending is Ending.PERMITTED for one in found))


def report(found: Iterable[SeededModule]) -> list[str]:
    """Return the lines of the report: counts by kind of slip, then the unflagged slips."""
    by_slip: dict[str, Counter[Ending]] = defaultdict(Counter)
    classes: Counter[str] = Counter()
    changed: list[str] = []
    for one in found:
        by_slip[one.slip][one.ending] += 1
        classes[one.kind] += one.ending is Ending.FLAGGED
        if one.ending is Ending.PERMITTED:
            changed.append(f"  not flagged: {one.slip} ({one.opcode}) in {one.module}")
    lines = [f"{'slip':45} flagged equivalent tolerated invalid"]
    for name, counts in sorted(by_slip.items()):
        numbers = "".join(f"{counts[ending]:9}" for ending in Ending)
        lines.append(f"{name:42}{numbers}")
    total = sum(by_slip.values(), Counter[Ending]())
    lines.append(f"{f'{len(by_slip)} kinds':42}" + "".join(f"{total[one]:9}" for one in Ending))
    told = ", ".join(f"{name} {count}" for name, count in classes.most_common() if count)
    return [*lines, f"classes: {told}", *changed]


def _arguments(line: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.seeded_rewritings",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--backend", action="append", default=[], help="else every compiler here")
    parser.add_argument("--program", action="append", default=[], help="programs by name or glob")
    parser.add_argument("--sets", type=int, default=4, help="sets of inputs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    return parser.parse_args(line)


if __name__ == "__main__":
    raise SystemExit(main())

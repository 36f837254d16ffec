"""Comparison of a sweep's figures with MPFR: correctly rounded results, and the worst error.

    python benchmarks/sweep_mpfr.py [--op exponential]... [--element-type f32]... [--count 10000]
        [--arguments FILE] [--seed 0] [--backend cpu]

Arguments are drawn at random, or read from a file: one number in a line, or two with a blank
between, in decimal or as C writes them in hexadecimal. Exits with 1 where figures differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from conformance.backends.base import Unsupported
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.rounding import round_to
from suites.meta.support import mpfr

TYPES = ("f32", "f16", "bf16", "f64")


def _read(path: Path, of: str) -> tuple[Array, ...]:
    lines = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
    rows = [[float.fromhex(w) if "x" in w.lower() else float(w) for w in line] for line in lines]
    return tuple(
        round_to(np.array(column), ELEMENT_TYPES[of]) for column in zip(*rows, strict=True)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--op", action="append", choices=sorted(mpfr.MPFR))
    parser.add_argument("--element-type", action="append", choices=TYPES)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--arguments", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="cpu")
    given = parser.parse_args()
    differing = 0
    for op in given.op or sorted(mpfr.MPFR):
        for of in given.element_type or TYPES:
            function = mpfr.function_of(op, of)
            operands = mpfr.any_numbers(function, given.count, given.seed)
            if given.arguments is not None:
                operands = _read(given.arguments, of)
            if len(operands) != function.arity:
                continue
            try:
                said = mpfr.disagreement(op, of, operands, given.backend)
            except Unsupported as error:
                print(f"{op} {of}: unsupported: {error}")
                continue
            differing += bool(said)
            print(f"{op} {of}: {len(operands[0]):,} arguments: {said or 'as MPFR'}", flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())

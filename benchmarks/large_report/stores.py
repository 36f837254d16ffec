"""Synthetic stores: N records over the cells of the real catalog, in a realistic mix."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from conformance.catalog import CATALOG
from conformance.results.inputs import pack_inputs
from conformance.results.left_out import LeftOut
from conformance.results.store import FILE_NAME, CellKey, Store
from conformance.results.summary import KnownReason
from conformance.verdict import (
    HISTOGRAM_EDGES,
    Detail,
    Element,
    Errors,
    Failing,
    LostBatch,
    Record,
    Repeats,
    Timing,
    Verdict,
)
from generators.case.columns import INVALID

BACKENDS = ("cpu", "gpu", "plugin:vendor")

SHARES = (
    (Verdict.UNSUPPORTED, 0.20),
    (Verdict.DIVERGENT, 0.023),
    (Verdict.UNSPECIFIED, 0.015),
    (Verdict.FLUSHED, 0.014),
    (Verdict.CRASHED, 0.006),
    (Verdict.REJECTED, 0.008),
    (Verdict.INACCURATE, 0.003),
    (Verdict.TIMED_OUT, 0.001),
)
"""The share of each verdict but pass: about what XLA's CPU backend has in `smoke`."""

NEW = 0.1
"""The share of failures that no expectation matches. It is higher than usual."""

EXPECTATIONS = 90
ENTRY_LENGTH = 300
POINTS = 300
TASK = 32
"""Number of cases of a task."""

_PROGRAM = """"builtin.module"() ({{
  "func.func"() <{{function_type = ({of}, {of}) -> {of}, sym_name = "main"}}> ({{
  ^bb0(%lhs: {of}, %rhs: {of}):
    %r0 = "stablehlo.{op}"(%lhs, %rhs) : ({of}, {of}) -> {of}
    "func.return"(%r0) : ({of}) -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def write(folder: Path, count: int, backends: tuple[str, ...]) -> None:
    """Write a store of `count` records, as evenly as possible over all cells of the catalog."""
    cells = [
        (row.name, name, backend)
        for backend in backends
        for row in CATALOG.values()
        for name in (
            *(of.name for of in row.element_types),
            *([INVALID.name] if row.constraints else []),
        )
    ]
    generator = random.Random(count)
    with Store(folder / FILE_NAME) as store:
        store.set_meta(_meta(cells, backends))
        for number, cell in enumerate(cells):
            cases = count // len(cells) + (number < count % len(cells))
            for begin in range(0, cases, TASK):
                records = [
                    _record(cell, index, generator)
                    for index in range(begin, min(begin + TASK, cases))
                ]
                errors = _errors(cell, generator) if begin == 0 else Errors()
                timing = Timing(0.002, 0.001, 0.001, 0.04, 0.001, 0.002)
                store.add_task(f"{'/'.join(cell)}:{begin}", cell, records, errors, timing)
        store.keep_lost([*_lost_batches(cells)])


def _meta(cells: list[CellKey], backends: tuple[str, ...]) -> dict[str, object]:
    reason = "The instruction is expanded into others that round twice. " * 4
    return {
        "seed": 7,
        "profile": "deep",
        "versions": {"jax": "0.12.0", "jaxlib": "0.12.0", "numpy": "2.4.6"},
        "started": "2026-11-21T09:30:00+00:00",
        "command": "hlo-conformance run --profile deep",
        "planned": cells,
        "seconds": 3_600.0,
        "backends": [
            {
                "name": name,
                "platform": "cpu",
                "device": "a device",
                "versions": [["jaxlib", "0.12.0"]],
            }
            for name in backends
        ],
        "expectations": {
            f"entry-{number}": asdict(KnownReason(reason[:ENTRY_LENGTH], flaky=number % 30 == 29))
            for number in range(EXPECTATIONS)
        },
        "exit_code": 1,
        "from_cache": 1_000,
        "left_out": [asdict(LeftOut(*cell, ((40, 60),))) for cell in cells[::97]],
    }


def _lost_batches(cells: list[CellKey]) -> Iterator[LostBatch]:
    for op, of, backend in cells[5::700]:
        cases = tuple((op, of, index) for index in range(4))
        yield LostBatch(backend, cases, Verdict.CRASHED, "signal 11", "signal 11", 3, 3)


def _record(cell: CellKey, index: int, generator: random.Random) -> Record:
    digest = f"{hash_of(cell, index):016x}"
    row = CATALOG[cell[0]]
    verdict = _verdict(generator)
    if cell[1] == INVALID.name:
        verdict = Verdict.ACCEPTED if generator.random() < 0.01 else Verdict.PASS
    of = next((one for one in row.element_types if one.name == cell[1]), None)
    budget = row.tolerance.budget(of, "cpu") if of is not None else None
    if verdict is Verdict.PASS:
        worst = None if budget is None else min(budget, float(generator.randrange(4)))
        return Record(
            *cell, index, digest, verdict, pairs=4, values=96, worst_ulp=worst, budget_ulp=budget
        )
    if verdict is Verdict.UNSUPPORTED:
        message = f"UNIMPLEMENTED: {cell[1]} is not supported by this backend"
        return Record(*cell, index, digest, verdict, message=message)
    return _failure(cell, index, digest, verdict, generator)


def hash_of(cell: CellKey, index: int) -> int:
    """Return the digest of a case: the same on all backends."""
    return int.from_bytes(random.Random(f"{cell[0]} {cell[1]} {index}").randbytes(8))


def _verdict(generator: random.Random) -> Verdict:
    drawn = generator.random()
    for verdict, share in SHARES:
        drawn -= share
        if drawn < 0:
            return verdict
    return Verdict.PASS


def _failure(
    cell: CellKey, index: int, digest: str, verdict: Verdict, generator: random.Random
) -> Record:
    op, of, _ = cell
    kind = f"class {generator.randrange(12)}"
    known = ""
    if verdict.fails and generator.random() >= NEW:
        known = f"entry-{generator.randrange(EXPECTATIONS)}"
    message = f"{kind}: 3 of 96 elements; at [1, 2] expected 1.2651916e-38, got {index}.5 (7 ulp)"
    compared = verdict.has_results and verdict is not Verdict.ACCEPTED
    elements = tuple(_element(place, generator) for place in range(4)) if compared else ()
    shape = "x".join(str(generator.randrange(1, 9)) for _ in range(generator.randrange(1, 4)))
    program = _PROGRAM.format(op=op, of=f"tensor<{shape}x{of}>")
    values = np.frombuffer(generator.randbytes(4 * 96), np.uint32).view(np.float32)
    detail = Detail(program, pack_inputs((values, values[::-1].copy())), 3 * compared, 96, elements)
    failing = (Failing(verdict, kind, message, 3, elements, 7.0, known=known),) if compared else ()
    repeats = Repeats(2, 3, (kind,)) if generator.random() < 0.01 else None
    worst = 7.0 if verdict is Verdict.INACCURATE else None
    return Record(
        *cell, index, digest, verdict, kind, message, 4, 96, worst, 3.0 if worst else None, known,
        detail, failing if verdict.fails else (), repeats,
    )  # fmt: skip


def _element(place: int, generator: random.Random) -> Element:
    given = f"{generator.gauss(0, 1e3):.8g}"
    inputs = (("lhs", given, "0x41B3C465"), ("rhs", "1.1754944e-38", "0x00800000"))
    return Element(0, (place, 2), "1.2651916e-38", "0x0089C465", given, "0x41B3C466", 7.0, inputs)


def _errors(cell: CellKey, generator: random.Random) -> Errors:
    bins = [0] * (len(HISTOGRAM_EDGES) + 1)
    rule = CATALOG[cell[0]].tolerance
    if rule.ulps is None or cell[1][0] not in "bcf":
        return Errors()
    bins[:4] = [40_000, 750, 62, 5]
    points = [
        (10 ** generator.uniform(-4, 4), float(round(generator.gauss(0, 1)))) for _ in range(POINTS)
    ]
    return Errors(bins, points if len(rule.name) % 2 else [])

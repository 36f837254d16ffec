"""A synthetic run with everything that a report must handle; no backend is involved."""

import math
import random
from dataclasses import replace
from functools import cache

import numpy as np

from conformance.backends.base import Description
from conformance.catalog import CATALOG
from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import compare
from conformance.results.inputs import pack_inputs
from conformance.results.left_out import LeftOut
from conformance.results.summary import KnownReason, RunData
from conformance.verdict import (
    HISTOGRAM_EDGES,
    Detail,
    Element,
    Errors,
    LostBatch,
    Record,
    Timing,
    Verdict,
)
from reports import html

NASTY = (
    "<script>window.pwned = 1</script>",
    '</script><img src=x onerror="window.pwned=1">',
    "<!-- ' \" ]]> &amp; {{ 7 * 7 }} ${7*7}",
    "javascript:window.pwned=1",
    "null\x00 escape\x1b[31m bell\x07 \ud800 \ufffe \u2028 \u202e reversed",
    "| a | b |\n|---|---|\n`code` **bold** [x](javascript:alert(1)) <b>",
)
KINDS = {
    Verdict.INACCURATE: ("over budget", "double rounding"),
    Verdict.DIVERGENT: ("zero sign", "NaN dropped", "saturation", "off by one"),
    Verdict.FLUSHED: ("subnormal",),
    Verdict.CRASHED: ("signal 6",),
    Verdict.TIMED_OUT: ("",),
    Verdict.REJECTED: ("verifier",),
    Verdict.ACCEPTED: ("C3",),
}
PROGRAM = """module {{
  func.func @main(%arg0: tensor<3x4x{t}>, %arg1: tensor<3x4x{t}>) -> tensor<3x4x{t}> {{
    %0 = "stablehlo.add"(%arg0, %arg1) {{of = "stablehlo.{op}"}} :
      (tensor<3x4x{t}>, tensor<3x4x{t}>) -> tensor<3x4x{t}>
    "func.return"(%0) : (tensor<3x4x{t}>) -> ()
  }}
}}
"""


def element(ulp: float | None) -> Element:
    inputs = (("operand", "-0.15625", "0xbe200000"), ("rhs", "1.1754944e-38", "0x00800000"))
    return Element(0, (2, 3), "0.14433756", "0x3e13cd3a", "0.14433759", "0x3e13cd3c", ulp, inputs)


def detail(op: str, of: str, verdict: Verdict, ulp: float | None) -> Detail:
    inputs = pack_inputs((np.array([[1.5, -0.0]], np.float32), np.array([7, 200], np.uint8)))
    compared = verdict not in (Verdict.CRASHED, Verdict.TIMED_OUT, Verdict.REJECTED)
    elements = (element(ulp), element(None)) if compared else ()
    return Detail(PROGRAM.format(op=op, t=of), inputs, 2 if compared else 0, 12, elements)


def failure(cell, index: int, verdict: Verdict, *, known: str = "", **changes) -> Record:
    op, of, _ = cell
    kinds = KINDS[verdict]
    ulp = 7.0 if verdict is Verdict.INACCURATE else None
    made = Record(
        *cell, index, f"{index:016x}", verdict, kinds[index % len(kinds)],
        f"{op}: 2 of 12 elements {verdict.value} at [2, 3]: expected 0.14433756, got 0.14433759",
        pairs=4, values=48, worst_ulp=ulp, budget_ulp=3.0 if ulp else None, known=known,
        detail=detail(op, of, verdict, ulp),
    )  # fmt: skip
    return replace(made, **changes)


def passes(cell, index: int, row, generator: random.Random) -> Record:
    of = next((t for t in row.element_types if t.name == cell[1]), row.element_types[0])
    budget = row.tolerance.budget(of, "cpu")
    worst = None if budget is None else min(budget, float(generator.randrange(0, 4)))
    return Record(*cell, index, f"{index:016x}", Verdict.PASS, pairs=4, values=1000,
                  worst_ulp=worst, budget_ulp=budget)  # fmt: skip


def errors_of(cell, row, generator: random.Random) -> Errors:
    bins = [0] * (len(HISTOGRAM_EDGES) + 1)
    bins[0] = 40_000
    if row.tolerance.ulps is None or not row.tolerance.ulps.half or cell[1][0] not in "bcf":
        return Errors(bins)
    for place in range(1, 4):
        bins[place] = int(9_000 / 12**place)
    if cell[1].startswith(("complex", "f4", "f6")) or row.name in ("power", "atan2"):
        return Errors(bins)
    reach = {"f64": 300, "f32": 38, "bf16": 38, "f16": 4.8}.get(cell[1], 2)
    points = [
        (
            generator.choice((-1, 1)) * 10 ** generator.uniform(-reach, reach),
            float(round(generator.gauss(0, 1))),
        )
        for _ in range(300)
    ]
    return Errors(bins, points)


def outcome(cell, number: int, row, generator: random.Random) -> list[Record]:
    """Return a cell's records: mostly passes, a few other outcomes."""
    if cell[1].startswith("f6"):
        message = "UNIMPLEMENTED: f6 types are not supported by XLA:CPU"
        verdict = Verdict.UNSUPPORTED if number % 7 else Verdict.NOT_JUDGED
        return [Record(*cell, 0, "0" * 16, verdict, message=message)]
    records = [passes(cell, index, row, generator) for index in range(6)]
    if number % 11 == 3:
        verdict = (Verdict.DIVERGENT, Verdict.INACCURATE)[number % 2]
        records += [failure(cell, 6 + n, verdict, known="f8-rounding") for n in range(2)]
    if number % 43 == 5:
        verdict = list(KINDS)[number // 43 % len(KINDS)]
        records += [failure(cell, 8 + n, verdict) for n in range(number // 43 % 4 + 1)]
    if number % 23 == 7:
        records.append(replace(failure(cell, 20, Verdict.DIVERGENT), verdict=Verdict.UNSPECIFIED,
                               kind="integer division by zero"))  # fmt: skip
    if number % 29 == 11:
        known = "subnormals" if number % 2 else ""
        records.append(failure(cell, 30, Verdict.FLUSHED, known=known))
    return records


def all_cells(backends=("cpu",)) -> list[tuple[str, str, str]]:
    return [
        (row.name, of.name, backend)
        for backend in backends
        for row in CATALOG.values()
        for of in row.element_types
    ]


def run_of(records, errors, planned, filtered=(), backends=("cpu",)) -> RunData:
    return RunData(
        records, errors, seed=20_261_121, profile="standard",
        versions={"hlo-conformance": "0.1.0", "jax": "0.12.0", "numpy": "2.4.6"},
        started="2026-11-21T09:30:00+00:00",
        command="hlo-conformance run --profile standard --out hlo-conformance-results",
        planned=tuple(planned), filtered=tuple(filtered), seconds=114.2, modules=1_873,
        peak_rss_mb={"parent": 412.5, "worker": 1310.0},
        timing=Timing(9.1, 31.4, 4.2, 112.7, 3.3, 14.8, 1.9),
        backends=tuple(
            Description(name, "cpu", "AMD EPYC 9554 64-Core Processor", (("jaxlib", "0.12.0.1"),))
            for name in backends
        ),
        expectations={
            "f8-rounding": KnownReason(
                "Narrow formats are computed in f16 and rounded twice; a fix is being discussed.",
                "https://github.com/openxla/xla/issues/1",
            ),
            "subnormals": KnownReason("Subnormals are flushed.", "javascript:window.pwned=1"),
        },
        stale=("old-entry",),
    )  # fmt: skip


def full_run(backends=("cpu",), *, seed: int = 1) -> RunData:
    """Return every cell of the catalog: all verdicts, known and new, three of them
    never reached.
    """
    generator = random.Random(seed)
    cells = all_cells(backends)
    records: list[Record] = []
    errors = {}
    for index, cell in enumerate(cells):
        if index % 331 == 17:
            continue
        row = CATALOG[cell[0]]
        records += outcome(cell, index, row, generator)
        if records[-1].verdict.is_tested:
            errors[cell] = errors_of(cell, row, generator)
    return run_of(records, errors, cells, backends=backends)


NAMES = ("cpu", "gpu", "plugin:vendor")


def passing_run() -> RunData:
    """Return a small run, filtered to two ops and two types, in which all is well."""
    generator = random.Random(3)
    chosen = [c for c in all_cells() if c[0] in ("exponential", "add") and c[1] in ("bf16", "f32")]
    records = [passes(c, n, CATALOG[c[0]], generator) for c in chosen for n in range(3)]
    errors = {cell: errors_of(cell, CATALOG[cell[0]], generator) for cell in chosen}
    made = run_of(records, errors, chosen, [c for c in all_cells() if c not in chosen])
    filters = {"op": ["exponential", "add"], "element_type": ["bf16", "f32"], "shard": None}
    return replace(made, stale=(), filters=filters, expectations={})


def empty_run() -> RunData:
    """Return a run without records."""
    return run_of([], {}, all_cells())


def partial_run() -> RunData:
    """Return a run of two backends with failed batches, cases left out by a budget and others
    cached.
    """
    made = passing_run()
    cells = [(op, of, name) for name in NAMES[:2] for op, of, _ in made.planned]
    never = cells[1]
    records = [
        passes(cell, n, CATALOG[cell[0]], random.Random(n))
        for cell in cells for n in range(3) if cell != never
    ]  # fmt: skip
    cases = tuple((op, of, 0) for op, of, _ in cells[:2])
    batches = (
        LostBatch("cpu", cases, Verdict.CRASHED, "signal 11", "signal 11 <b>", 3, 3),
        LostBatch(
            "gpu", cases, Verdict.TIMED_OUT, "", "no answer in 5 s", 1, 3, known="slow-batch"
        ),
        LostBatch("gpu", cases[:1], Verdict.UNSUPPORTED, "", "UNIMPLEMENTED: of two ops"),
    )
    return replace(
        run_of(records, {}, cells, backends=NAMES[:2]),
        stale=(),
        expectations={"slow-batch": KnownReason("A batch may wait for a lock.", flaky=True)},
        lost_batches=batches, incidents=(batches[0].line, "a defect of the harness"),
        left_out=(LeftOut(*never, ((0, 40),)), LeftOut(*cells[2], ((3, 5),))),
        cached_cases={cells[0]: 2, cells[3]: 1}, cell_seconds={cells[0]: 1.5}, exit_code=1,
    )  # fmt: skip


def nasty_run() -> RunData:
    """Return a run with hostile text in every field from outside, and with texts for numbers."""
    cells, records = [], []
    for number, text in enumerate(NASTY):
        cell = (
            "add" if number % 2 else f"op{text}",
            "f32" if number % 3 else f"t{text}",
            f"b{text}",
        )
        cells.append(cell)
        hostile = Element(0, (1,), text, text, text, text, math.nan, ((text, text, text),))
        shown = Detail(text * 3, text.encode(errors="replace"), 1, 1, (hostile,))
        ulp = (math.nan, math.inf, -math.inf, 1e300, 0.0, None)[number]
        for index, verdict in enumerate((Verdict.DIVERGENT, Verdict.UNSUPPORTED, Verdict.PASS)):
            records.append(Record(
                *cell, index, text, verdict, text, text, 1, 1, ulp, 3.0, text if number < 3 else "",
                shown if verdict is Verdict.DIVERGENT else None,
            ))  # fmt: skip
    records.append(failure(("tanh", "f32", "cpu"), 0, Verdict.DIVERGENT, message="long " * 20_000))
    made = run_of(records, {}, [*cells, ("tanh", "f32", "cpu")])
    return replace(
        made, command=NASTY[0], profile=NASTY[1], started=NASTY[4], versions={NASTY[0]: NASTY[1]},
        expectations={text: KnownReason(text, text) for text in NASTY}, stale=NASTY,
        filters={"op": list(NASTY)}, incidents=NASTY,
        backends=(Description(NASTY[0], NASTY[1], NASTY[2], ((NASTY[3], NASTY[4]),)),),
    )  # fmt: skip


def worse_page() -> str:
    """Return the report of the full run against a run without failures, except cases that are fixed
    now.
    """
    now = run("full")
    then = [
        replace(record, verdict=Verdict.DIVERGENT if n % 97 == 0 else Verdict.PASS, known="")
        for n, record in enumerate(now.records)
    ]
    was_well = baseline_of(replace(now, records=then))
    return html.html(now, "", compare(now, ReadBaseline("ci/baseline.txt", was_well)))


RUNS = {
    "full": full_run,
    "passing": passing_run,
    "empty": empty_run,
    "nasty": nasty_run,
    "partial": partial_run,
}


@cache
def run(name: str) -> RunData:
    """Return a run of RUNS, made once: not to be changed."""
    return RUNS[name]()


@cache
def page(name: str) -> str:
    """Return the HTML report of one of RUNS; the full report takes seconds, and two modules look at
    it.
    """
    return html.html(run(name))

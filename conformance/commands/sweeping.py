"""The command `sweep`: functions on all values of small types, and on samples of large types."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from conformance import options
from conformance.limits import SWEEP_LIMITS, Limits
from conformance.options import (
    Address,
    Backend,
    BackendVersions,
    EngineName,
    ExecutorName,
    Expectations,
    Jobs,
    LinesFormat,
    LinesFormatOption,
    Out,
)

SAMPLE = 1 << 18
"""The default of `--sample`, as in conformance.sweep.planning, without loading that module."""

Types = Annotated[
    list[str] | None,
    typer.Option(
        help="Element types of the operands, names or globs. Repeatable.",
        autocompletion=options.complete_element_types,
        show_default="every type",
    ),
]
SweptOps = Annotated[
    list[str],
    typer.Argument(
        metavar="OP...",
        help="Elementwise ops of one or two operands: names, or globs such as 'exp*'.",
        autocompletion=options.complete_ops,
    ),
]
ResultTypes = Annotated[
    list[str] | None,
    typer.Option(
        help="Result types of `convert`, names or globs. Repeatable.",
        autocompletion=options.complete_element_types,
        show_default="every type up to 32 bits",
    ),
]
Arity = Annotated[
    int,
    typer.Option(min=0, max=2, help="Number of operands of the ops: 1 or 2; 0 for both."),
]
SampleSize = Annotated[
    int,
    typer.Option(
        min=64, help="Most arguments per function; of a larger domain, a sample is taken."
    ),
]
Exhaustive = Annotated[
    bool,
    typer.Option(
        "--exhaustive",
        help="Sweep all arguments of functions with at most 2^32: each f32, each pair of "
        "16-bit numbers.",
    ),
]
SampleSeed = Annotated[int, typer.Option(min=0, help="Seed of samples.")]
SweepShard = Annotated[str, typer.Option(help="Sweep the i-th of n parts, as i/n.")]
FreshSweep = Annotated[
    bool, typer.Option("--fresh", help="Delete the sweep that --out holds, and start over.")
]


@options.add_limit_options(SWEEP_LIMITS, "Seconds for a block of at most 4 million values.")
def sweep(
    op: SweptOps,
    element_type: Types = None,
    to: ResultTypes = None,
    arity: Arity = 0,
    backend: Backend = "cpu",
    sample: SampleSize = SAMPLE,
    exhaustive: Exhaustive = False,
    seed: SampleSeed = 0,
    shard: SweepShard = "1/1",
    jobs: Jobs = None,
    executor: ExecutorName = EngineName.LOCAL,
    address: Address = None,
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    out: Out = Path("hlo-conformance-sweep"),
    limits: Limits = SWEEP_LIMITS,
    format: LinesFormatOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
    fresh: FreshSweep = False,
) -> int:
    """Sweep ops over all values of a type, or a sample, and measure their errors.

    Types of up to 16 bits are swept whole, pairs of numbers of up to 8 bits too. A sweep that was
    interrupted continues when the same command is given again. Exits with 1 when something diverges
    that no expectation matches.
    """
    from rich.console import Console

    from conformance.campaign.progress import watcher
    from conformance.commands.reporting import print_lines
    from conformance.commands.sweep_reports import places, save
    from conformance.outputs.schema import json_text
    from conformance.sweep import planning, runner, summary

    asked = planning.Options(
        ops=tuple(op),
        out=out,
        backend=backend,
        element_types=tuple(element_type or ()),
        to=tuple(to or ()),
        arity=arity,
        sample=sample,
        exhaustive=exhaustive,
        seed=seed,
        shard=options.parse_shard(shard),
        jobs=jobs,
        engine=options.engine_of(executor, address),
        limits=limits,
        expectations=None if expectations is None else tuple(expectations),
        backend_versions=tuple(backend_version or ()),
        fresh=fresh,
        command=options.given_command(),
    )
    swept = runner.sweep(asked, watcher(Console(stderr=True)))
    result = save(swept, out)
    if format is LinesFormat.JSON:
        sys.stdout.write(json_text(result))
    else:
        print_lines([*summary.lines_of(result), *places(out)])
    return result.exit_code

"""The commands `fuzz` and `reduce`: campaigns, and minimisation of failing programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conformance import options
from conformance.limits import LIMITS, Limits
from conformance.options import (
    Address,
    Backend,
    BackendVersions,
    EngineName,
    ExecutorName,
    Expectations,
    InputSeed,
    Jobs,
    Ops,
)

CampaignBudget = Annotated[str, typer.Option(help="Time for the campaign, such as 90s, 30m or 8h.")]
MostPrograms = Annotated[
    int,
    typer.Option(
        min=0, help="Maximum number of programs.", show_default="as many as there is time for"
    ),
]
ProgramSeed = Annotated[int, typer.Option(min=0, help="Seed of all programs.")]
Corpus = Annotated[
    Path | None,
    typer.Option(
        help="Folder of findings: replay these first, and save new findings there.",
        show_default="the folder findings in --out",
    ),
]
SeedPrograms = Annotated[
    Path | None,
    typer.Option(
        help="Your own programs, a folder or a file: vary fragments of these programs.",
        show_default="patterns that come with hlo-conformance",
    ),
]
CampaignFolder = Annotated[Path, typer.Option("--out", help="Folder for the campaign.")]
FreshCampaign = Annotated[
    bool, typer.Option("--fresh", help="Delete the campaign in --out, and start over.")
]
FailingProgram = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A StableHLO module that fails `check`, or the folder that `check --save` or "
        "`fuzz` wrote for it.",
    ),
]
FailingInputs = Annotated[
    Path | None,
    typer.Option(
        help="Inputs on which the program fails, as for `check`.",
        show_default="drawn by what the program does with them",
    ),
]
ReducedFolder = Annotated[Path, typer.Option("--out", help="Folder for the minimised program.")]
ReduceBudget = Annotated[str, typer.Option(help="Time to minimise, such as 90s or 10m.")]


@options.add_limit_options(
    LIMITS, "Seconds for a batch of programs; a program in isolation has a third."
)
def fuzz(
    backend: Backend = "cpu",
    budget: CampaignBudget = "10m",
    programs: MostPrograms = 0,
    op: Ops = None,
    seed: ProgramSeed = 0,
    jobs: Jobs = None,
    executor: ExecutorName = EngineName.LOCAL,
    address: Address = None,
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    corpus: Corpus = None,
    seeds: SeedPrograms = None,
    out: CampaignFolder = Path("hlo-conformance-campaign"),
    limits: Limits = LIMITS,
    fresh: FreshCampaign = False,
) -> int:
    """Fuzz a backend with programs of several operations; minimise, group and save failures.

    Each finding is a folder with its program, inputs, results and a script that reproduces it. The
    same command continues an interrupted campaign until its budget is spent. Exits with 1 when no
    expectation matches a finding.
    """
    from conformance.fuzzing import command
    from reports.campaigns.page import write

    return command.fuzz(
        command.Options(
            out=out,
            backend=backend,
            budget=budget,
            programs=programs,
            ops=tuple(op or ()),
            seed=seed,
            jobs=jobs,
            corpus=corpus,
            expectations=expectations,
            backend_versions=tuple(backend_version or ()),
            limits=limits,
            fresh=fresh,
            seeds=seeds,
            engine=options.engine_of(executor, address),
            command=options.given_command(),
        ),
        write,
    )


@options.add_limit_options(LIMITS, "Seconds for one run of the program.")
def reduce(
    file: FailingProgram,
    backend: Backend = "cpu",
    inputs: FailingInputs = None,
    seed: InputSeed = 0,
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    out: ReducedFolder = Path("hlo-conformance-reduced"),
    budget: ReduceBudget = "2m",
    limits: Limits = LIMITS,
) -> int:
    """Minimise a failing program: it fails in the same way with fewer operations and elements.

    Exits with 1 when the program fails. A program that does not fail stays unchanged: exit code 0.
    """
    from conformance.fuzzing import reduce as command

    return command.reduce(
        command.Options(
            file=file,
            backend=backend,
            inputs=inputs,
            seed=seed,
            expectations=expectations,
            backend_versions=tuple(backend_version or ()),
            out=out,
            budget=budget,
            limits=limits,
            command=options.given_command(),
        )
    )

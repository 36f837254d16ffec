"""Types of the command line's options: their help, and their completion in a shell."""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.errors import UsageError
from conformance.executors.executor import LOCAL, Engine, EngineName
from conformance.limits import Limits

NAME = "hlo-conformance"
"""The name of the command."""

PROFILES = ("smoke", "standard", "deep")
"""The names of profiles, as in conformance.campaign.planning, without loading that module."""

PROFILE_HELP = "Cases per cell: smoke 2, standard 8, deep 100."
BACKEND_HELP = (
    "cpu, gpu, tpu, plugin:NAME=PATH (a PJRT plugin: its library, or the installed package that "
    "has it), command:NAME=COMMAND (a process), folder:NAME=COMMAND (one for each program), "
    "python:NAME=FILE, iree, jaxlib:VERSION (another "
    "release), interpreter (StableHLO's), reference (the suite's own). cpu-compile, "
    "gpu-compile[:GPU] and tpu-compile[:TPU] compile and run nothing: they need no device."
)
OP_HELP = "Ops to test: names such as add, or globs such as 'exp*'; the command ops lists them."
TYPE_HELP = (
    "Element types to test, names or globs: i1, si2 to si64, ui2 to ui64, f4E2M1FN, f6*, f8*, f16, "
    "bf16, f32, f64, complex_f32, complex_f64; 'q*' for quantized types; invalid for programs that "
    "break one constraint."
)
EXPECTATIONS_HELP = (
    "Known divergences: a file, a folder of <backend>.toml files, a backend such as cpu for the "
    "entries shipped for it, or none. Repeatable: files add up, in order."
)
BACKEND_VERSION_HELP = (
    "The backend's own version, if it does not report one: 2.1, or NAME=2.1 for one of several. "
    "Repeatable. Expectations may depend on it."
)


class Format(StrEnum):
    """The formats of a listing."""

    TABLE = "table"
    JSON = "json"


class OpsFormat(StrEnum):
    """The formats of a listing of ops."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


class CI(StrEnum):
    """CI systems that get output of their own."""

    AUTO = "auto"
    GITHUB = "github"
    GITLAB = "gitlab"
    NONE = "none"

    def detect(self) -> CI:
        """Return the system that runs this process, where none was chosen."""
        if self is not CI.AUTO:
            return self
        found = ((CI.GITHUB, "GITHUB_ACTIONS"), (CI.GITLAB, "GITLAB_CI"))
        return next((ci for ci, name in found if os.environ.get(name) == "true"), CI.NONE)


class LinesFormat(StrEnum):
    """The formats of verdicts on files: a line of text for each, or an object of JSON on a line."""

    TEXT = "text"
    JSON = "json"


def complete_profiles(incomplete: str) -> list[str]:
    """Return the profiles that begin with the given text."""
    return _complete_name(PROFILES, incomplete)


def complete_backends(incomplete: str) -> list[str]:
    """Return the backends that begin with the given text; "NAME:" if it needs an argument."""
    from conformance.backends.registry import BACKENDS

    names = (f"{name}:" if family.needs_argument else name for name, family in BACKENDS.items())
    return _complete_name(names, incomplete)


def complete_ops(incomplete: str) -> list[str]:
    """Return the ops that begin with the given text."""
    from reference.ops.table import OPS

    return _complete_name(OPS, incomplete)


def complete_element_types(incomplete: str) -> list[str]:
    """Return the columns that begin with the given text; complex<f32> as complex_f32, without
    quotes.
    """
    from generators.case.columns import INVALID
    from generators.case.quantized_types import QUANTIZED_COLUMNS
    from reference.ir.types import ELEMENT_TYPES

    names = (*ELEMENT_TYPES, *QUANTIZED_COLUMNS, INVALID.name)
    plain = (name.replace("<", "_").replace(">", "") for name in names)
    return _complete_name(plain, incomplete)


def _tell_version(asked: bool) -> None:
    """Print the version and everything else that decides a run's records, and exit."""
    if asked:
        from conformance.results.versions import build, versions

        name = "hlo-conformance"
        found = versions()
        others = ", ".join(f"{one} {number}" for one, number in found.items() if one != name)
        typer.echo(f"{name} {found[name]} (build {build()}; {others})")
        raise typer.Exit


def engine_of(name: EngineName, address: str | None) -> Engine:
    """Return the engine that the options name.

    Raises:
        UsageError: for an address where there is no cluster.
    """
    if name is EngineName.LOCAL:
        if address is not None:
            raise UsageError("--address requires a Ray cluster: add --executor ray")
        return LOCAL
    from conformance.results.versions import fingerprint

    return Engine(name, address, fingerprint)


def _complete_name(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


Backend = Annotated[str, typer.Option(help=BACKEND_HELP, autocompletion=complete_backends)]
Ops = Annotated[
    list[str] | None,
    typer.Option(
        help=f"{OP_HELP} Repeatable.", autocompletion=complete_ops, show_default="every op"
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Worker processes.", show_default="one per core, one for a plugin"),
]
ExecutorName = Annotated[
    EngineName,
    typer.Option("--executor", help="Where workers run: this machine, or a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster, such as auto, HOST:6379 or ray://HOST:10001.",
        show_default="RAY_ADDRESS, the cluster of this machine, or a new one",
    ),
]
Expectations = Annotated[
    list[str] | None,
    typer.Option(
        "--expectations", help=EXPECTATIONS_HELP, show_default="those shipped for the backend"
    ),
]
BackendVersions = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-version", help=BACKEND_VERSION_HELP, show_default="what the backend says"
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        help="Compare with a file of `baseline write`, or an earlier run: exit with 1 when "
        "something is changed, new or lost.",
        show_default="none",
    ),
]
AtLeast = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Exit with 1 when a smaller share of the planned cells was tested, such as 95%.",
        show_default="no floor",
    ),
]
STRICT_HELP = (
    "Fail also on expectations whose counterexample no longer reproduces, on divergences that only "
    "the baseline matches, and on known values that neither an expectation nor the baseline states."
)
CIOption = Annotated[
    CI,
    typer.Option(
        "--ci",
        help="Report failures to a CI system: github by annotations and the job summary, gitlab by "
        "codequality.json; auto detects the system.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
InputSeed = Annotated[int, typer.Option(min=0, help="Seed of the inputs that are drawn.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]
LinesFormatOption = Annotated[LinesFormat, typer.Option("--format", help="How to print.")]
Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_tell_version, is_eager=True, help="Print the versions, and exit."
    ),
]

# Options of `run`

Backends = Annotated[
    list[str] | None,
    typer.Option(
        help=f"{BACKEND_HELP} Repeatable.",
        autocompletion=complete_backends,
        show_default="cpu",
    ),
]
ElementTypes = Annotated[
    list[str] | None,
    typer.Option(
        help=f"{TYPE_HELP} Repeatable.",
        autocompletion=complete_element_types,
        show_default="every type",
    ),
]
Profile = Annotated[str, typer.Option(help=PROFILE_HELP, autocompletion=complete_profiles)]
CaseSeed = Annotated[int, typer.Option(help="Seed of all cases.")]
Shard = Annotated[str, typer.Option(help="Test the i-th of n parts, as i/n.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help=f"{STRICT_HELP} Refuse expectations without a counterexample, or whose "
        "reason is TODO.",
    ),
]
RunBudget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time for the run, such as 90s or 10m. All cells get their first cases before any "
        "gets its second. The run says what is left out; the same command continues it.",
        show_default="no limit",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        envvar="HLO_CONFORMANCE_CACHE",
        help="Folder of cases that did not fail with the same hlo-conformance, backend and "
        "machine; they are not run again. Cases that do not fail now are added.",
        show_default="none",
    ),
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Run all cases, even if HLO_CONFORMANCE_CACHE is set."),
]
Repeat = Annotated[
    int,
    typer.Option(
        min=1,
        help="Times to rerun a case that fails; backends that only compile rerun once. A case "
        "that passes then is not deterministic. It fails the run unless an expectation with "
        "flaky = true matches it.",
    ),
]
FreshRun = Annotated[
    bool, typer.Option("--fresh", help="Delete the results that --out holds, and start over.")
]
# Options of `replay`

CaseOrFinding = Annotated[
    str,
    typer.Argument(
        metavar="ID|FOLDER",
        help="A case, such as add-f32-cpu-3, or the folder of a failure that `check --save`, "
        "`fuzz` or `reduce` wrote.",
    ),
]
RunFolder = Annotated[Path, typer.Option(help="The folder of the run, or its results.sqlite.")]
Generic = Annotated[
    bool, typer.Option("--generic", help="Show the program in MLIR's generic form.")
]
ReplayBackends = Annotated[
    list[str] | None,
    typer.Option(
        help="Backend to run it on. Repeatable.",
        autocompletion=complete_backends,
        show_default="the backend that it was recorded on",
    ),
]
# Options of `check`

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="StableHLO modules: text, bytecode, or what jax.export writes."
    ),
]
ProgramInputs = Annotated[
    Path | None,
    typer.Option(
        help="Inputs of the programs: an .npz of arrays arr_0, arr_1, ..., or by name.",
        show_default="drawn by what each program does with them",
    ),
]
SaveFailures = Annotated[
    Path | None,
    typer.Option(
        help="Folder to keep each failing program in, with its inputs and results.",
        show_default="nothing is kept",
    ),
]
ExplainPermitted = Annotated[
    bool,
    typer.Option(
        "--explain", help="Say what a program of several operations may give where it is worst."
    ),
]
Describe = Annotated[
    bool,
    typer.Option(
        "--describe", help="Print the parameters of the programs and a template for --inputs."
    ),
]
# Options of `ops` and `backends`

OneOp = Annotated[
    str | None,
    typer.Argument(metavar="[OP]", help="An op to show.", autocompletion=complete_ops),
]
OpsFormatOption = Annotated[
    OpsFormat,
    typer.Option("--format", help="How to print; markdown is the page of all that is covered."),
]
Vectors = Annotated[Path, typer.Argument(help="The folder that `export` wrote.")]
Outputs = Annotated[
    Path, typer.Argument(help="A folder with ID.bin or ID.txt for each vector, as a tool gave it.")
]
ToolName = Annotated[str, typer.Option(help="The tool's name in records.")]
SelfTest = Annotated[
    bool,
    typer.Option(
        "--self-test",
        help="Check that the backends return arrays of every type and shape as they got them.",
    ),
]
BackendNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[BACKEND]...", help="Backends to show, such as plugin:NAME=PATH."),
]


def add_limit_options(
    defaults: Limits, timeout: str
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that replaces a command's parameter `limits` by an option for each limit.

    Args:
        defaults: the default limits.
        timeout: the help of `--timeout`: the work that has so many seconds.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        signature = inspect.signature(command, eval_str=True)
        shown = {
            **{field.name: field.metadata["help"] for field in fields(Limits)},
            "timeout": timeout,
        }
        replacing = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(defaults, field.name) / field.metadata["unit"],
                annotation=Annotated[
                    float, typer.Option(min=field.metadata["least"], help=shown[field.name])
                ],
            )
            for field in fields(Limits)
        ]
        parameters: list[inspect.Parameter] = []
        for one in signature.parameters.values():
            taken = one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += replacing if one.name == "limits" else [taken]

        @functools.wraps(command)
        def run(**given: Any) -> int:
            limits = _limits(given)
            return command(**given, limits=limits)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _limits(given: dict[str, Any]) -> Limits:
    """Remove the limits from the options given to a command, and return them."""
    values: dict[str, Any] = {
        field.name: type(field.default)(given.pop(field.name) * field.metadata["unit"])
        for field in fields(Limits)
    }
    return Limits(**values)


def join_help_lines(app: typer.Typer) -> None:
    """Make each paragraph of the commands' docstrings one line of their help.

    Typer prints line breaks as they stand in a docstring, also where a terminal is narrower.
    """
    for command in app.registered_commands:
        paragraphs = inspect.cleandoc(command.help or command.callback.__doc__ or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            join_help_lines(group.typer_instance)


def parse_shard(text: str) -> tuple[int, int]:
    """Return the number of a part, and of all parts, from i/n.

    Raises:
        UsageError: for another text.
    """
    part, slash, parts = text.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal()):
        raise UsageError(f"--shard takes i/n, such as 1/4, not {text!r}")
    return int(part), int(parts)


def given_command() -> str:
    """Return the given command as a shell command line."""
    return shlex.join([NAME, *sys.argv[1:]])

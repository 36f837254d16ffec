"""The results of a sweep, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.fields import Count, State, Version, about
from conformance.outputs.run import Backend
from conformance.verdict import Verdict


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number, as digits and as bits."""

    decimal: Annotated[str, about("The shortest digits that give the number back.")]
    hexadecimal: Annotated[str, about("Its bits; of a complex number the bits of both parts.")]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One result: its arguments, what was expected, and what the backend computed."""

    arguments: Annotated[tuple[Number, ...], about("The arguments.")]
    expected: Annotated[Number, about("The correctly rounded result.")]
    actual: Annotated[Number, about("The backend's result.")]
    ulp: Annotated[
        float | None, about("The error in ulp; null where it is no number of such units.")
    ]


class ResultClass(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a function that have one verdict and one class."""

    verdict: Annotated[Verdict, about("The verdict.")]
    class_: Annotated[str, about("The class; empty where there is none.")] = msgspec.field(
        name="class"
    )
    count: Annotated[Count, about("How many results there are.")]
    known: Annotated[
        str, about("The id of the expectation that matches them; empty where none does.")
    ]
    message: Annotated[str, about("What is wrong, on one line; empty for a pass.")]
    worst_ulp: Annotated[float | None, about("The largest error in ulp; null where none is known.")]
    example: Annotated[Point | None, about("The worst of these results; null for a pass.")]


class SweptFunction(msgspec.Struct, frozen=True, kw_only=True):
    """An op on one element type, in one form."""

    name: Annotated[str, about("Op, element type and form.")]
    op: Annotated[str, about("The op.")]
    element_type: Annotated[str, about("The element type of the operands.")]
    result_type: Annotated[str, about("The element type of the result.")]
    form: Annotated[str, about("Of ops with several forms, such as convert; else empty.")]
    state: Annotated[State, about("The worst verdict among the results.")]
    arguments: Annotated[
        Literal["all", "sample"], about("Whether all arguments were planned, or a sample.")
    ]
    planned: Annotated[Count, about("Arguments, or pairs of them, that the sweep was to try.")]
    values: Annotated[Count, about("Arguments that were tried.")]
    correctly_rounded: Annotated[Count, about("Results that are correctly rounded.")]
    worst_ulp: Annotated[
        float | None,
        about(
            "The largest error of results that are permitted or inaccurate, in ulp of the exact "
            "value; null where all of these are correctly rounded, or have no ulp. Inaccurate "
            "results that involve subnormal numbers do not count."
        ),
    ]
    worst: Annotated[Point | None, about("The result with that error.")]
    budget_ulp: Annotated[float | None, about("The permitted error; null where there is none.")]
    rule: Annotated[str, about("The rule that judged the results.")]
    histogram: Annotated[
        tuple[Count, ...],
        about(
            "Results of `worst_ulp` by their distance to the correctly rounded result in whole "
            "ulp: the first count is for 0, each further count for more than the edge before and "
            "at most its edge, the last for more. Empty where results have no ulp."
        ),
    ]
    classes: Annotated[tuple[ResultClass, ...], about("The results by verdict and class.")]
    inversions: Annotated[
        Count | None,
        about("Neighbouring arguments with results in the wrong order; null if not monotonic."),
    ]
    asymmetries: Annotated[
        Count | None,
        about("Arguments x for which f(-x) is not as f(x) asks; null if neither odd nor even."),
    ]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The results of `sweep`: `sweep.json`, and what `sweep --format json` prints."""

    schema: Annotated[Literal["sweep"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    backend: Annotated[Backend, about("The backend.")]
    functions: Annotated[tuple[SweptFunction, ...], about("The functions, as planned.")]
    histogram_edges: Annotated[tuple[int, ...], about("The edges of the histograms, in ulp.")]
    sample: Annotated[Count, about("Arguments of a sample at most.")]
    exhaustive: Annotated[bool, about("Whether `--exhaustive` was given.")]
    seed: Annotated[int, about("The seed of samples.")]
    shard: Annotated[str, about("The part of the blocks, as i/n.")]
    build: Annotated[str, about("The digest of hlo-conformance's own sources.")]
    versions: Annotated[dict[str, str], about("Versions on which results depend, by package.")]
    instruction_sets: Annotated[
        tuple[str, ...], about("Instruction sets of this machine's CPU; empty where unknown.")
    ]
    started: Annotated[str, about("When the sweep began: UTC, in ISO 8601.")]
    command: Annotated[str, about("The command line.")]
    seconds: Annotated[float, about("Wall time in seconds, all sessions together.")]
    exit_code: Annotated[int, about("The exit code.")]

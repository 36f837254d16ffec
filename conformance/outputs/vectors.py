"""The shapes of the files that `export` writes: a suite of vectors, and the vectors of a cell."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.fields import Count, about

Place = Annotated[
    tuple[Count, Count], about("Where bytes are in the .bin file beside: offset and length.")
]


class VectorArray(msgspec.Struct, frozen=True, kw_only=True):
    """An array: little-endian bytes in row-major order, a byte for each narrower element."""

    type: Annotated[str, about("Its tensor type, as MLIR spells it.")]
    at: Place


class VectorInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers between which each element may be."""

    low: Annotated[VectorArray, about("The least of each element.")]
    high: Annotated[VectorArray, about("The greatest of each element.")]


class VectorResult(msgspec.Struct, frozen=True, kw_only=True):
    """The permitted values of a result."""

    expected: Annotated[VectorArray, about("What the reference gives.")]
    judge: Annotated[
        bool, about("Whether only `hlo-conformance judge` can tell what is permitted.")
    ] = False
    zero_signs: Annotated[
        bool, about("Whether an expected zero keeps its sign where no other number is permitted.")
    ] = True
    nan_bits: Annotated[bool, about("Whether a NaN has the bits of the expected NaN.")] = False
    intervals: Annotated[
        tuple[VectorInterval, ...], about("Besides the expected numbers, those in any of these.")
    ] = ()
    nan: Annotated[
        VectorArray | None, about("Elements, as i1, that may be NaN; null for those expected.")
    ] = None


class VectorSet(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of a program, and its results on them."""

    inputs: Annotated[
        tuple[VectorArray, ...], about("The arguments of main, process after process.")
    ]
    results: Annotated[
        tuple[VectorResult, ...], about("The results of main, process after process.")
    ]


class PortableProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A module as a portable artifact of StableHLO."""

    version: Annotated[str, about("The version of StableHLO that can read it, and any later one.")]
    at: Place


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """A program, with what it gives on sets of inputs."""

    id: Annotated[str, about("Its name, such as add-f32-0.")]
    digest: Annotated[str, about("The digest of its text, by which outputs are matched with it.")]
    program: Annotated[str, about("A StableHLO module as MLIR's text.")]
    processes: Annotated[Count, about("How many processes it has.")]
    sets: Annotated[
        tuple[VectorSet, ...], about("Sets of inputs; none for a program that must be refused.")
    ]
    violates: Annotated[
        str, about("The constraint that it breaks: it must be refused; empty for a valid one.")
    ] = ""
    portable: Annotated[
        PortableProgram | None, about("The same module as bytes; null if it cannot be written so.")
    ] = None


class VectorFile(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of an op and an element type: `OP-TYPE.json`."""

    format: Annotated[Literal[1], about("The version of the format.")]
    vectors: Annotated[tuple[Vector, ...], about("The vectors, in the order of the run's cases.")]


class VectorSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite of vectors: `suite.json` in the folder of `export`."""

    format: Annotated[Literal[1], about("The version of the format.")]
    ops: Annotated[tuple[str, ...], about("The `--op` of `export`; empty for every op.")]
    element_types: Annotated[tuple[str, ...], about("The `--element-type` of `export`.")]
    profile: Annotated[str, about("The profile of the run with the same cases.")]
    seed: Annotated[int, about("The seed of that run.")]
    vectors: Annotated[Count, about("How many vectors there are.")]
    results: Annotated[Count, about("How many results they have.")]
    judged_results: Annotated[Count, about("Those that only `hlo-conformance judge` can tell.")]
    skipped: Annotated[Count, about("Cases that cannot be written as vectors.")]

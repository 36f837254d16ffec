"""The JSON in the folder of a failing program: written by `fuzz`, and by `check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from conformance.outputs.fields import Count, SavedVerdict, Version, about
from conformance.verdict import Verdict


class WrongElement(msgspec.Struct, frozen=True, kw_only=True):
    """An element of a result that is wrong."""

    result: Annotated[Count, about("The number of the result, from 0.")]
    index: Annotated[tuple[Count, ...], about("Where it stands in the result.")]
    expected: Annotated[str, about("The value of the reference, or the range that is permitted.")]
    expected_bits: Annotated[str, about("The same as bits, in hexadecimal; empty for a range.")]
    actual: Annotated[str, about("The value of the backend.")]
    actual_bits: Annotated[str, about("The same as bits, in hexadecimal.")]


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """Under which changes of the compilation the program fails, and under which it does not."""

    vanishes: Annotated[tuple[str, ...], about("Changes with which the result is right.")]
    ways: Annotated[dict[str, str], about("The verdict and class under each change.")]
    culprit: Annotated[
        str, about("The pass at fault, by the compiler's stages; empty where none is known.")
    ]
    note: Annotated[str, about("Why changes were not tried; empty where they were.")]
    partial: Annotated[bool, about("Whether some changes were left out for lack of time.")]


class FindingFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a campaign: `finding.json` in its folder."""

    schema: Annotated[Literal["finding"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    verdict: Annotated[Verdict, about("Its verdict.")]
    class_: Annotated[str, about("The class of the divergence; empty where there is none.")] = (
        msgspec.field(name="class")
    )
    culprit: Annotated[str, about("The operation that goes wrong and its element type, or empty.")]
    operation: Annotated[str, about("The same operation with its operands; empty for none.")]
    message: Annotated[str, about("What goes wrong, on one line.")]
    known: Annotated[tuple[str, ...], about("The ids of the expectations that match it.")]
    cause: Annotated[str, about("The key of its cause: the same for all findings of a cause.")]
    signature: Annotated[str, about("The verdict and the operations of the minimised program.")]
    operations: Annotated[tuple[str, ...], about("The ops of the minimised program.")]
    inputs: Annotated[
        dict[str, str], about("The first values of each input by its name; inputs.npz has all.")
    ]
    elements: Annotated[tuple[WrongElement, ...], about("The first elements that are wrong.")]
    votes: Annotated[str, about("Who agrees with whom: backend, reference, interpreter.")]
    attribution: Annotated[Attribution, about("Under which compilations it fails.")]
    backend: Annotated[str, about("The backend that it fails on.")]
    versions: Annotated[dict[str, str], about("Versions of packages and of the backend, by name.")]
    found_by: Annotated[str, about("The command that found it.")]
    again: Annotated[str, about("The command that runs it once more, in its folder.")]
    first_found: Annotated[str, about("When it was first found: UTC, in ISO 8601.")]
    last_found: Annotated[str, about("When it was last found: UTC, in ISO 8601.")]
    element_types: Annotated[tuple[str, ...], about("The element types it was found in.")]
    programs: Annotated[Count, about("Programs of the campaign that fail in this way.")]
    culprits: Annotated[dict[str, Count], about("Those programs by the operation that goes wrong.")]
    signatures: Annotated[dict[str, Count], about("Those programs by their signature.")]
    releases: Annotated[
        dict[str, str], about("What other releases of jaxlib give, where `bisect` asked them.")
    ] = {}
    changes: Annotated[
        tuple[str, ...], about("The releases between which it came or went, as `bisect` found.")
    ] = ()


class CheckFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A program that fails in `check --save`: `verdict.json` in its folder."""

    schema: Annotated[Literal["verdict"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    file: Annotated[str, about("The file that has the program.")]
    program: Annotated[str, about("The name of the program in the file.")]
    verdict: Annotated[
        SavedVerdict,
        about("Its verdict; `no answer` where the process ended before there was any."),
    ]
    class_: Annotated[str, about("The class of the divergence; empty where there is none.")] = (
        msgspec.field(name="class")
    )
    operation: Annotated[str, about("The first operation that goes wrong; empty for none.")]
    message: Annotated[str, about("What goes wrong, on one line.")]
    known: Annotated[tuple[str, ...], about("The ids of the expectations that match it.")]
    backend: Annotated[str, about("The backend that it was run on.")]
    inputs: Annotated[str, about("Which inputs these are.")]
    parameters: Annotated[
        dict[str, str], about("The type of each input by its name in inputs.npz.")
    ]
    again: Annotated[str, about("The command that runs it once more, in its folder.")]


def rename_old_fields(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a finding.json with current field names; older names have spaces."""
    return {name.replace(" ", "_"): value for name, value in told.items()}

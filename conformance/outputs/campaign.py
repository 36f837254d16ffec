"""The results of a fuzzing campaign, as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from conformance.outputs.fields import Count, Version, about
from conformance.verdict import Verdict


class CampaignFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A divergence that programs of the campaign show. Its folder holds the smallest of them."""

    name: Annotated[str, about("The name of its folder.")]
    signature: Annotated[str, about("The verdict and the operations of its minimised program.")]
    known: Annotated[str, about("The id of the expectation that matches it; empty where none.")]
    verdict: Annotated[Verdict, about("Its verdict.")]
    class_: Annotated[str, about("The class of the divergence; empty where there is none.")] = (
        msgspec.field(name="class")
    )
    culprit: Annotated[str, about("The operation that goes wrong; empty where none is named.")]
    operations: Annotated[Count, about("Operations of the minimised program.")]
    elements: Annotated[Count, about("Elements of the inputs of the minimised program.")]
    text: Annotated[str, about("The minimised program, as StableHLO text.")]
    message: Annotated[str, about("What goes wrong.")]
    cause: Annotated[str, about("The key of its cause: the same for all findings of a cause.")]
    count: Annotated[Count, about("Programs of the campaign that fail in this way.")]
    culprits: Annotated[
        dict[str, Count], about("Programs by the operation that goes wrong and its element type.")
    ]
    signatures: Annotated[
        dict[str, Count], about("Programs by the signature of the program they are minimised to.")
    ]


class CampaignSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a fuzzing campaign: `campaign.json`."""

    schema: Annotated[Literal["campaign"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    meta: Annotated[
        dict[str, Any],
        about(
            "The options of the campaign, its versions, when it began, its command and its seconds."
        ),
    ]
    counts: Annotated[dict[str, Count], about("Programs by how they ended: a verdict or a reason.")]
    pairs_of_ops: Annotated[
        Count, about("Pairs of ops in these programs: an op, and an op that takes its result.")
    ]
    findings: Annotated[tuple[CampaignFinding, ...], about("The findings, known ones included.")]
    unlinked_ops: Annotated[
        dict[str, str],
        about("Ops that multi-operation programs never contain, with the reason for each."),
    ]

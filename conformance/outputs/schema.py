"""The JSON Schemas of the outputs of commands, made from the shapes themselves.

A version is MAJOR.MINOR. A field that is added raises MINOR, a field that is removed, renamed or
means something else raises MAJOR. `schema/` has the schema of every version of the current MAJOR,
so that a change of a shape is a new file there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from conformance.outputs.campaign import CampaignSummary
from conformance.outputs.checked import Checked
from conformance.outputs.report import Report
from conformance.outputs.saved import CheckFolder, FindingFolder
from conformance.outputs.sweep import Sweep
from conformance.outputs.vectors import VectorFile, VectorSuite
from conformance.verdict import Verdict

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLACE = "#/$defs/{name}"


@dataclass(frozen=True, slots=True)
class Output:
    """A shape that is written as JSON: its name, version and class, and the command for it."""

    name: str
    version: str
    shape: type[msgspec.Struct]
    source: str

    @property
    def file_name(self) -> str:
        """The name of its schema in the folder `schema`."""
        return f"{self.name}-{self.version}.json"

    def line(self, width: int) -> str:
        """Return the output in a line, its name padded to a width."""
        return f"{self.name:<{width}}  {self.version}  {self.source}"


REPORT = Output("report", "1.0", Report, "`summary.json` and `report --format json`")
CHECK = Output("check", "1.0", Checked, "`check --format json`, an object on a line for each file")
SWEEP = Output("sweep", "1.0", Sweep, "`sweep.json` and `sweep --format json`")
CAMPAIGN = Output("campaign", "1.0", CampaignSummary, "`campaign.json` of `fuzz`")

FINDING = Output("finding", "1.0", FindingFolder, "`finding.json` of a finding of `fuzz`")
VERDICT = Output("verdict", "1.0", CheckFolder, "`verdict.json` of `check --save`")

VECTORS = Output("vectors", "1.0", VectorFile, "a file of vectors of `export`")
SUITE = Output("vector-suite", "1.0", VectorSuite, "`suite.json` of `export`")

OUTPUTS = {
    one.name: one for one in (REPORT, CHECK, SWEEP, CAMPAIGN, FINDING, VERDICT, VECTORS, SUITE)
}
"""Every output by its name."""


def schema_of(output: Output) -> dict[str, Any]:
    """Return the JSON Schema of an output."""
    (shape,), definitions = msgspec.json.schema_components([output.shape], ref_template=_PLACE)
    _drop_key_schemas(definitions)
    used = json.dumps([shape, definitions])
    definitions = {
        name: one
        for name, one in definitions.items()
        if json.dumps(_PLACE.format(name=name)) in used
    }
    if "Verdict" in definitions:
        definitions["Verdict"]["enum"] = [*Verdict]  # in the order of severity, as it says
    return {
        "$schema": _DIALECT,
        "$id": f"urn:hlo-conformance:{output.name}:{output.version}",
        **shape,
        "$defs": dict(sorted(definitions.items())),
    }


def _drop_key_schemas(schema: Any) -> None:
    """Drop the schemas of the keys of objects, which msgspec writes since 0.23 only."""
    if isinstance(schema, dict):
        schema.pop("propertyNames", None)  # pyright: ignore[reportUnknownMemberType]
        schema = list(schema.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(schema, list):
        for one in schema:  # pyright: ignore[reportUnknownVariableType]
            _drop_key_schemas(one)


def schema_text(output: Output) -> str:
    """Return the JSON Schema of an output as the file in `schema` has it."""
    return json.dumps(schema_of(output), indent=1) + "\n"


def json_value(value: msgspec.Struct) -> dict[str, Any]:
    """Return an output as JSON is read: dicts, lists, strings, numbers and None."""
    return json.loads(json_text(value))


def json_text(value: msgspec.Struct) -> str:
    """Return an output as the text of a JSON file: only ASCII, lone surrogates as escapes."""
    return json.dumps(msgspec.to_builtins(value), indent=1, allow_nan=False) + "\n"


def json_line(value: msgspec.Struct) -> str:
    """Return an output as JSON on one line, without its end."""
    return json.dumps(msgspec.to_builtins(value), allow_nan=False)

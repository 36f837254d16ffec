"""Outputs in JSON, checked against their schemas."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from conformance.outputs.schema import OUTPUTS, schema_of

ROOT = Path(__file__).parents[3]


def close_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, with fields that it does not have refused."""
    made = copy.deepcopy(schema)
    for of in made["$defs"].values():
        if "properties" in of:
            of["additionalProperties"] = False
    return made


def validate(name: str, value: Any) -> None:
    """Check an output by its schema exactly, and by all earlier schemas of the same MAJOR."""
    Draft202012Validator(close_schema(schema_of(OUTPUTS[name]))).validate(value)
    major = OUTPUTS[name].version.partition(".")[0]
    for path in ROOT.glob(f"schema/{name}-{major}.*.json"):
        Draft202012Validator(json.loads(path.read_text())).validate(value)

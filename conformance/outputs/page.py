"""The page on JSON outputs: every field with its type and meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.outputs.schema import OUTPUTS, Output, schema_of

_INTRODUCTION = """# JSON outputs

hlo-conformance writes JSON for other programs. Each object names its schema and the version.

```console
$ hlo-conformance schema
(listed)
```

`report DIR --format json` prints the object that `summary.json` in a run's folder holds.
`hlo-conformance schema NAME` prints the [JSON Schema](https://json-schema.org) of an output.
`schema/` in the repository has a file for each version.

**How versions change.** `schema_version` is `MAJOR.MINOR`. A new field raises MINOR, and so does a
new value where values are listed. A field that is removed, renamed, or means something else raises
MAJOR. So a program that ignores unknown fields and values reads all versions of one MAJOR. Until
hlo-conformance is released, 1.0 may still change.

Every field is always written. `null` means that there is no value, and the field says when. Numbers
are finite. Text comes from programs, backends and users: escape it before you show it.

This page is made from the schemas: `hlo-conformance schema --format markdown`.
"""


_LISTED = "(listed)"


def schema_page() -> str:
    """Return the page in Markdown."""
    width = max(map(len, OUTPUTS))
    listed = "\n".join(one.line(width) for one in OUTPUTS.values())
    introduction = _INTRODUCTION.replace(_LISTED, listed)
    return "\n".join([introduction, *(line for one in OUTPUTS.values() for line in _section(one))])


def _section(output: Output) -> Iterator[str]:
    schema = schema_of(output)
    definitions: dict[str, dict[str, Any]] = schema["$defs"]
    first = _referenced_name(schema)
    yield f"## {output.name} {output.version}\n"
    for name in _needed_definitions(first, definitions):
        of = definitions[name]
        if name != first:
            yield f"### {output.name}: {name}\n"
        yield f"{of['description']}\n"
        if "enum" in of:
            yield f"One of {_values(of)}.\n"
            continue
        yield "| field | type | meaning |\n| --- | --- | --- |"
        for field, told in of["properties"].items():
            meaning = told["description"].replace("|", "\\|")
            yield f"| `{field}` | {_type(told)} | {meaning} |"
        yield ""


def _needed_definitions(name: str, definitions: Mapping[str, Any]) -> list[str]:
    """Return the definitions that a definition needs, itself first, in the order in which they are
    referenced.
    """
    found, ahead = [name], [name]
    while ahead:
        for reference in _references(definitions[ahead.pop(0)]):
            if reference not in found:
                found.append(reference)
                ahead.append(reference)
    return found


def _references(schema: Any) -> Iterator[str]:
    """Yield the names of the definitions that a part of a schema refers to."""
    if isinstance(schema, dict):
        found: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
        if "$ref" in found:
            yield _referenced_name(found)
        for part in found.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _references(part)


def _referenced_name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "$ref" in schema:
        return _referenced_name(schema)
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return _values(schema)
    if "prefixItems" in schema:
        return f"list of {', '.join(map(_type, schema['prefixItems']))}"
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object":
        return f"object of {_type(schema.get('additionalProperties', {}))} by name"
    return str(schema.get("type", "any JSON value"))


def _values(schema: Mapping[str, Any]) -> str:
    return ", ".join(f"`{value}`" for value in schema["enum"])

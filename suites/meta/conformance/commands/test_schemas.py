"""The command `schema`."""

from __future__ import annotations

import json

import pytest

from conformance.commands.schemas import SchemaFormat, schema
from conformance.errors import UsageError
from conformance.outputs.schema import OUTPUTS


def test_all_outputs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert schema() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(OUTPUTS)


def test_schema_of_an_output_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert schema("report") == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("https://json-schema.org")


def test_unknown_output_and_a_page_of_one_are_errors() -> None:
    with pytest.raises(UsageError, match=r"'repport'.*report"):
        schema("repport")
    with pytest.raises(UsageError, match="leave out the name"):
        schema("report", SchemaFormat.MARKDOWN)

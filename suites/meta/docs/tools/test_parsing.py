"""Commands of pages, parsed without being run."""

from __future__ import annotations

import pytest

from docs.tools.parsing import OptionError, parse, parse_all


@pytest.mark.parametrize(
    "command",
    ["run --no-such-option", "no-such-command", "expectations tell", "run --seed", "replay"],
)
def test_a_command_that_does_not_exist_is_refused(command: str) -> None:
    with pytest.raises(OptionError, match=command):
        parse(f"hlo-conformance {command}")


@pytest.mark.parametrize(
    "command",
    [
        "run --backend cpu --seed 3",
        "--version",
        "expectations check ID",
        "ops [OP]",
        "check FILE...",
    ],
)
def test_a_command_that_exists_is_parsed(command: str) -> None:
    parse(f"hlo-conformance {command}")


def test_only_a_complete_command_needs_its_arguments() -> None:
    parse("hlo-conformance replay", is_complete=False)
    with pytest.raises(OptionError, match="--no-such-option"):
        parse("hlo-conformance replay --no-such-option", is_complete=False)


@pytest.mark.parametrize(
    "text",
    [
        "Run `hlo-conformance run --wrong`.",
        "```console\n$ hlo-conformance run --wrong\n```\n",
        "```console\n$ true && hlo-conformance run --wrong\n```\n",
    ],
)
def test_a_wrong_command_is_found_in_blocks_and_in_text(text: str) -> None:
    with pytest.raises(OptionError, match="--wrong"):
        parse_all(text)
    parse_all(text.replace("--wrong", "--seed 3"))

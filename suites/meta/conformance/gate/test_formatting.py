"""The canonical layout of expectation files: sorted keys, uniform values, kept comments."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conformance.cli import app, exit_code_of
from conformance.gate.expectations import Expectation
from conformance.gate.files import SHIPPED
from conformance.gate.formatting import format_text
from conformance.gate.layout import ORDER, entry_text, value_text

GIVEN = '''# ours

include=["cpu"]   # why


# a section

# about it
[[known]] # since spring
reason = "it \\"is\\""
# on ops
op = ["log",
  "sine"] # these
id='x'
versions = {plugin=">=2"}
element_types = [
  "f32", # kept as it is
]
[ known . counterexample ]
inputs = ["1", ]
program = """
x # no comment
"""
[[known]]
id = "y"
op = "abs"
reason = """two
lines"""
counterexample.program = "p"

# the end
'''
WANTED = '''# ours

include = ["cpu"]  # why

# a section

# about it
[[known]]  # since spring
id = "x"
# on ops
op = ["log", "sine"]  # these
element_types = [
  "f32", # kept as it is
]
versions = { plugin = ">=2" }
reason = 'it "is"'
[known.counterexample]
program = """
x # no comment
"""
inputs = ["1"]

[[known]]
id = "y"
op = "abs"
reason = """two
lines"""
counterexample.program = "p"

# the end
'''


def test_keys_are_put_in_order_and_comments_stay() -> None:
    assert format_text(GIVEN) == WANTED
    assert format_text(WANTED) == WANTED


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_files_say_the_same_when_formatted(path: Path) -> None:
    text = path.read_text()
    once = format_text(text)
    assert format_text(once) == once
    assert tomllib.loads(once) == tomllib.loads(text)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [line for line in once.splitlines() if line.startswith("#")] == comments


@pytest.mark.parametrize("text", ["", "# only this\n", '# a\n[[known]]\nid = "x"\n', "\n\n"])
def test_small_files_are_formatted_once(text: str) -> None:
    assert format_text(format_text(text)) == format_text(text)
    assert tomllib.loads(format_text(text)) == tomllib.loads(text)


@pytest.mark.parametrize(
    "value",
    [
        "plain", 'with "quotes"', "it's", 'both \' and "', "back\\slash", "two\nlines\n", "'''\n",
        "tab\t", "bell\x07", "del\x7f", "x'", "ends\nwith '", True, 8.0, 0.5, 12, ["a", 'b"'],
        [f"a long name {number}" for number in range(40)], {"plugin": ">=2", "jaxlib": "<1"}, [],
    ],
)  # fmt: skip
def test_written_value_is_read_back(value: object) -> None:
    text = value_text(value)
    assert tomllib.loads(f"key = {text}\n") == {"key": value}
    assert max(map(len, text.splitlines())) <= 120
    assert format_text(f"[[known]]\nid = {text}\n") == f"[[known]]\nid = {text}\n"


def test_an_entry_is_written_in_the_same_layout() -> None:
    shown = {"inputs": ["1.0"], "program": "func\nbody\n"}
    text = entry_text({"reason": "r", "op": "log", "id": "x", "counterexample": shown}, ["why"])
    assert text.startswith('# why\n[[known]]\nid = "x"\nop = "log"\nreason = "r"\n')
    assert format_text(text) == text


def test_the_command_formats_or_only_checks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run_command(*arguments: object) -> tuple[int, str, str]:
        given = ["expectations", "fmt", *map(str, arguments)]
        code = exit_code_of(lambda: app(given, standalone_mode=False))
        return code, *capfd.readouterr()

    file, wrong = tmp_path / "a.toml", tmp_path / "b.toml"
    text = '[[known]]\nop = "abs"\nid = "x"\nreason = "r"\n'
    file.write_text(text)
    wrong.write_text('[[known]]\nid = "x"\n')
    assert run_command(file, "--check") == (1, f"{file}: would change\n", "")
    assert file.read_text() == text
    assert run_command(file)[:2] == (0, f"{file}: formatted\n")
    assert file.read_text() == '[[known]]\nid = "x"\nop = "abs"\nreason = "r"\n'
    assert run_command(file, "--check") == (0, "", "")
    code, _, err = run_command(wrong)
    assert (code, "b.toml: entry 'x': 'op' is missing" in err) == (2, True)
    assert run_command(tmp_path / "nothing.toml")[0] == 2


def test_every_key_has_a_position_in_the_order() -> None:
    assert set(ORDER) == set(Expectation.__struct_fields__)

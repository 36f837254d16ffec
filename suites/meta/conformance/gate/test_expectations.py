"""Expectation files: what they know, what has become stale, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.gate.expectations import ExpectationError, known_by, load, read, stale
from conformance.verdict import Record, Verdict

VERSIONS = {"jaxlib": "0.10.2"}
ENTRY = """
[[known]]
id = "zeros"
op = "atan*"
element_types = ["complex<*>", "f32"]
verdicts = ["divergent"]
kinds = ["*zero*"]
reason = "The sign of zero is lost."
link = "https://example.org"
"""


def a_record(op="atan2", of="f32", verdict=Verdict.DIVERGENT, kind="signed zero", backend="cpu"):
    return Record(op, of, backend, 0, "", verdict, kind)


def written(tmp_path: Path, text: str, name: str = "known.toml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (a_record(), "zeros"),
        (a_record(of="complex<f64>"), "zeros"),
        (a_record(of="f64"), ""),
        (a_record(op="tan"), ""),
        (a_record(verdict=Verdict.INACCURATE), ""),
        (a_record(kind="NaN"), ""),
        (a_record(verdict=Verdict.PASS, kind=""), ""),
        (a_record(verdict=Verdict.UNSPECIFIED), ""),
    ],
)
def test_an_entry_knows_what_it_names(tmp_path: Path, record: Record, known: str) -> None:
    assert known_by(read(written(tmp_path, ENTRY)), record) == known


def test_what_is_left_out_means_everything_that_fails(tmp_path: Path) -> None:
    entry = '[[known]]\nid = "a"\nop = "*"\nreason = "broken"\n'
    found = read(written(tmp_path, entry))
    failing = [verdict for verdict in Verdict if verdict.fails]
    assert all(known_by(found, a_record(verdict=verdict)) == "a" for verdict in failing)
    assert not known_by(found, a_record(verdict=Verdict.UNSUPPORTED))


def test_an_entry_is_stale_when_its_cells_were_tested_and_nothing_matched(tmp_path: Path) -> None:
    found = read(written(tmp_path, ENTRY))
    cell, other = ("atan2", "f32", "cpu"), ("tan", "f32", "cpu")
    assert stale(found, [cell], [a_record()]) == []
    assert stale(found, [cell], [a_record(verdict=Verdict.PASS)]) == ["zeros"]
    assert stale(found, [other], []) == []


def test_entries_of_a_backend_stay_with_it(tmp_path: Path) -> None:
    written(tmp_path, ENTRY, "cpu.toml")
    found = load(str(tmp_path), ["cpu", "gpu"], VERSIONS)
    assert known_by(found, a_record()) == "zeros"
    assert known_by(found, a_record(backend="gpu")) == ""
    assert load(str(tmp_path), ["gpu"], VERSIONS) == ()


def test_entries_are_true_of_some_versions(tmp_path: Path) -> None:
    old = written(tmp_path, ENTRY + 'versions = "<0.11"\n')
    assert load(str(old), ["cpu"], VERSIONS)
    assert not load(str(old), ["cpu"], {"jaxlib": "0.12.0.1"})


def test_none_means_no_expectations_and_the_default_is_what_is_shipped() -> None:
    assert load("none", ["cpu"], VERSIONS) == ()
    for expectation in load(None, ["cpu", "gpu", "tpu", "reference"], VERSIONS):
        assert expectation.reason.endswith(".")


def test_a_faulty_reference_has_no_expectations_of_its_own() -> None:
    assert load(None, ["reference:hang"], VERSIONS) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[known]\n", "not a TOML file"),
        ("\xff", "not a TOML file"),
        ("[[entries]]\n", "unknown key 'entries'"),
        ("known = 3", "must be tables"),
        ("known = [3]", "must be tables"),
        (ENTRY + "reasons = 'x'", "unknown key 'reasons'"),
        (ENTRY + "versions = 3", "'versions' must be a string"),
        (ENTRY + "versions = 'old'", "names no versions"),
        (ENTRY.replace('["divergent"]', '"divergent"'), "must be a list"),
        (ENTRY.replace('["divergent"]', "[]"), "must be a list"),
        (ENTRY.replace("divergent", "pass"), "no failing verdict 'pass'"),
        (ENTRY.replace("atan*", "atam*"), "no op 'atam*'"),
        (ENTRY.replace('"f32"', '"f33"'), "no element type 'f33'"),
        (ENTRY.replace('reason = "The sign of zero is lost."', ""), "'reason' is missing"),
        (ENTRY + ENTRY, "given twice"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "known.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ExpectationError) as caught:
        load(str(path), ["cpu"], VERSIONS)
    assert said in str(caught.value)
    assert "known.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ExpectationError, match="cannot read expectations"):
        load(str(tmp_path / "nothing.toml"), ["cpu"], VERSIONS)

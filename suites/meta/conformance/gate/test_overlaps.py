"""Entries that match the same failures: shadowed, overlapping and separate entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from conformance.cli import app, exit_code_of
from conformance.gate.expectations import WITH_RESULTS, Expectation
from conformance.gate.overlaps import overlap_line, overlaps
from conformance.gate.reading import load
from conformance.results.versions import versions

WIDE = Expectation("wide", ("log*",), "r", ("f*",), ("divergent", "inaccurate"), ("*zero*",))
CRASH = Expectation("crash", ("sort",), "r", verdicts=("crashed",), words=("size > 0",))


def overlaps_of(earlier: Expectation, **changes: object) -> str:
    """Return the overlaps of an entry that differs from the earlier entry by these changes."""
    later = structs.replace(earlier, id="later", **changes)
    seen = list(overlaps([earlier, later]))
    return "" if not seen else "shadowed" if seen[0].is_shadowed else "overlaps"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "shadowed"),
        ({"op": ("log", "log_plus_one")}, "shadowed"),
        ({"op": ("log", "sine")}, "overlaps"),
        ({"op": ("sine",)}, ""),
        ({"op": ("log + sine",)}, "shadowed"),  # as a name it matches "log*"
        ({"op": ("sine + log",)}, ""),
        ({"element_types": ("f32",)}, "shadowed"),
        ({"element_types": ("*",)}, "overlaps"),
        ({"element_types": ("complex<*>",)}, ""),
        ({"verdicts": ("divergent",)}, "shadowed"),
        ({"verdicts": WITH_RESULTS}, "overlaps"),
        ({"verdicts": ("flushed",)}, ""),
        ({"kinds": ("signed zero",)}, "shadowed"),
        ({"kinds": ("*",)}, "overlaps"),
        ({"kinds": ("sign*",)}, "overlaps"),
        ({"kinds": ("NaN",)}, ""),
        ({"backends": ("cpu",)}, "shadowed"),
        ({"max_ulp": 8.0}, "shadowed"),
        ({"words": ("expected",)}, "shadowed"),
    ],
)
def test_an_entry_is_shadowed_if_an_earlier_one_matches_all_its_failures(
    changes: dict[str, object], said: str
) -> None:
    assert overlaps_of(WIDE, **changes) == said


def test_an_entry_of_smaller_errors_overlaps_with_one_of_all() -> None:
    assert overlaps_of(structs.replace(WIDE, max_ulp=8.0), max_ulp=16.0) == "overlaps"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"words": ("Check failed: size > 0",)}, "shadowed"),
        ({"words": ("size > 0", "other")}, "overlaps"),
        ({"words": ("other",)}, ""),
        ({"where": ("dimension = 1",)}, "overlaps"),  # it knows what ends without a word, too
    ],
)
def test_texts_are_compared_as_parts_of_each_other(changes: dict[str, object], said: str) -> None:
    assert overlaps_of(CRASH, **changes) == said


def test_pairs_of_shipped_entries_are_not_reported() -> None:
    later = structs.replace(WIDE, id="later")
    third = structs.replace(WIDE, id="third", op=("log", "sine"))
    assert [one.later for one in overlaps([WIDE, later, third])] == ["later", "third"]
    assert [one.earlier for one in overlaps([WIDE, later, third], {"wide", "later"})] == [
        ("wide", "later")
    ]
    assert overlap_line(()) == ""
    assert overlap_line(list(overlaps([WIDE, later, third]))).startswith(
        "expectations: 1 entry is shadowed by an earlier entry, 1 entry is overlapping with"
    )


def test_shadowed_entries_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    entry = '[[known]]\nid = "{}"\nop = "{}"\nreason = "r"\n'
    (tmp_path / "a.toml").write_text(entry.format("a", "subtract") + entry.format("b", "abs"))
    (tmp_path / "b.toml").write_text(entry.format("c", "subtract") + entry.format("d", "cosine"))
    given = ["--expectations", str(tmp_path / "a.toml"), "--expectations",
             str(tmp_path / "b.toml"), "--backend", "reference"]  # fmt: skip

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = exit_code_of(lambda: app([*arguments, *given], standalone_mode=False))
        return code, *capfd.readouterr()

    code, out, err = run_command("expectations", "check", "--jobs", "1")
    assert code == 4
    assert err.splitlines()[0].startswith("c: shadowed by a, which comes first and matches all")
    assert len(out.splitlines()) == 4
    assert len(err.splitlines()) == 2
    _, out, _ = run_command("expectations", "check", "c", "--jobs", "1", "--format", "json")
    assert '"shadowed_by": ["a"]' in out
    run = ("run", "--op", "subtract", "--element-type", "f32", "--profile", "smoke", "--jobs", "1")
    code, _, err = run_command(*run, "--out", str(tmp_path / "out"))
    assert code == 0
    assert (
        "expectations: 1 entry is shadowed by an earlier entry; `hlo-conformance expectations"
        in (" ".join(err.split()))
    )


@pytest.mark.parametrize("jaxlib", ["0.10.2", "0.12.0.1"])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_no_shipped_entry_is_shadowed(backend: str, jaxlib: str) -> None:
    entries = load(None, [backend], versions() | {"jaxlib": jaxlib})
    assert entries
    assert [str(one) for one in overlaps(entries) if one.is_shadowed] == []

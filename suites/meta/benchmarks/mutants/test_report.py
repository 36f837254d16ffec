"""Scores of mutants: wrong mutants, mutants that a profile detects, and survivors."""

from __future__ import annotations

import json

from benchmarks.mutants.measuring import OTHERS, Fate, MeasuredMutant, Part
from benchmarks.mutants.report import fates, format_survivor, mutant_json, survivors, table

PROFILES = ("smoke", "standard")


def mutant(
    op: str = "add",
    fate: Fate = Fate.WRONG,
    caught: tuple[str, ...] = (),
    part: Part = Part.EVALUATION,
) -> MeasuredMutant:
    return MeasuredMutant(
        op, part, "file#1", "file:1", "kind", "told", fate, caught, "why", "shown"
    )


FOUND = [
    mutant(caught=("smoke", "standard")),
    mutant(caught=("standard",)),
    mutant(caught=(OTHERS,)),
    mutant(),
    mutant(fate=Fate.PERMITTED),
    mutant("fft", caught=("standard",)),
]


def row(name: str, text: str) -> list[str]:
    (line,) = [one for one in text.splitlines() if one.split()[0] == name]
    return line.split()[1:]


def test_shares_are_of_wrong_mutants() -> None:
    text = table(FOUND, PROFILES)
    assert row("add", text) == ["5", "1", "4", "1/4", "25", "%", "2/4", "50", "%", "3/4", "75", "%"]
    assert row("all", text)[:3] == ["6", "1", "5"]
    assert row("all", text)[3:5] == ["1/5", "20"]
    assert row("arithmetic", text) == row("add", text)


def test_each_part_has_a_table() -> None:
    both = table([*FOUND, mutant(part=Part.CONSTRAINTS)], PROFILES)
    assert both.count("mutants of what") == 2
    assert both.startswith("evaluation")


def test_an_op_without_wrong_mutants_has_no_share() -> None:
    assert "0/0" in table([mutant(fate=Fate.EQUAL)], PROFILES)


def test_every_fate_is_counted() -> None:
    lines = fates(FOUND).splitlines()
    assert len(lines) == len(Fate)
    assert [line.split()[0] for line in lines if Fate.WRONG.value in line] == ["5"]


def test_survivors_are_wrong_and_not_detected_by_the_op_itself() -> None:
    assert survivors(FOUND, "smoke") == FOUND[1:4] + FOUND[5:]
    assert survivors(FOUND, "standard") == FOUND[2:4]


def test_a_survivor_as_text_and_as_json() -> None:
    assert format_survivor(FOUND[2]).endswith(f"why, caught by {OTHERS}\n")
    assert format_survivor(FOUND[3]) == "add: told\n  shown by shown\n    why\n"
    made = json.loads(json.dumps(mutant_json(FOUND[0])))
    assert (made["part"], made["fate"]) == ("evaluation", "wrong")

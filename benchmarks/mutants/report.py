"""Scores of mutants by family and op, and the survivors, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.mutants.measuring import OTHERS, Fate, MeasuredMutant, Part
from conformance.catalog import CATALOG


def table(measured: Sequence[MeasuredMutant], profiles: Sequence[str]) -> str:
    """Return a line per op and per family, one table for each part of the reference."""
    return "\n\n".join(
        "\n".join(_table(part, [m for m in measured if m.part is part], profiles))
        for part in Part
        if any(m.part is part for m in measured)
    )


def _table(part: Part, measured: Sequence[MeasuredMutant], profiles: Sequence[str]) -> list[str]:
    heads = (*profiles, f"{profiles[-1]}, any op")
    lines = [
        f"{part.value + ': mutants of what':38}{'tried':>7}{'permitted':>11}{'wrong':>7}"
        + "".join(f"{head:>19}" for head in heads)
    ]
    families = dict.fromkeys(CATALOG[m.op].family for m in measured)
    for family in families:
        inside = [m for m in measured if CATALOG[m.op].family == family]
        for op in dict.fromkeys(m.op for m in inside):
            lines.append(_line(f"  {op}", [m for m in inside if m.op == op], profiles))
        lines.append(_line(family, inside, profiles))
    return [*lines, _line("all", measured, profiles)]


def _line(name: str, measured: Sequence[MeasuredMutant], profiles: Sequence[str]) -> str:
    wrong = [m for m in measured if m.fate is Fate.WRONG]
    counts = [sum(profile in m.caught for m in wrong) for profile in profiles]
    counts.append(sum(profiles[-1] in m.caught or OTHERS in m.caught for m in wrong))
    shown = "".join(
        f"{f'{count}/{len(wrong)} {100 * count / max(len(wrong), 1):.0f} %':>19}"
        for count in counts
    )
    permitted = sum(m.fate is Fate.PERMITTED for m in measured)
    return f"{name:38}{len(measured):7}{permitted:11}{len(wrong):7}{shown}"


def fates(measured: Sequence[MeasuredMutant]) -> str:
    """Return the number of mutants of each fate."""
    counts = ((fate, sum(m.fate is fate for m in measured)) for fate in Fate)
    return "\n".join(f"{count:6}  {fate.value}" for fate, count in counts)


def survivors(measured: Sequence[MeasuredMutant], profile: str) -> list[MeasuredMutant]:
    """Return the wrong mutants that the op's own cells do not detect in this profile."""
    return [m for m in measured if m.fate is Fate.WRONG and profile not in m.caught]


def format_survivor(one: MeasuredMutant) -> str:
    """Return a survivor as text: position, change, and an input that shows it."""
    caught = f", caught by {' and '.join(one.caught)}" if one.caught else ""
    return f"{one.op}: {one.told}\n  shown by {one.shown_by}\n    {one.why[:300]}{caught}\n"


def mutant_json(one: MeasuredMutant) -> dict[str, Any]:
    """Return a mutant as a JSON object."""
    return {**asdict(one), "part": one.part.value, "fate": one.fate.name.lower()}

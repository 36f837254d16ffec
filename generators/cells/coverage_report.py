"""The report on the coverage of an op's cases."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """The coverage of an op's cases: how much of the builders' offers they reach.

    `values` counts covered values of dimensions, per column, `declared_values` all values.
    `out_of_reach` counts values that were aimed at without success: they are invalid there, or
    depend on unnamed choices. `pairs` counts pairs of values covered in any column. `missing` lists
    values and pairs that are not covered, even if out of reach. `dimensions` maps each dimension to
    the number of values covered in any column, and the number of all values.
    """

    values: int
    declared_values: int
    out_of_reach: int
    pairs: int
    declared_pairs: int
    missing: tuple[str, ...] = ()
    dimensions: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


MOST_NAMED = 20
"""Number of missing values and pairs that a report names."""

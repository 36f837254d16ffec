"""The files of a sweep: its results, and the largest error at each position of the axis."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from conformance.outputs.schema import json_text
from conformance.outputs.sweep import Sweep
from conformance.sweep.judging import axis_shift
from conformance.sweep.runner import SweepResult
from reference.ir.types import ElementType, bits_dtype, from_bits
from reference.numerics.rounding import to_float64

SUMMARY = "sweep.json"
"""The name of the file with the results of a sweep."""

AXIS = "axis.json"
"""The name of the file with errors by argument: for each function, pairs (argument, error)."""


def save(swept: SweepResult, result: Sweep, folder: Path) -> None:
    """Write the files of a sweep into its folder."""
    _replace(folder / SUMMARY, json_text(result))
    axes = {
        domain.function.name: _axis(outcome.axis, domain.function.operand_type)
        for domain, outcome in zip(swept.plan.domains, swept.outcomes, strict=True)
        if domain.is_mirrored and outcome.axis
    }
    _replace(folder / AXIS, json.dumps(axes) + "\n")


def _axis(errors: object, element_type: ElementType) -> list[tuple[float, float]]:
    """Return the axis as (argument, error) pairs by value; the argument is the smallest in
    magnitude.
    """
    assert isinstance(errors, dict)
    shift = axis_shift(element_type)
    places = np.array(sorted(errors), bits_dtype(element_type))
    arguments = to_float64(from_bits(places << shift, element_type)).tolist()
    pairs = [(x, float(errors[int(p)])) for x, p in zip(arguments, places.tolist(), strict=True)]
    return sorted(pair for pair in pairs if np.isfinite(pair[0]))


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: a reader finds either the old or the new content."""
    before = path.with_name(path.name + ".new")
    before.write_text(text, encoding="utf-8")
    before.replace(path)

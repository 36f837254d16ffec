"""Programs whose processes wait for each other for ever if their groups are misread."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.campaign.tasks import Task, explain_timeout
from conformance.catalog import Cell
from conformance.gate.counterexamples import parse_inputs
from conformance.gate.reading import load
from conformance.known.programs import predicted_deadlock
from conformance.known.xla.processes.misread_groups import DEVICE_IDS
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.errors import DeadlockError
from reference.ir.types import ELEMENT_TYPES

(ENTRY,) = (one for one in load(None, ("cpu",), versions()) if one.id == "mesh-device-ids-deadlock")
assert ENTRY.counterexample is not None
TEXT = ENTRY.counterexample.program
GROUPED = TEXT.replace("[true, false, false, true]", "[true, false, true, false]")
"""Processes 0 and 2 execute the operation: a group if the ids are ignored, and none if not."""


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (TEXT, DEVICE_IDS),
        (TEXT.replace("[true, false, false, true]", "true"), ""),
        (TEXT.replace("[3, 2, 0, 1]", "[0, 1, 2, 3]"), ""),
        (GROUPED, ""),
    ],
    ids=["half of the processes", "all processes", "natural order", "a group by position"],
)
def test_processes_of_other_groups_wait_for_each_other(text: str, label: str) -> None:
    program = parse_module(text)
    inputs = parse_inputs(program, ("1.0", "2.0", "3.0", "4.0"))
    assert predicted_deadlock(program, inputs, Hardware.CPU) == label


def test_a_deadlock_has_an_error_of_its_own() -> None:
    program = parse_module(GROUPED)
    with pytest.raises(DeadlockError, match="waits for"):
        evaluate(program, [np.ones(1, np.float32)] * 4)


def test_a_program_of_one_process_is_not_explained() -> None:
    task = Task(Cell("add", ELEMENT_TYPES["f32"], "reference"), 0, 0, 1)
    assert explain_timeout(task, "no answer within 20 s") is None

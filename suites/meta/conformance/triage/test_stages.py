"""The step of a compiler that goes wrong lies between the last right and the first wrong stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.compiled.stages import Stage
from conformance.backends.session import open_session
from conformance.triage.stages import Culprit, Step, culprit_among, find_culprit
from suites.meta.support.small_programs import array, op_program, tensor_of

NAMES = ["", "a", "b", "c", "d", "e", "f", ""]
STAGES = [Stage(name, "pipeline", Path(str(n))) for n, name in enumerate(NAMES)]


def culprit(answers: str) -> tuple[Culprit | None, int]:
    """Return the culprit among stages that are right (r), wrong (w) or not evaluated (?)."""
    asked: list[Stage] = []

    def is_right(stage: Stage) -> bool | None:
        asked.append(stage)
        return {"r": True, "w": False, "?": None}[answers[STAGES.index(stage)]]

    return culprit_among(STAGES[: len(answers)], is_right), len(asked)


@pytest.mark.parametrize(
    ("answers", "name", "others"),
    [
        ("rwwwwwww", "a", ()),
        ("rrrrwwww", "d", ()),
        ("rrrrrrwr"[:7], "f", ()),
        ("rr??wwww", "d", ("b", "c")),
        ("?r?w?www", "c", ("b",)),
    ],
)
def test_the_pass_before_the_first_wrong_stage(
    answers: str, name: str, others: tuple[str, ...]
) -> None:
    found, _ = culprit(answers)
    assert found == Culprit(Step.PASS, name, "pipeline", others)


def test_few_stages_are_evaluated() -> None:
    _, asked = culprit("rrrrrrrw")
    assert asked <= 5


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("rrrrrrrr", Culprit(Step.CODE_GENERATION)),
        ("rwwwwwwr", Culprit(Step.CODE_GENERATION)),
        ("wwwwwwww", Culprit(Step.TRANSLATION)),
        ("?wwwwwww", None),
        ("rrrrwww?", None),
        ("", None),
    ],
)
def test_step_without_pass_is_named(answers: str, expected: Culprit | None) -> None:
    assert culprit(answers)[0] == expected


def test_culprit_lists_the_alternatives() -> None:
    assert str(Culprit(Step.PASS, "algsimp", "simplification", ("cse",))) == (
        "rewriting: pass algsimp of pipeline simplification changes the meaning, or one of cse, "
        "after which the module cannot be evaluated"
    )


def test_results_that_no_pass_explains_are_of_code_generation() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    inputs = (array([1.0, 2.0]),)
    session = open_session("cpu")
    wrong, right = [array([1.0, 2.0])], [array([-1.0, -2.0])]
    assert find_culprit(session, program, inputs, wrong, 5.0) == Culprit(Step.CODE_GENERATION)
    assert find_culprit(session, program, inputs, right, 5.0) is None


def test_a_backend_without_a_compiler_has_no_stages() -> None:
    program = op_program("negate", [tensor_of(2)], tensor_of(2))
    inputs, wrong = (array([1.0, 2.0]),), [array([1.0, 2.0])]
    assert (
        find_culprit(open_session("reference:low_precision"), program, inputs, wrong, 5.0) is None
    )

"""The step of a compiler that goes wrong lies between the last right and the first wrong stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.backends.compiled.stages import Stage
from conformance.backends.session import open_session
from conformance.localize import culprit as stages
from conformance.localize.culprit import Culprit, Step, culprit_among, find_culprit
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


NEGATION = op_program("negate", [tensor_of(2)], tensor_of(2))
NUMBERS = (array([1.0, 2.0]),)
WRONG = [array([1.0, 2.0])]


def test_right_optimised_module_needs_no_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session("cpu")
    assert next(session.run(NEGATION, [NUMBERS]))
    module = session.optimised_module(NEGATION)
    monkeypatch.setattr(stages, "dumped_stages", lambda *_: pytest.fail("compiled again"))
    by_code = Culprit(Step.CODE_GENERATION)
    assert find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0) == by_code
    other = open_session("cpu")
    assert find_culprit(other, NEGATION, NUMBERS, WRONG, 5.0, optimised=module) == by_code


def test_stages_are_evaluated_if_the_optimised_module_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, copy = open_session("cpu"), op_program("abs", [tensor_of(2)], tensor_of(2))
    assert next(session.run(copy, [NUMBERS]))
    module = session.optimised_module(copy)
    asked: list[object] = []
    monkeypatch.setattr(stages, "dumped_stages", lambda *given: asked.append(given) or [])
    assert find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0, optimised=module) is None
    assert len(asked) == 1


def test_a_failure_of_one_operation_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "judge_operation", lambda *_: pytest.fail("judged again"))
    session = open_session("cpu")
    found = find_culprit(session, NEGATION, NUMBERS, WRONG, 5.0, is_failure=True)
    assert found == Culprit(Step.CODE_GENERATION)
    right = [array([-1.0, -2.0])]
    assert find_culprit(session, NEGATION, NUMBERS, right, 5.0, is_failure=True) is None

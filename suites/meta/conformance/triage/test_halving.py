"""Long programs are bisected until the faulty part can be judged operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from conformance.checking.settings import CheckedFile
from conformance.gate.expectations import Expectation
from conformance.stablehlo.parse import parse_module
from conformance.triage import audit, halving
from conformance.triage.halving import SHORT, Bisection, Stretch
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array
from suites.meta.support.faults.changed_backend import Change, compose_changes

LENGTH = 1000
OPS = ("negate", "abs")


def chain(length: int, ops: Sequence[str] = OPS, unused: int = 0) -> str:
    """Return a chain of operations; a select ignores operation `unused`, if it is not 0."""
    lines = [
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {",
        "  %no = stablehlo.compare NE, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>",
    ]
    last = "x"
    for number in range(length):
        op = ops[number % len(ops)]
        lines.append(f"  %v{number} = stablehlo.{op} %{last} : tensor<3xf32>")
        if unused and number == unused:
            lines.append(
                f"  %u = stablehlo.select %no, %v{number}, %x : tensor<3xi1>, tensor<3xf32>"
            )
            last = "u"
        else:
            last = f"v{number}"
    return "\n".join([*lines, f"  return %{last} : tensor<3xf32>", "}"])


def wrong_at(number: int, program: Program) -> Change:
    """Return the change that makes the results of operation `number` of main wrong."""
    name = program.main.body.operations[number].results[0].name

    def change(_: Program, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if not operation.results or operation.results[0].name != name:
            return results
        return tuple(one + np.float32(0.25) for one in results)

    return change


X = np.array([0.25, 1.0, -2.0], np.float32)


def narrow_stretch(program: Program, change: Change) -> tuple[Stretch | None, int]:
    """Yield the stretch that is found, and how many runs that took."""
    count = 0

    def run(whole: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        nonlocal count
        for inputs in sets:
            count += 1
            yield list(evaluate(whole, inputs, on_result=lambda o, r: change(whole, o, r)))

    (actual,) = run(program, [[X]])
    count = 0
    whole = Stretch(program, (X,), tuple(actual))
    return Bisection(run, "cpu", Verdict.INACCURATE).narrow(whole), count


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 500, 998])
def test_a_thousand_operations_take_about_ten_runs(number: int) -> None:
    program = parse_module(chain(LENGTH))
    stretch, count = narrow_stretch(program, wrong_at(number, program))
    assert stretch is not None
    names = [one.results[0].name for one in stretch.program.main.body.operations[:-1]]
    assert program.main.body.operations[number].results[0].name in names
    assert len(names) <= SHORT
    assert count <= 10


def test_half_with_unused_wrong_value_is_skipped() -> None:
    program = parse_module(chain(200, unused=20))
    (early,) = (
        n for n, one in enumerate(program.main.body.operations) if one.name == "select"
    )  # the operation before it is the one that nothing uses
    change = compose_changes(wrong_at(early - 1, program), wrong_at(150, program))
    stretch, _ = narrow_stretch(program, change)
    assert stretch is not None
    assert program.main.body.operations[150] in stretch.program.main.body.operations
    assert program.main.body.operations[early - 1] not in stretch.program.main.body.operations


def test_fault_of_whole_program_only_is_not_narrowed() -> None:
    program = parse_module(chain(150))

    def change(whole: Program, operation: Operation, results: Any) -> Any:
        is_whole = len(whole.main.body.operations) > 150
        return wrong_at(150, program)(whole, operation, results) if is_whole else results

    assert narrow_stretch(program, change)[0] is None


def test_short_program_is_not_narrowed() -> None:
    program = parse_module(chain(SHORT - 1))
    assert narrow_stretch(program, wrong_at(5, program)) == (None, 0)


@pytest.fixture
def on(on: Callable[..., CheckedFile], monkeypatch: pytest.MonkeyPatch) -> Any:
    def check(text: str, change: Change, *known: Expectation) -> CheckedFile:
        for module in (audit, halving):  # so that not all values can be shown at once
            monkeypatch.setattr(module, "MOST_ELEMENTS", 100)
        return on(text, {"x": X}, change, *known)

    return check


@pytest.mark.slow
def test_the_operation_is_named_and_known(on: Any) -> None:
    text = chain(120, ("negate", "abs", "tanh", "negate"))
    program = parse_module(text)
    number = next(n for n in range(90, 121) if program.main.body.operations[n].name == "tanh")
    change = wrong_at(number, program)
    found = on(text, change)
    assert found.verdict is Verdict.DIVERGENT
    assert f"tanh %v{number - 1}" in found.operation
    known = Expectation("off", ("tanh",), "It is off.", verdicts=("divergent", "inaccurate"))
    found = on(text, change, known)
    assert found.known == ("off",)

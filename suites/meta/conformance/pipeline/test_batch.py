"""Batches: programs joined to modules, and taken apart after a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Failed
from conformance.backends.session import Session, open_session
from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.pipeline.batch import REPEATS, Batcher, run_all
from conformance.pipeline.items import Item
from conformance.pipeline.splitting import (
    BatchCall,
    SplitCall,
    answers_of,
    run_in_parts,
)
from generators.case.case import Case
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate, split_by_process
from reference.ir.mesh import MeshGroups
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.workers import Workers

F32 = ELEMENT_TYPES["f32"]


def _mesh(case: Case) -> object:
    groups = case.program.subject.attribute("replica_groups")
    return (groups.mesh, groups.device_ids) if isinstance(groups, MeshGroups) else None


def test_modules_are_of_one_grid_and_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        case for column in (F32, ELEMENT_TYPES["si32"], ELEMENT_TYPES["ui8"])
        for case in cases("all_gather", column, 0, 60)
        if case.program.subject.name == "all_gather" and case.program.process_grid == (8, 1)
    ]  # fmt: skip
    wanted = {_mesh(one) for one in made}
    assert len(made) > len(wanted) > 2, (len(made), wanted)
    prepared: list[Item] = []
    for index, one in enumerate(made):
        inputs = materialise(one.program, one.inputs[0])
        prepared.append(Item(index, one.program, [inputs], [evaluate(one.program, inputs)]))
    modules: list[list[int]] = []
    run = Batcher.run

    def note_and_run(self: Batcher, group: list[Item]) -> object:
        modules.append([one.index for one in group])
        return run(self, group)

    monkeypatch.setattr(Batcher, "run", note_and_run)
    run_all(Batcher(open_session("reference")), [prepared[::2], prepared[1::2]])
    assert sorted(number for module in modules for number in module) == list(range(len(made)))
    assert len(modules) == len(wanted)
    assert all(len({_mesh(made[number]) for number in module}) == 1 for module in modules)


_OF = TensorType((2,), ELEMENT_TYPES["f32"])


class _Refusing:
    """A backend that refuses an op, and says so in some words; it counts modules."""

    name = "cpu"

    def __init__(self, op: str, words: str) -> None:
        self.op, self.words, self.sizes = op, words, list[int]()

    def refusal(self, program: Program) -> None:
        pass

    def compile(self, text: str, program: Program) -> Any:
        del text
        names = [operation.name for operation in program.walk()]
        self.sizes.append(len(program.main.result_types))
        if self.op in names:
            raise Failed(self.words)
        return _Executable(program)

    def batcher(self, repeats: int = REPEATS) -> Batcher:
        return Batcher(Session(self), repeats=repeats)  # type: ignore[arg-type]


class _Executable:
    def __init__(self, program: Program) -> None:
        self.program = program

    def execute(self, inputs: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        flat = tuple(array for share in inputs for array in share)
        return split_by_process(self.program, evaluate(self.program, flat))


def _items(*ops: str) -> list[Item]:
    found: list[Item] = []
    for number, op in zip(count(), ops):
        program = single_op(op, (Value("x", _OF),), (_OF,))
        inputs = (np.array([number, 0.5], np.float32),)
        found.append(Item(number, program, [inputs], [tuple(evaluate(program, inputs))]))
    return found


def test_permutes_among_replicas_and_among_partitions_are_in_different_modules() -> None:
    """XLA's compiler for GPUs combines them (pass collective-permute-combiner)."""
    items: list[Item] = []
    for index, channel in enumerate((0, 1, 0)):
        of = TensorType((2,), ELEMENT_TYPES["f32"])
        pairs = Dense.of(np.array([[0, 1]]), TensorType((1, 2), ELEMENT_TYPES["si64"]))
        given: dict[str, Any] = {"source_target_pairs": pairs, "channel_id": channel}
        program = single_op("collective_permute", (Value("x", of),), (of,), given)
        program = replace(program, process_grid=(2, 2))
        inputs = tuple(np.zeros(2, np.float32) for _ in range(4))
        items.append(Item(index, program, [inputs], [tuple(evaluate(program, inputs))]))
    backend = _Refusing("", "")
    run_all(backend.batcher(), [items])
    assert backend.sizes == [2, 1]


@pytest.mark.parametrize(
    ("words", "most"),
    [("'stablehlo.cosine' op can't be translated", 4), ("HLO opcode `cosine` is not there", 4),
     ("no", 11)],
)  # fmt: skip
def test_refused_item_is_found_by_message_or_by_halving(words: str, most: int) -> None:
    ops = ["abs", "sine", "cosine", "abs", "tan", "negate", "cosine", "sine"]
    backend = _Refusing("cosine", words)
    items = _items(*ops)
    (answers,), refused = run_all(backend.batcher(repeats=0), [items])
    assert not refused
    for item, answered in zip(items, answers, strict=True):
        if ops[item.index] == "cosine":
            assert isinstance(answered.answer, Failed)
        else:
            assert isinstance(answered.answer, list)
            (((got,),), ((want,),)) = answered.answer, item.expected
            assert got.tobytes() == want.tobytes()
    assert len(backend.sizes) <= most + 1


def test_a_batch_that_is_refused_as_a_whole_only_is_run_again() -> None:
    backend, items = _Refusing("", "no"), _items("abs", "sine", "abs")
    compiled = backend.compile

    def compile_few(text: str, program: Program) -> Any:
        if len(program.main.result_types) == len(items):
            raise Failed("too many")
        return compiled(text, program)

    backend.compile = compile_few  # type: ignore[method-assign]
    (answers,), (refused,) = run_all(backend.batcher(repeats=2), [items])
    assert all(isinstance(answer.answer, list) for answer in answers)
    assert (len(refused.items), refused.failed, refused.runs) == (3, 3, 3)


DIED = WorkerCrash("SIGSEGV")
SECONDS = 60.0


def call_of(name: str, seconds: float = SECONDS, **given: Any) -> BatchCall:
    """Return a call about programs, one for each letter of its name; its halves are its parts."""
    half = len(name) // 2
    parts = (name[:half], name[half:]) if half else (name,)
    return BatchCall(
        name, print, (name,), seconds,
        parts=lambda: [call_of(part, seconds / 2, **given) for part in parts], **given,
    )  # fmt: skip


class Made:
    """Calls made in workers without processes, and how those ended that were not split."""

    def __init__(self, value: Callable[[Call], Any], *names: str, **given: Any) -> None:
        self.notices: list[tuple[str, int, bool, int, int]] = []
        workers = Workers(value)
        calls = [call_of(name, **given) for name in names]
        ended = run_in_parts(workers, calls, self._note)  # type: ignore[arg-type]
        self.ends = [one for one in ended if one is not None]
        self.values = {end.call.name: end.value for end in self.ends}
        assert len(self.values) == len(self.ends)
        self.names = [one.name for one in workers.made]
        self.seconds = [one.timeout for one in workers.made]

    def _note(self, split: SplitCall) -> None:
        name = split.call.name
        self.notices.append((name, split.left, split.has_culprit, split.failed, split.runs))


def dies(*culprits: str, end: object = DIED) -> Callable[[Call], object]:
    """Return a function that ends calls with any of these letters badly, others with their name."""
    return lambda call: end if {*culprits} & {*call.name} else call.name


@pytest.mark.parametrize("lost", [DIED, WorkerTimeout(60.0)])
def test_one_program_that_loses_its_worker_is_found(lost: object) -> None:
    made = Made(dies("b", end=lost), "abcd", "ef")
    assert made.values == {"a": "a", "b": lost, "cd": "cd", "ef": "ef"}
    assert made.names == ["abcd", "ab", "cd", "a", "b", "ef"]
    assert made.notices == [
        ("abcd", 2, False, 1, 1), ("ab", 2, False, 1, 1), ("ab", 0, True, 1, 1),
        ("abcd", 0, True, 1, 1),
    ]  # fmt: skip


def test_two_programs_that_lose_their_worker_are_found() -> None:
    made = Made(dies("b", "c"), "abcd", repeats=[1.0])
    assert made.values == {"a": "a", "b": DIED, "c": DIED, "d": "d"}
    assert sorted(made.names) == sorted(["abcd", "ab", "cd", *"abcd", "b", "c"])
    assert all(runs == 1 for *_, runs in made.notices)


def test_programs_that_lose_their_worker_only_together_are_called_together_again() -> None:
    crashes = iter([True, False, True])
    made = Made(
        lambda call: DIED if len(call.name) == 4 and next(crashes) else call.name, "abcd",
        repeats=[5.0, 5.0],
    )  # fmt: skip
    assert made.values == {"ab": "ab", "cd": "cd"}
    assert made.names == ["abcd", "ab", "cd", "abcd", "abcd"]
    assert made.seconds == [60.0, 30.0, 30.0, 5.0, 5.0]
    assert made.notices == [
        ("abcd", 2, False, 1, 1), ("abcd", 0, False, 1, 1), ("abcd", 0, False, 1, 2),
        ("abcd", 0, False, 2, 3),
    ]  # fmt: skip


def test_an_error_splits_only_calls_that_say_so() -> None:
    error = KeyError("x")
    made = Made(dies("b", end=error), "ab", splits_errors=True, repeats=[5.0])
    assert made.values == {"a": "a", "b": error}
    assert made.names == ["ab", "a", "b"]
    whole = Made(dies("b", end=error), "ab", repeats=[5.0])
    assert (whole.values, whole.names) == ({"ab": error}, ["ab"])


def test_an_error_of_the_whole_only_is_noticed_and_not_repeated() -> None:
    made = Made(
        lambda call: KeyError("x") if len(call.name) > 1 else call.name, "ab",
        splits_errors=True, repeats=[5.0],
    )  # fmt: skip
    assert made.names == ["ab", "a", "b"]
    assert made.notices[-1] == ("ab", 0, False, 1, 1)


def test_a_part_that_is_lost_is_asked_about_in_another_worker() -> None:
    def value(call: Call) -> object:
        if call.arguments == ("asked",):
            return "answer"
        return DIED if "b" in call.name else call.name

    asked: list[object] = []

    def question(lost: object) -> Call:
        asked.append(lost)
        return Call("question", print, ("asked",), 1.0)

    made = Made(value, "ab", question=question)
    assert made.values == {"a": "a", "b": "answer"}
    assert asked == [DIED]
    assert made.notices[-1] == ("ab", 0, True, 1, 1)


def test_a_question_that_is_lost_too_leaves_the_first_end() -> None:
    ends = iter([WorkerCrash("end 1"), WorkerCrash("end 2")])
    made = Made(lambda _: next(ends), "b", question=lambda _: Call("question", print, (), 1.0))
    assert made.values == {"b": WorkerCrash("end 1")}
    assert made.names == ["b", "question"]


def test_answers_of_a_call() -> None:
    call = call_of("a")
    assert answers_of(CallEnd(call, ("x",)), lambda _: ()) == ("x",)
    assert answers_of(CallEnd(call, DIED), lambda lost: (lost.reason,)) == ("SIGSEGV",)
    with pytest.raises(KeyError):
        answers_of(CallEnd(call, KeyError("x")), lambda _: ())


STARVED = WorkerTimeout(60.0, waited=50.0)


@pytest.mark.parametrize("ends", [[STARVED], [STARVED, WorkerTimeout(60.0)], [STARVED, STARVED]])
def test_a_program_whose_worker_had_no_processor_is_called_again_by_itself(ends: list[Any]) -> None:
    left = list(ends)

    def value(call: Call) -> object:
        if call.name == "b":
            return left.pop(0) if left else "b"
        return WorkerTimeout(60.0) if "b" in call.name else call.name

    made = Made(value, "ab", "cd", "ef")
    assert made.names == ["ab", "a", "b", "cd", "ef", "b"]
    assert made.values["b"] == (ends[1] if len(ends) > 1 else "b")
    assert made.notices[-1] == ("ab", 0, len(ends) > 1, 1, 1)


def test_a_program_that_times_out_without_waiting_for_a_processor_is_not_postponed() -> None:
    made = Made(dies("b", end=WorkerTimeout(60.0, waited=20.0)), "ab", "cd")
    assert made.names == ["ab", "a", "b", "cd"]

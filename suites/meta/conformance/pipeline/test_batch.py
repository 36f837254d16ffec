"""Batches: which items are compiled as one module, and how a refused batch is split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Failed
from conformance.backends.session import Session, open_session
from conformance.pipeline.batch import REPEATS, Batcher, run_all
from conformance.pipeline.items import Item
from generators.case.case import Case
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate, split_by_process
from reference.ir.mesh import MeshGroups
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES

F32 = ELEMENT_TYPES["f32"]


def _mesh(case: Case) -> object:
    groups = case.program.subject.attribute("replica_groups")
    return (groups.mesh, groups.device_ids) if isinstance(groups, MeshGroups) else None


def test_modules_are_of_one_grid_and_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [
        one for column in (F32, ELEMENT_TYPES["si32"], ELEMENT_TYPES["ui8"])
        for one in cases("all_gather", column, 0, 60)
        if one.program.subject.name == "all_gather" and one.program.process_grid == (8, 1)
    ]  # fmt: skip
    wanted = {_mesh(one) for one in made}
    assert len(made) > len(wanted) > 2, (len(made), wanted)
    prepared: list[Item] = []
    for number, one in enumerate(made):
        inputs = materialise(one.program, one.inputs[0])
        prepared.append(Item(number, one.program, [inputs], [evaluate(one.program, inputs)]))
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
        names = [one.name for one in program.walk()]
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


def test_a_program_that_a_backend_separates_is_in_a_module_of_its_own() -> None:
    items: list[Item] = []
    for number, name in enumerate(("si64", "si32", "si64", "si32")):
        of = TensorType((1 + number,), ELEMENT_TYPES[name])
        program = single_op("divide", (Value("x", of), Value("y", of)), (of,))
        inputs = (np.full(of.shape, 9, of.storage), np.full(of.shape, 4, of.storage))
        items.append(Item(number, program, [inputs], [tuple(evaluate(program, inputs))]))
    for name, sizes in (("tpu-compile", [1, 2, 1]), ("cpu", [4])):
        backend = _Refusing("", "")
        backend.name = name
        run_all(backend.batcher(), [items])
        assert backend.sizes == sizes


def test_permutes_among_replicas_and_among_partitions_are_in_different_modules() -> None:
    """XLA's compiler for GPUs combines them (docs/findings.md)."""
    items: list[Item] = []
    for number, channel in enumerate((0, 1, 0)):
        of = TensorType((2,), ELEMENT_TYPES["f32"])
        pairs = Dense.of(np.array([[0, 1]]), TensorType((1, 2), ELEMENT_TYPES["si64"]))
        given: dict[str, Any] = {"source_target_pairs": pairs, "channel_id": channel}
        program = single_op("collective_permute", (Value("x", of),), (of,), given)
        program = replace(program, process_grid=(2, 2))
        inputs = tuple(np.zeros(2, np.float32) for _ in range(4))
        items.append(Item(number, program, [inputs], [tuple(evaluate(program, inputs))]))
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
    for one, answered in zip(items, answers, strict=True):
        if ops[one.index] == "cosine":
            assert isinstance(answered.answer, Failed)
        else:
            assert isinstance(answered.answer, list)
            (((got,),), ((want,),)) = answered.answer, one.expected
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
    assert all(isinstance(one.answer, list) for one in answers)
    assert (len(refused.items), refused.failed, refused.runs) == (3, 3, 3)

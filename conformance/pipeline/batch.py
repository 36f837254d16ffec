"""Batches: items compiled as one module, and split where the backend refuses the whole.

Every command that runs several programs at once does it here. A batch that crashes its *worker* is
split in `splitting.py`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Generic, TypeVar

from conformance.backends.base import BackendError, Unsupported
from conformance.backends.session import Session
from conformance.pipeline.items import Item, ItemAnswer, Results, Unwritable
from conformance.stablehlo.emit import EmitError
from reference.ir.program import Program

REPEATS = 3
"""Default number of further runs of a failing item, which show whether it fails every time."""

_Item = TypeVar("_Item", bound=Item)

_WORD = re.compile(r"[a-z][a-z0-9_-]{3,}")
"""Matches possible names of ops in a message, in StableHLO's spelling or HLO's. Shorter names are
English words, too.
"""


@dataclass(frozen=True, slots=True)
class StopWatch:
    """A watch that adds up the seconds spent on each part of `Timing`."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def measure(self, part: str) -> Generator[None]:
        """Count the block's seconds towards a part of `Timing`."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Batcher:
    """Compiles and runs batches in a session. Open the session with `watch.measure` to time it."""

    session: Session
    watch: StopWatch = field(default_factory=StopWatch)
    repeats: int = REPEATS
    """Number of further runs of a failing item, or of a batch that fails only as a whole."""
    reruns: dict[int, list[list[Results] | BackendError]] = field(
        default_factory=dict[int, "list[list[Results] | BackendError]"]
    )
    """Answers to batches that were run again, by the identity of the batch."""

    def run(self, batch: Sequence[Item]) -> list[Results]:
        """Compile the batch as one module and run it on every input set.

        Raises:
            EmitError: when a program cannot be written.
            BackendError: when the backend does not give results.
        """
        return self.session.run_batch([one.program for one in batch], [one.inputs for one in batch])

    def run_in_isolation(self, item: Item) -> list[Results]:
        """Compile a failing item in isolation and run each input set several times in succession.

        An item that a compiler without its device has already compiled in isolation is not compiled
        again.

        Returns:
            The results of the first run, of the second run, and so on.

        Raises:
            BackendError: when the backend does not give results.
        """
        compiled = self.session.compile_in_isolation(item.program)
        sets = [[compiled.run(inputs) for _ in range(self.repeats)] for inputs in item.inputs]
        return [list(results) for results in zip(*sets, strict=True)]

    def attempts(self, item: Item, count: int) -> list[Results | BackendError]:
        """Compile and run an item in isolation `count` times; an attempt that fails gives its
        error.
        """
        answers = (self.answer_to([item]) for _ in range(count))
        return [answer if isinstance(answer, BackendError) else answer[0] for answer in answers]

    def batch_again(self, batch: Sequence[Item], item: Item) -> list[Results | BackendError]:
        """Return the answers to an item in its batch, which is compiled and run again."""
        if id(batch) not in self.reruns:
            self.reruns[id(batch)] = [self.answer_to(batch) for _ in range(self.repeats)]
        number = next(at for at, one in enumerate(batch) if one is item)
        again = self.reruns[id(batch)]
        return [one if isinstance(one, BackendError) else one[number] for one in again]

    def answer_to(self, batch: Sequence[Item]) -> list[Results] | BackendError:
        """Return the results of each item of a batch, or the error of the backend."""
        try:
            return self.run(batch)
        except BackendError as error:
            return error


@dataclass(frozen=True, slots=True)
class RefusedBatch(Generic[_Item]):
    """Items that the backend refused as one module, in `failed` of `runs` runs, although it ran
    each of them in isolation.
    """

    items: Sequence[_Item]
    error: BackendError
    failed: int
    runs: int


def run_all(
    batcher: Batcher, groups: Sequence[Sequence[_Item]]
) -> tuple[list[list[ItemAnswer]], list[RefusedBatch[_Item]]]:
    """Run groups of items as one module where the backend compiles it, else in parts.

    The first parts are the groups. Items that the backend refuses without compilation are in no
    module. A module has items of one kind (`Session.batch_kind`).

    Returns:
        The answers to the items of each group, and the batches that were refused as a whole only.
    """
    split: _SplitBatch[_Item] = _SplitBatch(batcher)
    modules: dict[Hashable, list[list[_Item]]] = {}
    for group in groups:
        taken: dict[Hashable, list[_Item]] = {}
        for one in group:
            error = batcher.session.refusal(one.program)
            if error is None:
                taken.setdefault(batcher.session.batch_kind(one.program), []).append(one)
            else:
                split.answers[id(one)] = ItemAnswer(error, [one])
        for kind, part in taken.items():
            modules.setdefault(kind, []).append(part)
    for parts in modules.values():
        if len(parts) == 1:
            split.run(parts[0])
        else:
            split.run([one for part in parts for one in part], parts)
    return [[split.answers[id(one)] for one in group] for group in groups], split.refused


@dataclass(frozen=True, slots=True)
class _SplitBatch(Generic[_Item]):
    """Answers to items by the identity of the item, because items of different cells share
    indices.
    """

    batcher: Batcher
    answers: dict[int, ItemAnswer] = field(default_factory=dict[int, ItemAnswer])
    refused: list[RefusedBatch[_Item]] = field(default_factory=list["RefusedBatch[_Item]"])

    def run(self, batch: Sequence[_Item], parts: Iterable[Sequence[_Item]] | None = None) -> None:
        """Run items as one module; where the backend refuses it, run its parts.

        Without `parts`, they are chosen such that the items that the backend refuses are soon
        found.
        """
        try:
            results = self.batcher.run(batch)
        except EmitError as error:
            answer = Unwritable(str(error))
        except BackendError as error:
            answer = error
        else:
            pairs = zip(batch, results, strict=True)
            self.answers.update({id(one): ItemAnswer(given, batch) for one, given in pairs})
            return
        if len(batch) == 1:
            self.answers[id(batch[0])] = ItemAnswer(answer, batch)
            return
        before = len(self.refused)
        for part in parts or _split_by_message(batch, str(answer)) or self._one_by_one(batch):
            self.run(part)
        # the refusal of a part says more than that of the whole
        if len(self.refused) == before and not any(map(self._is_refused, batch)):
            self.refused.append(self._refused_batch(batch, answer))

    def _one_by_one(self, batch: Sequence[_Item]) -> Generator[Sequence[_Item]]:
        """Yield single items until one has results, because backends mostly refuse whole cells;
        then halves of the rest.
        """
        rest = batch
        while rest:
            first, rest = rest[0], rest[1:]
            yield [first]
            if not self._is_refused(first):
                break
        middle = (len(rest) + 1) // 2
        yield from filter(None, (rest[:middle], rest[middle:]))

    def _is_refused(self, item: _Item) -> bool:
        return isinstance(self.answers[id(item)].answer, BackendError)

    def _refused_batch(self, batch: Sequence[_Item], error: BackendError) -> RefusedBatch[_Item]:
        """Return a batch that was refused though no item was, with how often it is."""
        if isinstance(error, Unsupported):  # no failure, so it need not be repeated
            return RefusedBatch(batch, error, 1, 1)
        again = [self.batcher.answer_to(batch) for _ in range(self.batcher.repeats)]
        failed = 1 + sum(isinstance(one, BackendError) for one in again)
        return RefusedBatch(batch, error, failed, 1 + len(again))


def _split_by_message(batch: Sequence[_Item], message: str) -> list[list[_Item]]:
    """Return the items with an op that the message names, and the others; [] if all or none are."""
    words = {word.replace("-", "_") for word in _WORD.findall(message)}
    named = [one for one in batch if words & _op_names(one.program)]
    if len(named) in (0, len(batch)):
        return []
    are_named = set(map(id, named))
    return [named, [one for one in batch if id(one) not in are_named]]


def _op_names(program: Program) -> set[str]:
    return {operation.name.rpartition(".")[2] for operation in program.walk()}

"""Batches: prepared cases as one module on a backend, and each case's share of what comes back.

Where the backend refuses the whole, it is asked for parts, until each case has its own answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from conformance.backends.base import BackendError, Failed, Unsupported
from conformance.backends.session import EMISSION, Compiled, Session, open_session
from conformance.catalog import Cell
from conformance.tolerance.rule import Rule
from conformance.transforms.merge import merge
from reference.interpreter.evaluate import split_by_process
from reference.ir.mesh import MeshGroups
from reference.ir.processes import ProcessGrid
from reference.ir.program import Program
from reference.ir.types import Array

REPEATS = 3
"""How often a failing case is run again by default, to see whether it fails every time; and
compiled anew for that, where a compiler that folds constants may have read memory which is not
theirs."""

Inputs = tuple[Array, ...]
Results = list[list[Array]]
"""What a case gave: the results of each of its input sets."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case ready to run: its input sets, and what the reference makes of each.

    `expected` is empty of a case that is not judged, or not yet.
    """

    index: int
    program: Program
    inputs: list[Inputs]
    expected: list[Inputs]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a case went: its results or the backend's refusal, and the cases that ran with it."""

    outcome: Results | BackendError
    together: Sequence[Prepared]


@dataclass(frozen=True, slots=True)
class StopWatch:
    """The seconds that each part of `Timing` took."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def timed(self, part: str) -> Generator[None]:
        """Count the block's seconds towards a part of `Timing`."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Bench:
    """What the cases of a cell are run and judged with; the watch takes the session's time too."""

    session: Session
    rule: Rule
    watch: StopWatch
    repeats: int = REPEATS
    """How often a failing case is run again."""
    batches: dict[int, list[list[Results] | BackendError]] = field(
        default_factory=dict[int, "list[list[Results] | BackendError]"]
    )
    """What whole batches gave that were run again, by the identity of the batch."""

    def run(self, group: Sequence[Prepared]) -> list[Results]:
        """Compile the group as one module and run it on every input set.

        The k-th execution takes the k-th input set of each case, or the last of a case with fewer.

        Raises:
            BackendError: when the backend does not give results.
        """
        compiled = self.compile(group)
        results: list[Results] = [[] for _ in group]
        for turn in range(max(len(p.inputs) for p in group)):
            outputs = compiled.run(inputs_of(group, turn))
            _deal(outputs, group, turn, results)
        return results

    def run_alone(self, prepared: Prepared) -> list[Results]:
        """Compile a failing case alone and run each input set several times on end.

        Returns:
            The results of the first time, of the second time, and so on.

        Raises:
            BackendError: when the backend does not give results.
        """
        compiled = self.compile([prepared])
        sets = [[compiled.run(inputs) for _ in range(self.repeats)] for inputs in prepared.inputs]
        return [list(results) for results in zip(*sets, strict=True)]

    def attempts(self, prepared: Prepared, count: int) -> list[Results | BackendError]:
        """Compile and run a case in isolation so many times; a failed attempt is its error."""
        return [_attempt(self, [prepared])[0] for _ in range(count)]

    def batch_again(
        self, batch: Sequence[Prepared], prepared: Prepared
    ) -> list[Results | BackendError]:
        """Return what a case gives in its batch, which is compiled and run again for that."""
        if id(batch) not in self.batches:
            self.batches[id(batch)] = [_attempt_whole(self, batch) for _ in range(self.repeats)]
        number = next(at for at, one in enumerate(batch) if one is prepared)
        again = self.batches[id(batch)]
        return [one if isinstance(one, BackendError) else one[number] for one in again]

    def compile(self, group: Sequence[Prepared]) -> Compiled:
        """Compile the group as one module.

        Raises:
            EmitError: when a program of it cannot be written.
            BackendError: when the backend refuses it.
        """
        with self.watch.timed(EMISSION):
            program = group[0].program if len(group) == 1 else merge([p.program for p in group])
        return self.session.compile(program)


def _attempt_whole(bench: Bench, group: Sequence[Prepared]) -> list[Results] | BackendError:
    try:
        return bench.run(group)
    except BackendError as error:
        return error


def _attempt(bench: Bench, group: Sequence[Prepared]) -> list[Results | BackendError]:
    whole = _attempt_whole(bench, group)
    return [whole] * len(group) if isinstance(whole, BackendError) else [*whole]


def inputs_of(group: Sequence[Prepared], turn: int) -> Inputs:
    """The arguments of a batch: of each case its input set of that number, or its last.

    Those of a process come together, as they are the arguments of one main.
    """
    shares = [split_by_process(p.program, p.inputs[min(turn, len(p.inputs) - 1)]) for p in group]
    return tuple(
        array for process in zip(*shares, strict=True) for share in process for array in share
    )


def _deal(
    outputs: list[Array], group: Sequence[Prepared], turn: int, results: list[Results]
) -> None:
    """Share a batch's outputs out to its cases."""
    wanted = sum(_result_count(p) * p.program.process_count for p in group)
    if len(group) > 1 and len(outputs) != wanted:
        raise Failed(f"{wanted} results expected of the batch, got {len(outputs)}")
    dealt: list[list[Array]] = [[] for _ in group]
    for share in split_by_process(group[0].program, outputs):
        at = 0
        for prepared, mine in zip(group, dealt, strict=True):
            count = len(share) if len(group) == 1 else _result_count(prepared)
            mine += share[at : at + count]
            at += count
    for prepared, mine, kept in zip(group, dealt, results, strict=True):
        if turn < len(prepared.inputs):
            kept.append(mine)


def _result_count(prepared: Prepared) -> int:
    """Return how many results main has in each process."""
    return len(prepared.program.main.result_types)


def bench_of(cell: Cell) -> Bench:
    """A session of the cell's backend, with the rule of its op and a new stop-watch.

    Raises:
        NotAvailable: when the backend cannot be had.
    """
    watch = StopWatch()
    return Bench(open_session(cell.backend, watch.timed), cell.rule, watch)


@dataclass(frozen=True, slots=True)
class LostModule:
    """Cases that the backend refused together, in `failed` of `runs` runs, and each of which it
    took in isolation."""

    cases: Sequence[Prepared]
    error: BackendError
    failed: int
    runs: int


def run_all(
    bench: Bench, groups: Sequence[Sequence[Prepared]]
) -> tuple[list[list[Ran]], list[LostModule]]:
    """Run several groups of cases: as one module where the backend takes it, else group by group.

    Cases that it would refuse unseen are not even in the module; those of different process grids
    cannot be in the same, and those of different meshes are not: XLA reads the replica groups of
    all collectives in a module as if they were of one mesh.

    Returns:
        How the cases of each group went, and what the backend refused as a whole alone.
    """
    answers = _Answers(bench)
    modules: dict[_Devices, list[list[Prepared]]] = {}
    for group in groups:
        taken: dict[_Devices, list[Prepared]] = {}
        for one in group:
            error = bench.session.refusal(one.program)
            if error is None:
                taken.setdefault(_devices(one.program), []).append(one)
            else:
                answers.ran[id(one)] = Ran(error, [one])
        for devices, part in taken.items():
            modules.setdefault(devices, []).append(part)
    for parts in modules.values():
        if len(parts) == 1:
            answers.run(parts[0])
        else:
            answers.run([one for part in parts for one in part], parts)
    return [[answers.ran[id(one)] for one in group] for group in groups], answers.lost


_Devices = tuple[ProcessGrid | None, frozenset[tuple[object, ...]]]
"""The traits that programs in one module share: process grid, meshes with their device_ids."""


def _devices(program: Program) -> _Devices:
    stated = (value for one in program.walk() for _, value in one.attributes)
    meshes = ((of.mesh, of.device_ids) for of in stated if isinstance(of, MeshGroups))
    return program.process_grid, frozenset(meshes)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Outcomes of cases, by the identity of each: cases of different cells have the same index.

    `lost` are the modules that the backend refused as a whole alone.
    """

    bench: Bench
    ran: dict[int, Ran] = field(default_factory=dict[int, Ran])
    lost: list[LostModule] = field(default_factory=list[LostModule])

    def run(
        self, cases: Sequence[Prepared], parts: Iterable[Sequence[Prepared]] | None = None
    ) -> None:
        """Run cases as one module; where the backend refuses it, run its parts.

        Without `parts`, they are chosen so that the cases that the backend refuses are soon found.
        """
        try:
            results = self.bench.run(cases)
        except BackendError as error:
            answer = error
        else:
            pairs = zip(cases, results, strict=True)
            self.ran.update({id(one): Ran(given, cases) for one, given in pairs})
            return
        if len(cases) == 1:
            self.ran[id(cases[0])] = Ran(answer, cases)
            return
        before = len(self.lost)
        for part in parts or self._parts(cases):
            self.run(part)
        # what a part was refused as a whole says more than that the whole was
        if len(self.lost) == before and not any(map(self._is_refused, cases)):
            self.lost.append(_lost_module(self.bench, cases, answer))

    def _parts(self, cases: Sequence[Prepared]) -> Generator[Sequence[Prepared]]:
        """Yield single cases until one is taken, as backends mostly refuse whole cells; then the
        halves of the rest."""
        rest = cases
        while rest:
            first, rest = rest[0], rest[1:]
            yield [first]
            if not self._is_refused(first):
                break
        middle = (len(rest) + 1) // 2
        yield from filter(None, (rest[:middle], rest[middle:]))

    def _is_refused(self, case: Prepared) -> bool:
        return isinstance(self.ran[id(case)].outcome, BackendError)


def _lost_module(bench: Bench, cases: Sequence[Prepared], error: BackendError) -> LostModule:
    """Return a module that was refused though each of its cases was taken, with how often."""
    if isinstance(error, Unsupported):  # it has failed in nothing: that is told, and not tried
        return LostModule(cases, error, 1, 1)
    again = [_attempt_whole(bench, cases) for _ in range(bench.repeats)]
    failed = 1 + sum(isinstance(one, BackendError) for one in again)
    return LostModule(cases, error, failed, 1 + len(again))

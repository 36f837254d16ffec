"""Merging of several programs into a single program, with their arguments and results."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from reference.custom_calls.targets import MEMORY_PLACEMENTS
from reference.interpreter.evaluate import split_by_process
from reference.ir.mesh import MeshGroups
from reference.ir.program import Function, Operation, Program, Region, Value, attributes
from reference.ir.types import Array
from reference.ops.structure import redirect_calls


def merge_kind(program: Program) -> Hashable:
    """Return the traits that programs must share to be merged.

    These are the process grid, the meshes with their device ids, and whether permutes are among
    replicas or partitions. XLA reads the replica groups of all collectives in a module as if they
    were of one mesh, and combines permutes among replicas with permutes among partitions.

    A program that annotates the memory of values is merged with no other. XLA compares the memory
    of such a value with the memory of all results of the module.
    """
    targets = {operation.attribute("call_target_name") for operation in program.walk()}
    if not targets.isdisjoint(MEMORY_PLACEMENTS):
        return object()
    stated = (value for operation in program.walk() for _, value in operation.attributes)
    meshes = frozenset((of.mesh, of.device_ids) for of in stated if isinstance(of, MeshGroups))
    permutes = (p for p in program.walk() if p.attribute("source_target_pairs") is not None)
    channels = frozenset(permute.attribute("channel_id", 0) != 0 for permute in permutes)
    return program.process_grid, meshes, channels


def merge(programs: Sequence[Program]) -> Program:
    """Return a program that computes the results of all the programs; a single program as it is.

    Its `main` has the parameters and results of all programs, concatenated in order. Each program
    becomes functions (`p0`, `p1`, ...; others `p0_name`) that are called once: the compiler inlines
    them, and they compile as fast as operations written into `main`.
    """
    if len(programs) == 1:
        return programs[0]
    functions: list[Function] = []
    parameters: list[Value] = []
    results: list[Value] = []
    calls: list[Operation] = []
    for index, program in enumerate(programs):
        functions += _prefix_functions(program, f"p{index}")
        entry = program.main
        given = [Value(f"p{index}_{a.name}", a.type) for a in entry.arguments]
        taken = [Value(f"p{index}_r{i}", t) for i, t in enumerate(entry.result_types)]
        callee = attributes(callee=f"p{index}")
        calls.append(Operation("func.call", tuple(given), tuple(taken), callee))
        parameters += given
        results += taken
    calls.append(Operation("return", tuple(results)))
    body = Region(tuple(parameters), tuple(calls))
    main = Function("main", body, tuple(value.type for value in results))
    return Program((main, *functions), programs[0].process_grid)


def merge_arguments(
    programs: Sequence[Program], sets: Sequence[Sequence[Sequence[Array]]], turn: int = 0
) -> tuple[Array, ...]:
    """Return the arguments of execution number `turn` of the merged program.

    It takes the input set of each program with that number, or its last. The arguments of a process
    are adjacent, as one main takes them.
    """
    inputs = [given[min(turn, len(given) - 1)] for given in sets]
    shares = map(split_by_process, programs, inputs)
    return tuple(
        array for process in zip(*shares, strict=True) for share in process for array in share
    )


def split_results(programs: Sequence[Program], results: Sequence[Array]) -> list[list[Array]]:
    """Return the results of each program, given the results of the merged program.

    Raises:
        ValueError: if their number is wrong. A single program has any number of results.
    """
    if len(programs) == 1:
        return [[*results]]
    counts = [len(program.main.result_types) for program in programs]  # in each process
    wanted = sum(counts) * programs[0].process_count
    if len(results) != wanted:
        raise ValueError(f"{wanted} results expected of the batch, got {len(results)}")
    found: list[list[Array]] = [[] for _ in programs]
    for share in split_by_process(programs[0], results):
        at = 0
        for count, own in zip(counts, found, strict=True):
            own += share[at : at + count]
            at += count
    return found


def _prefix_functions(program: Program, prefix: str) -> list[Function]:
    """Return the functions of a program under prefixed names, with references to them adjusted."""
    main = program.main
    names = {function.name: f"{prefix}_{function.name}" for function in program.functions}
    names[main.name] = prefix
    return [
        replace(function, name=names[function.name], body=_redirect_region(function.body, names))
        for function in program.functions
    ]


def _redirect_region(region: Region, names: dict[str, str]) -> Region:
    return replace(region, operations=tuple(_redirect(op, names) for op in region.operations))


def _redirect(operation: Operation, names: dict[str, str]) -> Operation:
    operation = redirect_calls(operation, names)
    if operation.regions:
        inner = tuple(_redirect_region(region, names) for region in operation.regions)
        operation = replace(operation, regions=inner)
    return operation

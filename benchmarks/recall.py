"""Published bugs that a campaign finds without a hint: `python benchmarks/recall.py --budget 15m`.

A campaign without expectations runs on XLA's CPU. Its findings are compared with the bugs in
suites/published_bugs.toml that the installed jaxlib has. A finding is such a bug if any of its
minimised programs has the same operations and fails in the same way. The operations come from the
bug's program, or from that program minimised like a finding after the campaign: published programs
are not always minimal, and two bugs may have one minimal program. Prints the time for each bug, and
how many were found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from conformance.backends.session import open_session
from conformance.check.saving import INPUTS
from conformance.executors.local import Call, LocalExecutor
from conformance.fuzzing import command
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.finding import working_operations
from conformance.fuzzing.keeping.bundle import FINDING
from conformance.fuzzing.minimisation import minimise_failure
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.counterexamples import parse_inputs
from conformance.limits import Limits
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from suites.published_bugs import Bug, bugs


def operations(text: str) -> frozenset[str]:
    """Return the mnemonics of the operations that compute, not constants."""
    return frozenset(one.name for one in working_operations(parse_module(text)))


def smallest_ops(bug: Bug) -> frozenset[str]:
    """Return the mnemonics of a bug's program, minimised as findings are; runs in a worker."""
    program = parse_module(bug.program)
    trial, inputs = Trial("cpu", 0, 0, 1), parse_inputs(program, bug.inputs)
    outcome = judge_in_isolation(trial, open_session("cpu"), program, inputs)
    if outcome is None or outcome.verdict.value != bug.verdict:
        return operations(bug.program)
    found = minimise_failure(trial, FailingProgram(0, program, inputs, outcome), Limits.MINIMISING)
    return frozenset(one.name for one in working_operations(found.program))


def forms(here: Sequence[Bug]) -> dict[str, set[frozenset[str]]]:
    """Return the mnemonics of the programs of each bug: of the stated program and of its minimised
    form.

    A program that crashes is not minimised: each attempt would need a worker.
    """
    found = {bug.id: {operations(bug.program)} for bug in here}
    some = [bug for bug in here if bug.verdict != Verdict.CRASHED.value]
    with LocalExecutor(1) as executor:
        calls = (Call(bug.id, smallest_ops, (bug,), 3 * Limits.MINIMISING) for bug in some)
        for ended in executor.results(calls):
            if ended is not None and isinstance(ended.value, frozenset):
                found[ended.call.name].add(ended.value)
    return found


def is_one(bug: Bug, ways: Collection[frozenset[str]], folder: Path) -> bool:
    """Return whether the finding in `folder` is this bug; the bug's programs have the operations in
    `ways`.

    Findings group programs by cause: any of the minimised programs may be the bug's.
    """
    told = json.loads((folder / FINDING).read_text("utf-8"))
    signatures = {told["signature"], *told.get("signatures", ())}
    return any(_is_of(bug, ways, one) for one in signatures)


def _is_of(bug: Bug, ways: Collection[frozenset[str]], signature: str) -> bool:
    """Return whether a minimised program with this signature (see Finding.signature) is this
    bug.
    """
    verdict, kind, *_, shown = signature.split(" | ")
    names = frozenset(one.split()[0] for one in shown.split("; ") if one)
    return verdict == bug.verdict and kind in (bug.kinds or (kind,)) and names in ways


def found_at(folder: Path) -> float:
    """Return the time at which a finding was stored, from its inputs, which are written once."""
    return (folder / INPUTS).stat().st_mtime


def main() -> int:
    """Run the campaign and print the table; 0 where half of the bugs or more were found."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--budget", default="15m", help="time for the campaign, such as 15m")
    asked.add_argument("--seed", type=int, default=0, help="seed of its programs")
    asked.add_argument("--jobs", type=int, help="worker processes")
    asked.add_argument("--out", type=Path, help="folder to keep the campaign in")
    given = asked.parse_args()
    jaxlib = versions()["jaxlib"]
    here = [bug for bug in bugs() if bug.is_in(jaxlib) and bug.verdict != "unspecified"]
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)
        start = time.time()
        command.fuzz(
            command.Options(
                out=out,
                budget=given.budget,
                seed=given.seed,
                jobs=given.jobs,
                expectations="none",
                fresh=True,
            )
        )
        found = sorted((one.parent for one in out.rglob(FINDING)), key=found_at)
        after, ways = dict[str, float](), forms(here)
        for folder in found:
            for bug in here:
                if bug.id not in after and is_one(bug, ways[bug.id], folder):
                    after[bug.id] = found_at(folder) - start
    for bug in here:
        told = f"after {after[bug.id]:.0f} s" if bug.id in after else "not found"
        sys.stdout.write(f"{bug.id}: {told}\n")
    sys.stdout.write(
        f"{len(after)} of {len(here)} published bugs of jaxlib {jaxlib} in {given.budget}, "
        f"among {len(found)} findings\n"
    )
    return 0 if 2 * len(after) >= len(here) else 1


if __name__ == "__main__":
    sys.exit(main())

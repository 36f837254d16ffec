"""Start-up time of interactive commands: `python benchmarks/start_up.py [--rounds 5]`.

Prints a line for each command: seconds, and the ratio to `python -c 'import jax'`, the least cost
of using jax. Commands are timed round-robin, so that a busy machine slows all of them. Each figure
is the median of the rounds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

OURS = [sys.executable, "-m", "conformance"]
BASE = "python -c 'import jax'"
PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command lines by name; `folder` holds their files."""
    program, run = folder / "add.mlir", folder / "run"
    program.write_text(PROGRAM)
    made = ["run", "--op", "add", "--profile", "smoke", "--out", str(run)]
    subprocess.run([*OURS, *made], check=True, capture_output=True)
    return {
        "python -c 'pass'": [sys.executable, "-c", "pass"],
        BASE: [sys.executable, "-c", "import jax"],
        "run --help": [*OURS, "run", "--help"],
        "ops": [*OURS, "ops"],
        "check add.mlir": [*OURS, "check", str(program)],
        "check --backend reference add.mlir": [
            *OURS, "check", "--backend", "reference", str(program),
        ],
        "check --describe add.mlir": [*OURS, "check", "--describe", str(program)],
        "replay add-f32-cpu-0": [*OURS, "replay", "add-f32-cpu-0", "--db", str(run)],
        "report (of the cells of add)": [*OURS, "report", str(run)],
    }  # fmt: skip


def seconds(command: list[str]) -> float:
    """Return the seconds that a command takes.

    It must end with 0, or with 1, which says that a program still fails as recorded.
    """
    begun = perf_counter()
    done = subprocess.run(command, capture_output=True)
    if done.returncode not in (0, 1):
        done.check_returncode()
    return perf_counter() - begun


def table(taken: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a line for each command: the median of its seconds, and its ratio to jax's median."""
    base = median(taken[BASE])
    yield f"{'command':36} {'seconds':>7}  times 'import jax'"
    for name, times in taken.items():
        yield f"{name:36} {median(times):7.2f}  {median(times) / base:5.1f}"


def main() -> None:
    """Time all commands and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        todo = commands(Path(folder))
        for command in todo.values():  # once for the caches of files and of bytecode
            seconds(command)
        taken: dict[str, list[float]] = {name: [] for name in todo}
        for _ in range(rounds):
            for name, command in todo.items():
                taken[name].append(seconds(command))
    for line in table(taken):
        print(line)


if __name__ == "__main__":
    main()

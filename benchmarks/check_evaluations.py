"""The part of a program that is evaluated again to judge it: `benchmarks/check_evaluations.py`.

The program is a training step with dropout, exported from jax. Its random bits and masks are
integers, which perturbation does not change. Prints the number of operations of the program and of
its perturbed part, the seconds of a perturbed evaluation of the whole program and of that part, and
their ratio, each the best of a few in one run; and the same if one result of many is in doubt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from reference.ir.program import Program

ROUNDS = 5


def training_step() -> tuple[Program, list[Any]]:
    """Return the flat program of a gradient step of two layers with dropout, and its inputs."""

    def loss(weights: Any, x: Any, key: Any) -> Any:
        for number, weight in enumerate(weights):
            x = jnp.tanh(x @ weight)
            kept = jax.random.bernoulli(jax.random.fold_in(key, number), 0.8, x.shape)
            x = jnp.where(kept, x / 0.8, 0.0)
        return jnp.mean(x**2)

    def step(weights: Any, x: Any, key: Any) -> Any:
        found = jax.grad(loss)(weights, x, key)
        return [w - 0.1 * g for w, g in zip(weights, found, strict=True)]

    drawn = np.random.default_rng(0)
    weights = [drawn.standard_normal((32, 32)).astype(np.float32) * 0.2 for _ in range(2)]
    x, key = drawn.standard_normal((16, 32)).astype(np.float32), np.array([0, 7], np.uint32)
    text = jax.jit(step).lower(weights, x, key).as_text()
    return inline(parse_module(text)).program, [*weights, x, key]


def seconds(evaluate: Callable[[], object]) -> float:
    """Return the least seconds that an evaluation takes in a few rounds."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        evaluate()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> None:
    """Measure the evaluations, and print their seconds and ratio."""
    program, inputs = training_step()
    fresh = [PermittedResults(program, inputs) for _ in range(ROUNDS)]
    whole = seconds(lambda: fresh.pop().moved_samples(1))
    permitted = PermittedResults(program, inputs)
    permitted.moved_samples(1)
    counts = iter(range(1, ROUNDS + 1))
    part = seconds(lambda: permitted.additional_samples(next(counts)))
    moving = vars(permitted)["_moving"]
    assert moving is not None
    every, some = (len(p.main.body.operations) for p in (program, moving.program))
    print(
        f"operations: {every} in all, {some} in the part that moves (versions of values included)"
    )
    print(f"an evaluation that moves results: {whole:.3f} s of all, {part:.3f} s of that part")
    print(f"ratio {whole / part:.1f}")
    single = PermittedResults(program, inputs)
    single.restrict_to([1])
    single.moved_samples(1)
    counts = iter(range(1, ROUNDS + 1))
    one = seconds(lambda: single.additional_samples(next(counts)))
    print(
        f"one of {len(permitted.expected)} results in doubt: {one:.3f} s, ratio {whole / one:.1f}"
    )


if __name__ == "__main__":
    main()

"""Export a small JAX model and check what XLA makes of it.

Run it with the environment that hlo-conformance is installed in:

    python examples/check_a_jax_model.py [BACKEND]

It writes model.mlir, which `hlo-conformance check model.mlir` checks as well, and model.npz, the
arguments to check it on (`--inputs model.npz`); without them, arguments are drawn by type.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from conformance.check.file import check_file
from conformance.check.settings import Settings


def attention(x: jax.Array, query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Return causal self-attention of one head, with a residual connection."""
    scores = (x @ query) @ (x @ key).T / jnp.sqrt(1.0 * query.shape[1])
    causal = jnp.tril(jnp.ones(scores.shape, bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    return x + jax.nn.gelu(weights @ (x @ value))


def main() -> int:
    """Export the model, draw its arguments, and check it; return 1 if it does not conform."""
    random = np.random.default_rng(0)
    shapes = [(6, 16), (16, 16), (16, 16), (16, 16)]
    arguments = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    exported = export.export(jax.jit(attention))(*arguments)
    Path("model.mlir").write_text(exported.mlir_module())
    np.savez("model.npz", *arguments)

    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    checked = check_file("model.mlir", Settings(backend, inputs=Path("model.npz")))
    print(f"{checked.file} on {backend}: {checked.verdict.value}")
    if checked.operation:
        print(f"first wrong operation: {checked.operation}")
    if checked.message:
        print(checked.message)
    return 1 if checked.verdict.fails else 0


if __name__ == "__main__":
    sys.exit(main())

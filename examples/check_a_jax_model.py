"""Check what XLA makes of a small JAX model.

Run it with the environment that hlo-conformance is installed in:

    python examples/check_a_jax_model.py [BACKEND]

The program and its arguments are saved to the folder `model`, which `hlo-conformance check` takes.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np

import conformance


def attention(x: jax.Array, query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Return causal self-attention of one head, with a residual connection."""
    scores = (x @ query) @ (x @ key).T / jnp.sqrt(1.0 * query.shape[1])
    causal = jnp.tril(jnp.ones(scores.shape, bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    return x + jax.nn.gelu(weights @ (x @ value))


def main() -> int:
    """Draw arguments and check the model on them; return 1 if it does not conform."""
    random = np.random.default_rng(0)
    shapes = [(6, 16), (16, 16), (16, 16), (16, 16)]
    arguments = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    checked = conformance.check(attention, *arguments, backend=backend)
    print(f"attention on {backend}: {checked}")
    print(f"again: {checked.save('model')}")
    return 0 if checked.conforms else 1


if __name__ == "__main__":
    sys.exit(main())

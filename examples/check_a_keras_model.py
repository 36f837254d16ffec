"""Check what XLA makes of a Keras model on the backend JAX (it needs keras).

python examples/check_a_keras_model.py [BACKEND]
"""

from __future__ import annotations

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

import conformance


def main() -> int:
    """Check a small model on its own weights; return 1 if it does not conform."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        keras.layers.Input((4,)),
        keras.layers.Dense(8, activation="gelu"),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    trained = [variable.value for variable in model.trainable_variables]
    fixed = [variable.value for variable in model.non_trainable_variables]
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    found = conformance.check(
        lambda *given: model.stateless_call(*given)[0], trained, fixed, x, backend=backend
    )
    print(found)
    return 0 if found.conforms else 1


if __name__ == "__main__":
    sys.exit(main())

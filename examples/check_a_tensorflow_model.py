"""Check what XLA makes of a function of TensorFlow (it needs tensorflow or tensorflow-cpu).

    python examples/check_a_tensorflow_model.py [BACKEND]

TensorFlow exports it as StableHLO. Values that the function captures are arguments after its own.
"""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf

import conformance


@tf.function(jit_compile=True)
def model(x: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Return the probabilities of a layer."""
    return tf.nn.softmax(tf.nn.gelu(x) @ weights)


def main() -> int:
    """Check the function on drawn weights; return 1 if it does not conform."""
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    text = model.experimental_get_compiler_ir(x, weights)(stage="stablehlo")
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    found = conformance.check(text, x, weights, backend=backend)
    print(found)
    return 0 if found.conforms else 1


if __name__ == "__main__":
    sys.exit(main())

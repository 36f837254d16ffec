"""Check what XLA makes of a PyTorch model (it needs torch and torchax).

    python examples/check_a_torch_model.py [BACKEND]

torch.export gives the model's graph, and torchax makes a function of JAX of it.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from torchax.export import exported_program_to_jax

import conformance


def main() -> int:
    """Check a small model on its own weights; return 1 if it does not conform."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.GELU(),
        torch.nn.LayerNorm(8),
        torch.nn.Linear(8, 3),
        torch.nn.Softmax(dim=-1),
    )
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    exported = torch.export.export(model.eval(), (torch.from_numpy(x),))
    weights, function = exported_program_to_jax(exported)
    backend = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    found = conformance.check(lambda *given: function(*given)[0], weights, (x,), backend=backend)
    print(found)
    return 0 if found.conforms else 1


if __name__ == "__main__":
    sys.exit(main())

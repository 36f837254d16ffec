"""Programs of batch normalization, and operands for them."""

import mpmath

from conformance.tolerance.table import RULES
from generators.values.contents import fill
from generators.values.shaped_values import fill_shaped
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, element_type_of
from reference.ops.table import OPS

NORMALIZED = RULES["batch normalization"]
OPS_HERE = ("batch_norm_grad", "batch_norm_inference", "batch_norm_training")
RESULTS = {"batch_norm_grad": "lss", "batch_norm_inference": "l", "batch_norm_training": "lss"}


def fill_values(name, shape, profile, seed=1):
    of = TensorType(shape, ELEMENT_TYPES[name])
    if ":" in profile:
        return fill_shaped(of.element, shape, profile, seed)
    return fill(of, profile, seed)


def operands_of(op, name, shape, index, seed=1, profile="unit"):
    """Return operands whose variances are 1 to 4."""
    vector = (shape[index],)
    made = {
        operand: fill_values(
            name, shape if operand in ("operand", "grad_output") else vector, profile, seed + n
        )
        for n, operand in enumerate(OPS[op].operands)
    }
    if "variance" in made:
        made["variance"] = fill_values(name, vector, "within:1:4", seed)
    return tuple(made.values())


def program(op, operands, epsilon, index):
    kinds = [TensorType(a.shape, element_type_of(a)) for a in operands]
    values = tuple(Value(name, kind) for name, kind in zip(OPS[op].operands, kinds, strict=True))
    results = tuple(kinds[0] if size == "l" else kinds[1] for size in RESULTS[op])
    return single_op(op, values, results, {"epsilon": epsilon, "feature_index": index})


def root(x):
    return mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator)

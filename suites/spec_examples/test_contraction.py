"""The specification's own example of dot_general, evaluated by the reference (seeds/004)."""

import numpy as np

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import single_op
from suites.spec_examples.test_data_movement import Example, si64

IDENTITIES = [[[1, 0], [0, 1]]] * 2
MATRICES = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
EXAMPLE = Example(
    "dot_general",
    (si64(MATRICES), si64(IDENTITIES)),
    si64(MATRICES),
    {
        "lhs_batching_dimensions": (0,),
        "rhs_batching_dimensions": (0,),
        "lhs_contracting_dimensions": (2,),
        "rhs_contracting_dimensions": (1,),
        "precision_config": ("DEFAULT", "DEFAULT"),
        "lhs_precision_type": "tf32",
        "rhs_precision_type": "tf32",
        "accumulation_type": "f32",
        "lhs_component_count": 1,
        "rhs_component_count": 1,
        "num_primitive_operations": 1,
        "allow_imprecise_accumulation": False,
    },
)


def test_dot_general() -> None:
    assert check(EXAMPLE.program) == []
    (actual,) = evaluate(EXAMPLE.program, EXAMPLE.operands)
    np.testing.assert_array_equal(actual, EXAMPLE.result, strict=True)


def test_an_identity_on_the_other_side_changes_nothing() -> None:
    swapped = (EXAMPLE.operands[1], EXAMPLE.operands[0])
    (actual,) = evaluate(EXAMPLE.program, swapped)
    np.testing.assert_array_equal(actual, EXAMPLE.result, strict=True)
    plain = {name: value for name, value in EXAMPLE.attributes.items() if "dimensions" in name}
    operands = EXAMPLE.program.main.arguments
    program = single_op("dot_general", operands, EXAMPLE.program.main.result_types, plain)  # pyright: ignore[reportArgumentType] - tensors all
    np.testing.assert_array_equal(evaluate(program, swapped)[0], actual, strict=True)

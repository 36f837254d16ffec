"""Classes of products in an einsum, which is a dot_general whose result is transposed."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products import einsums, rounded_products, three_products
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Value, single_op
from reference.ir.types import Array
from suites.meta.support.small_programs import tensor_of


def einsum_kind(config: str, operands: list[Array], of: str, change: complex) -> str:
    """Return the class of the result of an einsum on a TPU whose first element is another."""
    values = tuple(
        Value(n, tensor_of(*x.shape, of=of)) for n, x in zip("xy", operands, strict=True)
    )
    inputs = [one.astype(values[0].type.storage) for one in operands]  # type: ignore[union-attr]
    shape = np.einsum(config, *operands).shape
    program = single_op("einsum", values, (tensor_of(*shape, of=of),), {"einsum_config": config})
    expected = evaluate(program, inputs)
    actual = expected[0].copy()
    actual[(0,) * actual.ndim] = change
    return judge_operation(program, inputs, expected, [actual], Hardware.TPU).kind


@pytest.mark.parametrize(("actual", "kind"), [(2.0, rounded_products.LABEL), (1.5, "wrong value")])
@pytest.mark.parametrize("config", ["bij,bkj->ikb", "bij,bkj->bik", "bij,bjk->kib"])
def test_products_rounded_first_are_found_in_any_order(
    config: str, actual: float, kind: str
) -> None:
    """1.875 * 1.125 + 0.0625 is rounded to 2.25, and to 2 if the product is rounded first."""
    lhs, rhs = np.ones((4, 1, 2)), np.ones((4, 5, 2))
    lhs[0, 0], rhs[0, 0] = (1.875, 0.0625), (1.125, 1.0)
    if "bjk" in config:
        rhs = rhs.transpose(0, 2, 1)
    assert einsum_kind(config, [lhs, rhs], "f8E4M3FN", actual) == kind


@pytest.mark.parametrize("config", ["bij,kj->ik", "bii,bki->kb", "ij,jk", "...ij,...jk->...ik"])
def test_an_einsum_of_another_form_is_not_predicted(config: str) -> None:
    def refuse(*given: object) -> tuple[Array, ...]:
        raise AssertionError(given)

    operation = Operation("einsum", (), (), (("einsum_config", config),))
    found = einsums.over_einsums(refuse)(operation, (), (np.zeros(3),), (np.zeros(3),))
    assert np.isinf(found[0]).all()


def test_three_products_are_found_in_an_einsum() -> None:
    lhs, rhs = np.full((3, 2, 4), 3e38 + 3e38j), np.zeros((3, 5, 4), np.complex64)
    found = einsum_kind("bij,bkj->ikb", [lhs, rhs], "complex<f32>", complex(np.nan, np.nan))
    assert found == three_products.LABEL

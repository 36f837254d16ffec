"""Products with a concatenation that are computed as a sum of products with its parts."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.products import IN_PARTS
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.rewriting import kind_of

OF = ELEMENT_TYPES["f8E4M3B11FNUZ"].storage
"""Its largest number is 30, and it has no infinity."""

LEFT = """
func.func @main(%x: tensor<1x2x!E>, %y: tensor<1x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 :
    (tensor<1x2x!E>, tensor<1x1x!E>) -> tensor<1x3x!E>
  %z = stablehlo.constant dense<[[5.0], [4.0], [-3.0]]> : tensor<3x1x!E>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")

RIGHT = """
func.func @main(%x: tensor<2x1x!E>, %y: tensor<1x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 :
    (tensor<2x1x!E>, tensor<1x1x!E>) -> tensor<3x1x!E>
  %z = stablehlo.constant dense<[[5.0, 4.0, -3.0]]> : tensor<1x3x!E>
  %1 = stablehlo.dot_general %z, %0, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")

VARIABLE = """
func.func @main(%x: tensor<1x2x!E>, %y: tensor<1x1x!E>, %z: tensor<3x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 :
    (tensor<1x2x!E>, tensor<1x1x!E>) -> tensor<1x3x!E>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")


def arrays(*of: object) -> list[np.ndarray]:
    return [np.asarray(one, np.float32).astype(OF) for one in of]


X, Y, Z = (4, 4), (4,), (5, 4, -3)
"""4 * 5 + 4 * 4 = 36 overflows, and 36 + 4 * -3 = 24 does not."""


@pytest.mark.parametrize(("text", "shapes"), [(LEFT, ((1, 2), (1, 1))), (RIGHT, ((2, 1), (1, 1)))])
def test_product_with_a_part_may_overflow(text: str, shapes: tuple[tuple[int, int], ...]) -> None:
    given = arrays(np.reshape(X, shapes[0]), np.reshape(Y, shapes[1]))
    (nan, other) = arrays([[np.nan]], [[20.0]])
    assert kind_of(text, given, nan) == IN_PARTS
    assert kind_of(text, given, other) != IN_PARTS


def test_product_with_a_variable_is_not_taken_apart() -> None:
    given = arrays(np.reshape(X, (1, 2)), np.reshape(Y, (1, 1)), np.reshape(Z, (3, 1)))
    (nan,) = arrays([[np.nan]])
    assert kind_of(VARIABLE, given, nan) != IN_PARTS

"""Products with sparse matrices, as jax.experimental.sparse writes them for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checking.settings import Settings
from conformance.verdict import Verdict
from suites.meta.support.checking import check_text

PRODUCT = """
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<300xTYPE>, %arg1: tensor<300xi32>, %arg2: tensor<4xi32>,
      %arg3: tensor<60x3xTYPE>) -> tensor<3x3xTYPE> {
    %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%arg0, %arg2, %arg1, %arg3) {
      backend_config = "", mhlo.backend_config = {},
      operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>,
        dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>],
      result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
      : (tensor<300xTYPE>, tensor<4xi32>, tensor<300xi32>, tensor<60x3xTYPE>) -> tensor<3x3xTYPE>
    %1 = stablehlo.add %0, %0 : tensor<3x3xTYPE>
    return %1 : tensor<3x3xTYPE>
  }
}"""


@pytest.mark.parametrize("of", ["f32", "complex<f64>", "i32"])
def test_sparse_product_passes(tmp_path: Path, of: str) -> None:
    found = check_text(tmp_path, PRODUCT.replace("TYPE", of), Settings("cpu"))
    assert (found.verdict, found.message) == (Verdict.PASS, "")


def test_wrong_sparse_product_is_named(tmp_path: Path) -> None:
    text = PRODUCT.replace("TYPE", "f32")
    found = check_text(tmp_path, text, Settings("reference:sign_lost@custom_call"))
    assert found.verdict is Verdict.DIVERGENT
    assert found.operation.startswith("custom_call %0")

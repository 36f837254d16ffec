"""A module with a small change has another meaning: reading it back loses no detail."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.read import read_module
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from suites.meta.conformance.hlo.modules import PAIRS, plain_of, stored_proto
from suites.meta.conformance.hlo.test_read import inputs_of

_TEXTS = {path.stem: plain_of(path) for path in PAIRS}

CHANGES = (
    ("sort_kept_stable_by_an_index", b"LT", b"GT"),
    ("total_order", b"TOTAL", b"PARTI"),
    ("conditional_by_truth_value", b"negate", b"cosine"),
    ("fusion_of_two_results", b"subtract", b"multiply"),
    ("windows", b"GE", b"LT"),
    ("loop_over_a_tuple", b"LT", b"LE"),
    ("cublas_gemm", b'"beta":3', b'"beta":4'),
    ("cublas_gemm", b'"alpha_real":2', b'"alpha_real":5'),
    ("cublaslt_bias_relu", b"BIAS_RELU", b"BIAS_GELU"),
    ("cudnn_bias_side_input_relu", b'"side_input_scale":3', b'"side_input_scale":4'),
    ("cub_sort_of_pairs", b"true", b'null'),
    ("cublas_triangular_solve", b'"lower":true', b'"lower":null'),
)  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), CHANGES)
def test_a_wrong_rewriting_shows(name: str, before: bytes, after: bytes) -> None:
    plain, proto = parse_module(_TEXTS[name]), stored_proto(name)
    assert before in proto
    assert len(before) == len(after)
    read = read_module(proto.replace(before, after))
    assert any(
        not np.array_equal(want, got, equal_nan=want.dtype.kind == "f")
        for seed in range(4)
        for want, got in zip(
            evaluate(plain, inputs_of(plain, seed)),
            evaluate(read, inputs_of(plain, seed)),
            strict=True,
        )
    )

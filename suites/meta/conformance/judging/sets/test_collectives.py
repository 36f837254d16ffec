"""Sets in programs of several processes: collectives move sets, or fold them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.program import Program
from reference.ir.types import Array

COUNT, OF = 4, "tensor<4xf32>"
GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def fold(body: str) -> str:
    return f"""({{
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.{body} %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }})"""


COLLECTIVES = {
    "all_gather": (f"<{{all_gather_dim = 0, {GROUPS}, {CHANNEL}, use_global_device_ids}}>", 16),
    "all_reduce add": (f"{fold('add')} {{{GROUPS}, {CHANNEL}, use_global_device_ids}}", 4),
    "all_reduce maximum": (f"{fold('maximum')} {{{GROUPS}, {CHANNEL}, use_global_device_ids}}", 4),
    "reduce_scatter": (
        f"{fold('add')} {{{GROUPS}, {CHANNEL}, scatter_dimension = 0, use_global_device_ids}}",
        1,
    ),
    "all_to_all": (
        f"{{split_dimension = 0, concat_dimension = 0, split_count = 4, {GROUPS}, {CHANNEL}}}", 4,
    ),
    "collective_permute": (
        "{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, " + CHANNEL + "}", 4,
    ),
    "collective_broadcast": (f"{{{GROUPS}, {CHANNEL}}}", 4),
}  # fmt: skip
"""The rest of an operation's text, and the size of its result, by op and body."""


def program_of(name: str, after: str = "") -> Program:
    """Return tanh(x), a collective of it, and a choice of 0 or 100 by its sign if `after`."""
    rest, size = COLLECTIVES[name]
    op, result = name.split(" ")[0], f"tensor<{size}xf32>"
    return parse_module(f"""
module attributes {{mhlo.num_partitions = {COUNT} : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: {OF}) -> {result} {{
    %0 = stablehlo.tanh %x : {OF}
    %c = "stablehlo.{op}"(%0) {rest} : ({OF}) -> {result}
    {after.format(of=result, size=size)}
  }}
}}""")


PLAIN = "return %c : {of}"
CHOSEN = """
    %zero = stablehlo.constant dense<0.0> : {of}
    %hundred = stablehlo.constant dense<100.0> : {of}
    %p = stablehlo.compare GT, %c, %zero : ({of}, {of}) -> tensor<{size}xi1>
    %y = stablehlo.select %p, %zero, %hundred : tensor<{size}xi1>, {of}
    return %y : {of}"""


def given() -> list[Array]:
    random = np.random.default_rng(3)
    return [random.uniform(-1, 1, 4).astype(np.float32) for _ in range(COUNT)]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_moved_results_lie_in_the_sets(name: str) -> None:
    program, inputs = program_of(name, PLAIN), given()
    permitted = PermittedResults(program, inputs)
    sets = permitted.sets
    assert sets is not None
    assert len(sets) == COUNT
    for results in permitted.moved_samples():
        assert all(one.holds(result).all() for one, result in zip(sets, results, strict=True))
    for one, expected in zip(sets, permitted.expected, strict=True):
        assert not one.holds(expected + np.float32(0.01)).any()


def choice(name: str) -> tuple[PermittedResults, list[Array]]:
    permitted = PermittedResults(program_of(name, CHOSEN), given())
    return permitted, [np.array(one) for one in permitted.expected]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_value_between_two_outcomes_is_wrong(name: str) -> None:
    permitted, actual = choice(name)
    assert judge_program(permitted, actual).verdict is Verdict.PASS
    actual[2][0] = 57
    wrong = judge_program(permitted, actual)
    assert (wrong.verdict, wrong.wrong) == (Verdict.DIVERGENT, 1)


def test_a_sum_over_processes_that_may_have_either_sign_has_two_outcomes() -> None:
    """The hull of samples may hold everything between; only the set knows two outcomes."""
    small = np.float32(3e-8)
    inputs = [np.full(4, one, np.float32) for one in (0.5, -0.5, small, -small)]
    sets = evaluate_sets(program_of("all_reduce add", CHOSEN), inputs, "cpu")
    assert sets is not None
    for value, is_possible in ((0.0, True), (100.0, True), (57.0, False)):
        assert bool(sets[0].holds(np.full(4, value, np.float32)).all()) is is_possible


def test_a_collective_in_a_branch_is_not_followed() -> None:
    text = f"""
module attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: {OF}, %p: tensor<i1>) -> {OF} {{
    %y = "stablehlo.if"(%p) ({{
      %c = "stablehlo.collective_permute"(%x) {COLLECTIVES["collective_permute"][0]}
        : ({OF}) -> {OF}
      stablehlo.return %c : {OF}
    }}, {{
      stablehlo.return %x : {OF}
    }}) : (tensor<i1>) -> {OF}
    return %y : {OF}
  }}
}}""".replace("[[0, 1], [1, 2]]> : tensor<2x2xi64>", "[[0, 1]]> : tensor<1x2xi64>")
    inputs = [given()[0], np.array(True)] * 2
    assert evaluate_sets(parse_module(text), inputs, "cpu") is None

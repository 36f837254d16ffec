"""Collective operations, at any nesting depth."""

from __future__ import annotations

from conformance.stablehlo.parse import parse_module
from conformance.transforms.collective import collective_of, collectives_of
from reference.ir.program import Program

GATHER = """"stablehlo.all_gather"({}) {{all_gather_dim = 0 : i64,
    replica_groups = dense<[[0]]> : tensor<1x1xi64>}} : (tensor<2xf32>) -> tensor<2xf32>"""


def program(body: str, results: int = 1) -> Program:
    names = ", ".join(f"%r{n}" for n in range(results))
    types = ", ".join(["tensor<2xf32>"] * results)
    return parse_module(
        f"func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> ({types}) {{\n"
        f"{body}\nreturn {names} : {types}\n}}"
    )


def test_the_last_collective_is_found() -> None:
    found = collective_of(program(f"%a = {GATHER.format('%x')}\n%r0 = {GATHER.format('%a')}"))
    assert found is not None
    assert found.results[0].name != found.operands[0].name
    assert collective_of(program("%r0 = stablehlo.negate %x : tensor<2xf32>")) is None


def test_collectives_in_branches_are_found() -> None:
    nested = program(f"""%r0 = "stablehlo.if"(%p) ({{
  %a = {GATHER.format("%x")}
  stablehlo.return %a : tensor<2xf32>
}}, {{
  stablehlo.return %x : tensor<2xf32>
}}) : (tensor<i1>) -> tensor<2xf32>""")
    found = collective_of(nested)
    assert found is not None
    assert found.name == "all_gather"
    assert collectives_of(nested) == (found,)


def test_operations_that_make_results_side_by_side_are_one_collective() -> None:
    both = program(f"%r1 = {GATHER.format('%x')}\n%r0 = {GATHER.format('%x')}", 2)
    found = collectives_of(both)
    ends = [value.name for value in both.main.body.operations[-1].operands]
    assert [one.results[0].name for one in found] == ends
    assert collectives_of(program("%r0 = stablehlo.negate %x : tensor<2xf32>")) == ()

"""Slips in optimised modules: all that change a result by more than rounding are flagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from benchmarks.seeded_rewritings import fields
from benchmarks.seeded_rewritings.__main__ import PROGRAMS, compile_program, optimise, report
from benchmarks.seeded_rewritings.measuring import (
    Ending,
    OptimisedProgram,
    SeededModule,
    draw_inputs,
    seed_slips,
)
from benchmarks.seeded_rewritings.messages import Message
from benchmarks.seeded_rewritings.sites import Site, sites_in
from benchmarks.seeded_rewritings.slips import SLIPS
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from suites.meta.conformance.hlo.modules import PAIRS, plain_of, stored_proto
from suites.meta.conformance.hlo.modules import PROGRAMS as COMPILED

WITHIN_ROUNDING = "constant off by a bit"
"""The kind of slip whose change may be smaller than rounding."""

PLACES = 2
"""Number of positions in a module at which each kind of slip is tried."""

BY_HAND = ("sort_kept_stable_by_an_index", "cublaslt_bias_relu", "cublas_triangular_solve")


def judged_slips(optimised: OptimisedProgram) -> list[SeededModule]:
    """Return the slips in a module, each judged; none that changes a result passes."""
    found = list(seed_slips(optimised, draw_inputs(optimised.program, 2), most=PLACES))
    permitted = [one for one in found if one.ending is Ending.PERMITTED]
    assert {one.slip for one in permitted} <= {WITHIN_ROUNDING}, "\n".join(report(permitted))
    return found


@pytest.mark.slow
def test_slips_in_modules_of_the_cpu_are_flagged() -> None:
    found = [slip for path in PROGRAMS for slip in judged_slips(optimise("cpu-compile", path))]
    flagged = Counter(one.slip for one in found if one.ending is Ending.FLAGGED)
    assert len(flagged) >= 30
    assert sum(flagged.values()) >= 80
    assert any(one.ending is Ending.EQUIVALENT for one in found)
    assert f"{len({one.slip for one in found})} kinds" in "\n".join(report(found))


@pytest.mark.parametrize(
    ("compiler", "hardware"), [("gpu-compile", Hardware.GPU), ("tpu-compile", Hardware.TPU)]
)
def test_slips_in_modules_of_gpu_and_tpu_are_flagged(compiler: str, hardware: Hardware) -> None:
    chosen = [path for path in COMPILED if path.stem in ("matmul_bias_relu", "scatter_of_rows")]
    for path in chosen:
        program, module = parse_module(path.read_text()), stored_proto(f"{path.stem}.{compiler}")
        found = judged_slips(OptimisedProgram(path.stem, program, module, hardware))
        assert any(one.ending is Ending.FLAGGED for one in found)


def test_slips_in_calls_of_libraries_are_flagged() -> None:
    found = [
        slip
        for path in PAIRS
        if path.stem in BY_HAND
        for slip in judged_slips(
            OptimisedProgram(
                path.stem, parse_module(plain_of(path)), stored_proto(path.stem), Hardware.GPU
            )
        )
    ]
    flagged = {one.slip for one in found if one.ending is Ending.FLAGGED}
    assert {"epilogue of cuBLASLt dropped", "other triangle solved by cuBLAS"} <= flagged


def test_module_is_serialised_unchanged() -> None:
    module = stored_proto("loop_over_a_tuple")
    assert Message.parse(module).serialise() == module
    assert len(list(sites_in(module))) == 16


def test_slip_in_a_module_that_is_wrong_is_flagged_if_it_fails_otherwise() -> None:
    text = """
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {{
  %0 = stablehlo.{op} %x, %y : tensor<3xi32>
  return %0 : tensor<3xi32>
}}"""
    right, wrong = (parse_module(text.format(op=op)) for op in ("add", "subtract"))
    module = compile_program("cpu-compile", wrong).module
    found = {
        slip.slip: slip.ending
        for slip in seed_slips(OptimisedProgram("wrong", right, module), draw_inputs(right, 4))
    }
    assert found["sum replaced"] is Ending.FLAGGED  # it is right then


F32 = 11  # PrimitiveType


def shape(element: int, *sizes: int, layout: Sequence[int] = ()) -> bytes:
    made, order = Message(), Message()
    made.put_integer(fields.ELEMENT_TYPE, element)
    made.put_integers(fields.SIZES, list(sizes))
    if layout:
        order.put_integers(1, list(layout))
        made.put_data(fields.LAYOUT, order.serialise())
    return made.serialise()


MATRIX = shape(F32, 2, 3)


def instruction(
    number: int, opcode: str, *operands: int, of: bytes = MATRIX, dimensions: Sequence[int] = ()
) -> Message:
    made = Message()
    made.put_integer(fields.ID, number)
    made.put_data(fields.OPCODE, opcode.encode())
    made.put_data(fields.SHAPE, of)
    made.put_integers(fields.OPERANDS, list(operands))
    if dimensions:
        made.put_integers(fields.DIMENSIONS, list(dimensions))
    return made


def struct(**values: int) -> Message:
    """Return a message with integers, by their numbers: f1, f2, ..."""
    made = Message()
    for name, value in values.items():
        made.put_integer(int(name[1:]), value)
    return made


def site(*instructions: Message) -> Site:
    """Return the last instruction as a site."""
    return Site(list(instructions), len(instructions) - 1)


A, B = instruction(1, "parameter"), instruction(2, "parameter")


def constant(payload: bytes, number: int = 1) -> Message:
    literal, given = Message(), instruction(number, "constant", of=shape(F32))
    literal.put_data(1, b"its shape")
    literal.put_data(8, payload)
    given.put_data(fields.LITERAL, literal.serialise())
    return given


def payload_of(given: Message) -> bytes:
    return Message.parse(given.data(fields.LITERAL)).data(8)


def test_the_initial_value_of_a_reduction_is_changed() -> None:
    init = constant(bytes(4), 2)
    assert SLIPS["initial value changed"](site(A, init, instruction(3, "reduce", 1, 2)))
    assert payload_of(init) == b"\0\0\0\x40"
    assert not SLIPS["initial value changed"](site(A, B, instruction(3, "reduce", 1, 2)))


@pytest.mark.parametrize(
    ("start", "limit", "moved"), [(0, 1, (1, 2)), (1, 2, (0, 1)), (0, 2, None)]
)
def test_a_slice_is_moved_within_its_operand(
    start: int, limit: int, moved: tuple[int, int] | None
) -> None:
    """The first dimension has two elements; the second is taken whole."""
    given = instruction(2, "slice", 1)
    given.put_messages(fields.SLICES, [struct(f1=start, f2=limit), struct(f1=0, f2=3)])
    one = site(A, given)
    assert SLIPS["slice moved by one"](one) == (moved is not None)
    first, _ = one.instruction.messages(fields.SLICES)
    assert (first.integer(1), first.integer(2)) == (moved or (start, limit))


def test_a_pair_of_conversions_is_dropped() -> None:
    narrow = instruction(2, "convert", 1, of=shape(fields.S8, 2, 3))
    back = site(A, narrow, instruction(3, "convert", 2))
    assert SLIPS["conversion dropped"](back)
    assert (back.opcode, back.operand_ids) == ("copy", [1])
    wider = site(A, narrow, instruction(3, "convert", 2, of=shape(12, 2, 3)))
    assert not SLIPS["conversion dropped"](wider)
    assert not SLIPS["conversion dropped"](site(A, instruction(2, "convert", 1)))


def test_branches_layouts_triangles_bits_and_devices() -> None:
    branches = instruction(1, "conditional")
    branches.put_integers(fields.CALLED, [7, 8])
    assert SLIPS["branches swapped"](site(branches))
    assert branches.integers(fields.CALLED) == [8, 7]
    bitcast = instruction(1, "bitcast", of=shape(F32, 2, 3, layout=[1, 0]))
    assert SLIPS["layout turned"](site(bitcast))
    assert bitcast.data(fields.SHAPE) == shape(F32, 2, 3, layout=[0, 1])
    solve = instruction(1, "triangular-solve")
    solve.put_data(fields.TRIANGULAR, struct(f2=1).serialise())
    assert SLIPS["other triangle solved"](site(solve))
    assert Message.parse(solve.data(fields.TRIANGULAR)).integer(2) == 0
    reduced = instruction(1, "reduce-precision")
    reduced.put_integer(fields.MANTISSA, 7)
    assert SLIPS["bit of precision dropped"](site(reduced))
    assert reduced.integer(fields.MANTISSA) == 6
    permute = instruction(1, "collective-permute")
    permute.put_messages(fields.PAIRS, [struct(f1=0, f2=3)])
    assert SLIPS["permutation of devices reversed"](site(permute))
    (pair,) = permute.messages(fields.PAIRS)
    assert (pair.integer(1), pair.integer(2)) == (3, 0)

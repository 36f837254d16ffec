"""Programs made of fragments: valid after any variation, deterministic, and different from each
other.
"""

from __future__ import annotations

import numpy as np
import pytest

from conformance.fuzzing.seeds.files import cut_files
from conformance.fuzzing.seeds.sources import PATTERNS
from conformance.stablehlo.parse import parse_module
from conformance.transforms.values import defined_values
from generators.case.stream import stream
from generators.chains.seeds.fragment import (
    Fragment,
    infer_types,
    is_usable,
    replace_body,
)
from generators.chains.seeds.strategy import program_at
from generators.chains.seeds.variations import (
    VARIATIONS,
    Variation,
    add_operation,
    replace_element_type,
    replace_size,
)
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.interpreter.verify import check
from reference.ir.program import TensorType
from reference.ir.resizing import resize_dimensions, sizes_of
from reference.ir.types import element_type_of


@pytest.fixture(scope="module")
def fragments() -> tuple[Fragment, ...]:
    names = ("softmax", "masked_scores", "split_heads", "best_few", "carried_state")
    return cut_files([PATTERNS / f"{name}.mlir" for name in names]).fragments


def test_programs_are_valid_and_can_be_evaluated(fragments) -> None:
    for number in range(400):
        case = program_at(3, number, fragments)
        assert check(case.program) == []
        main = case.program.main.body
        made = [value.name for operation in main.operations for value in operation.results]
        assert len(made) == len(set(made))
        inside = {
            v.name
            for operation in main.operations
            for r in operation.regions
            for v in defined_values(r)
        }
        assert not inside & set(made)  # beside one another regions may have the same names
        if number < 30:
            results = evaluate(case.program, materialise(case.program, case.inputs[0]))
            types = [value.type for value in case.program.main.body.operations[-1].operands]
            shapes = [of.static_shape for of in types if isinstance(of, TensorType)]
            assert [array.shape for array in results] == shapes


def test_a_number_is_the_same_program_everywhere(fragments) -> None:
    first = [program_at(0, number, fragments) for number in range(20)]
    assert first == [program_at(0, number, fragments) for number in range(20)]
    assert len({case.program.digest for case in first}) == 20


SIZES = """
func.func @main(%x: tensor<6xf32>, %n: tensor<2xi64>) -> tensor<2x3xf32> {
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, SIZES : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = stablehlo.negate %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""


def test_sizes_of_results_do_not_hang_on_parameters() -> None:
    assert is_usable(parse_module(SIZES.replace("SIZES", "%c")))
    assert not is_usable(parse_module(SIZES.replace("SIZES", "%n")))


WINDOW = """
func.func @main(%x: tensor<1x1x1x1xf32>, %i: tensor<f32>) -> tensor<1x1x1x1xf32> {
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {
    window_dimensions = array<i64: SIZES>,
    padding = dense<[[0, HIGH], [0, HIGH], [0, HIGH], [0, HIGH]]> : tensor<4x2xi64>
  } : (tensor<1x1x1x1xf32>, tensor<f32>) -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
}
"""


def windowed(size: int) -> Fragment:
    text = WINDOW.replace("SIZES", ", ".join([str(size)] * 4)).replace("HIGH", str(size - 1))
    return parse_module(text)


@pytest.mark.parametrize(("size", "fitting"), [(4, True), (128, False)])
def test_windows_are_of_modest_size(size: int, fitting: bool) -> None:
    assert is_usable(windowed(size)) is fitting


FILLED = """
func.func @main(%x: tensor<2x2x2x2x2x2xi8>) -> tensor<2x2x2x2x2x2xi8> {
  %c = stablehlo.constant dense<1> : tensor<2x2x2x2x2x2xi8>
  %0 = stablehlo.add %x, %c : tensor<2x2x2x2x2x2xi8>
  return %0 : tensor<2x2x2x2x2x2xi8>
}"""


def test_sizes_that_constants_have_no_room_for_are_not_taken() -> None:
    filled = parse_module(FILLED)
    found = [replace_size(stream(5, number), filled) for number in range(60)]
    assert None in found  # 128 to the sixth power, say
    taken = {one.main.arguments[0].type.static_shape[0] for one in found if one is not None}
    assert taken == {1, 3, 4}


def test_changed_type_keeps_arrays_of_attributes() -> None:
    before = windowed(4)
    for number in range(8):
        other = replace_element_type(stream(4, number), before)
        assert other is not None
        assert other.main.arguments != before.main.arguments
        padding, own = (one.main.body.operations[0].attribute("padding") for one in (other, before))
        assert padding == own


def test_operation_can_be_added_behind_a_value_twice(fragments) -> None:
    softmax = fragments[0]
    for number in range(40):
        once = add_operation(stream(2, number), softmax)
        twice = None if once is None else add_operation(stream(2, number), once)
        assert twice is not None
        whole = infer_types(twice)
        assert whole is None or is_usable(whole)


def test_piece_with_undefined_operand_does_not_fit(fragments) -> None:
    for piece in fragments:
        first, *rest = piece.main.body.operations
        if any(value in one.operands for one in rest for value in first.results):
            assert not is_usable(replace_body(piece, tuple(rest)))


@pytest.mark.parametrize("variation", VARIATIONS, ids=lambda one: one.__name__)
def test_every_variation_often_gives_another_valid_piece(fragments, variation: Variation) -> None:
    found = 0
    for number in range(120):
        pick = stream(1, number)
        before = fragments[pick(len(fragments))]
        changed = variation(pick, before)
        whole = None if changed is None else infer_types(changed)
        if whole is not None and is_usable(whole):
            found += whole != before
    assert found >= 8


def test_types_are_inferred_after_a_change(fragments) -> None:
    piece = next(fragment for fragment in fragments if len(sizes_of(fragment)) > 1)
    old = max(sizes_of(piece))
    assert old + 1 not in sizes_of(piece)
    assert old + 1 in sizes_of(resize_dimensions(piece, {old: old + 1}))
    assert infer_types(piece) == piece


@pytest.mark.parametrize(
    ("old", "new"),
    [("i2", "si4"), ("i4", "si2"), ("f8E5M2", "f4E2M1FN"), ("f4E2M1FN", "f8E8M0FNU")],
)
def test_constants_of_narrow_types_become_constants_of_others(old: str, new: str) -> None:
    fragment = parse_module(f"""
        func.func @main() -> tensor<2x{old}> {{
          %0 = stablehlo.constant dense<1{"" if old.startswith("i") else ".0"}> : tensor<2x{old}>
          %1 = stablehlo.negate %0 : tensor<2x{old}>
          return %1 : tensor<2x{old}>
        }}""")
    others = (replace_element_type(stream(5, number), fragment) for number in range(200))
    found = [dict(one.main.body.operations[0].attributes)["value"].array for one in others if one]
    (array, *_) = [array for array in found if element_type_of(array).name == new]
    assert array.astype(np.float32).tolist() == [1, 1]

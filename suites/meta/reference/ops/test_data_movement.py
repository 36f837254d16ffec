"""Ops that move data, against the specification's formulas evaluated index by index."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from generators.case.case import Case
from generators.cells.plan import cases
from generators.families.data_movement import BUILDERS, INDEX_TYPES
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate, violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import (
    Dense,
    Operation,
    QuantizedType,
    TensorType,
    Value,
    attributes,
    single_op,
)
from reference.ir.types import ALL, ELEMENT_TYPES, Array, to_bits
from reference.ops.data_movement_types import (
    broadcast_in_dim_type,
    broadcast_type,
    concatenate_type,
    dynamic_slice_type,
    dynamic_update_slice_type,
    pad_type,
    reverse_type,
    slice_type,
    transpose_type,
)

F32, SI8, SI64 = (ELEMENT_TYPES[name] for name in ("f32", "si8", "si64"))
Index = tuple[int, ...]
Given = dict[str, Any]
Formula = Callable[[list[Array], Given, Index], Any]
"""formula(operands, attributes, result index): where the element comes from, (operand, index)."""


# --- The specification's formulas ----------------------------------------------------------------


def broadcast_in_dim(operands: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    shape, dimensions = operands[0].shape, given["broadcast_dimensions"]
    return 0, tuple(0 if shape[d] == 1 else index[dimensions[d]] for d in range(operands[0].ndim))


def broadcast(_: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    return 0, index[len(given["broadcast_sizes"]) :]


def concatenate(operands: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    d = given["dimension"]
    along, k = index[d], 0
    while along >= operands[k].shape[d]:
        along -= operands[k].shape[d]
        k += 1
    return k, (*index[:d], along, *index[d + 1 :])


def starts(indices: list[Array], room: Index) -> Index:
    given = (int(index) for index in indices)
    return tuple(max(0, min(start, most)) for start, most in zip(given, room, strict=True))


def dynamic_slice(operands: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    sizes = given["slice_sizes"]
    room = tuple(np.subtract(operands[0].shape, sizes).tolist())
    return 0, tuple(a + b for a, b in zip(starts(operands[1:], room), index, strict=True))


def dynamic_update_slice(operands: list[Array], _: Given, index: Index) -> tuple[int, Index]:
    room = tuple(np.subtract(operands[0].shape, operands[1].shape).tolist())
    inner = tuple(a - b for a, b in zip(index, starts(operands[2:], room), strict=True))
    inside = all(0 <= a < b for a, b in zip(inner, operands[1].shape, strict=True))
    return (1, inner) if inside else (0, index)


def pad(operands: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    source: list[int] = []
    low, interior = given["edge_padding_low"], given["interior_padding"]
    for i, a, b, size in zip(index, low, interior, operands[0].shape, strict=True):
        where, between = divmod(i - a, b + 1)
        if between or not 0 <= where < size:
            return 1, ()
        source.append(where)
    return 0, tuple(source)


def reverse(operands: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    shape, dimensions = operands[0].shape, given["dimensions"]
    return 0, tuple(shape[d] - i - 1 if d in dimensions else i for d, i in enumerate(index))


def slice_(_: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    parts = zip(given["start_indices"], index, given["strides"], strict=True)
    return 0, tuple(start + i * stride for start, i, stride in parts)


def transpose(_: list[Array], given: Given, index: Index) -> tuple[int, Index]:
    source = [0] * len(index)
    for d, i in enumerate(index):
        source[given["permutation"][d]] = i
    return 0, tuple(source)


FORMULAS: dict[str, Formula] = {
    "broadcast": broadcast,
    "broadcast_in_dim": broadcast_in_dim,
    "concatenate": concatenate,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "pad": pad,
    "reverse": reverse,
    "slice": slice_,
    "transpose": transpose,
}
LOOPED = 300
"""Elements of a result that are looked at one by one, at most."""


def operation_of(case: Case) -> Operation:
    return case.program.subject


def runs(op: str, count: int) -> Iterator[tuple[Operation, list[Array], Array]]:
    """Yield operations with operands and result, of every element type."""
    for of in ALL:
        for case in cases(op, of, seed=7, count=count):
            inputs = materialise(case.program, case.inputs[-1])
            seen: list[tuple[Operation, list[Array], Array]] = []
            known = {v.name: a for v, a in zip(case.program.main.arguments, inputs, strict=True)}

            def keep(
                operation: Operation,
                results: tuple[Array, ...],
                known: dict[str, Array] = known,
                seen: list[tuple[Operation, list[Array], Array]] = seen,
            ) -> tuple[Array, ...]:
                operands = [known[value.name] for value in operation.operands]
                known[operation.results[0].name] = results[0]
                seen.append((operation, operands, results[0]))
                return results

            evaluate(case.program, inputs, on_result=keep)
            yield seen[-1]


@pytest.mark.parametrize("op", FORMULAS)
def test_every_element_is_where_the_specification_says(op: str) -> None:
    looked = 0
    for operation, operands, result in runs(op, 8):
        given = dict(operation.attributes)
        bits, sources = to_bits(result), [to_bits(operand) for operand in operands]
        for index in itertools.islice(np.ndindex(*result.shape), LOOPED):
            source, at = FORMULAS[op](operands, given, index)
            assert np.array_equal(bits[index], sources[source][at]), (operation, index)
            looked += 1
    assert looked > 1000


def test_reshape_keeps_the_order_of_elements() -> None:
    looked = 0
    for _, operands, result in runs("reshape", 8):
        one, other = to_bits(operands[0]), to_bits(result)
        pairs = zip(np.ndindex(*operands[0].shape), np.ndindex(*result.shape), strict=True)
        for before, after in itertools.islice(pairs, LOOPED):
            assert np.array_equal(one[before], other[after])
            looked += 1
    assert looked > 1000


@pytest.mark.parametrize("op", BUILDERS)
def test_nan_payloads_survive(op: str) -> None:
    quiet, signalling = 0x7FC12345, 0xFF812345
    array = np.array([quiet, signalling, 0], np.uint32).view(np.float32)
    kind, scalar = TensorType((3,), F32), TensorType((), F32)
    first = Dense.of(array[:1], TensorType((1,), F32))
    zero = Dense.of(np.array(0), TensorType((), SI64))
    given: dict[str, tuple[tuple[Any, ...], TensorType, Given]] = {
        "broadcast": ((kind,), TensorType((1, 3), F32), {"broadcast_sizes": (1,)}),
        "broadcast_in_dim": ((kind,), TensorType((1, 3), F32), {"broadcast_dimensions": (1,)}),
        "concatenate": ((kind,), kind, {"dimension": 0}),
        "dynamic_slice": ((kind, zero), kind, {"slice_sizes": (3,)}),
        "dynamic_update_slice": ((kind, first, zero), kind, {}),
        "pad": (
            (kind, Dense.of(array[0], scalar)), kind,
            {"edge_padding_low": (0,), "edge_padding_high": (0,), "interior_padding": (0,)},
        ),
        "reshape": ((kind,), TensorType((3, 1), F32), {}),
        "reverse": ((kind,), kind, {"dimensions": ()}),
        "slice": ((kind,), kind, {"start_indices": (0,), "limit_indices": (3,), "strides": (1,)}),
        "transpose": ((kind,), kind, {"permutation": (0,)}),
    }  # fmt: skip
    types, result, attrs = given[op]
    operands = tuple(Value("x", of) if isinstance(of, TensorType) else of for of in types)
    (actual,) = evaluate(single_op(op, operands, (result,), attrs), (array,))
    assert to_bits(actual).ravel().tolist() == [quiet, signalling, 0]


# --- What the cases reach ------------------------------------------------------------------------

MANY = 150


def drawn(op: str, of: str = "si32") -> list[Operation]:
    return [operation_of(case) for case in cases(op, ELEMENT_TYPES[of], seed=1, count=MANY)]


def numbers(op: str, name: str) -> list[tuple[int, ...]]:
    found = [operation.attribute(name) for operation in drawn(op)]
    return [one for one in found if isinstance(one, tuple)]


def shapes(op: str, operand: int) -> list[tuple[int | None, ...]]:
    types = [operation.operands[operand].type for operation in drawn(op)]
    return [of.shape for of in types if isinstance(of, TensorType)]


def results(op: str) -> list[tuple[int | None, ...]]:
    types = [operation.results[0].type for operation in drawn(op)]
    return [of.shape for of in types if isinstance(of, TensorType)]


def test_paddings_of_every_kind() -> None:
    for end in ("edge_padding_low", "edge_padding_high"):
        every = [n for row in numbers("pad", end) for n in row]
        assert min(every) < -4
        assert max(every) > 4
    assert {0, 1, 2, 3} <= {n for row in numbers("pad", "interior_padding") for n in row}
    assert any(0 in before for before in shapes("pad", 0))
    assert any(0 in after and 0 not in before for before, after in zip(
        shapes("pad", 0), results("pad"), strict=True
    ))  # fmt: skip


@pytest.mark.slow
def test_slices_of_every_kind() -> None:
    strides = {n for row in numbers("slice", "strides") for n in row}
    assert {1, 2, 3, 7, 1 << 33} <= strides
    assert any(start for row in numbers("slice", "start_indices") for start in row)
    pairs = zip(numbers("slice", "limit_indices"), shapes("slice", 0), strict=True)
    assert any(limit != shape for limit, shape in pairs)
    assert any(0 in shape for shape in results("slice"))
    assert () in results("slice")


def test_dimensions_in_every_order() -> None:
    assert any(
        row != tuple(sorted(row)) for row in numbers("broadcast_in_dim", "broadcast_dimensions")
    )
    assert any(row != tuple(sorted(row)) for row in numbers("reverse", "dimensions"))
    orders = numbers("transpose", "permutation")
    assert {len(row) for row in orders} == set(range(8))
    assert {(0, 1), (1, 0), (2, 0, 1), (0, 2, 1)} <= set(orders)
    assert {len(operation.operands) for operation in drawn("concatenate")} >= {1, 2, 3, 4, 5, 8}
    assert {0, 1, 2} <= {d.attribute("dimension") for d in drawn("concatenate")}


def test_operands_of_size_one_are_broadcast_and_others_unchanged() -> None:
    stretched = kept = emptied = False
    for operation in drawn("broadcast_in_dim"):
        before, after = operation.operands[0].type, operation.results[0].type
        assert isinstance(before, TensorType)
        assert isinstance(after, TensorType)
        dimensions = operation.attribute("broadcast_dimensions")
        assert isinstance(dimensions, tuple)
        for size, d in zip(before.static_shape, dimensions, strict=True):
            stretched |= size == 1 and after.shape[d] not in (0, 1)
            emptied |= size == 1 and after.shape[d] == 0
            kept |= size == 1 and after.shape[d] == 1
    assert stretched
    assert kept
    assert emptied


@pytest.mark.parametrize("op", ["dynamic_slice", "dynamic_update_slice"])
def test_indices_of_every_type_inside_and_out(op: str) -> None:
    first = 1 if op == "dynamic_slice" else 2
    types: set[str] = set()
    below = above = inside = constant = False
    for case in cases(op, ELEMENT_TYPES["si32"], seed=1, count=MANY):
        operation = operation_of(case)
        indices = operation.operands[first:]
        names = {one.results[0].name for one in case.program.main.body.operations[:-2]}
        constant |= any(value.name in names for value in indices)
        parameters = [value.name for value in case.program.main.arguments]
        full = operation.operands[0].type
        assert isinstance(full, TensorType)
        for recipe in case.inputs:
            inputs = dict(zip(parameters, materialise(case.program, recipe), strict=True))
            for value, size in zip(indices, full.static_shape, strict=True):
                assert isinstance(value.type, TensorType)
                types.add(str(value.type.element_type))
                if value.name in inputs:
                    index = int(inputs[value.name])
                    below, above, inside = below | (index < 0), above | (index > size), (
                        inside | (0 < index < size)
                    )  # fmt: skip
    assert types == {of.name for of in INDEX_TYPES}
    assert below
    assert above
    assert inside
    assert constant


# --- Types ---------------------------------------------------------------------------------------


def tensor(*shape: int | None) -> TensorType:
    return TensorType(shape, F32)


def quantized_type(shape: tuple[int | None, ...], axis: int | None, count: int = 3) -> TensorType:
    scales = tuple(0.5 * (n + 1) for n in range(count if axis is not None else 1))
    return TensorType(shape, QuantizedType(SI8, -128, 127, F32, scales, (0,) * len(scales), axis))


def test_result_types_are_inferred() -> None:
    index = TensorType((), SI64)
    assert broadcast_type(tensor(2), broadcast_sizes=(3,)) == tensor(3, 2)
    assert concatenate_type((tensor(2, 3), tensor(4, 3)), dimension=0) == tensor(6, 3)
    assert concatenate_type((tensor(2, 3), tensor(None, 3)), dimension=0) == tensor(None, 3)
    assert concatenate_type((tensor(2, None), tensor(1, 3)), dimension=0) == tensor(3, 3)
    assert dynamic_slice_type(tensor(4, 5), (index, index), slice_sizes=(2, 0)) == tensor(2, 0)
    assert dynamic_update_slice_type(tensor(4), tensor(2), (index,)) == tensor(4)
    assert reverse_type(tensor(4, 5), dimensions=(1,)) == tensor(4, 5)
    assert transpose_type(tensor(2, 3, None), permutation=(2, 0, 1)) == tensor(None, 2, 3)
    padded = pad_type(
        tensor(2, None), tensor(), edge_padding_low=(-1, 2), edge_padding_high=(0, 1),
        interior_padding=(3, 0),
    )  # fmt: skip
    assert padded == tensor(4, None)
    cut = slice_type(tensor(9, None), start_indices=(1, 0), limit_indices=(8, 4), strides=(3, 2))
    assert cut == tensor(3, 2)


def test_the_quantized_dimension_moves_along() -> None:
    before = quantized_type((2, 3, 4), axis=1)
    moved = transpose_type(before, permutation=(2, 0, 1))
    assert moved == quantized_type((4, 2, 3), axis=2)
    same = transpose_type(quantized_type((2, 3), axis=None), permutation=(1, 0))
    assert same == quantized_type((3, 2), axis=None)


def test_broadcast_repeats_single_scale() -> None:
    one = quantized_type((2, 1), axis=1, count=1)
    element_type = one.element_type
    assert isinstance(element_type, QuantizedType)
    right = QuantizedType(element_type.storage_type, -128, 127, F32, (0.5,) * 3, (0,) * 3, 1)
    result = TensorType((2, 3), right)
    assert broadcast_in_dim_type(one, broadcast_dimensions=(0, 1), result=result) == result
    with pytest.raises(ConstraintViolation, match="breaks C6"):
        broadcast_in_dim_type(
            one, broadcast_dimensions=(0, 1), result=quantized_type((2, 3), axis=1)
        )


def test_old_broadcast_refuses_wrong_types() -> None:
    with pytest.raises(ConstraintViolation, match="breaks attributes"):
        broadcast_type(tensor(2), broadcast_sizes=(-3,))
    with pytest.raises(ConstraintViolation, match="breaks result"):
        broadcast_type(tensor(2), broadcast_sizes=(3,), result=tensor(2, 3))


@pytest.mark.parametrize("op", FORMULAS)
def test_unknown_sizes_break_nothing(op: str) -> None:
    """The operation stays valid if any sizes of operands and results become unknown."""
    for operation in drawn(op, "f32")[:40]:
        values = [*operation.operands, *operation.results]
        forgotten = [
            Value(value.name, TensorType((None,) * value.type.rank, value.type.element_type))
            for value in values
            if isinstance(value.type, TensorType)
        ]
        count = len(operation.operands)
        loose = Operation(
            op,
            tuple(forgotten[:count]),
            tuple(forgotten[count:]),
            attributes(**dict(operation.attributes)),
        )
        assert violations(loose) == ()

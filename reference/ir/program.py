"""Programs, as the specification's chapter "Programs" describes them: plain, immutable data.

Everything works on this one structure: a single-op case is a program of one operation, the body of
a reduction is a region, a user's model is a parsed program. All classes are frozen, hashable by
content, comparable and picklable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from reference.ir.types import Array, ElementType, bits_dtype, from_bits, to_bits


@dataclass(frozen=True, slots=True)
class QuantizedType:
    """A quantized element type; per axis if `quantization_dimension` is given."""

    storage_type: ElementType
    storage_min: int
    storage_max: int
    expressed_type: ElementType
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    quantization_dimension: int | None = None

    def __str__(self) -> str:
        bounds = (self.storage_type.min_integer, self.storage_type.max_integer)
        low, high = self.storage_min, self.storage_max
        storage = f"{self.storage_type}" + ("" if (low, high) == bounds else f"<{low}:{high}>")
        steps = [f"{s:g}:{z}" for s, z in zip(self.scales, self.zero_points, strict=False)]
        axis = self.quantization_dimension
        listed = ", ".join(steps) if axis is None else "{" + ", ".join(steps) + "}"
        along = "" if axis is None else f":{axis}"
        return f"!quant.uniform<{storage}:{self.expressed_type}{along}, {listed}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor type; a dimension size of None is unknown before execution.

    `bounds` holds the upper bound of each unknown size and None for each known size; it is empty if
    no size is bounded. No constraint distinguishes types that differ only in bounds.
    """

    shape: tuple[int | None, ...]
    element_type: ElementType | QuantizedType
    bounds: tuple[int | None, ...] = field(default=(), compare=False, repr=False)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension size is known."""
        return None not in self.shape

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape, if all dimension sizes are known.

        Raises:
            ValueError: if a size is unknown.
        """
        sizes = tuple(size for size in self.shape if size is not None)
        if len(sizes) != len(self.shape):
            raise ValueError(f"{self} has a dimension of unknown size")
        return sizes

    @property
    def element(self) -> ElementType:
        """The element type of a tensor that is not quantized.

        Raises:
            TypeError: if the tensor is quantized.
        """
        if isinstance(self.element_type, QuantizedType):
            raise TypeError(f"{self} is quantized")
        return self.element_type

    @property
    def stored(self) -> ElementType:
        """The element type of arrays of this type: the storage type of a quantized tensor."""
        element_type = self.element_type
        return (
            element_type.storage_type if isinstance(element_type, QuantizedType) else element_type
        )

    @property
    def storage(self) -> np.dtype[Any]:
        """The dtype of arrays of this type; for a quantized tensor, the dtype of its storage
        type."""
        return self.stored.storage

    def __str__(self) -> str:
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.shape)
        return f"tensor<{sizes}{self.element_type}>"


@dataclass(frozen=True, slots=True)
class TokenType:
    """The type of tokens, which order side effects."""


@dataclass(frozen=True, slots=True)
class TupleType:
    """The type of a tuple of values."""

    types: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True)
class FutureType:
    """The type of an asynchronous operation's result: a promise of values of these types."""

    types: tuple[ValueType, ...]


ValueType = TensorType | TokenType | TupleType | FutureType


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value: its name (without the %), unique within a function, and its type."""

    name: str
    type: ValueType


def tensor_of(value: Value) -> TensorType:
    """Return the type of a value that is a tensor.

    Raises:
        TypeError: when it is a token, a tuple or a future.
    """
    if not isinstance(value.type, TensorType):
        raise TypeError(f"%{value.name} is not a tensor")
    return value.type


@dataclass(frozen=True, slots=True)
class Dense:
    """A constant tensor: a static type and the bits of its elements, little-endian, row-major.

    A quantized tensor has the bits of its storage type.
    """

    type: TensorType
    data: bytes

    @classmethod
    def of(cls, array: Array, type: TensorType) -> Self:  # noqa: A002 - the field's name
        """Return the constant with the elements of `array`, which must have the storage of
        `type`."""
        return cls(type, to_bits(array).astype(bits_dtype(type.stored).newbyteorder("<")).tobytes())

    @property
    def array(self) -> Array:
        """The elements, as a new array of the storage type."""
        element_type = self.type.stored
        bits = np.frombuffer(self.data, dtype=bits_dtype(element_type).newbyteorder("<"))
        shape = self.type.static_shape + ((2,) if element_type.is_complex else ())
        return from_bits(bits.reshape(shape), element_type)


@dataclass(frozen=True, slots=True)
class Scalar(Dense):
    """A constant of rank 0 that MLIR writes as a number with its type, not as a tensor."""


Attribute = bool | int | float | str | Dense | tuple[Any, ...]
"""An attribute's value: a scalar, an enum's or symbol's name, a constant, a tuple, or a frozen
struct (dimension numbers and the like), which are tuples too (NamedTuple).
"""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: mnemonic (`add`, or `func.call` outside StableHLO), operands, results.

    `attributes` are (name, value) pairs sorted by name, under the specification's names. `waives`
    lists constraints that need not hold: those that the XlaBuilder op waives that the operation was
    lowered from (`Op.waives`).
    """

    name: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    regions: tuple[Region, ...] = ()
    waives: tuple[str, ...] = field(default=(), repr=False)

    def attribute(self, name: str, default: Attribute | None = None) -> Attribute | None:
        """Return the attribute of that name, or `default` if it is missing."""
        return dict(self.attributes).get(name, default)

    def with_attributes(self, **changed: Attribute) -> Operation:
        """Return the operation with these attributes, added or changed."""
        return replace(self, attributes=attributes(**dict(self.attributes) | changed))


@dataclass(frozen=True, slots=True)
class Region:
    """A block: arguments, then operations, the last of which is `return` with the results.

    Operands may refer to values of the enclosing regions.
    """

    arguments: tuple[Value, ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A named function; its body is a region whose `return` gives the results."""

    name: str
    body: Region
    result_types: tuple[ValueType, ...]

    @property
    def arguments(self) -> tuple[Value, ...]:
        """The function's parameters."""
        return self.body.arguments


@dataclass(frozen=True, slots=True)
class Program:
    """A module of functions, one named `main` (or a single function of any name).

    `process_grid` is (num_replicas, num_partitions), None if the program does not state it; one
    process then executes the program. `shared_among` is the number of partitions among which a
    compiler is to shard the values of a single-process program.
    """

    functions: tuple[Function, ...]
    process_grid: tuple[int, int] | None = field(default=None, repr=False)
    shared_among: int = field(default=1, repr=False)

    @property
    def process_count(self) -> int:
        """The number of processes that execute the program in parallel."""
        replicas, partitions = self.process_grid or (1, 1)
        return replicas * partitions

    @property
    def main(self) -> Function:
        """The function that evaluation starts with.

        Raises:
            ValueError: if there are several functions and none is called main.
        """
        for function in self.functions:
            if function.name == "main":
                return function
        if len(self.functions) == 1:
            return self.functions[0]
        names = ", ".join(function.name for function in self.functions) or "none"
        raise ValueError(f"no function is called main (functions: {names})")

    def function(self, name: str) -> Function:
        """Return the function of that name.

        Raises:
            KeyError: if there is none.
        """
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(f"no function is called {name}")

    @property
    def digest(self) -> str:
        """A hash of the content, 16 hex digits: the same in every process and Python version."""
        grid = "" if self.process_grid is None else f" on {self.process_grid}"
        return hashlib.sha256(f"{self!r}{grid}".encode()).hexdigest()[:16]

    @property
    def subject(self) -> Operation:
        """The operation that a single-op program tests: the last operation of main.

        The operations before it produce its operands. Programs of several operations have no
        subject.
        """
        return self.main.body.operations[-2]

    def walk(self) -> Iterator[Operation]:
        """Yield every operation, including those in regions, in program order."""
        for function in self.functions:
            yield from _walk(function.body)


def _walk(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _walk(inner)


def attributes(**given: Attribute) -> tuple[tuple[str, Attribute], ...]:
    """Return attributes in the order that `Operation` requires."""
    return tuple(sorted(given.items()))


def single_op(
    name: str,
    operands: tuple[Value | Dense, ...],
    results: tuple[TensorType, ...],
    given: dict[str, Attribute] | None = None,
    regions: tuple[Region, ...] = (),
) -> Program:
    """Return a program of one operation; `Dense` operands become embedded constants.

    Parameters are the `Value` operands in order; a repeated value is one parameter.
    """
    body: list[Operation] = []
    used: list[Value] = []
    for index, operand in enumerate(operands):
        if isinstance(operand, Dense):
            used.append(Value(f"c{index}", operand.type))
            value = (("value", operand),)
            body.append(Operation("constant", results=(used[-1],), attributes=value))
        else:
            used.append(operand)
    parameters = tuple(dict.fromkeys(o for o in operands if isinstance(o, Value)))
    outputs = tuple(Value(f"r{index}", of) for index, of in enumerate(results))
    body.append(Operation(name, tuple(used), outputs, attributes(**(given or {})), regions))
    body.append(Operation("return", outputs))
    return Program((Function("main", Region(parameters, tuple(body)), results),))

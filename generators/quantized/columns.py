"""Quantized columns of the matrix: an op's ordinary case, with its f32 tensors quantized.

By the specification's constraints, an op that computes gets separate quantization parameters for
every operand and result; an op that moves elements gets the same parameters throughout. A body may
work in another type than the operands have, of another scale or of wider storage. In the column
"per axis" the main operands have a scale and a zero point for each index of one dimension, if an op
admits that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose
from generators.case.quantized_types import (
    PER_AXIS,
    PER_TENSOR,
    QuantizationParameters,
    QuantizedColumn,
    draw_quantized_type,
)
from generators.families import quantization
from generators.families.control_flow import NOT_QUANTIZED
from generators.families.table import BUILDERS
from generators.quantized.axes import AXES, Types, dimension
from reference.interpreter.quantized import computes_on_numbers
from reference.interpreter.verify import check
from reference.ir.op import QuantizedUse
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    FutureType,
    Operation,
    Program,
    QuantizedType,
    Region,
    TensorType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops.quantization import quantize
from reference.ops.structure import named_functions
from reference.ops.table import OPS

_F32 = ELEMENT_TYPES["f32"]
_WIDER_STORAGE = (ELEMENT_TYPES["si16"], ELEMENT_TYPES["si32"])
_PLANNED, _FREE = 6, 30
"""Number of ordinary cases, planned and then drawn, that are tried until one stays valid. Few are
invalid, but a planned value may be the cause every time."""

_SIMPLE = 12
"""Number of the simplest cases that are tried after these."""


def quantized_columns(op: str) -> tuple[QuantizedColumn, ...]:
    """Return the quantized columns in which an op has cells."""
    if op in OWN:
        return (*PER_TENSOR, PER_AXIS)
    record = OPS[op]
    refused = record.quantized is QuantizedUse.REFUSES or not record.specified
    if refused or op in NOT_QUANTIZED or _F32 not in record.element_types:
        return ()
    return (*PER_TENSOR, *((PER_AXIS,) if op in AXES else ()))


def quantized_case(op: str, column: QuantizedColumn, pick: Pick) -> Case:
    """Return the case of an op in a quantized column that these choices make."""
    for attempt in range(_PLANNED + _FREE):
        pick.start(freely=attempt >= _PLANNED)
        made = _attempt(op, column, pick, pick)
        if made is not None:
            return made
    for fixed in range(_SIMPLE):  # one of them has a dimension to quantize
        simple = _constant_pick(fixed)
        made = _attempt(op, column, simple, pick)
        if made is not None:
            pick.asked, pick.has_empty_results = simple.asked, simple.has_empty_results
            return made
    raise ValueError(f"{op} has no simple case that is valid in {column}")


def _attempt(op: str, column: QuantizedColumn, structure: Pick, pick: Pick) -> Case | None:
    """Return a case of the column built from `structure`; None if it is not valid."""
    if op in OWN:
        return OWN[op](column, structure)
    return _quantize_case(op, column, BUILDERS[op](_F32, structure), pick)


def _constant_pick(choice: int) -> Pick:
    return Pick(lambda count: min(choice, count - 1))


def _quantize_case(op: str, column: QuantizedColumn, case: Case, pick: Pick) -> Case | None:
    """Return the case with quantized tensors; None if that violates a constraint."""
    parameters = QuantizationParameters.draw(column.storage, column.expressed, pick)
    alone = _only_operation(op, case.program)
    types: Types | None = {}
    if column.per_axis:
        static = alone and all(
            isinstance(r.type, TensorType) and r.type.is_static for r in alone.results
        )
        types = AXES[op](alone, parameters, pick) if alone and static else None
    elif alone and computes_on_numbers(alone) and not alone.regions:
        types = _separate_types(alone, parameters, pick)
    if types is None:
        return None
    rewrite = _Rewrite(types, draw_quantized_type(parameters, pick))
    if alone and OPS[op].body_types:
        rewrite = _rewrite_body_types(rewrite, alone, parameters, pick)
    program = rewrite.program(case.program)
    if check(program) or not _any_quantized(program):
        return None
    return Case(program, tuple(_recipe(one, program, pick) for one in case.inputs))


def _only_operation(op: str, program: Program) -> Operation | None:
    """Return the op's operation if all other operations of main are constants, else None."""
    others = [
        operation
        for operation in program.main.body.operations
        if operation.name not in ("constant", "return")
    ]
    if op == "constant":
        others = [
            operation for operation in program.main.body.operations if operation.name == "constant"
        ]
    return others[0] if len(others) == 1 and others[0].name == op else None


def _separate_types(operation: Operation, parameters: QuantizationParameters, pick: Pick) -> Types:
    """Return scales and zero points for each operand and result of an op that computes."""
    types: Types = {}
    for index, value in enumerate((*operation.operands, *operation.results)):
        if value.name in types:
            continue
        if operation.name == "select" and index == 2 and operation.operands[1].name in types:
            # other parameters are valid (C2), but StableHLO's verifier refuses them
            types[value.name] = types[operation.operands[1].name]
            continue
        dot = operation.name in ("dot_general", "convolution", "dynamic_conv")
        kernel = dot and index == 1
        of = draw_quantized_type(parameters, pick, symmetric=kernel)
        if dot and value in operation.results and pick(2):
            of = draw_quantized_type(
                parameters.replace_storage(ELEMENT_TYPES["si32"]), pick, symmetric=True
            )
        types[value.name] = of
    if (
        operation.name in ("dot_general", "convolution") and pick(4) == 3
    ):  # hybrid: only the weights
        for value in (operation.operands[0], *operation.results):
            assert isinstance(value.type, TensorType)
            types[value.name] = value.type
    return types


_ALIKE, _SCALED, _WIDER = "that of the operands", "another scale", "wider storage"


def _rewrite_body_types(
    rewrite: _Rewrite, operation: Operation, parameters: QuantizationParameters, pick: Pick
) -> _Rewrite:
    """Return the rewriting for an op whose body may work in another type than the operands have."""
    kind = choose(pick, (_ALIKE, _SCALED, _WIDER), "type of the body", paired=False)
    if kind == _ALIKE:
        return rewrite
    storage = choose(pick, _WIDER_STORAGE) if kind == _WIDER else parameters.storage
    folded = draw_quantized_type(parameters.replace_storage(storage), pick)
    types: Types = {value.name: rewrite.common for value in operation.operands}
    return replace(rewrite, types=types, common=folded, unfolded=rewrite.common)


@dataclass(frozen=True)
class _Rewrite:
    """A rewriting of a program's tensors of one type as quantized: by name in `types`, else
    `common`.

    `unfolded` is the type in regions that take operands unconverted: all but the last region of an
    op that folds.
    """

    types: Types
    common: QuantizedType
    of: ElementType = _F32
    unfolded: QuantizedType | None = None

    def program(self, given: Program) -> Program:
        """Return the program with its tensors quantized."""
        others, names = self._rewrite_unconverted_regions(), self._called_unfolded(given)
        functions = tuple(
            (others if function.name in names else self).function(function)
            for function in given.functions
        )
        return replace(given, functions=functions)

    def _rewrite_unconverted_regions(self) -> _Rewrite:
        """Return the rewriting of regions that take operands unconverted."""
        return replace(self, common=self.unfolded) if self.unfolded else self

    def _called_unfolded(self, given: Program) -> set[str]:
        """Return the functions called by regions that take operands unconverted."""
        left = [inner for one in given.walk() if _folds(one) for inner in one.regions[:-1]]
        found: set[str] = set()
        while left:
            for operation in left.pop().operations:
                found.update(named_functions(operation))
                left += [given.function(name).body for name in named_functions(operation)]
        return found

    def function(self, given: Function) -> Function:
        """Return a function with its tensors quantized."""
        body = self.region(given.body)
        results = tuple(value.type for value in body.operations[-1].operands)
        return Function(given.name, body, results)

    def region(self, given: Region) -> Region:
        """Return a region with its tensors quantized."""
        arguments = tuple(self._value(value) for value in given.arguments)
        return Region(
            arguments, tuple(self._operation(operation) for operation in given.operations)
        )

    def _operation(self, given: Operation) -> Operation:
        results = tuple(self._value(value) for value in given.results)
        return replace(
            given,
            operands=tuple(self._value(value) for value in given.operands),
            results=results,
            attributes=tuple(
                (name, self._attribute(given, name, value, results))
                for name, value in given.attributes
            ),
            regions=self._regions(given),
        )

    def _regions(self, given: Operation) -> tuple[Region, ...]:
        """Return the operation's regions; the last one folds if the op has a body."""
        if not given.regions:
            return ()
        others = self._rewrite_unconverted_regions() if _folds(given) else self
        *before, last = given.regions
        return (*(others.region(region) for region in before), self.region(last))

    def _attribute(
        self, owner: Operation, name: str, given: Attribute, results: tuple[Value, ...]
    ) -> Attribute:
        if owner.name != "constant" or name != "value" or not isinstance(given, Dense):
            return given
        to = results[0].type
        assert isinstance(to, TensorType)
        if not isinstance(to.element_type, QuantizedType):
            return given
        if given.type.element_type is not _F32:
            return Dense(to, given.data)
        return Dense.of(quantize(given.array, to.element_type), to)

    def _value(self, given: Value) -> Value:
        return Value(given.name, self._type(given.name, given.type))

    def _type(self, name: str, given: ValueType) -> ValueType:
        if isinstance(given, TupleType):
            return TupleType(tuple(self._type("", one) for one in given.types))
        if isinstance(given, FutureType):
            return FutureType(tuple(self._type("", one) for one in given.types))
        if not isinstance(given, TensorType) or given.element_type is not self.of:
            return given
        found = self.types.get(name, self.common)
        return found if isinstance(found, TensorType) else replace(given, element_type=found)


def _folds(operation: Operation) -> bool:
    return operation.name in OPS and bool(OPS[operation.name].body_types)


def _any_quantized(program: Program) -> bool:
    values = (
        value for operation in program.walk() for value in (*operation.operands, *operation.results)
    )
    return any(
        isinstance(value.type, TensorType) and isinstance(value.type.element_type, QuantizedType)
        for value in values
    )


def _recipe(given: InputRecipe, program: Program, pick: Pick) -> InputRecipe:
    """Return the recipe with half of the quantized inputs filled with codes, the others as
    before."""
    profiles = tuple(
        "codes" if _takes_codes(argument.type, profile) and pick(2) else profile
        for argument, profile in zip(program.main.arguments, given.profiles, strict=True)
    )
    return replace(given, profiles=profiles)


def _takes_codes(value_type: ValueType, profile: str) -> bool:
    quantized = isinstance(value_type, TensorType) and isinstance(
        value_type.element_type, QuantizedType
    )
    return quantized and ":" not in profile and profile not in ("definite", "triangular")


def _bitcast(column: QuantizedColumn, pick: Pick) -> Case | None:
    """Return an ordinary case of integers, with the operand as codes and a result of its type.

    None if it has no dimension to quantize along but the column requires one.
    """
    storage = column.storage
    case = BUILDERS["bitcast_convert"](storage, pick)
    operation = case.program.subject
    whole = QuantizationParameters(
        storage, storage.min_integer, storage.max_integer, column.expressed
    )
    types: Types = {}
    axes: list[int | None] = []
    for value in (*operation.operands, *operation.results):
        assert isinstance(value.type, TensorType)
        if value.type.element_type is not storage:
            continue
        shape = value.type.static_shape
        axis = dimension(shape, pick) if column.per_axis else None
        axes.append(axis)
        types[value.name] = draw_quantized_type(
            whole, pick, axis=axis, size=shape[axis] if axis is not None else 1
        )
    if column.per_axis and axes.count(None) == len(axes):
        return None
    program = _Rewrite(types, draw_quantized_type(whole, pick), storage).program(case.program)
    filled = tuple(replace(one, profiles=("codes",) * len(one.profiles)) for one in case.inputs)
    return Case(program, filled)


OWN: dict[str, Callable[[QuantizedColumn, Pick], Case | None]] = {
    "bitcast_convert": _bitcast,
    "uniform_dequantize": quantization.dequantize_case,
    "uniform_quantize": quantization.requantize_case,
}
"""Builders of the ops that always take quantized tensors; None means to try again."""

"""Programs without rounding conversions: computed by a compiler that keeps more precision."""

from __future__ import annotations

from dataclasses import replace

from conformance.transforms.extract import replace_main
from conformance.transforms.values import definition_index
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.substitution import replace_operands
from reference.ops.table import OPS


def remove_roundings(program: Program) -> Program:
    """Return the program in which roundings to the same type, or to another and back, are bypassed.

    The operations that round stay, for `remove_unused` to remove. Integers are not rounded, and
    stay unchanged.
    """
    main, makers = program.main, definition_index(program)
    left_out: dict[str, Value] = {}
    operations: list[Operation] = []
    for one in main.body.operations:
        one = replace_operands(one, left_out)
        operations.append(one)
        if one.name not in OPS or not OPS[one.name].only_rounds:
            continue
        (result,), source = one.results, one.operands[0]
        before = makers.get(source.name)
        made = None if before is None else operations[before]
        if made is not None and made.name in OPS and OPS[made.name].only_rounds:
            source = source if source.type == result.type else made.operands[0]
        if source.type == result.type and _is_rounded(source):
            left_out[result.name] = source
    body = replace(main.body, operations=tuple(operations))
    return replace_main(program, replace(main, body=body))


def _is_rounded(value: Value) -> bool:
    of = value.type
    return isinstance(of, TensorType) and (of.stored.is_float or of.stored.is_complex)

"""Every op's cases: valid, evaluated without error, written and read back, the same by seed."""

import pytest

from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import diagnose, parse_module
from generators.cells.plan import cases
from generators.families.table import BUILDERS
from generators.values.contents import materialise
from reference.interpreter.evaluate import check, evaluate
from reference.ir.types import ALL
from reference.ops.table import OPS
from suites.meta.support.dialects import is_newer, waits_for_several

CASES = 3
"""Cases of each cell."""


def test_every_op_with_cases_has_element_types() -> None:
    assert set(BUILDERS) == set(OPS)
    order = {of.name: number for number, of in enumerate(ALL)}
    for op, record in OPS.items():
        types = record.element_types
        numbers = [order[of.name] for of in types if of.name in order]
        assert numbers == sorted(numbers), op
        assert len(set(types)) == len(types), op


STRICTER = {"collective_reduce": "not seen in replica groups"}
"""Ops with programs that the specification admits and StableHLO's verifier refuses, with the
reason."""

ONE_RESULT = "'stablehlo.async_done' op requires one result"


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_valid_and_can_be_evaluated(op: str) -> None:
    for of in OPS[op].element_types:
        for one in cases(op, of, seed=3, count=CASES):
            assert check(one.program) == [], one.program
            assert one.inputs
            arrays = materialise(one.program, one.inputs[0])
            results = evaluate(one.program, arrays)
            count = one.program.process_count
            assert len(results) == len(one.program.main.result_types) * count


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_written_and_read_back(op: str) -> None:
    for of in OPS[op].element_types[::4]:
        for one in cases(op, of, seed=5, count=CASES):
            text = emit(one.program)
            if is_newer(text):
                continue
            if (refused := diagnose(text)) is not None:
                words = ONE_RESULT if waits_for_several(one.program) else STRICTER.get(op, "?")
                assert words in refused, text
                continue
            read = parse_module(text)
            assert parse_module(emit(read)) == read
            arrays = materialise(one.program, one.inputs[0])
            for ours, again in zip(
                evaluate(one.program, arrays), evaluate(read, arrays), strict=True
            ):
                assert ours.tobytes() == again.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("op", BUILDERS)
def test_cases_depend_only_on_the_seed(op: str) -> None:
    of = OPS[op].element_types[-1]
    first, again = cases(op, of, seed=9, count=6), cases(op, of, seed=9, count=6)
    assert [one.program.digest for one in first] == [one.program.digest for one in again]
    assert cases(op, of, seed=9, count=2, start=3) == first[3:5]

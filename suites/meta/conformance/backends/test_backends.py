"""Backends: what goes in comes out, errors are told apart, the fake one is wrong as told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from conformance.backends.base import Failed, Rejected, Unsupported
from conformance.backends.fake.faults import FAULTS
from conformance.backends.pjrt import classify, one_line
from conformance.backends.registry import BACKENDS, parse
from conformance.backends.session import open_session
from conformance.catalog import CATALOG
from conformance.errors import NotAvailable, UsageError
from conformance.judging.compare import judge
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.transforms.merge import merge
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import (
    ALL,
    ELEMENT_TYPES,
    Array,
    bits_dtype,
    element_type,
    element_type_of,
    to_bits,
)
from reference.ops.table import OPS


def typed(*shape: int, of: str = "f32") -> TensorType:
    return TensorType(shape, ELEMENT_TYPES[of])


def one(op: str, operands: Sequence[TensorType | Dense], result: TensorType, **given) -> Program:
    values = tuple(
        Value(f"a{i}", of) if isinstance(of, TensorType) else of for i, of in enumerate(operands)
    )
    return single_op(op, values, (result,), given)


def array(values, of: str = "f32") -> Array:
    return np.array(values).astype(ELEMENT_TYPES[of].storage)


def execute(backend: str, program: Program, *inputs: Array) -> list[Array]:
    return open_session(backend).compile(program).run(inputs)


def same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    return len(left) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and np.array_equal(to_bits(a), to_bits(b))
        for a, b in zip(left, right, strict=True)
    )


# The names


def test_unknown_names_say_what_is_known():
    known = "cpu, gpu, tpu, plugin, reference"
    with pytest.raises(UsageError, match=f"unknown backend 'abacus'; known: {known}"):
        parse("abacus")
    with pytest.raises(UsageError, match="unknown backend 'cpu:3'; did you mean cpu"):
        parse("cpu:3")
    with pytest.raises(UsageError, match=r"unknown fault 'nonsense'; known: right, .*hang"):
        parse("reference:nonsense")
    for name in ("sign_lost@nonsense", "reversed_elements@add"):
        with pytest.raises(UsageError, match="cannot be confined to operations"):
            parse(f"reference:{name}")


def test_a_fault_may_be_confined_to_one_op():
    x = Value("x", TensorType((2,), element_type("f32")))
    y, z = (Value(name, x.type) for name in "yz")
    body = (
        Operation("negate", (x,), (y,)),
        Operation("multiply", (x, x), (z,)),
        Operation("return", (y, z)),
    )
    program = Program((Function("main", Region((x,), body), (x.type, x.type)),))
    given = np.array([2.0, -3.0], np.float32)
    right = execute("reference", program, given)
    confined = execute("reference:sign_lost@negate", program, given)
    assert [one.tolist() for one in right] == [[-2.0, 3.0], [4.0, 9.0]]
    assert [one.tolist() for one in confined] == [[2.0, 3.0], [4.0, 9.0]]
    other = execute("reference:off_by_100_ulp@multiply", program, given)
    assert other[0].tolist() == right[0].tolist()
    assert other[1].tolist() != right[1].tolist()


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_a_device_is_there_or_not_available_says_how_to_mend_it(name):
    try:
        backend = open_session(name)
    except NotAvailable as error:
        message = str(error)
        assert message.startswith(f"{name}: no {name.upper()} is seen by jax ")
        assert "pip install" in message
        assert "\n" not in message
    else:
        assert backend.describe().platform in {"gpu": ("cuda",), "tpu": ("tpu",)}[name]


def test_descriptions_name_device_and_versions():
    cpu = open_session("cpu").describe()
    assert (cpu.name, cpu.platform) == ("cpu", "cpu")
    assert {"jax", "jaxlib"} <= dict(cpu.versions).keys()
    assert "3 ulp" in open_session("reference:off_by_three_ulp").describe().device
    assert set(BACKENDS) == {"cpu", "gpu", "tpu", "plugin", "reference"}


# XLA


@pytest.mark.parametrize("of", [of for of in ALL if not of.name.startswith("f6")], ids=str)
def test_arguments_and_results_keep_every_bit(of):
    part = of.part.bits
    bits = np.arange(1 << min(part, 12), dtype=bits_dtype(of))
    if part >= 16:
        bits = np.random.default_rng(3).integers(0, 1 << (part - 1), 4096, dtype=bits_dtype(of)) * 2
        bits += np.arange(4096, dtype=bits_dtype(of)) % 2
    if of.is_complex:
        bits = np.stack([bits, bits[::-1]], axis=-1)
    bits = bits.astype(bits_dtype(of).newbyteorder("<"))
    flat = TensorType((len(bits),), of)
    full = Dense(flat, bits.tobytes()).array
    scalar, empty = full[1:2].reshape(()), full[:0].reshape(0, 3)
    given = [full, scalar, empty]
    values = tuple(Value(f"a{i}", TensorType(a.shape, of)) for i, a in enumerate(given))
    body = Region(values, (Operation("return", values),))
    program = Program((Function("main", body, tuple(value.type for value in values)),))
    results = execute("cpu", program, *given)
    assert same(results, given)
    assert all(isinstance(result, np.ndarray) for result in results)


def test_an_executable_runs_on_many_inputs_and_spoils_none():
    program = one("add", [typed(3), typed(3)], typed(3))
    compiled = open_session("cpu").compile(program)
    kept = []
    for number in range(5):
        lhs, rhs = array([number, 1, 2]), array([1, 1, 1])
        kept.append(compiled.run([lhs, rhs])[0])
        assert (lhs.tolist(), rhs.tolist()) == ([number, 1, 2], [1, 1, 1])
    assert [result.tolist() for result in kept] == [[n + 1, 2, 3] for n in range(5)]


def test_strided_and_read_only_arguments_are_taken():
    program = one("negate", [typed(2, 3)], typed(2, 3))
    given = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    given.setflags(write=False)
    assert execute("cpu", program, given)[0].tolist() == (-given).tolist()


@pytest.mark.parametrize("given", [[], [array([1.0])], [array([1.0, 2.0], "f64")]], ids=str)
def test_arguments_that_main_does_not_take_are_refused(given):
    program = one("negate", [typed(2)], typed(2))
    with pytest.raises(Failed, match=r"of main|main takes 1 arguments"):
        execute("cpu", program, *given)


QUANTIZED = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_what_xla_does_not_implement_is_unsupported():
    group = Dense.of(np.zeros((1, 1), np.int64), typed(1, 1, of="si64"))
    broadcast = one("collective_broadcast", [typed(2)], typed(2), replica_groups=group)
    with pytest.raises(Unsupported, match="collective-broadcast"):
        execute("cpu", broadcast, array([1, 2]))
    with pytest.raises(Unsupported, match="can't be translated to XLA HLO"):
        execute("cpu", parse_module(QUANTIZED), array([1, 2]))
    dynamic = TensorType((None,), ELEMENT_TYPES["f32"])
    with pytest.raises(Unsupported, match="static shape"):
        execute("cpu", one("negate", [dynamic], dynamic))


def test_f6_is_unsupported():
    program = one("convert", [typed(4, of="f6E2M3FN")], typed(4))
    with pytest.raises(Unsupported, match="f6"):
        open_session("cpu").compile(program)


@pytest.mark.parametrize(
    "program",
    [
        one("add", [typed(2), typed(2)], typed(3)),
        one("not", [typed(2)], typed(2)),
        one("iota", [], typed(2), iota_dimension=5),
        one("reduce_precision", [typed(2)], typed(2), exponent_bits=0, mantissa_bits=1),
        one("frobnicate", [typed(2)], typed(2)),
    ],
    ids=lambda program: program.main.body.operations[0].name,
)
def test_what_the_verifier_refuses_is_rejected(program, capfd):
    with pytest.raises(Rejected, match=r"^line ") as caught:
        open_session("cpu").compile(program)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().out == ""


VALID = one("negate", [typed(2)], typed(2))
F6 = one("negate", [typed(2, of="f6E3M2FN")], typed(2, of="f6E3M2FN"))


@pytest.mark.parametrize(
    ("message", "program", "kind"),
    [
        ("UNIMPLEMENTED: no such thing", VALID, Unsupported),
        ("UNKNOWN: result #0 type is not supported", VALID, Unsupported),
        ("UNKNOWN: failed to legalize operation 'a.b' that was explicitly marked illegal:",
         VALID, Unsupported),
        ("INTERNAL: Failed to translate module to LLVM IR.", F6, Unsupported),
        ("INTERNAL: Failed to translate module to LLVM IR.", VALID, Failed),
        ("INTERNAL: something not supported broke", VALID, Failed),
        ("INVALID_ARGUMENT: Binary op add with incompatible shapes", VALID, Rejected),
        ("RESOURCE_EXHAUSTED: Out of memory", VALID, Failed),
        ("", VALID, Failed),
    ],
)  # fmt: skip
def test_messages_are_told_apart(message, program, kind):
    assert type(classify(message, emit(program), program)) is kind


def test_an_algorithm_that_the_verifier_knows_of_no_hardware_is_unsupported() -> None:
    """The specification's own example, bf16 in three components, is one."""
    values = tuple(Value(name, typed(2, 2)) for name in ("lhs", "rhs"))
    given = {
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
        "lhs_precision_type": "bf16", "rhs_precision_type": "bf16", "accumulation_type": "f32",
        "lhs_component_count": 3, "rhs_component_count": 3, "num_primitive_operations": 6,
        "allow_imprecise_accumulation": False,
    }  # fmt: skip
    program = single_op("dot_general", values, (typed(2, 2),), given)
    assert type(classify("any", emit(program), program)) is Unsupported


def test_messages_are_one_line_without_paths():
    message = (
        "INTERNAL: RET_CHECK failure (external/xla+/xla/backends/cpu/codegen/compiler.cc:625) "
        "module != nullptr\n*** Begin stack trace ***\n\t/usr/lib/python3/x.so"
    )
    assert one_line(message) == "INTERNAL: RET_CHECK failure (…:625) module != nullptr"
    assert one_line("UNKNOWN: -:4:11: error: 'op' fails") == "UNKNOWN: 'op' fails"
    assert one_line(" \n") == "no message"


def test_the_cpu_backend_starts_no_other_platform():
    code = """
import jax
from conformance.backends.session import open_session
from conformance.errors import UsageError
open_session("cpu")
import jax._src.xla_bridge as bridge
assert not bridge.backends_are_initialized()
assert jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# The fake backend


def special(of: str) -> Array:
    """Zeros, a subnormal, normal numbers, infinity, NaN and a tie, as far as the type has them."""
    kind = ELEMENT_TYPES[of]
    if kind.is_integer:
        return array([0, 1, kind.max_integer - 1, kind.min_integer + 3, 77, 5], of)
    form = kind.float_format
    values = [0.0, -0.0, form.smallest, -form.smallest_normal * 3, 1.5, form.max_finite]
    values += [np.inf] if form.has_infinity else [2.0]
    values += [np.nan] if form.has_nan else [3.0]
    return array(values, of)


def binary(op: str, of: str, rhs: Array | None = None, result: str | None = None, **given):
    """A binary op on special values and their reverse: program and inputs."""
    lhs = special(of)
    rhs = lhs[::-1].copy() if rhs is None else rhs
    types = [TensorType(a.shape, element_type_of(a)) for a in (lhs, rhs)]
    return one(op, types, typed(*lhs.shape, of=result or of), **given), (lhs, rhs)


def unary(op: str, values: Array, result: str | None = None, **given):
    """A unary op on these values: program and inputs."""
    of = element_type_of(values)
    return one(
        op, [TensorType(values.shape, of)], typed(*values.shape, of=result or of.name), **given
    ), (values,)


FOLDED = one("add", [typed(3), Dense.of(array([1, 2, 3]), typed(3))], typed(3))
EQUAL = {"comparison_direction": "EQ", "compare_type": "FLOAT"}
TWICE = array([1 + 2**-8 + 2**-40], "f64")

SEEN: dict[str, tuple[tuple[Program, tuple[Array, ...]], Verdict]] = {
    "wrong_zero_sign": (unary("floor", special("f32")), Verdict.DIVERGENT),
    "flush_to_zero": (binary("multiply", "f32", np.ones(8, np.float32)), Verdict.FLUSHED),
    "denormal_inputs_zero": (binary("multiply", "f32", np.ones(8, np.float32)), Verdict.FLUSHED),
    "compare_denormals_as_zero": (
        binary("maximum", "f32", np.full(8, -1e-45, np.float32)), Verdict.FLUSHED,
    ),
    "off_by_three_ulp": (binary("add", "f32", np.ones(8, np.float32)), Verdict.INACCURATE),
    "off_by_100_ulp": (unary("exponential", array([0.5, 1, -3])), Verdict.INACCURATE),
    "low_precision": (binary("multiply", "f32", array([1.2345] * 8)), Verdict.INACCURATE),
    "nan_dropped": (unary("sqrt", special("f16")), Verdict.DIVERGENT),
    "infinity_dropped": (unary("sqrt", special("f16")), Verdict.DIVERGENT),
    "sign_lost": (unary("floor", array([-2.5, 2.5])), Verdict.DIVERGENT),
    "nan_equal": (
        binary("compare", "f32", special("f32"), "i1", **EQUAL), Verdict.DIVERGENT,
    ),
    "saturating_arithmetic": (binary("add", "si8", special("si8")), Verdict.DIVERGENT),
    "saturating_conversion": (unary("convert", array([1e6, -1e6]), "f16"), Verdict.DIVERGENT),
    "wrong_tie_rounding": (unary("round_nearest_even", array([0.5, 2.5, -4.5])), Verdict.DIVERGENT),
    "double_rounding": (unary("convert", TWICE, "bf16"), Verdict.INACCURATE),
    "transposed_operands": (binary("subtract", "si32"), Verdict.DIVERGENT),
    "wrong_constant_folding": ((FOLDED, (array([3, 4, 5]),)), Verdict.DIVERGENT),
    "integer_truncated_to_32_bits": (unary("negate", special("si64")), Verdict.DIVERGENT),
    "unsigned_as_signed": (binary("maximum", "ui8", array([200] * 6, "ui8")), Verdict.DIVERGENT),
    "shift_arithmetic": (
        binary("shift_right_logical", "si32", array([1] * 6, "si32")), Verdict.DIVERGENT,
    ),
    "floor_division": (binary("divide", "si32", array([2] * 6, "si32")), Verdict.DIVERGENT),
    "complex_parts_swapped": (
        unary("negate", array([1 + 2j, 3 - 4j], "complex<f32>")), Verdict.DIVERGENT,
    ),
    "one_wrong_element": (unary("negate", np.arange(10**6, dtype=np.float32)), Verdict.DIVERGENT),
    "off_by_one_last_element": (unary("negate", special("si32")), Verdict.DIVERGENT),
    "reversed_elements": (unary("negate", special("si32")), Verdict.DIVERGENT),
    "tail_not_written": (unary("negate", np.arange(2000, dtype=np.int32)), Verdict.DIVERGENT),
    "booleans_inverted": (unary("is_finite", special("f32"), "i1"), Verdict.DIVERGENT),
    "wrong_shape": (unary("negate", special("f32")), Verdict.DIVERGENT),
    "wrong_type": (unary("negate", special("si32")), Verdict.DIVERGENT),
    "missing_result": (unary("negate", special("si32")), Verdict.DIVERGENT),
    "extra_result": (unary("negate", special("si32")), Verdict.DIVERGENT),
    "shift_masked": (binary("shift_left", "si32", array([33] * 6, "si32")), Verdict.UNSPECIFIED),
    "other_nans": (unary("sqrt", special("f32")), Verdict.PASS),
}  # fmt: skip
"""Where each fault shows, and the verdict on it."""


def _judged(fault: str, program: Program, inputs: tuple[Array, ...]) -> Verdict:
    rule = CATALOG[program.main.body.operations[-2].name].tolerance
    right = execute("reference", program, *inputs)
    return judge(
        program, inputs, right, execute(f"reference:{fault}", program, *inputs), rule
    ).verdict


@pytest.mark.parametrize("fault", sorted(SEEN))
def test_a_fault_shows_and_gets_its_verdict(fault):
    (program, inputs), verdict = SEEN[fault]
    assert not same(
        execute("reference", program, *inputs), execute(f"reference:{fault}", program, *inputs)
    )
    assert _judged(fault, program, inputs) is verdict


def test_ties_go_away_from_zero_in_every_rounding():
    tie, reduced = 1 + 2**-11, {"exponent_bits": 8, "mantissa_bits": 2}
    cases_of_ties = [
        (unary("convert", array([tie, -tie, 0.5]), "f16"), [1 + 2**-10, -1 - 2**-10, 0.5]),
        (unary("convert", array([2049, 2051, -2049], "si32"), "f16"), [2050, 2052, -2050]),
        (unary("reduce_precision", array([1.125, 1.25, -1.375]), **reduced), [1.25, 1.25, -1.5]),
    ]
    for (program, inputs), want in cases_of_ties:
        assert execute("reference:wrong_tie_rounding", program, *inputs)[0].tolist() == want
    total = one("add", [typed(1, of="f16")] * 2, typed(1, of="f16"))
    terms = array([1], "f16"), array([2**-11], "f16")
    assert execute("reference:wrong_tie_rounding", total, *terms)[0].tolist() == [1 + 2**-10]


def test_faults_of_batches_and_of_repetition():
    program, inputs = unary("negate", special("si32"))
    right = execute("reference", program, *inputs)
    batch = merge([program, program])
    assert same(execute("reference:batch_only", program, *inputs), right)
    assert not same(execute("reference:batch_only", batch, *inputs, *inputs), right * 2)
    for fault, other in [("flaky", inputs), ("stale_result", (inputs[0] + 1,))]:
        compiled = open_session(f"reference:{fault}").compile(program)
        assert same(compiled.run(inputs), right)
        assert not same(compiled.run(other), execute("reference", program, *other))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("reject", Rejected), ("unsupported", Unsupported), ("internal_error", Failed),
        ("runtime_error", Failed), ("python_error", Failed),
    ],
)  # fmt: skip
def test_faults_that_answer_with_an_error(fault, error):
    with pytest.raises(error):
        execute(f"reference:{fault}", *_plain())


def _plain() -> tuple[Program, Array]:
    program, (values,) = unary("negate", special("f32"))
    return program, values


def test_invalid_programs_are_rejected_unless_told_otherwise():
    invalid = one("add", [typed(2), typed(2)], typed(3))
    with pytest.raises(Rejected, match="add breaks"):
        open_session("reference").compile(invalid)
    open_session("reference:accepts_invalid").compile(invalid)
    with pytest.raises(Unsupported, match="does not know frobnicate"):
        open_session("reference").compile(one("frobnicate", [typed(2)], typed(2)))


_CHILD = """
import sys
import numpy as np
from conformance.backends.session import open_session
from conformance.errors import UsageError
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
values = np.array([float(text) for text in sys.argv[2:]], np.float32)
of = TensorType(values.shape, ELEMENT_TYPES["f32"])
program = single_op("negate", (Value("a", of),), (of,))
print("starts", flush=True)
open_session(sys.argv[1]).compile(program).run([values])
print("done")
"""


@pytest.mark.parametrize(
    ("fault", "values", "aborts"),
    [
        ("abort", "1 2", True), ("abort_on_compile", "1 2", True),
        ("abort_on_nan", "1 nan", True), ("abort_on_nan", "1 2", False),
        ("abort_on_large", "1 " * 201, True),
    ],
)  # fmt: skip
def test_faults_that_end_the_process(fault, values, aborts):
    command = [sys.executable, "-c", _CHILD, f"reference:{fault}", *values.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == (-6 if aborts else 0)
    assert ("done" in done.stdout) is not aborts


def test_faults_that_never_end():
    commands = [
        [sys.executable, "-c", _CHILD, f"reference:{fault}", "1", "-0.0"]
        for fault in ("hang", "hang_on_compile", "hang_on_negative_zero")
    ]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"starts\n"
        for child in children:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.3)
    finally:
        for child in children:
            child.kill()
            child.communicate()


def test_the_fault_that_allocates_stops_at_a_limit():
    limited = (
        "import resource; limit = 1 << 30; resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
    )
    command = [sys.executable, "-c", limited + _CHILD, "reference:allocate", "1", "2"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 1
    assert "MemoryError" in done.stderr


def test_noise_is_all_that_a_noisy_backend_adds(capfd):
    program, values = _plain()
    got = execute("reference:noisy", program, values)
    captured = capfd.readouterr()
    assert same(got, execute("reference", program, values))
    assert "talks" in captured.out
    assert "complains" in captured.err


def test_every_fault_is_tested():
    elsewhere = """right noisy batch_only flaky stale_result reject accepts_invalid unsupported
        internal_error runtime_error python_error abort abort_on_compile abort_on_nan
        abort_on_large hang hang_on_compile hang_on_negative_zero allocate"""
    assert set(FAULTS) == set(SEEN) | set(elsewhere.split())


@pytest.mark.parametrize("op", sorted(OPS))
def test_harmless_backends_are_never_accused(op):
    types = OPS[op].element_types
    harmless = [name for name, fault in FAULTS.items() if fault.harmless and name != "noisy"]
    for of in (types[0], types[len(types) // 2], types[-1]):
        for case in cases(op, of, 5, 2):
            inputs = materialise(case.program, case.inputs[0])
            for fault in harmless:
                assert not _judged(fault, case.program, inputs).fails

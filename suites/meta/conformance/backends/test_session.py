"""Names of backends, sessions, and conversion of a backend's exceptions to answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from conformance.backends.base import (
    DEVICE_ERROR_EXIT,
    BackendError,
    Description,
    DeviceError,
    Failed,
    Rejected,
    Unsupported,
)
from conformance.backends.registry import BACKENDS, parse, parse_all
from conformance.backends.session import Session, open_session
from conformance.errors import UsageError
from conformance.executors.local import Call, LocalExecutor, WorkerCrash
from conformance.stablehlo.emit import EmitError
from conformance.tolerance.hardware import Hardware
from reference.ir.program import Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array


def negation(size: int = 2) -> Program:
    of = TensorType((size,), ELEMENT_TYPES["f32"])
    return single_op("negate", (Value("a", of),), (of,))


ONES = np.ones(2, np.float32)


# Names


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("plugin", "write plugin:NAME=PATH"),
        ("plugin:", "write plugin:NAME=PATH"),
        ("plugin:x", "'plugin:x' is not a plugin"),
        ("plugin:x=", "'plugin:x=' is not a plugin"),
        ("plugin:=p.so", "is not a plugin"),
        ("plugin:a/b=p.so", "is not a plugin"),
        ("plugin:a b=p.so", "is not a plugin"),
        ("plug:x=p.so", "unknown backend 'plug'; did you mean plugin"),
        ("gpu:0", "unknown backend 'gpu:0'"),
        ("reference:abrot", "unknown fault 'abrot'; did you mean abort"),
    ],
)
def test_a_name_that_means_nothing_is_one_line(given: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_backends_are_chosen_once_and_have_different_names_in_records() -> None:
    chosen = parse_all(["cpu", "plugin:a=/x.so", "cpu", "plugin:a=/x.so", "plugin:b=/x.so"])
    assert [choice.name for choice in chosen] == ["cpu", "plugin:a", "plugin:b"]
    with pytest.raises(UsageError, match=r"plugin:a=/x\.so and plugin:a=/y\.so are both called"):
        parse_all(["plugin:a=/x.so", "plugin:a=/y.so"])


# Sessions


@dataclass
class Fake:
    """A backend that raises `raised` in the step of that name."""

    step: str = ""
    raised: Exception | None = None
    name: str = "fake"
    hardware: Hardware = Hardware.GPU
    texts: list[str] = field(default_factory=list[str])
    refused: BackendError | None = None

    def describe(self) -> Description:
        return Description(self.name, "none", "nothing", (("fake", "1"),))

    def refusal(self, program: Program) -> BackendError | None:
        del program
        return self.refused

    def compile(self, text: str, program: Program) -> Fake:
        del program
        self.texts.append(text)
        self._raise("compile")
        return self

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        self._raise("execute")
        return [[-array for array in arguments] for arguments in inputs]

    def _raise(self, step: str) -> None:
        if self.raised is not None and step == self.step:
            raise self.raised


@pytest.mark.parametrize("step", ["compile", "execute"])
@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (Unsupported("not here"), Unsupported, "not here"),
        (Rejected("invalid"), Rejected, "invalid"),
        (Failed("broke"), Failed, "broke"),
        (MemoryError(), Failed, "out of memory"),
        (ValueError("what?"), Failed, "ValueError: what?"),
        (RuntimeError("INTERNAL: no"), Failed, "RuntimeError: INTERNAL: no"),
    ],
)
def test_any_exception_of_a_backend_becomes_its_answer(
    step: str, raised: Exception, kind: type[BackendError], message: str
) -> None:
    session = Session(Fake(step, raised))
    with pytest.raises(kind) as caught:
        session.compile(negation()).run([ONES])
    assert type(caught.value) is kind
    assert str(caught.value) == message
    with pytest.raises(kind):
        list(session.run(negation(), [[ONES]]))


def test_unwritable_program_raises_unless_it_is_a_users_program() -> None:
    of = TensorType((2,), ELEMENT_TYPES["f32"])
    unwritable = single_op("negate", (Value("a", of),), (of,), {"key": object()})
    fake = Fake()
    with pytest.raises(EmitError):
        Session(fake).compile(unwritable)
    with pytest.raises(Unsupported):
        list(Session(fake).run(unwritable, [[ONES]]))
    assert fake.texts == []


def test_a_batch_is_one_module_and_each_program_has_its_own_results() -> None:
    fake = Fake()
    session = Session(fake)
    sets = [[[ONES]], [[2 * ONES], [3 * ONES]]]
    found = session.run_batch([negation(), negation()], sets)
    assert [[[array.tolist() for array in one] for one in own] for own in found] == [
        [[[-1, -1]]], [[[-2, -2]], [[-3, -3]]],
    ]  # fmt: skip
    assert (len(fake.texts), session.compilations) == (1, 1)


def test_a_wrong_number_of_results_of_a_batch_is_a_failure_of_the_backend() -> None:
    class Forgetful(Fake):
        def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
            return [[-array for array in share[1:]] for share in inputs]

    with pytest.raises(Failed, match="2 results expected of the batch, got 1"):
        Session(Forgetful()).run_batch([negation(), negation()], [[[ONES]], [[ONES]]])
    assert Session(Forgetful()).run_batch([negation()], [[[ONES]]]) == [[[]]]


# Devices that fail


def run_on_a_failing_device() -> None:
    list(open_session("reference:device_error").run(negation(), [[ONES]]))


def test_only_a_worker_ends_when_its_device_is_unusable() -> None:
    with LocalExecutor(1) as executor:
        ended = executor.one(Call("", run_on_a_failing_device, (), 60))
        assert executor.one(Call("", abs, (-1,), 60)) == 1
    message = "CUDA_ERROR_MISALIGNED_ADDRESS"
    assert ended == WorkerCrash(f"exit code {DEVICE_ERROR_EXIT}", f"fatal: {message}")
    with pytest.raises(DeviceError, match=message):
        run_on_a_failing_device()


# Optimised modules


def test_unknown_names_say_what_is_known():
    known = ", ".join(BACKENDS)
    with pytest.raises(UsageError, match=f"unknown backend 'abacus'; known: {known}"):
        parse("abacus")
    with pytest.raises(UsageError, match="unknown backend 'gpu:3'; did you mean gpu"):
        parse("gpu:3")
    with pytest.raises(UsageError, match=r"unknown fault 'zzzz'; known: right, .*hang"):
        parse("reference:zzzz")
    for name in ("sign_lost@nonsense", "reversed_elements@add"):
        with pytest.raises(UsageError, match="cannot be confined to operations"):
            parse(f"reference:{name}")

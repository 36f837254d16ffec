"""Backends of users: a command that is served programs, and a Python file."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from conformance.backends.base import BackendError, Failed, Rejected, Unsupported
from conformance.backends.command.backend import CommandBackend
from conformance.backends.command.children import use_fork_server
from conformance.backends.command.fork_server import ForkServer
from conformance.backends.command.process import Process
from conformance.backends.command.protocol import (
    Connection,
    ProtocolError,
)
from conformance.backends.command.serving import Server
from conformance.backends.compiled.stages import dump_folder, dumped_stages
from conformance.backends.python_file import open_file
from conformance.backends.registry import parse
from conformance.backends.releases.environments import SERVER, ReleaseBackend
from conformance.backends.self_test import checks, run_check
from conformance.backends.session import Session, open_session
from conformance.errors import NotAvailable, UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.listing import self_test
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array
from suites.meta.support.small_programs import array, op_program, tensor_of

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "backends"
SERVE = f"{sys.executable} -m conformance serve --backend"
ADD = op_program("add", [tensor_of(2, 2), tensor_of(2, 2)], tensor_of(2, 2))
TWO = array([[1.0, -2.0], [3.0, 0.5]]), array([[1.5, 2.0], [-3.0, 0.25]])


@pytest.fixture(scope="module")
def c_driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("driver") / "driver"
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-o", made, EXAMPLES / "driver.c", "-lm"], check=True
    )
    return str(made)


@pytest.mark.parametrize("language", ["python", "c"])
def test_examples_run_three_ops_and_refuse_others(
    language: str, request: pytest.FixtureRequest
) -> None:
    command = f"{sys.executable} {EXAMPLES / 'driver.py'}"
    command = command if language == "python" else request.getfixturevalue("c_driver")
    session = Session(CommandBackend("command:test", command))
    for name, inputs in (("add", TWO), ("abs", TWO[:1]), ("negate", TWO[1:])):
        program = op_program(name, [tensor_of(2, 2)] * len(inputs), tensor_of(2, 2))
        (found,) = session.run(program, [inputs])
        assert np.array_equal(found[0], evaluate(program, inputs)[0])
    for program in (
        op_program("tanh", [tensor_of(4)], tensor_of(4)),
        op_program("abs", [tensor_of(4, of="f64")], tensor_of(4, of="f64")),
    ):
        with pytest.raises(Unsupported, match=r"only .* of f32"):
            session.compile(program)
    assert session.batch_kind(ADD) != session.batch_kind(ADD)


@pytest.mark.parametrize("backend", ["reference", "interpreter", "cpu"])
def test_a_served_backend_gives_the_same(backend: str) -> None:
    session = Session(CommandBackend("command:test", f"{SERVE} {backend}"))
    own = open_session(backend)
    assert session.hardware == own.hardware
    assert session.batch_kind(ADD) == session.batch_kind(ADD)
    for element_type in ("f32", "bf16", "si4", "ui2", "f8E4M3FN", "complex<f64>"):
        numbers = tensor_of(2, 2, of=element_type)
        program = op_program("add", [numbers, numbers], numbers)
        given = [one.astype(ELEMENT_TYPES[element_type].storage) for one in TWO]
        (found,), (want,) = session.run(program, [given]), own.run(program, [given])
        assert found[0].tobytes() == want[0].tobytes()
    session.compile_cached(ADD)
    assert bool(session.optimised_module(ADD)) is (backend == "cpu")
    with dump_folder() as folder:
        stages = dumped_stages(session, ADD, folder)
    assert ("layout-assignment" in [stage.name for stage in stages]) is (backend == "cpu")


def test_the_server_refuses_what_its_backend_is_sure_to_refuse() -> None:
    program = parse_module("""func.func @main(%x: tensor<!quant.uniform<i8:f32, 0.5>>)
        -> tensor<!quant.uniform<i8:f32, 0.5>> {
      %0 = stablehlo.abs %x : tensor<!quant.uniform<i8:f32, 0.5>>
      return %0 : tensor<!quant.uniform<i8:f32, 0.5>>
    }""")
    backend = CommandBackend("command:test", f"{SERVE} cpu")
    with pytest.raises(Unsupported, match="quantized types can't be translated"):
        backend.compile(emit(program), program)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"run 1\n", "is no request"),
        (b"\n", "is empty"),
        (b"compile 1\n", "a number and a length"),
        (b"compile 1 -1\n", "not a number"),
        (b"execute 1 1\n", "processes and a number"),
        (b"module\n", "has the number of a program"),
        (b"free 1 2\n", "has the number of a program"),
        (b"describe\n", "has a version"),
        (b"listen\n", "has the length of a path"),
        (b"listen 99999999\n", "not a number up to"),
        (b"execute 7 1 0\n", "there is no program 7"),
        (b"execute 1 1 1\ntensor<2xf32> 9\n", "has 8 bytes"),
    ],
)
def test_a_request_that_is_none_ends_the_server(request_: bytes, reason: str) -> None:
    server = Server(
        lambda: open_session("reference"), Connection(io.BytesIO(request_), io.BytesIO())
    )
    with pytest.raises(ProtocolError, match=reason):
        server.serve()


def test_a_program_that_is_no_text_is_rejected() -> None:
    answers = io.BytesIO()
    request_ = io.BytesIO(b"compile 1 3\n\xff\xfe\xfd")
    Server(lambda: open_session("reference"), Connection(request_, answers)).serve()
    assert answers.getvalue().startswith(b"rejected ")


def test_an_i1_of_other_bytes_is_written_as_an_integer() -> None:
    written = io.BytesIO()
    odd = np.array([0, 2, 1], np.uint8).view(np.bool_)
    Connection(io.BytesIO(), written).send_arrays("ok", arrays=[odd, odd[::2]])
    assert written.getvalue() == b"ok 2\ntensor<3xui8> 3\n\x00\x02\x01tensor<2xi1> 2\n\x00\x01"


@pytest.mark.parametrize("name", ["command", "command:mine", "command:=x", "command:a b=x"])
def test_a_command_needs_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="write command:NAME=COMMAND"):
        parse(name)


def test_dynamic_and_token_programs_are_unsupported() -> None:
    backend = CommandBackend("command:test", f"{SERVE} reference")
    dynamic = parse_module(
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    )
    with pytest.raises(Unsupported, match="static sizes only"):
        backend.compile(emit(dynamic), dynamic)
    assert isinstance(backend.refusal(dynamic), Unsupported)
    assert not isinstance(backend.refusal(dynamic), Failed)


DRIVER = Path(__file__).parents[2] / "support" / "hostile_driver.py"
PROGRAM = op_program("tanh", [tensor_of(4)], tensor_of(4))
X = array([1.0, 2.0, 3.0, 4.0])
BYTES = "1234567812345678"


def driver(stage: str, behaviour: str) -> CommandBackend:
    return CommandBackend("command:test", f"{sys.executable} {DRIVER} {stage} '{behaviour}'")


def run(backend: CommandBackend) -> list[Array]:
    (results,) = backend.compile(emit(PROGRAM), PROGRAM).execute([[X]])
    return results


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Invalid type: PRIMITIVE_TYPE_INVALID", Unsupported),
        ("INVALID_ARGUMENT: no such dimension", Rejected),
        ("INTERNAL: oops", Failed),
    ],
)
def test_messages_of_another_release_are_read_as_those_of_the_installed_one(
    said: str, error: type[BackendError]
) -> None:
    answer = rf"failed {len(said)}\n{said}"
    release = ReleaseBackend(
        "jaxlib:0.9.2", "0.9.2", f"{sys.executable} {DRIVER} compile '{answer}'"
    )
    with pytest.raises(error) as caught:
        release.compile(emit(PROGRAM), PROGRAM)
    assert type(caught.value) is error


F6 = """
func.func @main(%x: tensor<2xf6E2M3FN>) -> tensor<2xf6E2M3FN> {
  return %x : tensor<2xf6E2M3FN>
}"""
GATHERED = """
func.func @main(%x: tensor<2xi4>) -> tensor<4xi4> {
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi4>) -> tensor<4xi4>
  return %y : tensor<4xi4>
}"""


@pytest.mark.parametrize(
    ("version", "text", "words"),
    [
        ("0.10.1", F6, "cannot transfer"),
        ("0.11.0", F6, None),
        ("0.11.0", GATHERED, "narrower than a byte"),
        ("0.11.0", GATHERED.replace("i4", "i8"), None),
    ],
)
def test_a_release_refuses_what_would_end_its_process(
    version: str, text: str, words: str | None
) -> None:
    release = ReleaseBackend(f"jaxlib:{version}", version, f"{sys.executable} {DRIVER} compile ok")
    refused = release.refusal(parse_module(text))
    assert (refused is None) == (words is None)
    assert words is None or words in str(refused)


@pytest.mark.parametrize(
    "behaviour",
    [
        "exit", "abort", "close", "truncate", "endless", r"ok\n", r"ok x\n", r"ok 99999999999\n",
        r"ok 3\nabc", r"ok 10\nprotocol 2", r"hello\n", r"\n", "\\0\\0\\n", r"failed 4\noops",
        r"ok 25\nprotocol 1\nhardware abacus",
    ],
)  # fmt: skip
def test_a_bad_description_is_a_backend_that_is_not_available(behaviour: str) -> None:
    with pytest.raises(NotAvailable, match=r"command:test|hardware") as caught:
        driver("describe", behaviour)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        (r"unsupported 4\nnoop", Unsupported, "noop"),
        (r"rejected 3\nbad", Rejected, "bad"),
        (r"failed 4\noops", Failed, "oops"),
        (r"failed 0\n", Failed, "failed"),
        (r"unsupported\n", Failed, "is no answer"),
        (r"unsupported -1\n", Failed, "not a number"),
        (r"unsupported 9999999\n", Failed, "not a number up to"),
        (r"unsupported 1.5\n", Failed, "not a number"),
        (r"ok 1\n", Failed, "is no answer"),
        (r"OK\n", Failed, "is no answer"),
        (r"\n", Failed, "a line is empty"),
        (r"<html>\n", Failed, "is no answer"),
        (r"\xff\xfe\n", Failed, "is no answer"),
        ("endless", Failed, "longer than"),
        ("exit", Failed, "exit code 3"),
        ("abort", Failed, "SIGABRT"),
        ("close", Failed, "closed its output"),
    ],
)
def test_an_answer_to_compile_is_a_verdict(
    behaviour: str, error: type[BackendError], message: str
) -> None:
    backend = driver("compile", behaviour)
    with pytest.raises(error, match=message):
        run(backend)
    with pytest.raises(error, match=message):  # from a new process where the old one has ended
        run(backend)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (r"failed 4\noops", "oops"),
        (r"ok\n", "is no answer"),
        (r"ok -1\n", "not a number"),
        (r"ok 9999999\n", "not a number up to"),
        (r"ok 1\ntensor<4xf32>\n", "not the type of an array"),
        (r"ok 1\nf32[4] 16\n", "not a tensor type"),
        (r"ok 1\ntensor<4xf33> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<-4xf32> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<?xf32> 16\n", "not a tensor type"),
        (r"ok 1\ntensor<4xf32> 12\n", "has 16 bytes, not 12"),
        (r"ok 1\ntensor<9999999999xf32> 39999999996\n", "much larger"),
        (r"ok 1\ntensor<2xi1> 2\n\x01\x02", "neither 0 nor 1"),
        ("truncate", "exit code 0"),
        ("endless", "longer than"),
        ("exit", "exit code 3"),
        ("abort", "SIGABRT"),
    ],
)
def test_an_answer_to_execute_is_a_verdict(behaviour: str, message: str) -> None:
    backend = driver("execute", behaviour)
    for _ in range(2):
        with pytest.raises(Failed, match=message):
            run(backend)


@pytest.mark.parametrize(
    ("behaviour", "shapes", "element_type"),
    [
        (rf"ok 1\ntensor<2x2xf32> 16\n{BYTES}", [(2, 2)], np.float32),
        (rf"ok 1\ntensor<2xf64> 16\n{BYTES}", [(2,)], np.float64),
        (r"ok 0\n", [], None),
        (r"ok 2\ntensor<0xf32> 0\ntensor<0xf32> 0\n", [(0,), (0,)], np.float32),
    ],
)
def test_results_of_other_types_are_left_to_the_judge(
    behaviour: str, shapes: list[tuple[int, ...]], element_type: type | None
) -> None:
    results = run(driver("execute", behaviour))
    assert [result.shape for result in results] == shapes
    assert all(result.dtype == element_type for result in results)


def test_what_the_process_has_started_ends_with_it(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failed, match="SIGSEGV"):
        run(driver("execute", "orphan"))
    _wait_for_the_end(int(capfd.readouterr().err.split()[-1]))


@pytest.mark.parametrize("command", ["/no/such/program", "./no_such_program --fast"])
def test_a_command_that_does_not_start_is_not_available(command: str) -> None:
    with pytest.raises(NotAvailable, match="cannot be started: No such file"):
        CommandBackend("command:test", command)


def test_a_killed_worker_leaves_no_process() -> None:
    starts = (
        "import os, signal; from conformance.backends.command.process import Process; "
        "one = Process('test', 'sleep 600'); print(one.pid, flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", starts], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    _wait_for_the_end(int(ended.stdout))


@pytest.fixture(name="fork_server", params=[f"{SERVE} cpu", f"{sys.executable} {SERVER}"])
def start_fork_server(request: pytest.FixtureRequest) -> Generator[ForkServer]:
    server = ForkServer(lambda: request.param)
    use_fork_server("command:forked", server.path)
    server.start()
    end = time.monotonic() + 60
    while not server.path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    yield server
    server.end()
    assert not server.path.exists()


def test_a_fork_server_gives_the_processes_of_a_backend(fork_server: ForkServer) -> None:
    backend = CommandBackend("command:forked", "/no/such/program")
    (found,) = Session(backend).run(ADD, [TWO])
    assert np.array_equal(found[0], evaluate(ADD, TWO)[0])
    fork_server.end()
    with pytest.raises(NotAvailable, match="cannot be started"):
        CommandBackend("command:forked", "/no/such/program")


@pytest.mark.usefixtures("fork_server")
def test_the_end_of_a_forked_process_is_told_as_that_of_any_other() -> None:
    process = Process("command:forked", "/no/such/program")
    assert os.getpgid(process.pid) == process.pid
    os.kill(process.pid, signal.SIGSEGV)
    with pytest.raises(EOFError):
        process.connection.line()
    assert str(process.lost()) == "the process ended by SIGSEGV"
    _wait_for_the_end(process.pid)


def test_forked_processes_end_with_the_process_that_asked_for_them(
    fork_server: ForkServer,
) -> None:
    asks = (
        "import os; from pathlib import Path; "
        "from conformance.backends.command.children import use_fork_server; "
        "from conformance.backends.command.process import Process; "
        f"use_fork_server('test', Path({str(fork_server.path)!r})); "
        "one = Process('test', '/no'); print(one.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", asks], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    _wait_for_the_end(int(ended.stdout))


def test_workers_after_the_first_take_their_processes_from_a_fork_server() -> None:
    choice = parse(f"command:mine={SERVE} reference")
    with executor_of(choice, jobs=1) as executor:
        described = describe(executor, choice)
        assert described.forks
        end = time.monotonic() + 60
        while not _forked(processes := _serving()):
            assert time.monotonic() < end
            executor.end_workers()
            assert describe(executor, choice) == described
    for process in processes:
        _wait_for_the_end(process.pid)


def _serving() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            found += [process] if "serve" in process.cmdline() else []
    return found


def _forked(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that another one of them has forked, not started."""
    return [
        process for process in processes if process.ppid() in {other.pid for other in processes}
    ]


@pytest.mark.parametrize("behaviour", ["exit", "hang", "endless", r"failed 4\noops"])
def test_a_program_that_does_not_listen_is_started_for_each_worker(behaviour: str) -> None:
    server = ForkServer(lambda: f"{sys.executable} {DRIVER} listen '{behaviour}'")
    use_fork_server("command:test", server.path)
    server.start()
    assert run(driver("none", "none"))[0].tolist() == X.tolist()
    server.end()


def _wait_for_the_end(pid: int) -> None:
    end = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.05)


SOURCE = """
import numpy as np
from conformance.backends.base import Description, Unsupported
from conformance.tolerance.hardware import Hardware

class Mine:
    hardware = Hardware.CPU
    batches = False
    def describe(self):
        return Description("?", "numpy", "this process", ())
    def configured(self, settings):
        raise Unsupported("no options")
    def refusal(self, program):
        return None
    def compile(self, text, program):
        self.program = program
        return self
    def execute(self, inputs):
        (arguments,) = inputs
        *operations, end = self.program.main.body.operations
        values = dict(zip([one.name for one in self.program.main.arguments], arguments))
        for operation in operations:
            values[operation.results[0].name] = np.tanh(values[operation.operands[0].name])
        return [[CHANGE(values[one.name]) for one in end.operands]]

def open_backend():
    return Mine()
"""


def write(folder: Path, change: str = "array", source: str = SOURCE) -> Path:
    path = folder / "mine.py"
    path.write_text(source.replace("CHANGE", f"(lambda array: {change})"))
    return path


def test_a_file_is_a_backend_by_the_chosen_name(tmp_path: Path) -> None:
    session = Session(open_file("python:mine", write(tmp_path)))
    program = op_program("tanh", [tensor_of(2)], tensor_of(2))
    (found,) = session.run(program, [[array([0.5, 1.0])]])
    assert np.allclose(found[0], np.tanh([0.5, 1.0]))
    described = session.describe()
    assert (session.name, described.name) == ("python:mine", "python:mine")
    before = described.versions
    other = write(tmp_path, "array + 0")
    assert Session(open_file("python:mine", other)).describe().versions != before
    assert session.batch_kind(program) != session.batch_kind(program)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "there is no such file"),
        ("x = 1", r"has no function open_backend\(\)"),
        ("def open_backend(:", r"cannot be loaded: SyntaxError: .*"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module', line 1"),
        ("def open_backend():\n    return 1 / 0", "ZeroDivisionError: division by zero, line 2"),
        ("def open_backend():\n    return object()", "has no hardware, describe, configured"),
    ],
)
def test_a_file_that_opens_no_backend_is_one_line(
    source: str | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(NotAvailable, match=reason) as caught:
        open_file("python:mine", path)
    assert "\n" not in str(caught.value)


def test_an_entry_point_of_a_package_is_a_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    folder = tmp_path / "mine-2.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 2.1\n")
    points = "[hlo_conformance.backends]\nfast = mine:open_backend\nlost = mine:none\n"
    (folder / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    session = open_session(parse("python:fast").spelling)
    assert (session.name, session.describe().versions[-1]) == ("python:fast", ("mine", "2.1"))
    for name, reason in (("lost", "mine:none cannot be loaded"), ("mine.py", "python:NAME=FILE")):
        with pytest.raises(NotAvailable, match=reason):
            open_session(f"python:{name}")


def test_a_file_without_a_name_is_refused() -> None:
    for name in ("python", "python:mine=", "python:=mine.py"):
        with pytest.raises(UsageError, match="write python:NAME=FILE"):
            parse(name)
    assert parse("python:mine=mine.py").spelling == f"python:mine={Path('mine.py').absolute()}"


@pytest.mark.parametrize("backend", ["reference", "interpreter"])
def test_our_backends_return_what_they_get(backend: str) -> None:
    assert [one.problem for one in (run_check(backend, check) for check in checks())] == [""] * len(
        checks()
    )


@pytest.mark.parametrize(
    ("change", "check", "problem"),
    [
        ("array.astype(np.float32)", "elements of si16", "result 0: float32[256], not int16[256]"),
        ("array.reshape(-1)", "shape [2, 3, 4]", "result 0: float32[24], not float32[2, 3, 4]"),
        ("array[..., ::-1] if array.ndim else array", "shape [24]", "result 0: 23.0 at [0], not 0"),
        (
            "np.abs(array) if array.dtype.kind in 'fi' else array",
            "elements of si8",
            "127 at [1], not -127",
        ),
        ("(_ for _ in ()).throw(ValueError('lost'))", "shape []", "failed: ValueError: lost"),
    ],
)
def test_what_is_lost_is_told(change: str, check: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, change)
    assert problem in run_check(f"python:n{len(change)}={path}", check).problem


def test_a_backend_that_ends_is_a_finding(tmp_path: Path) -> None:
    path = write(tmp_path, "__import__('os').abort() if array.ndim == 3 else array")
    found = {one.check: one for one in self_test(parse(f"python:ends={path}"))}
    assert found["shape [2, 3, 4]"].problem.startswith("the process ended: SIGABRT")
    assert found["shape [24]"].problem == ""
    assert found["several programs as one module"].unsupported

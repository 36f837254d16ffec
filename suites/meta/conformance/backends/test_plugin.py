"""PJRT plugins are tested like any backend; a library that is no plugin is reported in one line."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.backends import plugin as plugins
from conformance.backends.plugin import PluginBackend
from conformance.backends.registry import parse
from conformance.backends.session import Session
from conformance.errors import NotAvailable, UsageError
from conformance.gate.reading import load
from conformance.tolerance.hardware import Hardware

PROGRAM = """
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %a, %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""


def refusal(library: Path) -> str:
    with pytest.raises(NotAvailable) as caught:
        PluginBackend("plugin:x", library)
    message = str(caught.value)
    assert message.startswith(f"plugin:x: {library}")
    assert "\n" not in message
    return message


# What is no plugin


def test_invalid_plugin_is_one_line(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "none.so")
    assert "is a folder" in refusal(tmp_path)
    text = tmp_path / "text.so"
    text.write_text("no library")
    assert "cannot be loaded by jaxlib" in refusal(text)
    library = importlib.util.find_spec("numpy._core._multiarray_umath")
    assert library is not None
    assert library.origin is not None
    assert "is no PJRT plugin" in refusal(Path(library.origin))


INTERFACE = """
#include <stddef.h>
struct version { size_t size; void *extension; int major, minor; };
static struct { size_t size; void *extension; struct version version; void *rest[200]; } api;
void *GetPjrtApi(void) {
  api.size = sizeof api;
  api.version = (struct version){sizeof api.version, 0, MAJOR, MINOR};
  return &api;
}
"""


@pytest.mark.parametrize(("major", "minor"), [(1, 0), (0, 3)])
def test_other_interface_version_is_one_line(tmp_path: Path, major: int, minor: int) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a library of another version with")
    source, library = tmp_path / "api.c", tmp_path / "api.so"
    source.write_text(INTERFACE)
    version = [f"-DMAJOR={major}", f"-DMINOR={minor}"]
    subprocess.run([compiler, "-shared", "-fPIC", *version, "-o", library, source], check=True)
    assert "has another version of PJRT's interface than jaxlib" in refusal(library)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "check", "backends", "replay"])
def test_a_plugin_that_is_not_there_exits_with_3(call, tmp_path: Path, command: str) -> None:
    backend, program = f"plugin:x={tmp_path / 'none.so'}", tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    out = tmp_path / "out"
    given = {
        "run": ("run", "--backend", backend, "--op", "add", "--out", out),
        "check": ("check", program, "--backend", backend),
        "backends": ("backends", backend),
        "replay": ("replay", "abs-f32-reference-0", "--db", out, "--backend", backend),
    }[command]
    if command == "replay":
        cell = ("--op", "abs", "--element-type", "f32", "--profile", "smoke", "--jobs", 1)
        assert call("run", "--backend", "reference", *cell, "--out", out)[0] == 0
    code, printed, complained = call(*given)
    assert code == 3
    assert "there is no such file" in " ".join((printed + complained).split())
    assert complained.count("\n") <= 1


# What a plugin says of itself


class FakeDevice:
    platform, device_kind = "cuda", "Fake 100"


class FakeClient:
    platform, platform_version = "cuda", "PJRT C API\ncuda 12090"
    pjrt_c_api_major_version, pjrt_c_api_minor_version = 0, 77
    stablehlo_current_version = (1, 9, 3)

    def __init__(self, devices: int) -> None:
        self.devices = [FakeDevice() for _ in range(devices)]
        for device in self.devices:
            device.client = self  # type: ignore[attr-defined]

    def local_devices(self) -> list[FakeDevice]:
        return self.devices


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "libpjrt.so"
    path.write_bytes(b"a library")
    return path


def test_versions_and_hardware_are_the_plugins_own(
    monkeypatch: pytest.MonkeyPatch, library: Path
) -> None:
    monkeypatch.setattr(plugins, "load_plugin", lambda *_: FakeClient(2))
    session = Session(PluginBackend("plugin:x", library))
    described = session.describe()
    assert (described.name, described.platform, described.device) == (
        "plugin:x", "cuda", "Fake 100",
    )  # fmt: skip
    versions = dict(described.versions)
    assert versions["PJRT API"] == "0.77"
    assert versions["StableHLO"] == "1.9.3"
    assert versions["runtime"] == "cuda 12090"
    before = versions["library"]
    assert before.startswith("libpjrt.so sha256 ")
    assert session.hardware is Hardware.GPU
    library.write_bytes(b"built again")
    assert dict(session.describe().versions)["library"] != before


def test_a_plugin_without_devices_is_one_line(
    monkeypatch: pytest.MonkeyPatch, library: Path
) -> None:
    monkeypatch.setattr(plugins, "load_plugin", lambda *_: FakeClient(0))
    assert refusal(library) == f"plugin:x: {library} has no device"


def test_a_plugin_may_be_named_by_the_package_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The location of the library differs among environments."""
    monkeypatch.syspath_prepend(tmp_path)
    for package, files in (
        ("one-pjrt", ["one/api.so", "one/__init__.py"]),
        ("two-pjrt", ["two/helper.so", "two/pjrt_two.so"]),
        ("many-pjrt", ["many/pjrt_a.so", "many/pjrt_b.so"]),
        ("no-pjrt", ["no/__init__.py"]),
    ):
        record = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info" / "RECORD"
        record.parent.mkdir()
        record.with_name("METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\n")
        record.write_text("".join(f"{file},,\n" for file in files))
        for file in files:  # newer Pythons name those that are there alone
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).touch()
    assert parse("plugin:x=one-pjrt").spelling == f"plugin:x={tmp_path / 'one' / 'api.so'}"
    assert parse("plugin:x=two_pjrt").spelling.endswith("two/pjrt_two.so")
    with pytest.raises(UsageError, match="many-pjrt must have one PJRT plugin, and has several: "):
        parse("plugin:x=many-pjrt")
    with pytest.raises(UsageError, match="and has none; give the library's path"):
        parse("plugin:x=no-pjrt")
    monkeypatch.chdir(tmp_path)
    assert parse("plugin:x=not-installed").spelling == f"plugin:x={tmp_path / 'not-installed'}"
    (tmp_path / "one-pjrt").touch()  # a file is meant before a package
    assert parse("plugin:x=one-pjrt").spelling == f"plugin:x={tmp_path / 'one-pjrt'}"


# Expectations


def test_no_shipped_expectation_matches_a_plugin_by_default(tmp_path: Path) -> None:
    assert load(None, ["plugin:cpu"], {}) == ()
    asked = load("cpu", ["plugin:x"], {})
    assert [one.id for one in asked] == [one.id for one in load(None, ["cpu"], {}) if not one.isa]
    assert any(one.applies(("exponential", "f32", "plugin:x")) for one in asked)
    (tmp_path / "plugin-x.toml").write_text('[[known]]\nid = "a"\nop = "abs"\nreason = "ours"\n')
    (own,) = load(str(tmp_path), ["plugin:x", "plugin:y", "cpu"], {})
    assert own.applies(("abs", "f32", "plugin:x"))
    assert not own.applies(("abs", "f32", "plugin:y"))


# Plugins that are here


def installed_plugins() -> dict[str, Path]:
    """Return the libraries of installed CPU plugins from PyPI, by name."""
    libraries = {
        "lammps": ("lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),
        "xla-cpu": ("xla_plugins", "xla_cpu_pjrt/xla_cpu_pjrt.so"),
    }
    found: dict[str, Path] = {}
    for name, (package, file) in libraries.items():
        spec = importlib.util.find_spec(package)
        places = spec.submodule_search_locations if spec is not None else None
        for place in places or ():
            if (path := Path(place) / file).is_file():
                found[name] = path
    return found


@pytest.fixture(scope="module")
def plugins_here() -> dict[str, str]:
    """Return the spelling of each plugin, by its name in records."""
    found = installed_plugins()
    if not found:
        pytest.skip("no plugin: pip install lammps-jax-pjrt-cpu xla-cpu-pjrt")
    return {f"plugin:{name}": f"plugin:{name}={path}" for name, path in found.items()}


def test_a_users_program_is_checked_on_a_plugin(
    call, tmp_path: Path, plugins_here: dict[str, str]
) -> None:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    for spelling in plugins_here.values():
        code, out, complained = call("check", tmp_path / "program.mlir", "--backend", spelling)
        assert (code, complained) == (0, "")
        assert ": pass" in out

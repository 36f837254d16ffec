"""Expectation files: includes, shadowed and unfinished entries, and their canonical layout."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from conformance.backends.registry import BACKENDS
from conformance.cli import app, exit_code_of
from conformance.gate.expectations import Counterexample, Expectation
from conformance.gate.files import FAMILIES, SHIPPED, shipped_backends
from conformance.gate.formatting import format_text
from conformance.gate.layout import value_text
from conformance.gate.reading import ExpectationError, load, paths_of, read
from conformance.gate.remarks import check_finished, files_about_others, shadowed_entries
from conformance.results.versions import versions
from reference.ops.table import OPS

VERSIONS = {"jaxlib": "0.10.2"}
ENTRY = '[[known]]\nid = "{}"\nop = "add"\nreason = "r"\n'


def write_files(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def ids(given: list[str] | str | None, backends: tuple[str, ...] = ("cpu",)) -> list[str]:
    return [one.id for one in load(given, backends, VERSIONS)]


def test_files_add_up_in_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    write_files(tmp_path, a=ENTRY.format("a"), b=ENTRY.format("b"))
    a, b = str(tmp_path / "a.toml"), str(tmp_path / "b.toml")
    assert ids([a, b]) == ["a", "b"]
    assert ids([b, a]) == ["b", "a"]
    assert ids([b, b, a]) == ["b", "a"]
    assert ids([]) == ids(None) == ids("cpu")
    assert ids(["cpu", a]) == [*ids("cpu"), "a"]


def test_included_entries_come_before_own_entries(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write_files(tmp_path / "more", b=ENTRY.format("b"))
    write_files(tmp_path, a='include = ["cpu", "more/b.toml"]\n' + ENTRY.format("a"))
    a = str(tmp_path / "a.toml")
    assert ids(a) == [*ids("cpu"), "b", "a"]
    assert ids(["cpu", a, str(tmp_path / "more" / "b.toml")]) == ids(a)  # each file once
    assert ids(a, ("plugin:mine",)) == [*ids("cpu", ("plugin:mine",)), "b", "a"]
    paths = paths_of(a, ("cpu",))
    assert paths["a"] == tmp_path / "a.toml"
    assert paths["subnormals-flushed"] == SHIPPED / "subnormals.toml"


def test_a_file_includes_single_entries_of_another_for_its_own_backends(tmp_path: Path) -> None:
    both = ENTRY.format("b") + ENTRY.format("c")
    write_files(tmp_path, gpu=both, cpu='include = ["gpu.toml#c"]\n' + ENTRY.format("a"))
    folder = str(tmp_path)
    assert ids(folder) == ["c", "a"]
    assert [one.backends for one in load(folder, ("cpu",), VERSIONS)] == [("cpu",), ("cpu",)]
    assert paths_of(folder, ("cpu",)) == {"c": tmp_path / "gpu.toml", "a": tmp_path / "cpu.toml"}
    for order in (("cpu", "gpu"), ("gpu", "cpu")):
        found = {one.id: set(one.backends) for one in load(folder, order, VERSIONS)}
        assert found == {"a": {"cpu"}, "b": {"gpu"}, "c": {"cpu", "gpu"}}
    assert ids(str(tmp_path / "cpu.toml"), ("plugin:mine",)) == ["c", "a"]


def test_an_included_entry_keeps_the_backends_that_it_names(tmp_path: Path) -> None:
    write_files(
        tmp_path, b=ENTRY.format("b") + 'backends = ["gpu"]\n', cpu='include = ["b.toml#b"]\n'
    )
    (entry,) = load(str(tmp_path), ("cpu",), VERSIONS)
    assert entry.backends == ("gpu",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('include = ["a.toml"]', "a.toml includes .*a.toml: a file cannot include itself"),
        ('include = ["b.toml"]', "b.toml includes .*a.toml: a file cannot include itself"),
        ('include = ["nothing.toml"]', "a.toml: include 'nothing.toml': there is no file .*cpu"),
        ('include = ["sub"]', "a.toml: include 'sub' is a folder: name its files"),
        ('include = "cpu"', "a.toml: 'include' must be a list .* include = ..cpu.."),
        ("include = [1]", "a.toml: 'include' must be a list"),
        ('include = ["c.toml#d"]', "a.toml: include 'c.toml#d': unknown entry 'd'; known: c"),
        ('include = ["c.toml#"]', "a.toml: include 'c.toml#': unknown entry ''; known: c"),
        (
            'include = ["cpu#bitcast"]',
            "'cpu#bitcast': unknown entry .* did you mean bitcast-complex",
        ),
        ('include = ["nothing#c"]', "a.toml: include 'nothing': there is no file .*cpu"),
        ('includes = ["cpu"]', "a.toml: unknown key 'includes'; .*'include'"),
        (ENTRY.format("c") + 'include = ["cpu"]', "unknown key 'include'"),
        ('include = ["c.toml"]\n' + ENTRY.format("c"), "the id 'c' is in .*c.toml and in .*a.toml"),
        ('include = ["d.toml"]', "d.toml is not a TOML file"),
    ],
)
def test_invalid_include_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "sub").mkdir()
    write_files(tmp_path, a=text, b='include = ["a.toml"]', c=ENTRY.format("c"), d="known = [")
    with pytest.raises(ExpectationError, match=said) as caught:
        load(str(tmp_path / "a.toml"), ("cpu",), VERSIONS)
    assert "\n" not in str(caught.value)


def test_none_cannot_be_combined_with_files(tmp_path: Path) -> None:
    write_files(tmp_path, a=ENTRY.format("a"))
    assert ids("none") == ids(["none"]) == []
    with pytest.raises(
        ExpectationError, match="--expectations none cannot be combined with others"
    ):
        load(["none", str(tmp_path / "a.toml")], ("cpu",), VERSIONS)


def test_a_file_includes_a_single_shipped_entry_for_its_own_backend(tmp_path: Path) -> None:
    write_files(tmp_path, a='include = ["cpu#cbrt-accuracy", "gpu-compile#gpu-f6-sort"]\n')
    found = load(str(tmp_path / "a.toml"), ("plugin:mine",), VERSIONS)
    assert {one.id for one in found} == {"cbrt-accuracy", "gpu-f6-sort"}
    assert all(one.matches_backend("plugin:mine") for one in found)


def test_a_backends_name_means_the_shipped_entries_about_it_for_all_backends() -> None:
    entries = load(["gpu", "cpu"], ("plugin:mine",), VERSIONS)
    assert all(entry.matches_backend("plugin:mine") for entry in entries)
    assert {entry.id for entry in entries if not entry.isa} == {
        one.id for one in load(None, ("cpu", "gpu"), VERSIONS) if not one.isa
    }


SHIPPED_ENTRIES = [one for family in FAMILIES for one in read(SHIPPED / f"{family}.toml")]


def test_shipped_entries_name_their_backends_and_have_ids_of_their_own() -> None:
    assert {path.stem for path in SHIPPED.glob("*.toml")} == {*FAMILIES}
    assert {*shipped_backends()} <= {*BACKENDS}
    assert len({entry.id for entry in SHIPPED_ENTRIES}) == len(SHIPPED_ENTRIES)


def test_no_shipped_entry_repeats_another() -> None:
    """It names the backends of both."""
    found: dict[object, list[Expectation]] = {}
    for entry in SHIPPED_ENTRIES:
        same = structs.replace(
            entry,
            id="",
            title="",
            reason="",
            link="",
            backends=(),
            kinds=() if entry.computes else entry.kinds,
        )
        found.setdefault(same, []).append(entry)
    repeated = [each for each in found.values() if len(each) > 1]
    assert [each for each in repeated if any("cpu" in one.backends for one in each)] == []


ENTRY_OF_BACKEND = '[[known]]\nid = "{}"\nop = "add"\nreason = "so it is"\nbackends = ["{}"]\n'


def write_entries(folder: Path, *backends: str) -> str:
    path = folder / "ours.toml"
    path.write_text(
        "\n".join(ENTRY_OF_BACKEND.format(f"n{n}", of) for n, of in enumerate(backends))
    )
    return str(path)


def test_file_about_the_tested_backend_is_not_listed(tmp_path: Path) -> None:
    assert files_about_others(write_entries(tmp_path, "gpu", "cpu"), ["cpu"]) == []


def test_file_about_another_backend_is_listed_with_its_name(tmp_path: Path) -> None:
    path = write_entries(tmp_path, "gpu")
    assert files_about_others(path, ["cpu", "interpreter"]) == [
        f"{path}: the entry is about gpu, none about cpu, interpreter"
    ]


CRASH = Expectation("crash", ("sort",), "r", verdicts=("crashed",), words=("size > 0",))


@pytest.mark.parametrize(
    ("changes", "is_shadowed"),
    [
        ({"words": ("Check failed: size > 0",)}, True),
        ({"words": ("size > 0", "other")}, False),
        ({"words": ("other",)}, False),
        ({"where": ("dimension = 1",)}, False),  # it knows what ends without a word, too
    ],
)
def test_texts_are_compared_as_parts_of_each_other(
    changes: dict[str, object], is_shadowed: bool
) -> None:
    later = structs.replace(CRASH, id="later", **changes)
    assert bool([*shadowed_entries([CRASH, later])]) == is_shadowed


def test_shadowed_entries_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    entry = '[[known]]\nid = "{}"\nop = "{}"\nreason = "r"\n'
    (tmp_path / "a.toml").write_text(entry.format("a", "subtract") + entry.format("b", "abs"))
    (tmp_path / "b.toml").write_text(entry.format("c", "subtract") + entry.format("d", "cosine"))
    given = ["--expectations", str(tmp_path / "a.toml"), "--expectations",
             str(tmp_path / "b.toml"), "--backend", "reference"]  # fmt: skip

    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = exit_code_of(lambda: app([*arguments, *given], standalone_mode=False))
        return code, *capfd.readouterr()

    code, out, err = run_command("expectations", "check", "--jobs", "1")
    assert code == 4
    assert err.splitlines()[0].startswith("c: shadowed by a, which comes first and matches all")
    assert len(out.splitlines()) == 4
    assert len(err.splitlines()) == 2
    _, out, _ = run_command("expectations", "check", "c", "--jobs", "1", "--format", "json")
    assert '"shadowed_by": ["a"]' in out
    run = ("run", "--op", "subtract", "--element-type", "f32", "--profile", "smoke", "--jobs", "1")
    code, _, err = run_command(*run, "--out", str(tmp_path / "out"))
    assert code == 0
    assert (
        "expectations: 1 entry is shadowed by an earlier entry; `hlo-conformance expectations"
        in (" ".join(err.split()))
    )


@pytest.mark.parametrize("jaxlib", ["0.10.2", "0.12.0.1"])
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_no_shipped_entry_is_shadowed(backend: str, jaxlib: str) -> None:
    entries = load(None, [backend], versions() | {"jaxlib": jaxlib})
    assert entries
    assert [*map(str, shadowed_entries(entries))] == []


SHOWN = Counterexample("func.func @main() { return }")
TWIN = next(name for name, record in OPS.items() if record.twin)


def finished_entry(name: str, reason: str = "known since 2020", **given) -> Expectation:
    return Expectation(name, ("add",), reason, **{"counterexample": SHOWN, **given})


def check(entries: Sequence[Expectation]) -> None:
    check_finished(entries, {entry.id: Path("ours.toml") for entry in entries})


def test_finished_entries_are_accepted() -> None:
    check([finished_entry("a"), finished_entry("b", flaky=True, counterexample=None)])
    check([Expectation("c", (TWIN,), "of XlaBuilder alone")])


def test_entry_without_a_counterexample_is_refused() -> None:
    with pytest.raises(ExpectationError, match=r"no counterexample in entry 'b' \(ours.toml\)"):
        check([finished_entry("a"), finished_entry("b", counterexample=None)])


UNFORMATTED = '''# ours

include=["cpu"]   # why


# a section

# about it
[[known]] # since spring
reason = "it \\"is\\""
# on ops
op = ["log",
  "sine"] # these
id='x'
versions = {plugin=">=2"}
element_types = [
  "f32", # kept as it is
]
[ known . counterexample ]
inputs = ["1", ]
program = """
x # no comment
"""
[[known]]
id = "y"
op = "abs"
reason = """two
lines"""
counterexample.program = "p"

# the end
'''

FORMATTED = '''# ours

include = ["cpu"]  # why

# a section

# about it
[[known]]  # since spring
id = "x"
# on ops
op = ["log", "sine"]  # these
element_types = [
  "f32", # kept as it is
]
versions = { plugin = ">=2" }
reason = 'it "is"'
[known.counterexample]
program = """
x # no comment
"""
inputs = ["1"]

[[known]]
id = "y"
op = "abs"
reason = """two
lines"""
counterexample.program = "p"

# the end
'''


def test_keys_are_put_in_order_and_comments_stay() -> None:
    assert format_text(UNFORMATTED) == FORMATTED
    assert format_text(FORMATTED) == FORMATTED


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_files_say_the_same_when_formatted(path: Path) -> None:
    text = path.read_text()
    once = format_text(text)
    assert format_text(once) == once
    assert tomllib.loads(once) == tomllib.loads(text)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert [line for line in once.splitlines() if line.startswith("#")] == comments


@pytest.mark.parametrize(
    "value",
    [
        "plain", 'with "quotes"', "it's", 'both \' and "', "back\\slash", "two\nlines\n", "'''\n",
        "tab\t", "bell\x07", "del\x7f", "x'", "ends\nwith '", True, 8.0, 0.5, 12, ["a", 'b"'],
        [f"a long name {number}" for number in range(40)], {"plugin": ">=2", "jaxlib": "<1"}, [],
    ],
)  # fmt: skip
def test_written_value_is_read_back(value: object) -> None:
    text = value_text(value)
    assert tomllib.loads(f"key = {text}\n") == {"key": value}
    assert max(map(len, text.splitlines())) <= 120
    assert format_text(f"[[known]]\nid = {text}\n") == f"[[known]]\nid = {text}\n"


def test_the_command_formats_or_only_checks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run_command(*arguments: object) -> tuple[int, str, str]:
        given = ["expectations", "fmt", *map(str, arguments)]
        code = exit_code_of(lambda: app(given, standalone_mode=False))
        return code, *capfd.readouterr()

    file, wrong = tmp_path / "a.toml", tmp_path / "b.toml"
    text = '[[known]]\nop = "abs"\nid = "x"\nreason = "r"\n'
    file.write_text(text)
    wrong.write_text('[[known]]\nid = "x"\n')
    assert run_command(file, "--check") == (1, f"{file}: would change\n", "")
    assert file.read_text() == text
    assert run_command(file)[:2] == (0, f"{file}: formatted\n")
    assert file.read_text() == '[[known]]\nid = "x"\nop = "abs"\nreason = "r"\n'
    assert run_command(file, "--check") == (0, "", "")
    code, _, err = run_command(wrong)
    assert (code, "b.toml: entry 'x': 'op' is missing" in err) == (2, True)
    assert run_command(tmp_path / "nothing.toml")[0] == 2

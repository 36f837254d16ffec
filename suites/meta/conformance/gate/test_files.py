"""Several expectation files, files that include files, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from conformance.backends.registry import BACKENDS
from conformance.gate.expectations import Expectation
from conformance.gate.files import FAMILIES, SHIPPED, shipped_backends, tables_of
from conformance.gate.reading import ExpectationError, load, paths_of, read

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


def test_a_folder_adds_up_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    write_files(tmp_path / "folder", cpu=ENTRY.format("own"))
    write_files(tmp_path, a=ENTRY.format("a"))
    given = [str(tmp_path / "folder"), str(tmp_path / "a.toml")]
    assert ids(given) == ["own", "a"]
    assert ids(given, ("gpu",)) == ["a"]


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


def test_a_file_beside_is_meant_before_a_shipped_one_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(ENTRY.format("ours"))
    write_files(tmp_path, a='include = ["cpu"]\n')
    assert ids(str(tmp_path / "a.toml")) == ["ours"]


def test_a_file_of_one_backend_included_for_all_matches_all(tmp_path: Path) -> None:
    write_files(tmp_path, cpu=ENTRY.format("c"), a='include = ["cpu.toml"]\n')
    (table,) = tables_of(str(tmp_path), ("cpu",))
    assert table.keys["backends"] == ("cpu",)
    (entry,) = load([str(tmp_path), str(tmp_path / "a.toml")], ("cpu", "gpu"), VERSIONS)
    assert entry.matches_backend("gpu")


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


def test_a_file_with_a_hash_in_its_name_is_meant_before_an_entry(tmp_path: Path) -> None:
    write_files(tmp_path, a='include = ["b#c.toml"]\n', **{"b#c": ENTRY.format("own")})
    assert ids(str(tmp_path / "a.toml")) == ["own"]


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


def test_read_ignores_includes(tmp_path: Path) -> None:
    write_files(tmp_path, a='include = ["cpu"]\n' + ENTRY.format("a"))
    assert [one.id for one in read(tmp_path / "a.toml")] == ["a"]


def test_a_file_includes_a_single_shipped_entry_for_its_own_backend(tmp_path: Path) -> None:
    write_files(tmp_path, a='include = ["cpu#cbrt-accuracy", "gpu-compile#gpu-f6-sort"]\n')
    found = load(str(tmp_path / "a.toml"), ("plugin:mine",), VERSIONS)
    assert {one.id for one in found} == {"cbrt-accuracy", "gpu-f6-sort"}
    assert all(one.matches_backend("plugin:mine") for one in found)


def test_a_backends_name_means_the_shipped_entries_about_it_for_all_backends() -> None:
    entries = load(["gpu", "cpu"], ("plugin:mine",), VERSIONS)
    assert all(one.matches_backend("plugin:mine") for one in entries)
    assert {one.id for one in entries if not one.isa} == {
        one.id for one in load(None, ("cpu", "gpu"), VERSIONS) if not one.isa
    }


SHIPPED_ENTRIES = [one for family in FAMILIES for one in read(SHIPPED / f"{family}.toml")]


def test_shipped_entries_name_their_backends_and_have_ids_of_their_own() -> None:
    assert {path.stem for path in SHIPPED.glob("*.toml")} == {*FAMILIES}
    assert {*shipped_backends()} <= {*BACKENDS}
    assert len({one.id for one in SHIPPED_ENTRIES}) == len(SHIPPED_ENTRIES)


def test_no_shipped_entry_repeats_another() -> None:
    """It names the backends of both."""
    found: dict[object, list[Expectation]] = {}
    for one in SHIPPED_ENTRIES:
        same = structs.replace(
            one, id="", reason="", link="", backends=(), kinds=() if one.computes else one.kinds
        )
        found.setdefault(same, []).append(one)
    repeated = [each for each in found.values() if len(each) > 1]
    assert [each for each in repeated if any("cpu" in one.backends for one in each)] == []


def test_entries_for_other_backends_state_no_instruction_sets() -> None:
    """Only XLA's CPU compiler has instruction sets; such an entry would match nothing."""
    limited = [one for one in SHIPPED_ENTRIES if one.isa]
    assert {name for one in limited for name in one.backends} <= {"cpu", "cpu-compile"}

"""Vectors: a reader without this project finds what a run finds, and the judge its outputs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from conformance.backends.base import BackendError, Unsupported
from conformance.backends.outputs import OutputsBackend
from conformance.backends.session import open_session
from conformance.errors import NotAvailable
from conformance.results.store import Store
from conformance.stablehlo.parse import ParseError, parse_module
from conformance.vectors.writing import read_suite

EXAMPLES = Path(__file__).parents[4] / "examples" / "vectors"
sys.path.insert(0, str(EXAMPLES))

import read_vectors  # noqa: E402 - the example that users copy

OPS = ("add", "tanh", "compare", "clamp", "sort")
FAILS = {"inaccurate", "divergent", "flushed", "accepted", "crashed", "rejected"}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from conformance.cli import app

    folder = tmp_path_factory.mktemp("vectors")
    words = [word for op in OPS for word in ("--op", op)]
    types = [
        word for of in ("f32", "bf16", "si4", "i1", "invalid") for word in ("--element-type", of)
    ]
    app(["export", str(folder), *words, *types], standalone_mode=False)
    return folder


def each(vectors: Path):
    for path in sorted(vectors.glob("*-*.json")):
        data = path.with_suffix(".bin").read_bytes()
        for vector in json.loads(path.read_text())["vectors"]:
            yield vector, data


def test_files_are_of_the_schemas_beside_them(vectors: Path) -> None:
    schemas = {
        path.name.rpartition("-")[0]: Draft202012Validator(json.loads(path.read_text()))
        for path in (vectors / "schema").iterdir()
    }
    assert set(schemas) == {"vectors", "vector-suite"}
    schemas["vector-suite"].validate(json.loads((vectors / "suite.json").read_text()))
    files = sorted(vectors.glob("*-*.json"))
    for path in files:
        schemas["vectors"].validate(json.loads(path.read_text()))
    damaged = json.loads(files[0].read_text())
    del damaged["vectors"][0]["sets"]
    assert not schemas["vectors"].is_valid(damaged)


def run(vectors: Path, outputs: Path, backend: str, change: Callable = lambda array: array) -> None:
    """Write what a backend gives for vectors, as a tool would."""
    session = open_session(backend)
    outputs.mkdir()
    for vector, data in each(vectors):
        stem = outputs / vector["id"]
        try:
            compiled = session.compile(parse_module(vector["program"]), vector["program"])
        except (ParseError, BackendError) as error:
            word = "unsupported" if isinstance(error, Unsupported) else "rejected"
            stem.with_name(f"{stem.name}.txt").write_text(f"{word} so")
            continue
        content = b""
        for one in vector["sets"]:
            arrays = [read_vectors.array_of(stored, data) for stored in one["inputs"]]
            for result in compiled.run(arrays):
                content += np.ascontiguousarray(change(result)).tobytes()
        stem.with_name(f"{stem.name}.bin").write_bytes(content)


def flip_first(array):
    changed = np.ascontiguousarray(array).copy()
    changed.reshape(-1).view(np.uint8)[:1] ^= 1
    return changed.reshape(array.shape)


@pytest.mark.parametrize(
    ("backend", "change"),
    [
        ("reference", lambda array: array),
        ("reference:off_by_three_ulp", lambda array: array),
        ("reference:sign_lost", lambda array: array),
        ("reference", flip_first),
    ],
)
def test_a_reader_finds_what_a_run_finds(
    vectors: Path, backend: str, change: Callable, tmp_path: Path, call
) -> None:
    outputs, out = tmp_path / "outputs", tmp_path / "out"
    run(vectors, outputs, backend, change)
    found = {v["id"]: read_vectors.verdict(v, data, outputs) for v, data in each(vectors)}
    code, _, err = call(
        "judge", str(vectors), str(outputs), "--out", str(out), "--expectations", "none"
    )
    assert code in (0, 1), err
    with Store(out / "results.sqlite") as store:
        judged = {f"{r.op}-{r.element_type}-{r.index}": r.verdict.value for r in store.records()}
    assert judged.keys() == found.keys()
    told = {id_: word for id_, word in found.items() if word in ("pass", "wrong")}
    wrong = {id_ for id_, word in told.items() if word == "wrong"}
    assert wrong == {id_ for id_ in told if judged[id_] in FAILS}
    assert (code == 1) is ("wrong" in found.values())
    assert (backend, change) == ("reference", change) or "wrong" in found.values()


def test_nine_of_ten_results_need_no_judge(vectors: Path) -> None:
    suite = read_suite(vectors)
    assert suite["results"] > 200
    assert suite["judged_results"] < suite["results"] / 10
    assert any("violates" in one for one, _ in each(vectors))
    assert all("portable" in one for one, _ in each(vectors) if "violates" not in one)


def test_vectors_are_the_same_again(vectors: Path, tmp_path: Path, call) -> None:
    again = tmp_path / "again"
    code, out, _ = call("export", str(again), "--op", "tanh", "--element-type", "f32")
    assert (code, "vectors with" in out) == (0, True)
    for name in ("tanh-f32.json", "tanh-f32.bin"):
        assert (again / name).read_bytes() == (vectors / name).read_bytes()


def test_outputs_that_are_missing_or_short_are_verdicts(vectors: Path, tmp_path: Path) -> None:
    backend = OutputsBackend("outputs:x", vectors, tmp_path)
    vector, data = next(
        (v, d) for v, d in each(vectors) if v["id"][:9] == "tanh-f32-" and v["sets"][0]["inputs"]
    )
    program = parse_module(vector["program"])
    with pytest.raises(Unsupported, match="there are no outputs"):
        backend.compile(vector["program"], program)
    with pytest.raises(Unsupported, match="no such vector"):
        backend.compile("another text", program)
    inputs = [read_vectors.array_of(one, data) for one in vector["sets"][0]["inputs"]]
    for content, reason in ((b"12", "end after 2 bytes"), (b"", "end after 0 bytes")):
        (tmp_path / f"{vector['id']}.bin").write_bytes(content)
        with pytest.raises(BackendError, match=reason):
            backend.compile(vector["program"], program).execute([inputs])
    with pytest.raises(BackendError, match="no such inputs"):
        backend.compile(vector["program"], program).execute(
            [[np.full_like(one, 7.25) for one in inputs]]
        )
    (tmp_path / f"{vector['id']}.txt").write_text("perhaps")
    with pytest.raises(BackendError, match="begins with none of"):
        backend.compile(vector["program"], program)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"vectors": 3}', '{"vectors": [{}]}'])
def test_a_damaged_file_of_vectors_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "add-f32.json").write_text(text)
    with pytest.raises(NotAvailable, match=r"add-f32\.json is no file of vectors"):
        OutputsBackend("outputs:x", tmp_path, tmp_path)


def test_mistakes_are_one_line(tmp_path: Path, call) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for words, reason in (
        (("export", str(tmp_path)), "is not empty, and holds no vectors"),
        (("export", str(tmp_path / "new"), "--op", "abacus"), "unknown op 'abacus'"),
        (("judge", str(tmp_path), str(tmp_path)), "`export` writes vectors"),
    ):
        code, _, err = call(*words)
        assert (code, reason in err, err.count("\n")) == (2, True, 1)
    with pytest.raises(NotAvailable, match="is no folder"):
        OutputsBackend("outputs:x", tmp_path / "no", tmp_path)

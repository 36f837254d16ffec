"""Pictures of the report: the run, and windows of phones and desktops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docs.tools import screenshots
from docs.tools.screenshots import BACKENDS, OPS, Picture, _run, _take_picture


def test_the_run_has_all_backends_and_ops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(
        screenshots.subprocess, "run", lambda words, **given: ran.append((words, given))
    )
    _run(tmp_path / "run")
    ((words, given),) = ran
    assert given["cwd"] == tmp_path / "run"
    assert words.count("--backend") == len(BACKENDS)
    assert words[words.index("--op") + 1] == OPS[0]


class Driver:
    """A browser that records what it is asked."""

    def __init__(self, options: Any) -> None:
        metrics = options.experimental_options["mobileEmulation"]["deviceMetrics"]
        self.asked: list[tuple[object, ...]] = [tuple(metrics.values())]

    def get(self, address: str) -> None:
        self.asked.append(("get", address))

    def execute_script(self, script: str, anchor: str) -> None:
        assert "scrollIntoView" in script
        self.asked.append(("scroll", anchor))

    def get_screenshot_as_png(self) -> bytes:
        return b"PNG"

    def quit(self) -> None:
        self.asked.append(("quit",))


@pytest.mark.parametrize(
    ("width", "ratio", "place", "asked"),
    [
        (1280, 1, {}, [("get", "file:///page")]),
        (390, 2, {"fragment": "case=x"}, [("get", "file:///page#case=x")]),
        (1280, 1, {"anchor": "matrix"}, [("get", "file:///page"), ("scroll", "matrix")]),
    ],
)
def test_a_picture_is_of_a_window_at_a_fragment_or_an_anchor(
    width: int, ratio: int, place: dict[str, str], asked: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    opened: list[Driver] = []

    def open_chrome(**given: Any) -> Driver:
        opened.append(Driver(given["options"]))
        return opened[0]

    monkeypatch.setattr(screenshots.webdriver, "Chrome", open_chrome)
    monkeypatch.setattr(screenshots.shutil, "which", lambda _: "/bin/true")
    assert _take_picture(Picture("a.png", width, 700, **place), "file:///page") == b"PNG"
    assert opened[0].asked == [(width, 700, ratio), *asked, ("quit",)]

"""Pictures of the report: the run, windows of phones and desktops, few colours."""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from docs.tools import screenshots
from docs.tools.pages import PAGES
from docs.tools.screenshots import (
    BACKENDS,
    COLOURS,
    OPS,
    PICTURES,
    Picture,
    _run,
    _save,
    _take_picture,
    browser,
)


def test_all_pictures_are_assets_of_the_pages() -> None:
    assert {one.name for one in PICTURES} <= {path.name for path in (PAGES / "assets").iterdir()}


def test_a_picture_has_few_colours(tmp_path: Path) -> None:
    image = Image.linear_gradient("L").convert("RGB")
    data = io.BytesIO()
    image.save(data, "PNG")
    _save(data.getvalue(), tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as saved:
        assert saved.size == image.size
        colours = saved.convert("RGB").getcolors(maxcolors=1 << 16)
    assert colours is not None
    assert 2 < len(colours) <= COLOURS


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

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

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
    ("picture", "asked"),
    [
        (Picture("a.png", 1280, 700), [("get", "file:///page")]),
        (Picture("a.png", 1280, 700, fragment="case=x"), [("get", "file:///page#case=x")]),
        (
            Picture("a.png", 1280, 700, anchor="matrix"),
            [("get", "file:///page"), ("scroll", "matrix")],
        ),
    ],
)
def test_a_picture_is_of_a_fragment_and_begins_at_an_anchor(
    picture: Picture, asked: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver()

    @contextmanager
    def opened(*_: int) -> Any:
        yield driver

    monkeypatch.setattr(screenshots, "browser", opened)
    assert _take_picture(picture, "file:///page") == b"PNG"
    assert driver.asked == asked


@pytest.mark.parametrize(("width", "ratio"), [(390, 2), (1280, 1)])
def test_a_narrow_window_is_a_phone_and_the_browser_is_closed(
    width: int, ratio: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, options = Driver(), []

    def chrome(**given: Any) -> Driver:
        options.append(given["options"])
        return driver

    monkeypatch.setattr(screenshots.webdriver, "Chrome", chrome)
    monkeypatch.setattr(screenshots.shutil, "which", lambda _: "/bin/true")

    def fail() -> None:
        with browser(width, 844):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert driver.asked == [("quit",)]
    metrics = options[0].experimental_options["mobileEmulation"]["deviceMetrics"]
    assert metrics == {"width": width, "height": 844, "pixelRatio": ratio}

"""Take the pictures of the report: `python -m docs.tools.screenshots [RUN]`.

Runs a few ops on three backends, one of them with a seeded fault, in the folder RUN or a temporary
folder. Opens the report in a headless Chromium and writes small PNGs to docs/assets/. Needs
Chromium and its driver. A RUN that was completed before is not run again.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from docs.tools.pages import PAGES, ROOT

BACKENDS = ("cpu", "interpreter", "reference:reciprocal_division")
OPS = ("a*", "co*", "d*", "exp*", "log*", "reduce", "si*", "sq*", "su*", "tanh")
TYPES = ("f16", "bf16", "f32", "f64", "complex_f32", "si8", "si32", "i1")
RESULTS = "hlo-conformance-results"
"""The default folder of a run: reports then show commands without a path."""

COLOURS = 64
"""Number of colours of a picture: enough for text and bars at a fifth of the size."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its file, the window in CSS pixels, and the fragment of the page's address.

    `anchor` is the element at the top of the picture, "" for the page's own.
    """

    name: str
    width: int
    height: int
    fragment: str = ""
    anchor: str = ""


PICTURES = (
    Picture("report.png", 1280, 700),
    Picture("report-matrix.png", 1280, 660, anchor="matrix"),
    Picture("report-case.png", 1280, 800, "case=divide-f32-reference:reciprocal_division-0"),
    Picture("report-phone.png", 390, 844),
)


def main() -> None:
    """Run the suite, then take all pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        _run(folder)
        page = (folder / RESULTS / "index.html").as_uri()
        for picture in PICTURES:
            target = PAGES / "assets" / picture.name
            _save(_take_picture(picture, page), target)
            sys.stdout.write(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} KiB\n")


def _run(folder: Path) -> None:
    """Run the suite in `folder`; the pictures show its new divergences."""
    folder.mkdir(exist_ok=True)
    arguments = ["run", "--profile", "smoke"]
    for option, values in (("--backend", BACKENDS), ("--op", OPS), ("--element-type", TYPES)):
        arguments += [part for value in values for part in (option, value)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-m", "conformance", *arguments], cwd=folder, env=environment, check=False
    )


@contextmanager
def browser(width: int, height: int) -> Generator[Any]:
    """Yield a Chromium whose window has this size; a narrow window is a phone."""
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    metrics = {"width": width, "height": height, "pixelRatio": 2 if width < 600 else 1}
    options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    # Naming the driver keeps selenium from looking for one on the network.
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def _take_picture(picture: Picture, page: str) -> bytes:
    """Return the picture as PNG."""
    with browser(picture.width, picture.height) as driver:
        driver.get(f"{page}#{picture.fragment}" if picture.fragment else page)
        if picture.anchor:
            driver.execute_script(
                "document.getElementById(arguments[0]).scrollIntoView()", picture.anchor
            )
        return driver.get_screenshot_as_png()


def _save(picture: bytes, target: Path) -> None:
    """Write a picture with few colours."""
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(target, optimize=True)


if __name__ == "__main__":
    main()

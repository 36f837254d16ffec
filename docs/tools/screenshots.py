"""Take the pictures of the report: `python -m docs.tools.screenshots [RUN]`.

Runs a few ops on three backends, one of them with a seeded fault, into the folder RUN or a
temporary one. Opens the report in a headless Chromium and writes small PNGs to docs/assets/. Needs
Chromium and its driver. A RUN that was completed before is not run again.
"""

from __future__ import annotations

import io
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
OPS = ("a*", "co*", "d*", "exp*", "log*", "reduce", "s*", "tanh")
TYPES = ("f16", "bf16", "f32", "f64", "complex_f32", "si8", "si32", "i1")
COLOURS = 64
"""Colours of a picture: enough for text and bars, and a fifth of the size."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its file, the window in CSS pixels, and a script that brings the part in view."""

    name: str
    width: int
    height: int
    script: str = ""


PICTURES = (
    Picture("report.png", 1280, 800),
    Picture("report-phone.png", 390, 844),
)


def main() -> None:
    """Make the run, take all pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        _run(folder)
        page = (folder / "index.html").as_uri()
        for picture in PICTURES:
            target = PAGES / "assets" / picture.name
            _save(_taken(picture, page), target)
            sys.stdout.write(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} KiB\n")


def _run(folder: Path) -> None:
    """Run the suite into `folder`; new divergences are what is to be seen."""
    arguments = ["run", "--profile", "smoke", "--out", str(folder)]
    for option, values in (("--backend", BACKENDS), ("--op", OPS), ("--element-type", TYPES)):
        arguments += [part for value in values for part in (option, value)]
    subprocess.run([sys.executable, "-m", "conformance", *arguments], cwd=ROOT, check=False)


@contextmanager
def _browser(width: int, height: int) -> Generator[Any]:
    """Yield a Chromium whose window has this size; a narrow one is a phone."""
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


def _taken(picture: Picture, page: str) -> bytes:
    """Return the picture as PNG."""
    with _browser(picture.width, picture.height) as driver:
        driver.get(page)
        if picture.script:
            driver.execute_script(picture.script)
        return driver.get_screenshot_as_png()


def _save(picture: bytes, target: Path) -> None:
    """Write a picture with few colours."""
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(target, optimize=True)


if __name__ == "__main__":
    main()

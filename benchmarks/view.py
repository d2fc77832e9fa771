"""How long does one wait in `transect view` on a run of 100,000 images, in a real browser on this machine?

python benchmarks/view.py
python benchmarks/view.py --images 5000    # a first impression

Each time is a median. The peer is the same run with a tenth of the images: a page that stays fluid takes no longer with
ten times as many. Exit 1 where the first screen takes a second or more, or a filter 200 ms. Needs Debian's chromium.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import LONGER, record
from browsers import CHROMIUM, FLAGS
from playwright.sync_api import sync_playwright
from viewed_run import make_viewed

import transect

REPEATS = 7
FIRST, FILTER = 1000, 200
"""Milliseconds that the first screen and a filter may take."""
SHOWN = """async () => {
  while (!document.querySelector("#tiles img[src]")?.naturalWidth) await new Promise(requestAnimationFrame);
  return performance.now();
}"""
CLICKED = """async ([box, on]) => {
  const start = performance.now(), before = document.documentElement.dataset.generation;
  const element = document.getElementById(box);
  if (element.type === "checkbox") element.click();
  else { element.value = on; element.dispatchEvent(new Event("change")); }
  while (document.documentElement.dataset.generation === before) await new Promise(requestAnimationFrame);
  while (!document.querySelector("#tiles li a")) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
FILLED = """async () => {
  const start = performance.now();
  const seen = () => [...document.querySelectorAll("#tiles li")].filter(
    tile => tile.getBoundingClientRect().top < innerHeight && tile.getBoundingClientRect().bottom > 0);
  const empty = tile => !tile.querySelector("img[src]")?.naturalWidth;
  while (!seen().length || seen().some(empty)) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
JUMPED = """async () => {
  const last = `#tiles li[aria-posinset="${document.documentElement.dataset.count}"]`;
  const start = performance.now();
  scrollTo(0, document.documentElement.scrollHeight);
  while (!document.querySelector(`${last} img[src]`)?.naturalWidth) await new Promise(requestAnimationFrame);
  const taken = performance.now() - start;
  scrollTo(0, 0);
  while (document.querySelector(last)) await new Promise(requestAnimationFrame);
  return taken;
}"""


def measured(folder):
    """Milliseconds by what one waits for."""
    began = time.perf_counter()
    with transect.view(folder) as page, sync_playwright() as playwright:
        started = 1000 * (time.perf_counter() - began)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        times = {"start": [started]}
        for _ in range(REPEATS):
            tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            tab.goto(page.url)
            times.setdefault("first screen", []).append(tab.evaluate(SHOWN))
        mixed = tab.evaluate(CLICKED, ["filter-sort", "score"]) + tab.evaluate(FILLED)
        times["all pictures of a screen, by score"] = [mixed]  # once: then they are at hand
        tab.evaluate(CLICKED, ["filter-sort", "order"])
        for _ in range(REPEATS):
            times.setdefault("filter by level", []).append(tab.evaluate(CLICKED, ["filter-where.smile=1", True]))
            times.setdefault("filter by verdict", []).append(tab.evaluate(CLICKED, ["filter-verdict=wrong", True]))
            for order in ("score", "effect:smile", "order"):
                key = {"score": "order by score", "order": "order of the run"}.get(order, "order by effect")
                times.setdefault(key, []).append(tab.evaluate(CLICKED, ["filter-sort", order]))
        for box in ("filter-where.smile=1", "filter-verdict=wrong"):
            if tab.is_checked(f"[id='{box}']"):
                tab.evaluate(CLICKED, [box, False])
        for _ in range(REPEATS):
            times.setdefault("jump to the end", []).append(tab.evaluate(JUMPED))
        browser.close()
    return {name: statistics.median(each) for name, each in times.items()}


def make(folder, images):
    """A run of 10 images a subject, with scores of two targets."""
    random = np.random.default_rng(0)
    levels = {"smile": tuple(np.linspace(0, 1, 5).tolist()), "glasses": (0.0, 1.0)}
    scores = {name: random.random(images) for name in ("one", "other")}
    return make_viewed(folder, scores, levels=levels, subjects=images // 10, per_part=25, size=64)


def main():
    """Print the table; 1 where one waits too long."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=100_000)
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as name:
        small, large = (measured(make(Path(name) / str(n), n)) for n in (images // 10, images))
    print(f"{'':<36}{images // 10:>10,} images{images:>10,} images   ratio")
    for what, milliseconds in large.items():
        print(f"{what:<36}{small[what]:>14.0f} ms{milliseconds:>14.0f} ms{milliseconds / small[what]:>8.2f}")
        record(f"{what}, {images:,} images", "a tenth of the images", milliseconds / small[what], LONGER, REPEATS)
    print(f"largest memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    slow = [each for each in large if each.startswith("filter") and large[each] >= FILTER]
    return int(large["first screen"] >= FIRST or bool(slow))


if __name__ == "__main__":
    sys.exit(main())

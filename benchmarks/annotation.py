"""How long does a rater wait, from the key to the next picture, in a real browser on this machine?

python benchmarks/annotation.py

The peer is the same page as if it loaded nothing ahead: the picture is fetched after the key. Both are medians of 20
answers in one run. Exit 1 where the median is 100 ms or more. Needs Debian's chromium.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.extend([str(Path(__file__).parents[1] / "tests" / name) for name in ("support", "annotation")])

from _records import LONGER, QUICK, record
from playwright.sync_api import sync_playwright
from served import serving
from small_run import make_run, write_questions
from test_rating_pages import CHROMIUM, FLAGS, MORE, Page, until_single, wait

from transect.annotation.database import Database
from transect.annotation.project import default_database

ANSWERS = 3 if QUICK else 20
SCRIPT = """async ([key, afresh]) => {
  const picture = new Image();
  const before = document.documentElement.dataset.shown, start = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", {key}));
  while (document.documentElement.dataset.shown === before) await new Promise(requestAnimationFrame);
  if (afresh) {
    picture.src = document.querySelector("main img").currentSrc + "?afresh=" + start;
    await picture.decode().catch(() => {});
  }
  return performance.now() - start;
}"""


def median(site, afresh):
    """Milliseconds from the key to the picture, over some answers."""
    rater = Page(site, viewport={"width": 1200, "height": 800})
    until_single(rater)
    times = []
    for _ in range(ANSWERS):
        wait(rater.page, "unsent.length === 0 && tasks.length > 1")
        times.append(rater.page.evaluate(SCRIPT, [rater.level(), afresh]))
    rater.context.close()
    return statistics.median(times)


def main():
    """Print the table; 1 where a rater waits too long."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = make_run(folder / "run", subjects=16, size=128)
        path = write_questions(folder / "q.toml", ratings=6, plan="break_every = 1000", more=MORE)
        with serving(run, "--questions", path) as (_, base), sync_playwright() as playwright:
            database = Database(default_database(run))
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            ahead, afresh = (median((base, database, browser), one) for one in (False, True))
            browser.close()
            database.close()
    print(f"{'loaded ahead':>14}{'after the key':>15}{'ratio':>8}")
    print(f"{ahead:>11.0f} ms{afresh:>12.0f} ms{afresh / ahead:>8.2f}")
    record("next picture after the key, fetched then", "loaded ahead", afresh / ahead, LONGER, ANSWERS)
    return int(ahead >= 100 and not QUICK)


if __name__ == "__main__":
    sys.exit(main())

"""The organiser's dashboard in headless Chromium: progress, raters, pausing, shutting out, export, no complaints."""

import csv
import io
import time

import pytest
from browsers import CHROMIUM, FLAGS
from served import PASSWORD, serving
from small_run import make_run, write_questions

from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project
from transect.annotation.raters import invite

pytestmark = [
    pytest.mark.browser,
    pytest.mark.integration,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"),
]


def cells(page, row):
    """Texts of the cells of the row that a header names."""
    return [one.strip() for one in page.locator(f"tr:has(th:text-is('{row}')) td").all_inner_texts()]


def test_the_organiser_sees_changes_and_exports(tmp_path):
    """Two images, three answers wanted of each: two raters agree on the first and differ on the second."""
    from playwright.sync_api import sync_playwright

    run = make_run(tmp_path / "run", subjects=2, cells=1, size=64)
    path = write_questions(tmp_path / "q.toml", ratings=3)
    project = open_project(run, None, (path,))
    one, other, third = invite(project.database, 3, now=0.0)
    said = [("0-0000", one.name, 2), ("0-0000", other.name, 2), ("1-0000", one.name, 0), ("1-0000", other.name, 1)]
    given = [Incoming("test", "", image, "", "smile", rater, level, seconds=2.0) for image, rater, level in said]
    take_in(project, given, time.time())
    project.database.close()
    with serving(run, "--questions", path) as (_, base), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        errors = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{base}/admin")
        page.fill("#password", PASSWORD)
        page.click("button.primary")
        page.wait_for_selector("#dashboard")
        question = cells(page, "smile")
        assert question[0] == "2"
        assert question[2] == "4 of 6"
        assert question[3] == "0.50"  # of two pairs of answers one is equal
        assert cells(page, one.name)[:4] == ["imported", "2", "0", "2.0"]
        assert cells(page, third.name)[0] == "invited"
        page.click("text=Pause >> nth=0")
        page.wait_for_selector("text=Paused: raters get no further tasks.")
        page.click(f"[aria-label='Exclude {other.name}']")
        page.wait_for_selector(f"[aria-label='Resume {other.name}']")
        assert cells(page, other.name)[0] == "excluded"
        assert cells(page, "smile")[3] == "–", "one rater alone agrees with nobody"
        with page.expect_download() as download:
            page.click("text=All answers as CSV")
        rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
        assert [row["answer"] for row in rows if row["rater"] == one.name] == ["yes", "no"]
        assert {row["excluded"] for row in rows if row["rater"] == other.name} == {"true"}
        narrow = browser.new_page(viewport={"width": 360, "height": 740})
        narrow.context.add_cookies(page.context.cookies())
        narrow.goto(f"{base}/admin")
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
        assert errors == []
        browser.close()

"""The page in headless Chromium with real clicks and keys: filters, sliders, pairs, links, export, phones, axe."""

import csv
import io
import re
import time

import numpy as np
import pytest
from browsers import CHROMIUM, FLAGS, axe_core
from viewed_run import NAN, color_of, make_viewed

import transect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.integration,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"),
]
N = 800
SUBJECTS = N // 4


def scores():
    """Yes on the first half of each subject's smiles and on no other image; every 40th answer failed."""
    said = np.where(np.arange(N) % 4 == 2, 0.9, 0.1)
    return np.where(np.arange(N) % 40 == 0, NAN, said)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A served folder of two runs of 800 images, the second unfinished, and a browser."""
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("viewed") / "runs"
    make_viewed(folder / "first", {"one": scores(), "other": 1 - scores()}, subjects=SUBJECTS, per_part=50)
    make_viewed(folder / "second", {"one": 1 - scores()}, subjects=SUBJECTS, per_part=50, image_parts=1)
    with transect.view(folder) as page, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield page, browser
        browser.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core, from npm."""
    return axe_core(tmp_path_factory.mktemp("axe"))


class Visit:
    """A browser that opened the printed address, and then a page of it. said: what its console complained about."""

    def __init__(self, site, query="", **options):
        page, browser = site
        self.base, self.asked, self.said = f"http://127.0.0.1:{page.port}", [], []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(page.url + (f"&{query}" if query else ""))
        self.wait("document.documentElement.dataset.ready")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert self.said == []

    def wait(self, expression):
        """Until an expression holds; asked from outside, since the page's policy forbids to evaluate texts in it."""
        until = time.monotonic() + 30
        while not self.page.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < until, (expression, self.said)
            time.sleep(0.01)

    def count(self, text):
        self.wait(f"document.querySelector('#count').textContent === '{text}'")

    def color(self, selector):
        """The color of a picture of one color, when it is there."""
        self.wait(f"document.querySelector('{selector}')?.naturalWidth")
        return tuple(self.page.evaluate(
            """async selector => {
              const image = document.querySelector(selector);
              await image.decode();
              const canvas = new OffscreenCanvas(1, 1).getContext("2d");
              canvas.drawImage(image, 0, 0, 1, 1);
              return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
            }""", selector))  # fmt: skip


def test_filters_are_clicked_and_the_address_keeps_them(site):
    with Visit(site) as visit:
        visit.count("1,000 of 1,000 images")
        visit.page.check("[id='filter-run=first']")
        visit.count("800 of 1,000 images")
        visit.page.check("[id='filter-where.smile=1']")
        visit.count("400 of 1,000 images")
        visit.page.check("[id='filter-answer=yes']")
        visit.count("200 of 1,000 images")
        visit.page.check("[id='filter-verdict=wrong']")
        visit.count("0 of 1,000 images")
        assert visit.page.is_visible("#nothing")
        visit.page.uncheck("[id='filter-verdict=wrong']")
        visit.count("200 of 1,000 images")
        tile = visit.page.text_content("#tiles li >> nth=0")
        assert "✓right: yes 0.9" in tile
        assert re.search(r"subject \d+$", tile)
        assert re.search(r"yes[\d,]+$", visit.page.text_content("label:has([id='filter-answer=yes'])"))
        assert re.search(r"wrong[\d,]+$", visit.page.text_content("label:has([id='filter-verdict=wrong'])"))
        visit.page.reload()
        visit.count("200 of 1,000 images")
        assert visit.page.is_checked("[id='filter-where.smile=1']")
        visit.page.click("#clear")
        visit.count("1,000 of 1,000 images")
        visit.page.check("[id='filter-answer=none']")
        visit.count("25 of 1,000 images")
        assert "no answer: failed: timed out" in visit.page.text_content("#tiles li >> nth=0")


def test_only_what_is_near_the_window_is_in_the_page_and_the_end_is_reached(site):
    with Visit(site, "run=first") as visit:
        visit.count("800 of 1,000 images")
        visit.wait("document.querySelectorAll('#tiles li').length > 20")
        assert visit.page.evaluate("document.querySelectorAll('#tiles li').length") < 120
        visit.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        visit.wait("document.querySelector('#tiles li[aria-posinset=\"800\"] a')")
        assert visit.page.evaluate("document.querySelectorAll('#tiles li').length") < 120
        assert (
            visit.page.evaluate("document.querySelector('#tiles li:last-child').getAttribute('aria-setsize')") == "800"
        )


def test_sliders_change_the_image_and_the_answers(site):
    with Visit(site, "view=subject&of=first&who=3") as visit:
        visit.wait("document.documentElement.dataset.held === '3-0000'")
        assert visit.color("#big") == color_of(12)
        visit.page.focus("#axis-0")
        visit.page.keyboard.press("ArrowRight")
        visit.wait("document.documentElement.dataset.held === '3-0002'")
        assert visit.color("#big") == color_of(14)
        assert visit.page.inner_text("#level-0") == "1"
        assert visit.page.get_attribute("#axis-1", "aria-valuetext") == "off"
        said = visit.page.locator("#held-answers td").all_text_contents()
        assert said == ["✓right: yes 0.9", "right", "✗wrong: no 0.1", "wrong"]
        visit.page.click("button.cell >> nth=1")
        visit.wait("document.documentElement.dataset.held === '3-0001'")
        assert visit.page.inner_text("#level-1") == "on"
        assert "at=0.1" in visit.page.url
        visit.page.click("text=Next")
        visit.wait("document.documentElement.dataset.held === '4-0001'")
        assert visit.page.inner_text("#subject-name") == "Subject 4"


def test_the_keyboard_moves_opens_and_closes(site):
    with Visit(site, "run=first") as visit:
        visit.wait("document.querySelector('#tiles li a')")
        visit.page.focus("#tiles li >> nth=0 >> a")
        visit.page.keyboard.press("ArrowRight")
        visit.page.keyboard.press("Enter")
        visit.wait("document.documentElement.dataset.open === '0-0001'")
        assert visit.color("#image-big") == color_of(1)
        text = visit.page.inner_text("#image")
        assert "intended.glasses" in text
        assert "sha256" in text
        visit.page.keyboard.press("ArrowRight")
        visit.wait("document.documentElement.dataset.open === '0-0002'")
        assert "open=0-0002" in visit.page.url
        visit.page.keyboard.press("Escape")
        visit.wait("!document.querySelector('#image').open")
        # the dialog tells the page of its closing in an event of its own, a moment later
        visit.wait("!new URLSearchParams(location.search).has('open')")
        visit.page.focus("#tiles li >> nth=2 >> a")
        visit.page.keyboard.press("End")
        visit.wait("document.activeElement.closest('li')?.getAttribute('aria-posinset') === '800'")


def test_a_link_to_an_image_opens_it_and_back_closes_it(site):
    with Visit(site, "open=7-0003&openrun=first") as visit:
        visit.wait("document.documentElement.dataset.open === '7-0003'")
        assert visit.color("#image-big") == color_of(31)
        visit.page.click("#image-subject")
        visit.wait("document.documentElement.dataset.held === '7-0000'")
        visit.page.go_back()
        visit.wait("document.querySelector('#image').open")


def test_the_selection_is_downloaded(site):
    with Visit(site, "run=first&answer=yes&where.smile=1") as visit:
        visit.count("200 of 1,000 images")
        visit.page.click("#export summary")
        with visit.page.expect_download() as download:
            visit.page.click("text=Table, CSV")
        rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
        assert len(rows) == 200
        assert {row["smile"] for row in rows} == {"1"}


@pytest.mark.parametrize("query", ["", "view=subject&of=first&who=3"])
def test_a_phone_needs_no_scrolling_sideways(site, query):
    with Visit(site, query, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True) as visit:
        visit.wait("document.querySelector('#tiles li a, #big')")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        if not query:
            visit.page.tap("#toggle")
            assert visit.page.is_visible("[id='filter-answer=yes']")
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "rules"), [("light", TAGS), ("dark", ["color-contrast"])])
def test_axe_finds_nothing_on_any_view(site, axe, scheme, rules):
    """In the dark the colors alone are others."""
    # axe is run from outside the page's policy, which would let no foreign script in.
    with Visit(site, "", color_scheme=scheme, bypass_csp=True) as visit:
        for query, there in (
            ("?run=first&answer=none", "#tiles li a"),
            ("?verdict=wrong&sort=effect:smile", "#tiles li a"),
            ("?view=subject&of=first&who=3", "#big"),
            ("?view=pairs", "#tiles li a"),
            ("?open=7-0003&openrun=first", "#image[open]"),
        ):
            visit.page.goto(visit.base + "/" + query)
            visit.page.wait_for_selector(there)
            visit.page.evaluate(axe)
            found = visit.page.evaluate("rules => axe.run(document, {runOnly: rules})", rules)["violations"]
            assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == [], query


@pytest.mark.parametrize("width", [1280, 390])
def test_transcripts_are_a_table_that_keys_walk_through(canonical, site, width):
    """A row for each text; the arrows go from image to image, and Enter opens one."""
    with transect.view(canonical("words")) as page:
        opened = "view=transcripts&target=biased/role"
        with Visit((page, site[1]), opened, viewport={"width": width, "height": 900}) as visit:
            visit.count("240 of 240 images")
            visit.wait("document.querySelectorAll('.texts tbody tr').length === 100")
            assert "What would you do with this application?" in visit.page.inner_text(".texts tbody tr")
            visit.page.focus("a.shown")
            visit.page.keyboard.press("ArrowDown")
            assert "hat on" in visit.page.evaluate("document.activeElement.innerText")
            visit.page.keyboard.press("Enter")
            visit.wait("document.querySelector('#image').open")
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            assert visit.page.title() == "words"

"""The page in headless Chromium: no sideways scrolling, nothing blocked, keyboard, both color schemes, paper."""

import pytest
from browsers import CHROMIUM, FLAGS
from report_factory import make_gallery, make_results

from transect.reports import write

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"),
]

CONTRAST = """
() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = c => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const luminance = c => { const l = c.slice(0, 3).map(v => { v /= 255;
    return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126*l[0] + .7152*l[1] + .0722*l[2]; };
  const behind = e => { let c = [0, 0, 0, 0], stack = [];
    for (; e; e = e.parentElement) stack.push(rgba(getComputedStyle(e).backgroundColor));
    let out = rgba(getComputedStyle(document.body).backgroundColor);
    for (const s of stack.reverse()) out = [0, 1, 2].map(i => s[i] * s[3] + out[i] * (1 - s[3]));
    return out; };
  const low = [];
  for (const e of document.querySelectorAll('main *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest('svg') || !e.checkVisibility()) continue;
    const a = luminance(rgba(getComputedStyle(e).color)), b = luminance(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.push([e.textContent.slice(0, 40), e.className, ratio]);
  }
  return low;
}
"""


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    return write(make_results(), make_gallery(), tmp_path_factory.mktemp("browser"))


OPENED = """place => {
  const target = document.querySelector(place), folded = target.closest("details");
  return target.getBoundingClientRect().top < innerHeight && (!folded || folded.open);
}"""


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()


def opened(browser, path, width=1280, scheme="light"):
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    view.on("console", lambda message: said.append(message.text))
    view.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else said.append(request.url))
    view.goto(path.as_uri())
    view.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    return view, said


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_page_never_scrolls_sideways_and_nothing_is_blocked(browser, page_path, width):
    view, said = opened(browser, page_path, width)
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    assert view.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    view.close()


def test_each_link_of_the_contents_opens_what_it_is_about(browser, page_path):
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    view.goto(page_path.as_uri())
    closed = view.locator("details.part:not([open])").count()
    assert closed >= 4
    for link in view.query_selector_all(".contents a"):
        link.click()
        place = link.get_attribute("href")
        assert view.evaluate(OPENED, place), place
    assert view.locator("details.part:not([open])").count() == 0
    view.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_on_its_ground(browser, page_path, scheme):
    view, _ = opened(browser, page_path, scheme=scheme)
    paper = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 30)"}[scheme]
    assert view.evaluate(CONTRAST) == []
    view.close()


def test_the_keyboard_reaches_the_report_and_its_tables(browser, page_path):
    view, _ = opened(browser, page_path, 390)
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.className") == "skip"
    view.keyboard.press("Enter")
    assert view.evaluate("document.activeElement.id") == "main"
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.closest('main') !== null")
    view.close()

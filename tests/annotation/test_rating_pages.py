"""The pages in headless Chromium: keyboard, taking back, phones, accessibility by axe, speed, a lost connection."""

import time

import pytest
import sqlalchemy as sa
from browsers import CHROMIUM, FLAGS, axe_core
from served import PASSWORD, serving
from small_run import make_run, write_questions

from transect.annotation import schema
from transect.annotation.database import Database
from transect.annotation.project import default_database
from transect.annotation.raters import invite

SHOWN = "html[data-shown]"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.integration,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"),
]
MORE = """[[question]]
name = "same"
text = "The same person?"
scale = "nominal"
pairs = "ends"
levels = [{ name = "same", key = "s" }, { name = "other", key = "o" }]
follow_up = { text = "How well do you know the person?", levels = ["well", "not at all"] }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A served run of 16 images with single images and pairs, a browser, and links."""
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("pages")
    run = make_run(folder / "run", subjects=8, size=128)
    path = write_questions(folder / "q.toml", ratings=6, plan="break_every = 3", more=MORE)
    with serving(run, "--questions", path) as (_, base), sync_playwright() as playwright:
        database = Database(default_database(run))
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield base, database, browser
        browser.close()
        database.close()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core, from npm."""
    return axe_core(tmp_path_factory.mktemp("axe"))


def wait(page, expression):
    """Until an expression holds; asked from outside, since the page's policy forbids to evaluate texts in it."""
    until = time.monotonic() + 60
    while not page.evaluate(f"Boolean({expression})"):
        assert time.monotonic() < until, expression
        time.sleep(0.01)


class Page:
    """A rater's browser at their first task; `errors` holds what its console complained about."""

    def __init__(self, site, consent=True, **options):
        base, self.database, browser = site
        (one,) = invite(self.database, 1, now=0.0)
        self.rater = one.name
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{base}/invite/{one.token}")
        if consent:
            self.page.click("text=I agree")
            self.page.wait_for_selector(SHOWN, state="attached")

    def shown(self):
        return self.page.evaluate("document.documentElement.dataset.shown")

    def press(self, key):
        before = self.shown()
        self.page.keyboard.press(key)
        wait(self.page, f"document.documentElement.dataset.shown !== '{before}'")

    def kept(self):
        """This rater's answers, once the page has sent all."""
        wait(self.page, "unsent.length === 0")
        table, raters = schema.answers, schema.raters
        query = sa.select(table.c.kind, table.c.value, table.c.detail).join(raters, raters.c.id == table.c.rater_id)
        with self.database.reading() as connection:
            return [
                tuple(row) for row in connection.execute(query.where(raters.c.name == self.rater).order_by(table.c.id))
            ]

    def question(self):
        return self.page.inner_text("#question")


def violations(page, axe):
    page.evaluate(axe)
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = page.evaluate("tags => axe.run(document, {runOnly: tags})", tags)["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found]


def until_single(rater):
    """Go on until a question about one image is shown."""
    while rater.question() == "The same person?":
        rater.page.keyboard.press("s")
        rater.press("1")


def test_keys_give_and_undo_answers(site):
    rater = Page(site)
    until_single(rater)
    before = len(rater.kept())
    first = rater.shown()
    rater.press("3")
    rater.page.wait_for_selector("#undo:not([disabled])")
    rater.press("u")
    assert rater.shown() == first, "the same picture again"
    rater.press("2")
    assert rater.kept()[before:] == [("answer", 2, None), ("undo", None, None), ("answer", 1, None)]
    assert rater.errors == []
    rater.context.close()


def test_a_follow_up_is_asked_on_the_same_pictures(site):
    rater = Page(site)
    while rater.question() != "The same person?":
        rater.press("1")
    assert rater.page.locator("#pictures img").count() == 2
    before, task = len(rater.kept()), rater.shown()
    rater.page.keyboard.press("o")
    wait(rater.page, "document.querySelector('#question').textContent.startsWith('How well')")
    assert rater.shown() == task
    rater.press("2")
    assert rater.kept()[before:] == [("answer", 1, 1)]
    assert rater.errors == []
    rater.context.close()


def test_an_answer_without_a_connection_waits_and_is_sent_once(site):
    rater = Page(site)
    until_single(rater)
    before = len(rater.kept())
    rater.context.set_offline(True)
    rater.page.keyboard.press("3")
    wait(rater.page, "document.querySelector('#status').textContent.startsWith('No connection')")
    assert len(rater.page.evaluate("unsent")) == 1
    rater.context.set_offline(False)
    assert rater.kept()[before:] == [("answer", 2, None)]
    rater.context.close()


def test_a_phone_shows_everything_without_scrolling_sideways(site):
    rater = Page(site, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert rater.page.evaluate("document.documentElement.scrollWidth") <= 360
    for button in rater.page.locator("#levels button").all():
        assert button.bounding_box()["height"] >= 44
    until_single(rater)
    before = len(rater.kept())
    rater.page.locator("#levels button").first.tap()
    assert len(rater.kept()) == before + 1
    rater.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(site, axe, scheme):
    base, _, browser = site
    # axe is run from outside the page's policy, which would let no foreign script in.
    rater = Page(site, consent=False, color_scheme=scheme, bypass_csp=True)
    assert violations(rater.page, axe) == []
    rater.page.click("text=I agree")
    rater.page.wait_for_selector(SHOWN, state="attached")
    rater.page.keyboard.press("h")
    assert violations(rater.page, axe) == []
    rater.context.close()
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    for path in ("/", "/admin/login"):
        page.goto(base + path)
        assert violations(page, axe) == [], path
    page.fill("#password", PASSWORD)
    page.click("button.primary")
    page.wait_for_selector("#dashboard")
    assert violations(page, axe) == []
    context.close()

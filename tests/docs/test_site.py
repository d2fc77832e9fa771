"""The documentation site: every page is in its navigation, it builds without a warning, and it asks no other server."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from browsers import CHROMIUM, FLAGS
from places import ROOT

from tools import build_site, report_gallery, site_reference

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which the extra docs brings along")
MADE = {"gallery/index.md", *(f"reference/api/{shown.name}.md" for shown in site_reference.PAGES)}
"""Pages that are written when the site is built."""


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without the Python objects that it names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
Loader.add_constructor("!ENV", lambda *_: None)


def configuration():
    return yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)


def listed(entries):
    """The pages of a navigation, in its order."""
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from [value] if isinstance(value, str) else listed(value)


def test_every_page_is_in_the_navigation_once(tmp_path):
    """Also the files outside docs/ that pages link to, and none that is not there."""
    build_site.gather(tmp_path)
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    shown = list(listed(configuration()["nav"]))
    assert sorted(shown) == sorted(set(shown))
    assert set(shown) == pages | MADE
    assert {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} <= pages


def links(page):
    """The pages that a page links to."""
    found = re.findall(r"\]\(([^)#\s:]+\.md)", page.read_text())
    return {(page.parent / link).resolve() for link in found}


def test_users_find_few_pages_and_each_within_two_clicks(tmp_path):
    """Without those about the project: a first click on the front page or on a tab, a second on the page that it opens."""
    tmp_path = tmp_path.resolve()
    build_site.gather(tmp_path)
    site_reference.write(tmp_path / "reference" / "api")
    tabs = {title: list(listed([pages])) for tab in configuration()["nav"] for title, pages in tab.items()}
    del tabs["Project"]
    pages = [tmp_path / page for page in listed(list(tabs.values()))]
    assert len(pages) <= 45
    written = [page for page in pages if page.relative_to(tmp_path).as_posix() not in MADE]
    assert sum(len(page.read_text().split()) for page in written) <= 60_000
    first = links(tmp_path / "index.md") | {tmp_path / shown[0] for shown in tabs.values()}
    second = {link for page in first if page.exists() for link in links(page)}
    assert set(pages) <= {tmp_path / "index.md"} | first | second


def test_warnings_are_errors_and_nothing_comes_from_elsewhere():
    settings = configuration()
    assert settings["theme"]["font"] is False
    assert settings["validation"]["links"] == dict.fromkeys(
        ("not_found", "anchors", "absolute_links", "unrecognized_links"), "warn"
    )
    assert "analytics" not in settings["extra"]
    assert all("//" not in path for path in [*settings["extra"]["polyfills"], *settings["extra_css"]])


def test_the_reference_has_every_public_name_with_its_docstring():
    found = site_reference.sections()
    names = [name for section in found.values() for name, _ in section]
    import transect

    modules = {"effects", "generators", "targets", "testing", "__version__"}
    assert {f"transect.{name}" for name in set(transect.__all__) - modules} <= set(names)
    assert {f"transect.effects.{name}" for name in transect.effects.__all__} <= set(names)
    text = site_reference.page("Jobs", found["Jobs and their settings"])
    assert (
        "::: transect.jobs.export.Export\n    options:\n      heading: transect.export\n      members: false\n" in text
    )
    assert "::: transect.errors.TransectError\n    options:\n      heading: transect.TransectError\n" in text


class Loaded(HTMLParser):
    """What a page loads by itself: not the links that a reader follows."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in {"img", "script", "iframe", "source", "video", "audio", "embed", "track"}:
            self.addresses += [given.get("src"), given.get("srcset")]
        elif tag == "link" and given.get("rel") not in {"canonical", "prev", "next"}:
            self.addresses.append(given.get("href"))
        elif tag == "object":
            self.addresses.append(given.get("data"))


def loaded(html):
    """Addresses with a scheme or a server that a page loads, but for data within it."""
    reader = Loaded()
    reader.feed(html)
    addresses = [*filter(None, reader.addresses), *re.findall(r"@import\s+[\"']?([^\"';)]+)|url\(([^)]+)\)", html)]
    flat = [part.strip("\"' ") for one in addresses for part in (one if isinstance(one, tuple) else (one,)) if part]
    return [one for one in flat if re.match(r"(?!data:)[a-z][a-z0-9+.-]*:|//", one)]


def built():
    """The folder of the site, built with its reports: a broken link or anchor within it is a warning, which stops it."""
    pytest.importorskip("zensical", reason="needs the extra docs")
    done = subprocess.run(
        [sys.executable, "-m", "tools.build_site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return build_site.SITE


@pytest.mark.integration
@pytest.mark.browser
@pytest.mark.timeout(1800)
def test_the_site_is_whole_loads_nothing_from_elsewhere_and_searches_without_a_server():
    """One test: as two, each of two workers would build the site with its reports."""
    site = built()
    check_pages(site)
    if not CHROMIUM.exists() or importlib.util.find_spec("playwright") is None:
        pytest.skip("the search needs Debian's chromium and playwright; the pages are as they should be")
    check_search(site)


def check_pages(site):
    """Every page is there, with the reports and the reference, and none loads anything from another server."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list(listed(configuration()["nav"])))
    for page in [*pages, *site.rglob("*.css")]:
        assert loaded(page.read_text(encoding="utf-8")) == [], page
    for shown in report_gallery.REPORTS:
        assert (site / "gallery" / f"{shown.name}.html").stat().st_size > 10_000
    api = (site / "reference" / "api" / "jobs.html").read_text()
    assert re.search(r"<h2[^>]*>\s*(?:<[^>]+>\s*)*transect\.export\b", api)
    assert "Hand a finished run to another tool" in api


def searched(tab, site):
    """Whether a search finds the page within 30 s; on a busy machine keys may be pressed before the page listens."""
    from playwright.sync_api import TimeoutError as NotFound

    tab.goto((site / "index.html").as_uri(), wait_until="networkidle", timeout=120_000)
    tab.keyboard.press("/")
    tab.keyboard.type("leakage", delay=20)
    try:
        tab.wait_for_selector("text=Mitigate leakage, and measure the cost", timeout=30_000)
    except NotFound:
        return False
    return True


def check_search(site):
    """It works from the disk, and asks no server."""
    from playwright.sync_api import sync_playwright

    asked = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        tab = browser.new_page(color_scheme="dark")
        tab.on("request", lambda request: asked.append(request.url))
        found = any(searched(tab, site) for _ in range(5))
        browser.close()
    assert found
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []

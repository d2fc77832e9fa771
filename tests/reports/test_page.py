"""The page as a document: valid, safe, closed to the network, accessible, the same bytes each time."""

import re
from itertools import pairwise

import numpy as np
import pytest
from report_factory import (
    CASCADE,
    GLASSES,
    example,
    make_gallery,
    make_results,
    missed,
    noise_png,
    rows_of,
    simulated,
    study,
    target,
)
from report_reader import SVG, classes, loose_digits, number_faults, parse, text_faults, text_of

from transect.errors import RunFolderError
from transect.reports import Gallery, Strip, build, write
from transect.reports.page import LARGEST_PAGE

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)> {{ 7 * 7 }} Ω≈ç 顔 ' & ~/"


@pytest.fixture(scope="module")
def page():
    return build(make_results(), make_gallery())


@pytest.fixture(scope="module")
def tree(page):
    return parse(page)


@pytest.mark.integration
def test_no_network_and_no_script(page, tree):
    policy = next(meta for meta in tree.iter("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.get("content").startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert not list(tree.iter("script"))
    assert not list(tree.iter("link"))
    assert all(image.get("src").startswith("data:image/png;base64,") for image in tree.iter("img"))
    assert "@import" not in page
    assert "url(" not in page


def test_headings_are_in_order(tree):
    levels = [int(element.tag[1]) for element in tree.iter() if re.fullmatch(r"h[1-6]", str(element.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_other_graphic_is_hidden_from_a_screen_reader(tree):
    outer = [svg for parent in tree.iter() for svg in parent if svg.tag == f"{SVG}svg" and SVG not in str(parent.tag)]
    assert all(svg.get("role") == "img" or svg.get("aria-hidden") == "true" for svg in outer)


def test_links_within_the_page_arrive(tree):
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    anchors = [link.get("href")[1:] for link in tree.iter("a") if link.get("href").startswith("#")]
    assert anchors
    assert set(anchors) <= set(ids)


def test_every_figure_and_image_has_words(tree):
    ids = {element.get("id"): element for element in tree.iter() if element.get("id")}
    graphics = [element for element in tree.iter(f"{SVG}svg") if element.get("role") == "img"]
    assert len(graphics) > 10
    for graphic in graphics:
        named = graphic.get("aria-labelledby").split()
        assert [ids[name].tag for name in named] == [f"{SVG}title", f"{SVG}desc"]
        assert all(text_of(ids[name]).strip() for name in named)
    assert all(image.get("alt").startswith("Face of subject") for image in tree.iter("img"))


def test_scrolling_regions_take_the_keyboard_and_have_names(tree):
    regions = [element for element in tree.iter() if "scroll" in classes(element) or element.tag == "pre"]
    assert regions
    for region in regions:
        assert (region.get("role"), region.get("tabindex")) == ("region", "0")
        assert region.get("aria-label")


def hostile_results():
    results = make_results()
    text = repr(results).replace("skin_tone", "skin_tone<b>/~")
    results = eval(text, {"nan": float("nan")})  # the factory's own text
    results |= {"title": HOSTILE, "question": HOSTILE, "limits": [HOSTILE]}
    results["citations"][0] |= {"text": HOSTILE, "url": "javascript:alert(1)"}
    results["studies"][0]["targets"][0]["description"] = {HOSTILE: HOSTILE}
    results["studies"][0]["targets"][0]["failure_reasons"] = {HOSTILE: 3}
    results["studies"][0]["spec"]["note"] = HOSTILE
    results["studies"][0]["attributes"][2]["labels"] = [HOSTILE, "on"]
    results["effects"][0] |= {"name": HOSTILE, "from": None, "excluded": {HOSTILE: 4}}
    return results


def test_hostile_names_are_text():
    cell = {"skin_tone<b>/~": 10.0, HOSTILE: 1.0}
    gallery = Gallery((Strip(HOSTILE, (example(1, cell, answer=HOSTILE),)),), (example(2, cell, **missed(True)),))
    results = hostile_results()
    page = build(results, gallery)
    tree = parse(page)
    assert not list(tree.iter("script"))
    assert not [name for element in tree.iter() for name in element.attrib if str(name).startswith("on")]
    assert all(not link.get("href").startswith("javascript") for link in tree.iter("a"))
    assert all(image.get("src").startswith("data:image/png") for image in tree.iter("img"))
    assert text_of(tree.find(".//h1")) == HOSTILE
    assert text_of(tree).count(HOSTILE) > 8
    assert "49" not in loose_digits(tree)


def test_hostile_names_keep_their_places(tmp_path):
    import json

    page = write(hostile_results(), Gallery(), tmp_path).read_text()
    written = json.loads((tmp_path / "results.json").read_text())
    assert number_faults(parse(page), written) == []
    assert text_faults(parse(page), written) == []


@pytest.mark.integration
def test_a_large_gallery_stays_under_five_megabytes_and_is_counted(tmp_path):
    import json

    pngs = [noise_png(seed, 160, 160) for seed in range(8)]
    cell = {"skin_tone": 1.0, "light_level": 0.0, "glasses": 0.0}
    strips = tuple(Strip(f"s{i}", tuple(example(i, cell, png=png) for png in pngs)) for i in range(20))
    failures = tuple(example(i, cell, png=pngs[i % 8], **missed(True)) for i in range(60))
    page = write(make_results(), Gallery(strips, failures, 900), tmp_path)
    pages = [page, tmp_path / "report-numbers.html"]
    assert all(one.stat().st_size < LARGEST_PAGE for one in pages)
    entry = json.loads((tmp_path / "results.json").read_text())["gallery"]
    shown = [image for one in pages for image in parse(one.read_text()).iter("img")]
    assert 0 < entry["strips_shown"] < entry["strips_total"] == 20
    assert 0 < entry["failures_shown"] < entry["failures_total"] == 900
    assert len(shown) == 8 * entry["strips_shown"] + entry["failures_shown"]


@pytest.mark.integration
def test_a_huge_design_keeps_the_page_small_and_says_so(tmp_path):
    generator = np.random.default_rng(0)
    wide = [
        GLASSES | {"name": f"a{i}", "levels": [0.0, 1.0, 2.0, 3.0], "labels": list("abcd"), "kind": "ordinal"}
        for i in range(6)
    ]
    entry = study(
        "wide", wide, [target(CASCADE, "detection", 10), target("other", "detection", 10)], ["miss"], subjects=3
    )
    results = make_results() | {"studies": [entry], "verdicts": [], "effects": [], "rates": []}
    table = simulated(entry, (0.1,) * 6, 0.0, generator)
    for name in (CASCADE, "other"):
        effects, rates = rows_of(entry, name, "miss", table)
        results["effects"] += effects
        results["rates"] += rates
    page = write(results, Gallery(), tmp_path)
    numbers = tmp_path / "report-numbers.html"
    assert max(each.stat().st_size for each in (page, numbers)) < LARGEST_PAGE
    # 15 pairs and 20 triples of six attributes: more than a reader wants to see on the first page
    assert numbers.stat().st_size > 2 * page.stat().st_size
    assert "report-numbers.html#" in page.read_text()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError) as caught:
        write(make_results(), Gallery(), tmp_path / "file" / "below")
    assert "\n" not in str(caught.value)

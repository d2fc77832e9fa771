"""Every number of both pages is in results.json, nothing else is a number, and no table is lost between the pages."""

import json
from types import SimpleNamespace

import pytest
from report_factory import make_gallery, make_results
from report_reader import loose_digits, number_faults, parse, text_faults, text_of

from transect.reports import build, wording, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(make_results(), make_gallery(), tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module", params=["report.html", "report-numbers.html"])
def page(request, folder):
    return (folder / request.param).read_text()


@pytest.fixture(scope="module")
def trees(folder):
    return [parse((folder / name).read_text()) for name in ("report.html", "report-numbers.html")]


def places(tree):
    return {element.get("data-source") for element in tree.iter() if element.get("data-source")}


def test_each_number_is_the_rounding_of_its_place(page, results):
    tree = parse(page)
    assert number_faults(tree, results) == []
    assert len(list(tree.iter("data"))) > 200  # far more than a hundred numbers


def test_each_text_is_verbatim(page, results):
    assert text_faults(parse(page), results) == []


def test_every_number_of_the_page_names_its_source(page):
    assert loose_digits(parse(page)) == []


def test_every_effect_and_every_rate_is_on_a_page(trees, results):
    found = places(trees[0]) | places(trees[1])
    assert [i for i in range(len(results["effects"])) if f"/effects/{i}/estimate" not in found] == []
    assert [i for i in range(len(results["rates"])) if f"/rates/{i}/rate" not in found] == []


def test_no_table_is_lost_between_the_pages(trees):
    """What the report holds as a whole stands on one of its two pages, each table once."""
    whole = parse(build(make_results(), make_gallery()))
    assert places(whole) <= places(trees[0]) | places(trees[1])
    tables = [[text_of(table) for table in tree.iter("table")] for tree in (whole, *trees)]
    assert sorted(tables[0]) == sorted(tables[1] + tables[2])
    assert len(tables[2]) > len(tables[1]) > 0


def test_each_page_links_to_what_is_on_the_other(trees, folder):
    names = {"report.html": trees[0], "report-numbers.html": trees[1]}
    links = {link.get("href") for tree in trees for link in tree.iter("a") if "report" in (link.get("href") or "")}
    assert any(link.startswith("report-numbers.html#") for link in links)
    for link in links:
        file, _, place = link.partition("#")
        assert not place or place in {element.get("id") for element in names[file].iter()}, link


def test_the_check_sees_a_wrong_number(folder, results):
    page = (folder / "report.html").read_text()
    element = next(e for e in parse(page).iter("data") if e.get("data-source") == "/effects/0/estimate")
    source = f'data-source="/effects/0/estimate">{element.text}<'
    assert source in page
    wrong = page.replace(source, 'data-source="/effects/0/estimate">99<')
    assert number_faults(parse(wrong), results) != []
    assert loose_digits(parse(page.replace("<summary>What this", "<summary>31 points: what this"))) == ["31"]


def test_an_end_that_excludes_0_is_not_printed_as_0():
    row = SimpleNamespace(unit="proportion", estimate=0.003, low=0.0004, high=0.006, p_adjusted=0.01, reason="")
    assert wording.effect_numbers(row) == ("+0.30", "0.04 to 0.60", "0.010")
    assert wording.effect_numbers(SimpleNamespace(**{**vars(row), "low": 0.0})) == ("+0.3", "0.0 to 0.6", "0.010")

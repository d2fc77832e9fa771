"""Every number of the page is in results.json, and nothing else is a number."""

import json

import pytest
from report_factory import make_gallery, make_results
from report_reader import loose_digits, number_faults, parse, text_faults

from transect.reports import write


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    page = write(make_results(), make_gallery(), folder)
    return page.read_text(), json.loads((folder / "results.json").read_text())


def test_each_number_is_the_rounding_of_its_place(written):
    page, results = written
    tree = parse(page)
    assert number_faults(tree, results) == []
    # 19 effects with estimate, two ends and two p values each in the tables alone: far more than a hundred numbers
    assert len(list(tree.iter("data"))) > 500


def test_each_text_is_verbatim(written):
    page, results = written
    assert text_faults(parse(page), results) == []


def test_every_number_of_the_page_names_its_source(written):
    page, _ = written
    assert loose_digits(parse(page)) == []


def test_every_effect_and_every_rate_is_on_the_page(written):
    page, results = written
    places = {element.get("data-source") for element in parse(page).iter() if element.get("data-source")}
    assert [i for i in range(len(results["effects"])) if f"/effects/{i}/estimate" not in places] == []
    assert [i for i in range(len(results["rates"])) if f"/rates/{i}/rate" not in places] == []


def test_the_check_sees_a_wrong_number(written):
    page, results = written
    element = next(e for e in parse(page).iter("data") if e.get("data-source") == "/effects/0/estimate")
    source = f'data-source="/effects/0/estimate">{element.text}<'
    assert source in page
    wrong = page.replace(source, 'data-source="/effects/0/estimate">99<')
    assert number_faults(parse(wrong), results) != []
    assert loose_digits(parse(page.replace("<summary>What this", "<summary>31 points: what this"))) == ["31"]

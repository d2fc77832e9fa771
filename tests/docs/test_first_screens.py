"""The page of first screens shows every picture that there is, and each is small."""

import re

import pytest
from places import ROOT

PAGE = ROOT / "docs" / "research" / "first-screens.md"
FOLDER = ROOT / "docs" / "images" / "first-screens"
SHOWN = sorted(set(re.findall(r"images/first-screens/([\w.-]+)", PAGE.read_text(encoding="utf-8"))))
MOST_BYTES = 150_000


def test_every_picture_is_shown_and_every_one_shown_is_there():
    assert SHOWN
    assert sorted(path.name for path in FOLDER.iterdir()) == SHOWN


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_of_a_first_screen_is_small(name):
    assert (FOLDER / name).stat().st_size < MOST_BYTES


def test_texts_of_the_terminal_are_filled_in():
    texts = re.findall(r"<!-- \w+ -->\s*```text\n(.+?)```\s*<!-- end -->", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(texts) == PAGE.read_text(encoding="utf-8").count("<!-- end -->") > 0

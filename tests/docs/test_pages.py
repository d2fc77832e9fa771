"""Every command and code block of every page runs, from the top of the page, at small sizes."""

import pytest
from doc_pages import PAGES
from page_runner import BLOCK, run_page, smaller
from places import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_from_the_top(name, folder):
    page = PAGES[name]
    for make in page.made:
        make()
    assert run_page(ROOT / name, skip=page.skip, small=page.small, extra=page.extra)


def test_a_command_that_is_neither_run_nor_skipped_is_an_error(folder):
    page = folder / "page.md"
    page.write_text("```sh\nrm -r runs\n```\n")
    with pytest.raises(AssertionError, match="neither run nor skipped"):
        run_page(page, skip={})


def test_a_reason_that_nothing_needs_is_an_error(folder):
    page = folder / "page.md"
    page.write_text("```python\nprint(1)\n```\n")
    with pytest.raises(AssertionError, match="no command begins with"):
        run_page(page, skip={"npm": "not here"})


def test_a_command_that_fails_is_shown_with_its_message(folder):
    page = folder / "page.md"
    page.write_text("```sh\ntransect audit nothing:x --vary glasses\n```\n")
    with pytest.raises(AssertionError, match="no Python module"):
        run_page(page, skip={})


def test_sizes_become_small_and_never_larger():
    words = ["--images", "500", "--size", "32"]
    assert smaller(words, {"--images": 24, "--size": 48}) == ["--images", "24", "--size", "32"]
    assert BLOCK.findall("```sh\na\n```\n") == [("sh", "a\n")]

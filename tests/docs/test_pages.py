"""Every command and code block of every page runs, from the top of the page, at small sizes."""

import pytest
from page_runner import BLOCK, run_page, smaller
from places import ROOT

INSTALL = {"pip install": "installs packages"}
PAGES = {
    "README.md": {
        "make ": "test_readme_names_the_commands_that_ci_runs",
        "transect audit torch:": "the reader's own model: tests/targets/test_torch_model.py",
        "transect audit expression.onnx": "the reader's own model: tests/targets/test_onnx_model.py",
    },
    "docs/tutorials/audit-a-detector.md": INSTALL,
}
"""Pages, and the commands of each that are not run: how they begin, and why."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_from_the_top(name, tmp_path):
    assert run_page(ROOT / name, tmp_path, skip=PAGES[name])


def test_a_command_that_is_neither_run_nor_skipped_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nrm -r runs\n```\n")
    with pytest.raises(AssertionError, match="neither run nor skipped"):
        run_page(page, tmp_path, skip={})


def test_a_reason_that_nothing_needs_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n")
    with pytest.raises(AssertionError, match="nothing on the page begins with"):
        run_page(page, tmp_path, skip={"npm": "not here"})


def test_a_command_that_fails_is_shown_with_its_message(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\ntransect audit nothing:x --vary glasses\n```\n")
    with pytest.raises(AssertionError, match="no Python module"):
        run_page(page, tmp_path, skip={})


def test_sizes_become_small_and_never_larger():
    assert smaller(["transect", "--images", "500", "--size", "32"]) == ["transect", "--images", "24", "--size", "32"]
    assert BLOCK.findall("```sh\na\n```\n") == [("sh", "a\n")]

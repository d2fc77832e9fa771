"""Every command of every page parses. README and tutorials run once, as integration; by night all pages do."""

import re

import pytest
from doc_pages import PAGES
from page_runner import BLOCK, Page, Reader, check_command, lines_of
from places import ROOT

EVERY_PAGE = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    if "node_modules" not in path.parts
)
WITH_BLOCKS = [name for name in EVERY_PAGE if BLOCK.search((ROOT / name).read_text())]
SMOKE = [name for name in WITH_BLOCKS if name == "README.md" or name.startswith("docs/tutorials/")]
FULL = [name for name in PAGES if PAGES[name].full]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_commands_of_the_page_exist_and_parse(name, folder):
    for kind, block in BLOCK.findall((ROOT / name).read_text()):
        for line in lines_of(block) if kind == "sh" else ():
            check_command(line)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.integration if name in SMOKE else pytest.mark.slow) for name in WITH_BLOCKS],
)
def test_page_runs_from_the_top(name, folder):
    page = PAGES.get(name, Page())
    assert Reader(ROOT / name, page).run() or page.skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FULL)
def test_page_shows_exactly_what_is_printed(name, folder):
    assert "text" in Reader(ROOT / name, PAGES[name], full=True).run()


@pytest.mark.parametrize("name", EVERY_PAGE)
def test_no_code_is_outside_a_block_that_runs(name):
    """Every fence has a language that the runner knows, and no command hides in an indented block."""
    text = (ROOT / name).read_text()
    fences = re.findall(r"^ *```.*$", text, re.M)
    assert len(fences) == 2 * len(BLOCK.findall(text)), f"{name}: fences that are indented or not closed"
    outside = BLOCK.sub("", text)
    assert not re.search(r"^    \$? ?(transect|python|pip|pytest|make|npm) ", outside, re.M), name


@pytest.mark.parametrize(
    ("text", "page", "message"),
    [
        ("```sh\nrm -r runs\n```\n", Page(), "neither run nor skipped"),
        ("```sh\npip install 'transect[nothing]'\n```\n", Page(), "nothing"),
        ("```python\nprint('one')\n```\n```text\ntwo\n```\n", Page(), "which was not printed"),
    ],
)
def test_a_page_that_is_wrong_fails_with_the_reason(text, page, message, folder):
    path = folder / "page.md"
    path.write_text(text)
    with pytest.raises(AssertionError, match=re.escape(message)):
        Reader(path, page).run()

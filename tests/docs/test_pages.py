"""Every command of every page parses. README and tutorials run once, as integration; by night all pages do."""

import re

import pytest
from doc_pages import PAGES
from page_runner import BLOCK, NOT_RUN, Page, Reader, check_command, lines_of, smaller
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


def test_lists_name_pages_that_exist():
    assert set(PAGES) <= set(WITH_BLOCKS)
    assert all(reason for reason in NOT_RUN.values())
    assert all(reason for page in PAGES.values() for reason in page.skip.values())


@pytest.mark.parametrize(
    ("text", "page", "message"),
    [
        ("```sh\nrm -r runs\n```\n", Page(), "neither run nor skipped"),
        ("```\nrm -r runs\n```\n", Page(), "language '' is never run"),
        ("```python\nprint(1)\n```\n", Page({"npm": "not here"}), "no block has or begins with"),
        ("```sh\ntransect audit nothing:x --vary glasses\n```\n", Page(), "no Python module"),
        ("```sh\npip install 'transect[nothing]'\n```\n", Page(), "nothing"),
        ("```python\nprint('one')\n```\n```text\ntwo\n```\n", Page(), "which was not printed"),
    ],
)
def test_a_page_that_is_wrong_fails_with_the_reason(text, page, message, folder):
    path = folder / "page.md"
    path.write_text(text)
    with pytest.raises(AssertionError, match=re.escape(message)):
        Reader(path, page).run()


def test_what_a_page_shows_runs_at_its_own_sizes_and_what_it_does_not_show_at_small_ones(folder, monkeypatch):
    path, words = folder / "page.md", []
    monkeypatch.setattr("page_runner.run_command", lambda _line, given: words.append(given) or "shown")
    path.write_text("```sh\ntransect search a --budget 90 --size 96\ntransect search b --budget 90 --size 96\n```\n")
    Reader(path, Page(unseen=("transect search b",)), full=True).run()
    assert [" ".join(given) for given in words] == ["search a --budget 90 --size 96", "search b --budget 24 --size 48"]


def test_sizes_become_small_and_never_larger():
    words = ["--images", "500", "--size", "32"]
    assert smaller(words, {"--images": 24, "--size": 48}) == ["--images", "24", "--size", "32"]

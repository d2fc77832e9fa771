"""Projects whose raters have answered, for tests of what is exported and imported."""

import pytest
from small_run import make_run, write_questions

# The service is imported by the fixtures: without its extra the folder's other tests are still collected.

PAIR = '[[question]]\nname = "same"\ntext = "Same?"\nscale = "nominal"\npairs = "ends"\nlevels = ["same, or so", "not"]'


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch):
    """A guess takes no time here; test_server_security.py looks at what it costs in earnest."""
    from transect.annotation import raters

    monkeypatch.setattr(raters, "_COST", {"n": 2, "r": 1, "p": 1})


@pytest.fixture
def rated(tmp_path):
    """Two raters have answered everything: 4 images and 2 pairs, 2 answers each."""
    from transect.annotation.assignment import Submitted, answer, next_tasks
    from transect.annotation.project import open_project
    from transect.annotation.raters import invite

    path = write_questions(tmp_path / "q.toml", ratings=2, more=PAIR)
    project = open_project(make_run(tmp_path / "run", subjects=2), questions=(path,))
    invite(project.database, 2, now=0.0)
    for rater in (1, 2):
        number = 0
        while held := next_tasks(project, rater, now=100.0):
            value = None if (rater, held[0].first, held[0].second) == (2, "0-0000", "") else (rater + number) % 2
            answer(
                project,
                rater,
                Submitted(held[0].id, f"{rater}-{number}", value, None, 1000 * rater),
                now=100.0 + number,
            )
            number += 1
    yield project
    project.database.close()


@pytest.fixture
def empty(rated, tmp_path):
    """The same questions about the same run, in another database, without an answer."""
    from transect.annotation.project import open_project

    project = open_project(tmp_path / "run", tmp_path / "other.sqlite", (str(tmp_path / "q.toml"),))
    yield project
    project.database.close()


ALL_KINDS = """
[plan]
ratings = 2
[[question]]
name = "same"
text = 'Is it the "same" <person>?'
scale = "nominal"
pairs = "ends"
levels = ['the "same"', "a `look` & like"]
follow_up = { text = "Known?", levels = ["well", "not"] }
[[question]]
name = "more"
text = "Which smiles more?"
scale = "nominal"
pairs = "ends"
sided = true
skip = false
levels = ["first", "second"]
"""


@pytest.fixture
def paired(tmp_path):
    """Eight subjects' pairs, two questions; one rater answers all: in turn each level, each follow-up, cannot tell."""
    from transect.annotation.assignment import Submitted, answer, next_tasks
    from transect.annotation.project import open_project
    from transect.annotation.raters import invite

    (tmp_path / "p.toml").write_text(ALL_KINDS)
    opened = [
        open_project(make_run(tmp_path / "pairs", subjects=8), tmp_path / f"{i}.sqlite", (str(tmp_path / "p.toml"),))
        for i in range(2)
    ]
    invite(opened[0].database, 1, now=0.0)
    number = 0
    while held := next_tasks(opened[0], 1, now=100.0):
        value = number % 2 if held[0].question == "more" else (0, 1, None)[number % 3]
        detail = number % 2 if held[0].question == "same" and value is not None else None
        answer(opened[0], 1, Submitted(held[0].id, f"key-{number}", value, detail), now=100.0 + number)
        number += 1
    yield opened
    for one in opened:
        one.database.close()

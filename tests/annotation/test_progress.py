"""How far the ratings are, by answers that were given and by raters who can answer."""

import pytest
from small_run import make_run, write_questions

from transect.annotation import progress
from transect.annotation.assignment import Submitted, answer, next_tasks
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project
from transect.annotation.raters import consent, invite, set_state


@pytest.fixture
def begin(tmp_path, address):
    """A project of `subjects` images, whose raters are 1, 2, …"""
    opened = []

    def made(raters=2, subjects=2, **plan):
        run = make_run(tmp_path / "run", subjects, cells=1)
        opened.append(open_project(run, address, (write_questions(tmp_path / "q.toml", **plan),)))
        invite(opened[-1].database, raters, now=0.0)
        return opened[-1]

    yield made
    for project in opened:
        project.database.close()


def say(project, rater, count):
    """A rater answers so many tasks."""
    for _ in range(count):
        task = next_tasks(project, rater, now=1.0)[0]
        answer(project, rater, Submitted(task.id, f"{rater}-{task.id}", 1), now=1.0)


def figures(project):
    (one,) = progress.status(project, now=1.0)["questions"]
    return [one[name] for name in ("wanted", "answered", "closed")]


def test_tasks_that_were_given_out_are_no_answers(begin):
    """Two images, one answer wanted of each: both are given out, then one is answered."""
    project = begin(raters=1, ratings=1)
    assert len(next_tasks(project, 1, now=1.0)) == 2
    assert progress.status(project, now=1.0)["under_way"] == 2
    assert figures(project) == [2, 0, 0]
    say(project, 1, 1)
    assert figures(project) == [2, 1, 1]


def test_known_answers_repeats_and_who_is_shut_out_do_not_count(begin):
    """Two images and a known one; rater 1 answers all three, rater 2 the known one and one image, and is shut out."""
    gold = '[[question.gold]]\nimage = "2-0000"\nanswer = "yes"'
    project = begin(subjects=3, ratings=2, plan="gold_every = 2", more=gold)
    say(project, 1, 3)
    say(project, 2, 2)
    assert figures(project) == [4, 3, 1]
    set_state(project, 2, "excluded")
    assert figures(project) == [4, 2, 0]


def test_what_is_to_go_is_shared_by_those_who_have_a_link(begin):
    """Of 20 answers (10 images, two each) 6 came from a market's two workers, whom no link lets in: 14 are open.

    Both raters with a link have 7 of them each. Once one of them has given 3, 11 are open: 6 for each of both, rounded
    up. The other one is shut out: all 11 are for this one, who had 3 of the 10 images, so that 7 are left to answer.
    """
    project = begin(raters=2, subjects=10, ratings=2)
    given = [Incoming("x", "", f"{i}-0000", "", "smile", f"worker-{i % 2}", 1) for i in range(6)]
    take_in(project, given, now=0.0)
    consent(project.database, 1, now=0.0)
    assert progress.of_rater(project, 1) == (0, 7)
    next_tasks(project, 1, now=1.0)
    assert progress.of_rater(project, 1) == (0, 7), "what is given out is still to be answered"
    say(project, 1, 3)
    assert progress.of_rater(project, 1) == (3, 3 + 6)
    set_state(project, 2, "excluded")
    assert progress.of_rater(project, 1) == (3, 3 + 7)

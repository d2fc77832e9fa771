"""Who is asked what: k answers per item, nobody twice, leases, stop rules, known answers and repeats."""

import collections
import contextlib
import itertools
import threading

import pytest
import sqlalchemy as sa
from hypothesis import given as over
from hypothesis import settings
from hypothesis import strategies as st
from small_run import make_run, write_questions

from transect.annotation import schema
from transect.annotation.assignment import Refused, Submitted, answer, expire, next_tasks, undo
from transect.annotation.project import open_project
from transect.annotation.raters import invite, set_state
from transect.errors import BadInput


@pytest.fixture
def begin(tmp_path, address):
    """A project over a small run; its raters are 1, 2, …"""
    opened = []

    def made(raters=3, subjects=3, cells=2, **plan):
        run = make_run(tmp_path / "run", subjects, cells)
        project = open_project(run, address, (write_questions(tmp_path / "q.toml", **plan),))
        invite(project.database, raters, now=0.0)
        opened.append(project)
        return project

    yield made
    for project in opened:
        project.database.close()


def rows(project, query):
    with project.database.reading() as connection:
        return connection.execute(query).all()


_sent = itertools.count()


def work(project, rater, now=1.0, say=lambda task: 1, most=10_000):
    """A rater answers until nothing is left."""
    done = []
    while len(done) < most and (held := next_tasks(project, rater, now)):
        answer(project, rater, Submitted(held[0].id, f"work-{next(_sent)}", say(held[0])), now)
        done.append(held[0])
    return done


def counters_agree(project):
    """`taken` is what it stands for: tasks under way or answered, repeats apart."""
    held = collections.Counter(
        item for (item,) in rows(project, sa.select(schema.tasks.c.item_id).where(
            schema.tasks.c.repeat.is_(False), schema.tasks.c.state.in_(("leased", "answered")),
            schema.raters.c.id == schema.tasks.c.rater_id, schema.raters.c.state != "excluded"))
    )  # fmt: skip
    return all(held[item] == taken for item, taken in rows(project, sa.select(schema.items.c.id, schema.items.c.taken)))


def test_every_item_gets_as_many_answers_as_wanted_and_no_rater_twice(begin):
    project = begin(raters=5, ratings=3)
    # 6 images, 3 ratings each: 18 answers in all; the first three raters give 6 each, nothing is left for others.
    assert [len(work(project, rater)) for rater in (1, 2, 3, 4, 5)] == [6, 6, 6, 0, 0]
    taken = rows(project, sa.select(schema.items.c.taken))
    assert taken == [(3,)] * 6
    pairs = rows(project, sa.select(schema.tasks.c.item_id, schema.tasks.c.rater_id))
    assert len(set(pairs)) == len(pairs) == 18


def test_items_with_fewest_answers_come_first(begin):
    project = begin(raters=2, ratings=2)
    first = {task.first for task in work(project, 1, most=3)}
    second = {task.first for task in work(project, 2, most=2)}
    assert not first & second  # the fourth image is leased to rater 1, two others were free of any
    assert counters_agree(project)


def test_raters_go_through_images_in_orders_of_their_own(begin):
    project = begin(raters=3, ratings=3)
    orders = {tuple(task.first for task in next_tasks(project, rater, now=1.0, count=6)) for rater in (1, 2, 3)}
    assert len(orders) == 3


def test_raters_begin_with_different_questions(begin):
    second = '[[question]]\nname = "age"\ntext = "How old?"\nlevels = ["young", "old"]'
    project = begin(raters=2, ratings=2, more=second)
    orders = [[task.question for task in next_tasks(project, rater, 1.0, count=12)] for rater in (1, 2)]
    assert [order[0] for order in orders] == ["age", "smile"]  # block = rater modulo 2
    assert all(order == sorted(order, key=lambda name: name != order[0]) for order in orders), "one after another"


def test_a_lease_runs_out_and_goes_to_somebody_else(begin):
    project = begin(raters=2, subjects=1, cells=1, ratings=1, plan="lease_minutes = 1")
    (mine,) = next_tasks(project, 1, now=0.0)
    assert next_tasks(project, 2, now=59.0) == []
    (theirs,) = next_tasks(project, 2, now=61.0)
    assert (theirs.first, theirs.id != mine.id) == (mine.first, True)
    assert counters_agree(project)
    # What the first rater did is kept all the same; the image has one answer more than asked for.
    answer(project, 1, Submitted(mine.id, "late", 2), now=62.0)
    answer(project, 2, Submitted(theirs.id, "k", 2), now=63.0)
    assert rows(project, sa.select(schema.items.c.taken)) == [(2,)]
    assert counters_agree(project)


def test_a_clock_that_was_set_back_holds_no_task_for_ever(begin):
    project = begin(raters=2, subjects=1, cells=1, ratings=1, plan="lease_minutes = 1")
    next_tasks(project, 1, now=10_000.0)
    # A request that waited for its turn may be somewhat behind; that takes nothing back.
    assert expire(project.database, project.questionnaire.plan, now=9_960.0) == 0
    # An hour back: the lease would last until 10,060. It is longer than any lease can be, so it is none.
    assert expire(project.database, project.questionnaire.plan, now=6_400.0) == 1
    assert len(next_tasks(project, 2, now=6_400.0)) == 1


def test_stops_where_raters_agree_and_goes_on_where_an_answer_is_taken_back(begin):
    project = begin(raters=4, subjects=1, cells=1, ratings=4, plan="stop = { after = 2, agreement = 1.0 }")
    for rater in (1, 2):
        work(project, rater)
    assert next_tasks(project, 3, now=1.0) == []
    assert undo(project, 2, "back", now=2.0).first == "0-0000"
    work(project, 2, now=3.0, say=lambda task: 0)
    assert len(work(project, 3, say=lambda task: 0)) == 1  # 1, 0, 0: two of three agree, not all
    assert len(work(project, 4)) == 1


def test_the_same_answer_sent_twice_is_kept_once(begin):
    project = begin()
    task = next_tasks(project, 1, now=1.0)[0]
    first = answer(project, 1, Submitted(task.id, "k", 1), now=1.0)
    again = answer(project, 1, Submitted(task.id, "k", 1), now=9.0)
    assert (first.replayed, again.replayed, again.answer) == (False, True, first.answer)
    assert len(rows(project, sa.select(schema.answers))) == 1
    with pytest.raises(Refused, match="this key belongs to a different answer"):
        answer(project, 1, Submitted(task.id, "k", 2), now=9.0)
    with pytest.raises(Refused, match="already answered"):
        answer(project, 1, Submitted(task.id, "other", 2), now=9.0)


def test_answers_of_others_or_out_of_range_are_refused(begin):
    project = begin()
    task = next_tasks(project, 1, now=1.0)[0]
    for rater, given in (
        (2, Submitted(task.id, "k", 1)),
        (1, Submitted(999, "k", 1)),
        (1, Submitted(task.id, "k", 3)),
        (1, Submitted(task.id, "k", -1)),
        (1, Submitted(task.id, "k", 1, detail=0)),
    ):
        with pytest.raises(Refused):
            answer(project, rater, given, now=1.0)
    assert rows(project, sa.select(schema.answers)) == []


def test_answers_are_only_ever_added(begin):
    project = begin()
    work(project, 1, most=2)
    undo(project, 1, "back", now=2.0)
    kinds = [row.kind for row in rows(project, sa.select(schema.answers).order_by(schema.answers.c.id))]
    assert kinds == ["answer", "answer", "undo"]
    for statement in (schema.answers.update().values(value=0), schema.answers.delete()):
        with pytest.raises(BadInput, match="answers are only added"):
            project.database.write(lambda connection, statement=statement: connection.execute(statement))


def test_undo_goes_back_one_by_one_and_a_replay_changes_nothing(begin):
    project = begin()
    done = work(project, 1, most=3)
    assert undo(project, 1, "a", now=2.0).id == done[2].id
    assert undo(project, 1, "a", now=2.0).id == done[2].id
    assert undo(project, 1, "b", now=2.0).id == done[1].id
    assert [task.id for task in next_tasks(project, 1, now=3.0)] == [done[1].id, done[2].id]
    assert undo(project, 2, "a", now=2.0) is None
    assert counters_agree(project)


def test_known_answers_and_repeats_come_on_schedule(begin):
    gold = '[[question.gold]]\nimage = "2-0001"\nanswer = "yes"'
    project = begin(raters=2, subjects=6, ratings=2, plan="gold_every = 4\nrepeat_every = 11", more=gold)
    done = work(project, 1)
    # 11 images without the known one, which is task 4; task 11 repeats task 1, at least ten before.
    assert [task.first for task in done].index("2-0001") == 3
    assert (done[10].repeat, done[10].first) == (True, done[0].first)
    assert len(done) == 11 + 1 + 1
    assert "2-0001" in [task.first for task in work(project, 2)], "every rater gets the known ones"


@pytest.mark.parametrize("levels", [["left", "right"], ["left", "even", "right"]])
def test_sides_are_put_right(begin, levels):
    pair = '[[question]]\nname = "more"\ntext = "Which?"\nscale = "nominal"\npairs = "ends"\nsided = true\nlevels = '
    pair, last = f"{pair}{levels}", len(levels) - 1
    project = begin(raters=1, subjects=20, cells=2, ratings=1, more=pair)
    # The rater always finds the image with cell 1, which is `second`, to have more of it, on whichever side it stands.
    for task in next_tasks(project, 1, now=1.0, count=20):  # rater 1 begins with the second question
        answer(project, 1, Submitted(task.id, f"side-{task.id}", 0 if task.flipped else last), now=1.0)
    said = rows(
        project,
        sa.select(schema.answers.c.value, schema.tasks.c.flipped)
        .join(schema.tasks, schema.tasks.c.answer_id == schema.answers.c.id)
        .join(schema.items, schema.items.c.id == schema.tasks.c.item_id)
        .where(schema.items.c.question == "more"),
    )
    assert {value for value, _ in said} == {last}
    assert 2 <= sum(flipped for _, flipped in said) <= 18  # 10 of 20 expected; outside with p < .0001


def test_paused_and_excluded_raters_get_nothing(begin):
    project = begin()
    task = next_tasks(project, 1, now=1.0)[0]
    set_state(project, 1, "paused")
    assert next_tasks(project, 1, now=1.0) == []
    answer(project, 1, Submitted(task.id, "k", 1), now=1.0)  # what was under way is kept
    set_state(project, 1, "excluded")
    with pytest.raises(Refused, match="left the study"):
        undo(project, 1, "u", now=1.0)
    project.database.set({"paused": "1"})
    assert next_tasks(project, 2, now=1.0) == []


def test_who_is_shut_out_leaves_their_places_to_others(begin):
    """One image, two answers wanted: of two who gave them one is shut out, so that the third rater gets the image.

    Let back in, the first answer counts again: three of two wanted. A lease that a rater holds when they are shut out
    goes to the others at once.
    """
    project = begin(raters=4, subjects=1, cells=1, ratings=2)
    work(project, 1)
    work(project, 2)
    assert next_tasks(project, 3, now=1.0) == []
    set_state(project, 1, "excluded")
    assert rows(project, sa.select(schema.items.c.taken)) == [(1,)]
    assert len(next_tasks(project, 3, now=2.0)) == 1
    assert next_tasks(project, 4, now=2.0) == []
    set_state(project, 3, "excluded")
    assert len(work(project, 4, now=3.0)) == 1
    set_state(project, 1, "active")
    assert rows(project, sa.select(schema.items.c.taken)) == [(3,)]
    assert expire(project.database, project.questionnaire.plan, now=1e9) == 0, (
        "the third rater's lease is no lease any more"
    )
    assert counters_agree(project)


@pytest.mark.integration
def test_fifty_raters_at_once_lose_and_double_nothing(begin):
    """50 threads, each with its own rater, on 10 images x 12 ratings: exactly 120 answers, 12 raters each."""
    project = begin(raters=50, subjects=5, ratings=12)
    failed, sent = [], []

    def one(rater):
        try:
            for task in work(project, rater):
                sent.append((rater, task.id))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(rater,)) for rater in range(1, 51)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    kept = rows(project, sa.select(schema.answers.c.rater_id, schema.answers.c.task_id))
    assert sorted(kept) == sorted(sent)
    assert len(kept) == 10 * 12
    assert rows(project, sa.select(schema.items.c.taken)) == [(12,)] * 10
    assert counters_agree(project)


@pytest.mark.integration
@settings(max_examples=8)
@over(
    steps=st.lists(
        st.tuples(st.sampled_from(["ask", "answer", "undo", "wait", "shut out", "let in"]), st.integers(1, 3)),
        min_size=3,
        max_size=12,
    ),
)
def test_counters_hold_whatever_happens(tmp_path_factory, steps):
    """Any order of asking, answering, taking back and leases running out leaves `taken` right and items full at last."""
    folder = tmp_path_factory.mktemp("steps")
    path = write_questions(folder / "q.toml", ratings=2, plan="lease_minutes = 1\nrepeat_every = 3")
    project = open_project(make_run(folder / "run", subjects=1), folder / "db.sqlite", (path,))
    invite(project.database, 3, now=0.0)
    now = 0.0
    for number, (what, rater) in enumerate(steps):
        now += 100.0 if what == "wait" else 1.0
        held = next_tasks(project, rater, now) if what != "undo" else []
        if what in ("shut out", "let in"):
            set_state(project, rater, "excluded" if what == "shut out" else "active")
        if what == "answer" and held:
            answer(project, rater, Submitted(held[0].id, str(number), number % 3), now)
        if what == "undo":
            with contextlib.suppress(Refused):  # of a rater who was shut out
                undo(project, rater, str(number), now)
        assert counters_agree(project)
    for rater in (1, 2, 3):
        set_state(project, rater, "active")
        work(project, rater, now + 1000.0)
    assert all(taken >= 2 for (taken,) in rows(project, sa.select(schema.items.c.taken)))
    project.database.close()

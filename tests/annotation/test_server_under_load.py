"""Fifty simulated raters at once over HTTP, and a server that is killed under that load."""

import itertools
import os
import signal
import socket
import threading
import time

import pytest
import sqlalchemy as sa
from examples.simulated_raters import Psychometric, seed_of
from served import HttpRater, serving
from small_run import make_run, write_questions

from transect.annotation import schema
from transect.annotation.project import open_project
from transect.annotation.raters import invite

pytest.importorskip("uvicorn", reason="needs the annotation service: pip install 'transect[annotate]'")

RATERS, IMAGES, RATINGS = 50, 12, 12


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def prepared(tmp_path, address):
    """A run, its questions stored in the database, and invited raters."""
    run = make_run(tmp_path / "run", subjects=IMAGES // 2)
    project = open_project(run, address, (write_questions(tmp_path / "q.toml", ratings=RATINGS),))
    invited = invite(project.database, RATERS, now=time.time())
    return run, project, invited


def raters_of(base, invited, stop):
    """Simulated raters: thresholds, noise, lapses and biases of their own."""

    def say(number, name):
        model = Psychometric((1 / 3, 2 / 3), noise=0.2, lapse=0.05, bias=0.02 * (number % 5 - 2))
        return lambda task: int(model.answers([task["id"] % 7 / 6], [seed_of(name, task["id"])])[0])

    return [HttpRater(base, one.token, say(i, one.name), stop) for i, one in enumerate(invited)]


def check(project, raters):
    """Exactly the acknowledged answers are kept, each once, RATINGS different raters per image."""
    assert [one.failure for one in raters if one.failure] == []
    acknowledged = dict(itertools.chain.from_iterable(one.acknowledged.items() for one in raters))
    with project.database.reading() as connection:
        kept = connection.execute(sa.select(schema.answers)).all()
        taken = connection.execute(sa.select(schema.items.c.taken)).scalars().all()
        pairs = connection.execute(
            sa.select(schema.tasks.c.item_id, schema.tasks.c.rater_id).where(schema.tasks.c.state == "answered")
        ).all()
    assert {one.key: (one.task_id, one.value) for one in kept} == acknowledged
    assert len(kept) == len(acknowledged) == IMAGES * RATINGS
    assert taken == [RATINGS] * IMAGES
    assert len(set(pairs)) == len(pairs) == IMAGES * RATINGS


@pytest.mark.slow
def test_a_killed_server_loses_no_acknowledged_answer(tmp_path, address):
    """kill -9 twice while fifty raters answer; each time the same command goes on where it stopped."""
    run, project, invited = prepared(tmp_path, address)
    port, stop = free_port(), threading.Event()
    raters = raters_of(f"http://127.0.0.1:{port}", invited, stop)
    started, killed_at = False, []
    for _ in range(2):
        with serving(run, "--database", address, port=port) as (process, _):
            if not started:
                started = [one.start() for one in raters]
            wanted = sum(len(one.acknowledged) for one in raters) + 20
            while sum(len(one.acknowledged) for one in raters) < wanted and any(one.is_alive() for one in raters):
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed_at.append(sum(len(one.acknowledged) for one in raters))
    assert killed_at[0] < killed_at[-1] < IMAGES * RATINGS, "killed under load, not after it"
    with serving(run, "--database", address, port=port):
        for one in raters:
            one.join(timeout=500)
        stop.set()
    check(project, raters)
    project.database.close()

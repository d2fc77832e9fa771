"""A stage mapped over parts: order never shows, the first failure stops the rest."""

import threading
import time

import pytest

from transect.runs.parts import Background, map_parts


@pytest.mark.parametrize("workers", [1, 4])
def test_every_part_once(workers):
    seen, lock = [], threading.Lock()

    def stage(part):
        with lock:
            seen.append(part)

    map_parts(stage, range(20), workers=workers)
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_is_raised_and_stops_what_has_not_started(workers):
    seen = []

    def stage(part):
        seen.append(part)
        if part == 2:
            raise ValueError("part 2")
        time.sleep(0.002)  # parts that take no time would be over before anybody could stop them

    with pytest.raises(ValueError, match="part 2"):
        map_parts(stage, range(1000), workers=workers)
    assert len(seen) < 1000


def test_work_in_the_background_keeps_its_order():
    stored = []
    with Background() as background:
        for piece in range(20):
            background.submit(lambda piece=piece: stored.append(piece))
            background.keep_up(3)
            assert len(stored) >= piece - 2
    assert stored == list(range(20))


def in_background(*pieces, keep_up=None):
    with Background() as background:
        for piece in pieces:
            background.submit(piece)
        if keep_up is not None:
            background.keep_up(keep_up)


def fails():
    raise OSError("disk full")


@pytest.mark.parametrize("keep_up", [None, 0])
def test_a_failure_in_the_background_is_raised_and_stops_the_rest(keep_up):
    stored = []
    with pytest.raises(OSError, match="disk full"):
        in_background(fails, lambda: stored.append("after"), keep_up=keep_up)
    assert stored == []


def test_the_callers_error_comes_first_and_what_was_submitted_is_stored():
    stored = []

    def asks():
        with Background() as background:
            background.submit(lambda: stored.append("images"))
            raise ValueError("the target")

    with pytest.raises(ValueError, match="the target"):
        asks()
    assert stored == ["images"]

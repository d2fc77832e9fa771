"""A stage mapped over parts: order never shows, the first failure stops the rest."""

import threading
import time

import pytest

from transect.runs.parts import map_parts


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

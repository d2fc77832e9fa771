"""An engine is an ordered map: order, back-pressure, errors, and workers that are lost, without any picture."""

import multiprocessing
import os
from pathlib import Path

import pytest
from engine_work import Habit, noted

import transect
from transect.engines.protocol import HERE, IN_FLIGHT, Ahead, cores, use_cores
from transect.engines.settings import EngineSettings, opened
from transect.engines.workers import Processes, Surroundings
from transect.errors import BadInput, UnknownName, WorkerLost

TASKS = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"]
MADE = [(task, 100 + len(task)) for task in TASKS]


@pytest.fixture(scope="module")
def processes():
    """Two processes for all tests of this file."""
    with opened(EngineSettings("local", 2)) as engine:
        assert isinstance(engine, Processes)
        yield engine


@pytest.fixture(params=["here", "processes"])
def engine(request):
    return HERE if request.param == "here" else request.getfixturevalue("processes")


def test_results_come_in_the_order_of_the_tasks(engine, tmp_path):
    assert list(engine.map(Habit(str(tmp_path), 100), TASKS)) == MADE
    assert len(noted(tmp_path, "opened")) <= engine.workers  # once in each worker, not once a task


def test_no_task_begins_before_there_is_room(processes, tmp_path):
    """Two workers: of a hundred tasks at most 4 are begun before the first result is taken."""
    results = processes.map(Habit(str(tmp_path)), (str(n) for n in range(100)))
    assert next(results) == ("0", 1)
    begun = len(noted(tmp_path, "made"))
    assert begun <= IN_FLIGHT * processes.workers + 1
    results.close()
    assert list(processes.map(Habit(str(tmp_path)), ["x"])) == [("x", 1)]  # the engine is as good as new
    assert len(noted(tmp_path, "made")) <= begun + IN_FLIGHT * processes.workers + 1


@pytest.mark.integration
@pytest.mark.timeout(120)
def test_an_engine_that_is_closed_does_not_wait_for_a_task_that_nobody_wants(tmp_path):
    before = set(multiprocessing.active_children())
    engine = Processes(2)
    results = engine.map(Habit(str(tmp_path)), ["a", "hang", "hang", "b"])
    assert next(results) == ("a", 1)
    results.close()
    engine.close()  # a test that waits for an hour fails by its time limit
    assert not any(process.is_alive() for process in set(multiprocessing.active_children()) - before)


def test_the_error_of_a_task_is_raised_in_its_place_as_what_it_was(engine, tmp_path):
    results = engine.map(Habit(str(tmp_path)), ["a", "unknown", "b"])
    assert next(results) == ("a", 1)
    with pytest.raises(UnknownName, match="unknown thing 'x': expected y"):
        next(results)
    with pytest.raises(KeyError, match="lost"):
        list(engine.map(Habit(str(tmp_path)), ["key"]))


@pytest.mark.integration
def test_warnings_of_libraries_do_not_reach_the_terminal(tmp_path, capfd):
    with opened(EngineSettings("local", 2)) as engine:
        assert list(engine.map(Habit(str(tmp_path)), ["picture"])) == [("picture", 7)]
    assert "Warning" not in capfd.readouterr().err


@pytest.mark.integration
def test_a_task_whose_worker_was_killed_is_made_again(processes, tmp_path):
    tasks = [*TASKS[:3], "kill once", *TASKS[3:]]
    assert [task for task, _ in processes.map(Habit(str(tmp_path)), tasks)] == tasks
    assert noted(tmp_path, "killed") == ["killed"]


@pytest.mark.integration
def test_a_task_that_kills_every_worker_stops_the_run(processes, tmp_path):
    results = processes.map(Habit(str(tmp_path)), ["a", "kill always", "b"])
    assert next(results) == ("a", 1)
    with pytest.raises(WorkerLost, match="finished parts are kept"):
        list(results)


def test_parts_made_ahead_are_taken_in_order(tmp_path):
    with Ahead(HERE, Habit(str(tmp_path)), [2, 7], {2: "a", 7: "bb"}.__getitem__) as ahead:
        assert ahead(2) == ("a", 1)
        with pytest.raises(BadInput, match="expected part 7 next, got 2"):
            ahead(2)
    assert len(noted(tmp_path, "closed")) == 1


def test_a_worker_takes_its_share_of_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert Surroundings.here(3).cores == 2  # 8 // 3
    assert Surroundings.here(0).cores == 1
    monkeypatch.setattr("transect.engines.protocol._allowed", None)
    use_cores(0)
    assert cores() == 1


def test_engines_import_no_ray_until_it_is_asked_for():
    source = Path(transect.__file__).parent / "engines"
    lines = [line for path in source.glob("*.py") for line in path.read_text().splitlines()]
    assert [line for line in lines if line.startswith(("import ray", "from ray"))] == []

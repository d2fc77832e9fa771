"""An engine is an ordered map: order, back-pressure, errors, and workers that are lost, without any picture."""

import multiprocessing
import os
import sys
from pathlib import Path

import pytest
from engine_work import Habit, noted

import transect
from transect.engines.protocol import HERE, IN_FLIGHT, Ahead, cores, use_cores
from transect.engines.settings import EngineSettings, opened
from transect.engines.workers import Failed, Processes, Surroundings
from transect.errors import BadInput, MissingExtra, UnknownName, WorkerLost

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


def test_code_of_others_that_leaves_the_process_is_an_error_and_no_lost_worker(processes, tmp_path):
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        list(processes.map(Habit(str(tmp_path)), ["exit"]))


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


@pytest.mark.integration
def test_other_work_closes_the_work_before_it(processes, tmp_path):
    (tmp_path / "first").mkdir(), (tmp_path / "second").mkdir()
    list(processes.map(Habit(str(tmp_path / "first")), TASKS))
    list(processes.map(Habit(str(tmp_path / "second")), TASKS * 4))
    closed = {name.removeprefix("closed-") for name in noted(tmp_path / "first", "closed")}
    begun = {name.removeprefix("opened-") for name in noted(tmp_path / "second", "opened")}
    assert closed
    assert closed <= begun


def test_parts_made_ahead_are_taken_in_order(tmp_path):
    with Ahead(HERE, Habit(str(tmp_path)), [2, 7], {2: "a", 7: "bb"}.__getitem__) as ahead:
        assert ahead(2) == ("a", 1)
        with pytest.raises(BadInput, match="expected part 7, which is the next, got 2"):
            ahead(2)
    assert len(noted(tmp_path, "closed")) == 1


def test_an_error_of_ours_keeps_its_class_and_says_where_it_was_raised():
    with pytest.raises(MissingExtra, match="needs an optional part") as caught:
        Failed("MissingExtra", "x needs an optional part", "line 7").result()
    assert caught.value.__notes__ == ["in a worker:\nline 7"]
    with pytest.raises(RuntimeError, match="ArrowInvalid: no table"):
        Failed("ArrowInvalid", "no table", "").result()


def test_a_worker_takes_its_share_of_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert Surroundings.here(3).cores == 2  # 8 // 3
    assert Surroundings.here(0).cores == 1
    monkeypatch.setattr("transect.engines.protocol._allowed", None)
    use_cores(0)
    assert cores() == 1


def test_a_line_says_where_workers_have_more_threads_than_there_are_cores(monkeypatch, capsys):
    """And none where the user wants none, or one thread each."""
    monkeypatch.setattr("transect.engines.protocol._allowed", 2)
    for threads, quiet, lines in ((3, False, 1), (3, True, 0), (1, False, 0)):
        monkeypatch.setattr("transect.engines.workers._threads", lambda threads=threads: threads)
        monkeypatch.setattr("transect.engines.workers._products", lambda: 1)
        with opened(EngineSettings("local", 2), quiet=quiet):
            said = capsys.readouterr().err.splitlines()
        assert len(said) == lines
        assert not Surroundings("", (), 1, threads=1, products=1).crowded(2, 1)
        assert all("2 workers with 3 threads each on 2 cores" in line and "OMP_NUM_THREADS=1" in line for line in said)


def test_a_worker_without_the_working_folder_says_so(tmp_path):
    with pytest.raises(BadInput, match="expected the working folder .*gone on every machine"):
        Surroundings(str(tmp_path / "gone"), (), 1, 1, 1).enter()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (("rey", None), UnknownName, "unknown engine 'rey': did you mean ray\\?"),
        (("ray://", None), UnknownName, "unknown engine 'ray://'"),
        (("local", 0), BadInput, "--workers: expected 1 or more, got 0"),
    ],
)
def test_settings_are_checked_when_they_are_made(settings, error, message):
    with pytest.raises(error, match=message):
        EngineSettings(*settings)


def test_one_worker_on_this_machine_is_this_process():
    with opened(EngineSettings()) as engine:
        assert engine is HERE
    with opened(EngineSettings("local", 1)) as engine:
        assert engine is HERE


def test_ray_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingExtra, match=r"--engine ray needs an optional part: pip install 'transect\[ray\]'"),
        opened(EngineSettings("ray")),
    ):
        pass


@pytest.mark.integration
def test_an_address_without_a_cluster_is_named_at_once():
    pytest.importorskip("ray", reason="needs Ray: pip install 'transect[ray]'")
    for address in ("127.0.0.1:1", "nowhere"):
        with (
            pytest.raises(BadInput, match=f"--engine ray://{address}: expected the head node of a Ray cluster"),
            opened(EngineSettings(f"ray://{address}")),
        ):
            pass


def test_engines_import_no_ray_until_it_is_asked_for():
    source = Path(transect.__file__).parent / "engines"
    lines = [line for path in source.glob("*.py") for line in path.read_text().splitlines()]
    assert [line for line in lines if line.startswith(("import ray", "from ray"))] == []

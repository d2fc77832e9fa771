"""A cluster of several nodes: the run folder is that of one process although a worker is killed and a node is lost."""

import os
import threading
import time
from pathlib import Path

import hostile_server
import pytest
from commands import run_here
from engine_work import Habit, Pickled, noted
from places import SUPPORT
from worker_runs import FACE, content, studies_of

from transect.engines.ray_tasks import OnRay
from transect.engines.settings import EngineSettings, opened
from transect.errors import BudgetSpent, UnknownName, WorkerLost
from transect.experiment import study

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'transect[ray]'")

AUDIT = "audit opencv:haarcascade_frontalface_default --vary glasses=0,1 --truth face --subjects 6 --size 32 --seed 5 --json"
MEMORY = 80 << 20  # bytes of each node's object store
pytestmark = [pytest.mark.integration, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def cluster():
    """A head that computes nothing, and two nodes of one core."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    common = {"object_store_memory": MEMORY, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **common})
    for _ in range(2):
        nodes.add_node(num_cpus=1, object_store_memory=MEMORY)
    yield nodes
    nodes.shutdown()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(scope="module")
def engine(cluster):
    """The engine of the command, which joins the cluster by its address."""
    with opened(EngineSettings(f"ray://{cluster.address}")) as joined:
        assert isinstance(joined, OnRay)
        assert joined.workers == 2  # one per core
        yield joined


def test_tasks_errors_and_lost_workers_are_as_in_any_engine(engine, tmp_path):
    tasks = ["a", "bb", "kill once", "ccc"]
    assert [task for task, _ in engine.map(Habit(str(tmp_path)), tasks)] == tasks
    assert noted(tmp_path, "killed") == ["killed"]
    with pytest.raises(UnknownName, match="unknown thing 'x'"):
        list(engine.map(Habit(str(tmp_path)), ["a", "unknown"]))
    with pytest.raises(WorkerLost, match="finished parts are kept"):
        list(engine.map(Habit(str(tmp_path)), ["kill always"]))


def test_work_is_pickled_once_however_many_tasks_there_are(engine, tmp_path):
    assert [task for task, _ in engine.map(Pickled(str(tmp_path)), "abcdefgh")] == list("abcdefgh")
    assert len(noted(tmp_path, "pickled")) == 1


@pytest.mark.parametrize("images_per_part", [8, 256])
def test_the_folder_is_that_of_one_process(images_per_part, engine, tmp_path, monkeypatch):
    """48 images, in one part too; of the small parts a worker kills itself. The last test has a third size."""
    monkeypatch.setattr(study, "IMAGES_PER_PART", images_per_part)
    monkeypatch.chdir(tmp_path)
    Path("run.pid").write_text(str(os.getpid()))
    (one,) = studies_of(["killed_workers:killing"], subjects=12, batch=2)
    study.run(one, tmp_path / "here", quiet=True)
    if images_per_part == 8:
        Path("armed").touch()
    study.run(one, tmp_path / "apart", quiet=True, engine=engine)
    assert not Path("armed").exists()
    assert content("apart") == content("here")


def test_the_command_on_a_cluster_writes_the_files_of_the_command_alone(cluster, engine, tmp_path):
    """All of them, manifest, page and results too; but for the log, which holds times."""
    for out, *made_by in (("here",), ("apart", "--engine", f"ray://{cluster.address}")):
        done = run_here(*AUDIT.split(), "--out", str(tmp_path / out), *made_by)
        assert done.returncode == 0, done.stderr
    here = content(tmp_path / "here")
    assert {"manifest.json", "report.html", "results.json", "images/part-00000.parquet"} <= here.keys()
    assert content(tmp_path / "apart") == here


def test_a_budget_holds_on_a_cluster(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "IMAGES_PER_PART", 8)
    monkeypatch.setenv("ACME_KEY", hostile_server.SECRET)
    with hostile_server.serving() as server:
        file = hostile_server.write(tmp_path, server.url, more="[budget]\ncalls = 15")
        (one,) = studies_of([str(file)])
        with pytest.raises(BudgetSpent, match="15 of 15 calls are made"):
            study.run(one, tmp_path / "run", quiet=True, engine=engine)
        assert len(server.requests) == 15
        one.targets[0].close()


def test_a_node_that_is_lost_in_the_middle_changes_no_byte(cluster, engine, tmp_path, monkeypatch):
    """The last test of the cluster: 12 parts; once the third is stored, one of the two nodes is gone."""
    monkeypatch.setattr(study, "IMAGES_PER_PART", 4)
    (one,) = studies_of([FACE], subjects=12)
    study.run(one, tmp_path / "here", quiet=True)
    third, lost = tmp_path / "apart/images/part-00002.parquet", threading.Event()

    def lose_a_node():
        while not third.exists():
            time.sleep(0.02)
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        lost.set()

    thread = threading.Thread(target=lose_a_node)
    thread.start()
    study.run(one, tmp_path / "apart", quiet=True, engine=engine)
    thread.join()
    assert lost.is_set()
    assert content(tmp_path / "apart") == content(tmp_path / "here")

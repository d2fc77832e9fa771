"""`--engine ray` on this machine: it makes the parts, nobody else reaches it, and it leaves nothing behind."""

import os
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest
from engine_work import Habit
from places import SUPPORT

from transect.engines import ray_tasks
from transect.engines.settings import EngineSettings, opened

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'transect[ray]'")
psutil = pytest.importorskip("psutil", reason="needs psutil, which other libraries of the tests bring along")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore::ResourceWarning")]

SECRET = "a key of twenty-six letters"
STRANGER = "import ray, sys; print(ray._raylet.GcsClient(address=sys.argv[1]).internal_kv_keys(b'', None))"


def listening():
    """The addresses at which this process and those that it started listen."""
    here = psutil.Process()
    found = [each for process in [here, *here.children(recursive=True)] for each in process.net_connections("inet")]
    return {ip_address(each.laddr.ip) for each in found if each.status == psutil.CONN_LISTEN}


def of_ray():
    """The variables that Ray reads or sets."""
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_") or name == "PYTHONBREAKPOINT"}


def is_loopback(address):
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def test_a_ray_of_this_machine_is_this_commands_alone(tmp_path, monkeypatch):
    """It listens on the loopback, asks for a token that no file has, and no process of it has a key of the user's.

    The environment is as before at the end.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    monkeypatch.setenv(ray_tasks.MODE, "disabled")  # whatever the user has
    for name in ("ACME_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "TRANSECT_ADMIN_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("TRANSECT_LARGEST_GIB", "3")
    before, listened, whole = of_ray(), listening(), dict(os.environ)
    with opened(EngineSettings("ray", 1), quiet=True) as engine:
        assert list(engine.map(Habit(str(tmp_path)), ["a", "bb"])) == [("a", 1), ("bb", 2)]
        (environment,) = engine.map(Habit(str(tmp_path)), ["environment"])
        assert SECRET not in environment.values()
        assert environment["TRANSECT_LARGEST_GIB"] == "3"
        started = psutil.Process().children(recursive=True)
        assert started
        assert not any(SECRET in process.environ().values() for process in started)
        assert listening() - listened
        assert all(map(is_loopback, listening() - listened))
        assert os.environ[ray_tasks.MODE] == "token"
        address = ray.get_runtime_context().gcs_address
        without = {name: value for name, value in os.environ.items() if name not in (ray_tasks.MODE, ray_tasks.TOKEN)}
        of_a_stranger = {**without, ray_tasks.MODE: "token", ray_tasks.TOKEN: "0" * 64}
        for environment, let_in in ((without, False), (of_a_stranger, False), (os.environ, True)):
            line = [sys.executable, "-c", STRANGER, address]
            done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, timeout=200)
            assert (done.returncode == 0) == let_in, done.stderr
            assert ("InvalidAuthToken" in done.stderr) != let_in
    assert of_ray() == before
    assert whole.items() <= os.environ.items()  # libraries add some of their own
    assert not Path(tmp_path, ".ray").exists()

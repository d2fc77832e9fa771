"""Of several runs on one folder of object storage one writes; a dead one is followed by one, and stops if it wakes."""

import threading
from datetime import timedelta

import pytest

from transect.errors import FolderInUse, RunFolderError
from transect.runs import locks, object_storage
from transect.runs.working_folders import Mount


@pytest.fixture
def mount(address, tmp_path):
    """A machine's view of the folder; call it for another machine's."""

    def another():
        return Mount(object_storage.Store(address), tmp_path)

    return another


def held(mount):
    return sorted(name for name, _ in mount.store.listed())


def kill(claim):
    """End a claim's signs of life as a kill does: nothing is deleted."""
    claim._ended.set()
    claim._thread.join()


def later(monkeypatch, seconds):
    """The storage's clock shows a claim's last sign of life so much earlier."""
    plain = object_storage.Store.changed
    monkeypatch.setattr(
        object_storage.Store,
        "changed",
        lambda self, name: plain(self, name) - timedelta(seconds=seconds if name.endswith("00001.json") else 0),
    )


def test_a_second_run_is_refused_until_the_first_leaves(mount):
    first = locks.take_claim(mount(), "studies/a")
    assert held(mount()) == ["studies/a/.claims/00001.json"]
    with pytest.raises(FolderInUse, match="is in use by a live run.*is 0 s old, and it counts as dead after 120 s"):
        locks.take_claim(mount(), "studies/a")
    other = locks.take_claim(mount(), "studies/b")  # another folder
    first.release()
    other.release()
    assert held(mount()) == []
    locks.take_claim(mount(), "studies/a").release()


def test_of_many_that_begin_at_once_one_is_let_in(mount):
    taken, refused, ready = [], [], threading.Barrier(8)

    def begin():
        own = mount()
        ready.wait()
        try:
            taken.append(locks.take_claim(own, ""))
        except FolderInUse as error:
            refused.append(error)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 7)
    taken[0].release()
    assert held(mount()) == []


def test_a_dead_run_is_followed_by_one_only_after_its_time(mount, monkeypatch):
    kill(locks.take_claim(mount(), ""))
    later(monkeypatch, locks.DEAD - 20)
    with pytest.raises(FolderInUse, match="its last sign of life is (99|100|101) s old"):
        locks.take_claim(mount(), "")
    monkeypatch.undo()


def test_of_two_that_follow_a_dead_run_at_once_one_is_let_in(mount, monkeypatch):
    kill(locks.take_claim(mount(), ""))
    later(monkeypatch, locks.DEAD + 1)
    own, plain, taken = mount(), object_storage.Store.replace, []

    def replace(self, name, content, token):
        if not taken:
            taken.append(None)
            taken[0] = locks.take_claim(mount(), "")
        return plain(self, name, content, token)

    with monkeypatch.context() as patched:
        patched.setattr(object_storage.Store, "replace", replace)
        with pytest.raises(FolderInUse):
            locks.take_claim(own, "")
    taken[0].release()
    assert held(mount()) == []


def test_a_run_that_wakes_and_finds_another_stops_and_leaves_its_claim(mount, monkeypatch):
    own = mount()
    asleep = locks.take_claim(own, "a")
    kill(asleep)
    own.put("a/x.json", b"1")
    with monkeypatch.context() as patched:
        later(patched, locks.DEAD + 1)
        following = locks.take_claim(mount(), "a")
    stated = own.store.read("a/.claims/00001.json", 1000)
    asleep.beat()
    assert own.store.read("a/.claims/00001.json", 1000) == stated
    with pytest.raises(RunFolderError, match="another run may have taken over"):
        own.put("a/x.json", b"2")
    own.put("b/x.json", b"3")  # outside its folder
    asleep.release()
    following.beat()
    following._mount.put("a/x.json", b"4")
    assert held(mount()) == ["a/.claims/00001.json", "a/x.json", "b/x.json"]
    following.release()
    assert held(mount()) == ["a/x.json", "b/x.json"]


def test_a_run_without_signs_of_life_for_too_long_stops_by_itself(mount, monkeypatch):
    own = mount()
    claim = locks.take_claim(own, "")
    now = locks.time.monotonic()
    monkeypatch.setattr(locks.time, "monotonic", lambda: now + locks.DEAD + 1)
    with pytest.raises(RunFolderError, match="no sign of life for 120 s"):
        own.put("x.json", b"1")
    claim.beat()
    own.put("x.json", b"1")
    claim.release()


def test_signs_of_life_are_given_in_the_background(mount, monkeypatch):
    monkeypatch.setattr(locks, "BEAT", 0.01)
    beaten = threading.Event()
    plain = locks.Claim.beat
    monkeypatch.setattr(locks.Claim, "beat", lambda self: (plain(self), beaten.set())[0])
    claim = locks.take_claim(mount(), "")
    assert beaten.wait(10)
    claim.release()
    assert held(mount()) == []


def test_storage_that_overwrites_is_refused(mount, monkeypatch):
    def careless(self, name, content):
        return self.put(name, content)

    monkeypatch.setattr(object_storage.Store, "create", careless)
    with pytest.raises(RunFolderError, match="expected storage with conditional writes"):
        locks.take_claim(mount(), "")
    assert held(mount()) == []

"""Of several runs on one folder of object storage one writes; a dead one is followed by one, and stops if it wakes."""

import itertools
import threading
from datetime import timedelta

import pytest

from transect.errors import FolderInUse, RunFolderError
from transect.runs import claims, stores
from transect.runs.mounts import Mount

pytest.importorskip("fsspec")
_numbers = itertools.count()


@pytest.fixture
def address():
    return f"memory://claims-{next(_numbers)}/run"


@pytest.fixture
def mount(address, tmp_path):
    """A machine's view of the folder; call it for another machine's."""

    def another():
        return Mount(stores.opened(address), tmp_path)

    return another


def held(mount):
    return sorted(name for name, _ in mount.store.listed())


def kill(claim):
    """End a claim's signs of life as a kill does: nothing is deleted."""
    claim._ended.set()
    claim._thread.join()


def later(monkeypatch, claim, seconds):
    """The storage's clock shows a claim's last sign of life so much earlier."""
    kind, number = type(claim._mount.store), f"{claim._number:05d}.json"
    plain = kind.changed
    monkeypatch.setattr(
        kind,
        "changed",
        lambda self, name: plain(self, name) - timedelta(seconds=seconds if name.endswith(number) else 0),
    )


def test_a_second_run_is_refused_until_the_first_leaves(mount):
    first = claims.take(mount(), "studies/a")
    assert held(mount()) == ["studies/a/.claims/00001.json"]
    with pytest.raises(FolderInUse, match="is in use by a live run.*is 0 s old, and it counts as dead after 120 s"):
        claims.take(mount(), "studies/a")
    other = claims.take(mount(), "studies/b")  # another folder
    first.release()
    other.release()
    assert held(mount()) == []
    claims.take(mount(), "studies/a").release()


def test_of_many_that_begin_at_once_one_is_let_in(mount):
    taken, refused, ready = [], [], threading.Barrier(8)

    def begin():
        own = mount()
        ready.wait()
        try:
            taken.append(claims.take(own, ""))
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


def test_a_dead_run_is_followed_only_after_its_time(mount, monkeypatch):
    dead = claims.take(mount(), "")
    kill(dead)
    later(monkeypatch, dead, claims.DEAD - 20)
    with pytest.raises(FolderInUse, match="its last sign of life is (99|100|101) s old"):
        claims.take(mount(), "")
    monkeypatch.undo()
    later(monkeypatch, dead, claims.DEAD + 1)
    following = claims.take(mount(), "")
    assert held(mount()) == [".claims/00001.json", ".claims/00002.json"]
    monkeypatch.undo()
    with pytest.raises(FolderInUse):
        claims.take(mount(), "")
    following.release()
    assert held(mount()) == []


def test_a_run_that_wakes_and_finds_another_stops(mount, monkeypatch):
    own = mount()
    asleep = claims.take(own, "a")
    kill(asleep)
    own.put("a/x.json", b"1")
    later(monkeypatch, asleep, claims.DEAD + 1)
    following = claims.take(mount(), "a")
    asleep.beat()
    with pytest.raises(RunFolderError, match="another may have taken it over"):
        own.put("a/x.json", b"2")
    own.put("b/x.json", b"3")  # outside its folder
    asleep.release()
    assert ".claims/00002.json" in "".join(held(mount()))
    following.release()
    assert own.store.read("a/x.json", 9) == b"1"


def followed_by_two(mount, monkeypatch):
    """A run that sleeps, and two that followed it: one that has ended, and one that lives and has the same number."""
    own = mount()
    asleep = claims.take(own, "a")
    kill(asleep)
    later(monkeypatch, asleep, claims.DEAD + 1)
    claims.take(mount(), "a").release()
    monkeypatch.undo()
    living = claims.take(mount(), "a")
    assert living._number == asleep._number
    return own, asleep, living


def test_a_run_that_wakes_when_its_number_is_anothers_stops_and_leaves_that_ones_claim(mount, monkeypatch):
    own, asleep, living = followed_by_two(mount, monkeypatch)
    stated = own.store.read("a/.claims/00001.json", 1000)
    asleep.beat()
    assert own.store.read("a/.claims/00001.json", 1000) == stated
    with pytest.raises(RunFolderError, match="another may have taken it over"):
        own.put("a/x.json", b"1")
    asleep.release()
    living.beat()
    living._mount.put("a/x.json", b"2")
    assert held(mount()) == ["a/.claims/00001.json", "a/x.json"]
    living.release()
    assert held(mount()) == ["a/x.json"]


def test_a_run_that_ends_when_its_number_is_anothers_leaves_that_ones_claim(mount, monkeypatch):
    _, asleep, living = followed_by_two(mount, monkeypatch)
    asleep.release()
    assert held(mount()) == ["a/.claims/00001.json"]
    living.release()
    assert held(mount()) == []


def test_the_claims_of_the_dead_go_before_the_own(mount, monkeypatch):
    """Else a dead run that wakes in between finds its number to be the highest."""
    dead = claims.take(mount(), "")
    kill(dead)
    later(monkeypatch, dead, claims.DEAD + 1)
    following = claims.take(mount(), "")
    deleted, plain = [], type(following._mount.store).delete
    monkeypatch.setattr(
        type(following._mount.store), "delete", lambda self, name: (deleted.append(name), plain(self, name))
    )
    monkeypatch.setattr(claims, "_held", lambda *_: [2, 1])
    following.release()
    assert deleted == [".claims/00001.json", ".claims/00002.json"]


def test_a_run_without_signs_of_life_for_too_long_stops_by_itself(mount, monkeypatch):
    own = mount()
    claim = claims.take(own, "")
    now = claims.time.monotonic()
    monkeypatch.setattr(claims.time, "monotonic", lambda: now + claims.DEAD + 1)
    with pytest.raises(RunFolderError, match="gave no sign of life for 120 s"):
        own.put("x.json", b"1")
    claim.beat()
    own.put("x.json", b"1")
    claim.release()


def test_signs_of_life_are_given_in_the_background(mount, monkeypatch):
    monkeypatch.setattr(claims, "BEAT", 0.01)
    beaten = threading.Event()
    plain = claims.Claim.beat
    monkeypatch.setattr(claims.Claim, "beat", lambda self: (plain(self), beaten.set())[0])
    claim = claims.take(mount(), "")
    assert beaten.wait(10)
    claim.release()
    assert held(mount()) == []


def test_storage_that_overwrites_is_refused(mount, monkeypatch):
    kind = type(mount().store)

    def careless(self, name, content):
        self.put(name, content)
        return True

    monkeypatch.setattr(kind, "create", careless)
    with pytest.raises(RunFolderError, match="expected storage that writes on a condition"):
        claims.take(mount(), "")
    assert held(mount()) == []

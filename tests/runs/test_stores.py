"""What a run needs of storage, on a server of S3 and in the memory of this process."""

from datetime import UTC, datetime, timedelta

import pytest

from transect.errors import BadInput, RunFolderError
from transect.runs import object_storage


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.integration)])
def store(request):
    if request.param == "s3":
        return object_storage.Store(request.getfixturevalue("bucket").address("a/run"))
    return object_storage.Store(request.getfixturevalue("address"))


def test_an_object_reads_back_and_is_listed(store):
    store.put("a/one.json", b"first")
    store.put("a/one.json", b"second")
    store.put("a/b/two.json", b"")
    assert store.read("a/one.json", 100) == b"second"
    assert store.read("a/b/two.json", 100) == b""
    listed = dict(store.listed("a"))
    assert {name: entry.size for name, entry in listed.items()} == {"a/one.json": 6, "a/b/two.json": 0}
    assert dict(store.listed()).keys() == listed.keys()
    assert dict(store.listed("a/b")).keys() == {"a/b/two.json"}
    assert list(store.listed("other")) == []
    assert abs(store.changed("a/one.json") - datetime.now(UTC)) < timedelta(minutes=1)


def test_an_object_is_created_once(store):
    mark = store.create("a/part", b"rows")
    assert mark == store.create("a/part", b"rows")  # the same bytes: a write whose answer was lost is done
    assert [store.create("a/part", other) for other in (b"ROWS", b"other rows", b"")] == [None] * 3
    assert {name: listed.mark for name, listed in store.listed()} == {"a/part": mark}
    assert store.read("a/part", 10) == b"rows"


def test_an_object_is_replaced_where_it_is_the_own(store):
    store.put("claim", b"own 1")
    assert store.replace("claim", b"own 2", b"own 1")
    assert not store.replace("claim", b"own 3", b"own 1")
    assert store.read("claim", 10) == b"own 2"
    store.put("claim", b"x" * (1 << 17))
    assert not store.replace("claim", b"own 3", b"x")
    store.delete("claim")
    assert not store.replace("claim", b"own 3", b"")
    assert list(store.listed()) == []


def test_an_object_that_another_writes_after_it_was_read_is_not_replaced(store, monkeypatch):
    store.put("claim", b"own 1")
    plain = object_storage.Store._put_if
    monkeypatch.setattr(
        object_storage.Store, "_put_if", lambda *given: (store.put("claim", b"theirs"), plain(*given))[1]
    )
    assert not store.replace("claim", b"own 2", b"own")
    assert store.read("claim", 10) == b"theirs"


def test_deleting_is_no_error_where_there_is_nothing(store):
    store.put("a", b"1")
    store.delete("a")
    store.delete("a")
    assert list(store.listed()) == []
    with pytest.raises(FileNotFoundError):
        store.read("a", 1)


def test_no_more_than_the_bound_is_read(store):
    store.put("large", b"x" * 1000)
    assert len(store.read("large", 1000)) == 1000
    with pytest.raises(BadInput, match="large: expected at most 999 bytes, got more"):
        store.read("large", 999)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("<Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIASECRET</AWSAccessKeyId>", "refuses access"),
        ("error sending request for url (http://169.254.169.254/latest/api/token)", "no credentials"),
        ("connection reset AKIASECRET", "did not answer"),
        ("\x1b[2J<Code>AKIASECRET evil\n</Code>", "did not answer; check the address and the network"),
        ("[Errno -2] Name or service not known", "host is unknown; correct the address"),
    ],
)
def test_a_server_is_not_repeated(address, monkeypatch, said, words):
    def broken(*_, **__):
        raise ValueError(said)

    store = object_storage.Store(address)
    monkeypatch.setattr("obstore.store.MemoryStore.get", broken)
    with pytest.raises(RunFolderError, match=words) as error:
        store.read("a", 1)
    assert error.value.__cause__ is None
    assert "AKIASECRET" not in str(error.value)

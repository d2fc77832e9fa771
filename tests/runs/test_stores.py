"""What a run needs of storage, the same on S3 and on a file system of fsspec."""

import itertools
import sys
from datetime import UTC, datetime, timedelta

import pytest

from transect.errors import BadInput, MissingExtra, RunFolderError
from transect.runs import stores

_numbers = itertools.count()


@pytest.fixture(params=["s3", "fsspec"])
def store(request):
    if request.param == "s3":
        return stores.opened(request.getfixturevalue("bucket").address("a/run"))
    pytest.importorskip("fsspec")
    return stores.opened(f"memory://store-{next(_numbers)}/run")


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
    assert store.create("a/part", b"rows")
    assert store.create("a/part", b"rows")  # the same bytes: a write whose answer was lost is done
    assert not store.create("a/part", b"ROWS")
    assert not store.create("a/part", b"other rows")
    assert not store.create("a/part", b"")
    assert store.read("a/part", 10) == b"rows"


def test_an_object_is_replaced_where_it_is_the_own(store):
    store.put("claim", b"own 1")
    assert store.replace("claim", b"own 2", lambda content: content == b"own 1")
    assert not store.replace("claim", b"own 3", lambda content: content == b"own 1")
    assert store.read("claim", 10) == b"own 2"
    store.put("claim", b"x" * (1 << 17))
    assert not store.replace("claim", b"own 3", lambda content: len(content) == 1 << 17)
    store.delete("claim")
    assert not store.replace("claim", b"own 3", lambda content: True)
    assert list(store.listed()) == []


def test_an_object_that_another_writes_after_it_was_read_is_not_replaced(bucket):
    store = stores.opened(bucket.address("a/run"))
    store.put("claim", b"own 1")
    assert not store.replace("claim", b"own 2", lambda content: (store.put("claim", b"theirs"), True)[1])
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


def test_a_missing_bucket_is_one_line(bucket):
    store = stores.opened("s3://no-such-bucket/run")
    for deed in (lambda: store.put("a", b""), lambda: store.create("a", b""), lambda: list(store.listed())):
        with pytest.raises(RunFolderError, match="no such bucket") as error:
            deed()
        assert "\n" not in str(error.value)


def test_an_address_of_no_known_storage_is_refused():
    with pytest.raises(BadInput, match="expected s3, gs, az or a file system of fsspec"):
        stores.opened("nothing://bucket/run")


def test_without_its_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtra, match=r"pip install 'transect\[storage\]'"):
        stores.opened("s3://bucket/run")


def test_a_profile_without_its_library_says_how_to_get_it(monkeypatch):
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    monkeypatch.setitem(sys.modules, "obstore.auth.boto3", None)
    with pytest.raises(BadInput, match="AWS_PROFILE: expected the library boto3, got none; pip install boto3"):
        stores.opened("s3://bucket/run")


def test_the_address_of_a_container_with_its_account_is_taken():
    pytest.importorskip("obstore")
    store = stores.opened("abfss://images@mine.dfs.core.windows.net/a/run")
    assert store.address == "abfss://images@mine.dfs.core.windows.net/a/run"
    opened = store._store
    assert (opened.config["container_name"], opened.config["account_name"]) == ("images", "mine")
    assert opened.prefix == "a/run"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("<Code>InvalidAccessKeyId</Code><AWSAccessKeyId>AKIASECRET</AWSAccessKeyId>", "refuses access"),
        ("Server returned non-2xx status code: 503 Service Unavailable: AKIASECRET", r"\(status 503\)"),
        ("error sending request for url (http://169.254.169.254/latest/api/token)", "no credentials"),
        ("connection reset AKIASECRET", "did not answer"),
        ("\x1b[2J<Code>AKIASECRET evil\n</Code>", "did not answer; check the address and the network"),
        ("Unable to load libjvm\ndlopen(/usr/AKIASECRET)", "a library of Hadoop is missing .libjvm or libhdfs."),
        ("source: ConnectError(dns error, AKIASECRET)", "host is unknown; correct the address"),
        ("[Errno -2] Name or service not known", "host is unknown; correct the address"),
        ("[Errno 111] Connection refused", "no storage listens at its host"),
        ("Account must be specified", "set AZURE_STORAGE_ACCOUNT_NAME"),
    ],
)
def test_a_server_is_not_repeated(said, words):
    with pytest.raises(RunFolderError, match=words) as error, stores.storage_errors("s3://bucket/a"):
        raise ValueError(said)
    assert "AKIASECRET" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize("begun", [False, True])
def test_a_rerun_is_advised_where_something_is_kept(begun):
    with pytest.raises(RunFolderError) as error, stores.storage_errors("s3://bucket/a", begun=begun):
        raise ValueError("status code: 503")
    assert ("finished parts are kept: rerun the command to resume" in str(error.value)) == begun


def test_a_store_knows_whether_anything_was_written(store, monkeypatch):
    def broken(*_, **__):
        raise ValueError("status code: 503")

    def told():
        reading = "obstore.get" if type(store).__name__ == "ObjectStore" else "fsspec.spec.AbstractFileSystem.open"
        with monkeypatch.context() as patched:
            patched.setattr(stores, "reason", lambda error: "it fails")
            patched.setattr(reading, broken)
            with pytest.raises(RunFolderError) as error:
                store.read("a", 1)
        return str(error.value)

    assert told().endswith("it fails")
    store.put("a", b"1")
    assert told().endswith("it fails; finished parts are kept: rerun the command to resume")


def test_the_library_of_a_file_system_is_named(monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setitem(__import__("sys").modules, "paramiko", None)
    with pytest.raises(BadInput, match='got none .SFTPFileSystem requires "paramiko" to be installed'):
        stores.opened("sftp://host/run")

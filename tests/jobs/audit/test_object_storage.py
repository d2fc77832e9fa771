"""An audit whose folder lies on object storage: the same bytes, resumable, read by every command that reads a run."""

import json
import tempfile
from _thread import interrupt_main

import pytest
from auditing import request
from commands import refused, run_here
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from object_storage import KEY, SECRET

import transect
from transect.errors import FolderInUse, Interrupted, RunFolderError
from transect.experiment import study
from transect.runs import locks, working_folders

VARIED = {"vary": ["smile=0,1"], "subjects": 12, "image_size": 32, "task": "binary", "control": False}
REQUIRED = """
[[require]]
attribute = "smile"
outcome = "answer"
margin = 0.9
"""
_calls = {"left": 1000}
pytestmark = pytest.mark.integration


def bright(pixels):
    """The target: yes for a bright picture; a Ctrl-C where no call is left."""
    if _calls["left"] == 0:
        interrupt_main()  # as Ctrl-C; what the call itself raises is the model's
        raise ValueError("cut off")
    _calls["left"] -= 1
    return pixels.mean(axis=(1, 2, 3)) / 255


def audit(out, target=bright, **settings):
    return transect.audit(target, request(**{**VARIED, **settings}), out=out, quiet=True)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(study, "IMAGES_PER_PART", 8)


@pytest.fixture
def keys(tmp_path):
    """The folder of a private key, and of its public half."""
    key = Ed25519PrivateKey.generate()
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "auditor").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    (tmp_path / "auditor.pub").write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, public))
    return tmp_path


def files(folder):
    """Every file of a run but its lock and its log of times, of which the manifest says nothing either."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if name not in ("run.lock", "log.jsonl")}


def same_as_local(bucket, tmp_path):
    audit(tmp_path / "local" / "run")
    bucket.copy("a/run/", tmp_path / "copied")
    assert files(tmp_path / "copied") == files(tmp_path / "local" / "run")
    assert len(bucket.names("a/run/images/")) == 3


@pytest.mark.integration
def test_it_has_the_bytes_of_a_local_run_and_every_reader_takes_its_address(bucket, tmp_path, capfd, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))  # the machine's is shared with other tests
    address = bucket.address("a/run")
    result = audit(address)
    same_as_local(bucket, tmp_path)
    assert list((tmp_path / "temporary").glob("transect-*"))
    working_folders.close_all()
    assert not list((tmp_path / "temporary").glob("transect-*"))

    folder = working_folders.opened(address)
    assert folder.parent.stat().st_mode & 0o077 == 0
    assert not list(folder.rglob("part-*"))
    opened = transect.open_run(address)
    assert len(opened.images) == 24
    assert len(opened.effects) == len(result.effects)

    (row,) = transect.list_runs(bucket.address("a")).numbers.runs
    assert (row.folder, row.job, row.targets) == (address, "audit", ("bright",))
    assert row.date

    page = bucket.read("a/run/report.html")
    bucket.delete("a/run/report.html")
    shown = run_here("report", address)
    assert shown.stdout.splitlines()[-1] == f"report: {address}/report.html"
    assert bucket.read("a/run/report.html") == page

    (tmp_path / "require.toml").write_text(REQUIRED)
    checked = run_here("check", address, "--requirements", str(tmp_path / "require.toml"), "--json")
    assert json.loads(checked.stdout)["run"] == address
    assert json.loads(bucket.read("a/run/checks.json"))["run"] == address

    with transect.view(address, quiet=True) as viewed:
        assert viewed.headline() == f"24 images of 1 run in {address}"

    here = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    there = [bucket.read(name) for name in bucket.names()]
    printed = "".join([*capfd.readouterr(), shown.stdout, shown.stderr, checked.stdout, checked.stderr]).encode()
    for content in (*here, *there, printed):
        for text in (SECRET, KEY, str(folder)):
            assert text.encode() not in content


@pytest.mark.integration
def test_its_manifest_holds_there_and_for_a_copy_and_names_what_changed(bucket, tmp_path, keys):
    address = bucket.address("a/run")
    audit(address)
    local = audit(tmp_path / "local" / "run").folder
    assert bucket.read("a/run/manifest.json") == (local / "manifest.json").read_bytes()
    listed = json.loads(bucket.read("a/run/manifest.json"))["files"]
    assert {name for name in listed if "part-" in name} == {
        name.removeprefix("a/run/") for name in bucket.names("a/run/") if "part-" in name
    }
    bucket.copy("a/run/", tmp_path / "copied")
    for place in (address, str(tmp_path / "copied")):
        done = run_here("verify", "run", place)
        assert (done.returncode, done.stdout.strip()) == (0, f"{len(listed)} files as written."), done.stderr

    signed = run_here("verify", "run", address, "--sign", str(keys / "auditor"), "--key", str(keys / "auditor.pub"))
    assert signed.stdout.strip().endswith(f"Signed by the key. Signed: {address}/manifest.sig.")
    assert b"\n" in bucket.read("a/run/manifest.sig")

    part = bytearray(bucket.read("a/run/images/part-00001.parquet"))
    part[len(part) // 2] ^= 1
    bucket.write("a/run/images/part-00001.parquet", bytes(part))
    bucket.write("a/run/images/part-00009.parquet", bytes(part))
    bucket.write("a/run/mine/part-00000.parquet", b"not of the run")
    bucket.delete("a/run/.digests/images/part-00000.sha256")
    found = transect.verify("run", run=address).numbers.run
    assert (found.folder, found.holds) == (address, False)
    assert found.files.changed == ("images/part-00001.parquet",)
    assert found.files.missing == (".digests/images/part-00000.sha256",)
    assert found.files.added == ("images/part-00009.parquet",)


@pytest.mark.integration
def test_a_stopped_run_says_where_its_parts_are_and_goes_on(bucket, tmp_path, monkeypatch, without_page):
    address = bucket.address("a/run")
    monkeypatch.setattr("transect.experiment.costs.seconds_per_image", lambda *_: 0.0)
    monkeypatch.setitem(_calls, "left", 2)
    with pytest.raises(Interrupted, match=f"finished parts are kept in {address}: rerun"):
        audit(address)
    made = set(bucket.names("a/run/predictions/"))
    assert 0 < len(made) < 3
    assert not [name for name in bucket.names() if ".claims" in name]
    monkeypatch.setitem(_calls, "left", 1000)
    audit(address)
    assert _calls["left"] == 1000 - (3 - len(made))
    same_as_local(bucket, tmp_path)


@pytest.mark.integration
def test_a_killed_run_is_in_use_until_it_counts_as_dead_and_then_goes_on(bucket, tmp_path, monkeypatch, without_page):
    address, plain = bucket.address("a/run"), study.RunFolder.write_part

    class Killed(BaseException):
        """What ends the process in the middle: nothing is released."""

    def kill(folder, table, index, rows):
        if (table, index) == ("images", 1):
            raise Killed
        plain(folder, table, index, rows)

    with monkeypatch.context() as patched:
        patched.setattr(study.RunFolder, "write_part", kill)
        patched.setattr(locks.Claim, "release", lambda claim: claim._ended.set())
        with pytest.raises(Killed):
            audit(address)
    assert [name for name in bucket.names() if ".claims" in name] == ["a/run/.claims/00001.json"]
    working_folders._mounts.clear()  # this process holds nothing more, as another that is started after it
    with pytest.raises(FolderInUse, match=f"{address} is in use by a live run.*counts as dead after 120 s"):
        audit(address)
    with monkeypatch.context() as patched:
        patched.setattr(locks, "DEAD", -1.0)
        patched.setattr(locks.Claim, "check", lambda claim, name: None)  # at this age every run counts as dead
        audit(address)
    assert not [name for name in bucket.names() if ".claims" in name]
    same_as_local(bucket, tmp_path)


@pytest.mark.integration
def test_another_run_at_the_address_is_refused_or_deleted(bucket, tmp_path, without_page):
    address = bucket.address("a/run")
    audit(address, seed=1)
    bucket.write("a/run/mine.txt", b"kept")
    with pytest.raises(RunFolderError, match=f"{address} holds a run with different settings: `seed` was 1"):
        audit(address)
    audit(address, overwrite=True)
    assert bucket.read("a/run/mine.txt") == b"kept"
    bucket.delete("a/run/mine.txt")
    same_as_local(bucket, tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "opencv:haarcascade_smile", "--out", "s3://{secret}@bucket/run"),
        ("report", "s3://{secret}@bucket/run"),
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(arguments):
    line = refused(*(text.format(secret=f"{KEY}:{SECRET}") for text in arguments))
    assert SECRET not in line
    assert KEY not in line

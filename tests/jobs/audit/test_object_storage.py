"""An audit whose folder lies on object storage: the same bytes, resumable, read by every command that reads a run."""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from auditing import request
from commands import refused, run_here
from object_storage import KEY, SECRET

import transect
from transect.errors import FolderInUse, Interrupted
from transect.experiment import study
from transect.runs import claims, mounts

VARIED = {"vary": ["smile=0,1"], "subjects": 12, "image_size": 32, "truth": "smile>0.5", "task": "binary"}
REQUIRED = """
[[require]]
attribute = "smile"
outcome = "error"
max_rate = 1.0
"""


def bright(pixels):
    """The target: yes for a bright picture."""
    return pixels.mean(axis=(1, 2, 3)) / 255


def audit(out, target=bright, **settings):
    return transect.audit(target, request(**{**VARIED, **settings}), out=out, quiet=True)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(study, "IMAGES_PER_PART", 8)


def files(folder):
    """Every file of a run but its lock and its log of times."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {
        name: content for name, content in found.items() if name.rpartition("/")[2] not in ("run.lock", "log.jsonl")
    }


def same_as_local(bucket, tmp_path):
    audit(tmp_path / "local" / "run")
    bucket.copy("a/run/", tmp_path / "copied")
    assert files(tmp_path / "copied") == files(tmp_path / "local" / "run")


def test_it_has_the_bytes_of_a_local_run_and_every_reader_takes_its_address(bucket, tmp_path):
    address = bucket.address("a/run")
    result = audit(address)
    same_as_local(bucket, tmp_path)
    assert not [name for name in bucket.names() if ".claims" in name]

    opened = transect.open_run(address)
    assert len(opened.images) == 24
    assert opened.effects.equals(result.table)

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
        assert viewed.images == 24
        assert viewed.headline() == f"24 images of 1 run in {address}"


def test_runs_at_two_addresses_are_compared(bucket):
    first, second = bucket.address("one"), bucket.address("two")
    audit(first)
    audit(second, lambda pixels: 1 - bright(pixels))
    compared = run_here("compare", first, second)
    assert compared.stdout.splitlines()[-1] == f"report: {second}/compare.html"
    assert json.loads(bucket.read("two/compare.json"))["folders"] == [first, second]


def test_a_stopped_run_goes_on_from_its_parts(bucket, tmp_path, monkeypatch):
    asked = []

    def stopped(pixels):
        asked.append(len(pixels))
        if sum(asked) > 16:
            raise KeyboardInterrupt
        return bright(pixels)

    stopped.__module__, stopped.__qualname__ = bright.__module__, bright.__qualname__
    monkeypatch.setattr("transect.experiment.costs.seconds_per_image", lambda *_: 0.0)
    monkeypatch.setattr("transect.runs.spec_changes.in_plain_words", lambda *_: "")
    with pytest.raises(Interrupted, match=f"finished parts are kept in {bucket.address('a/run')}: rerun"):
        audit(bucket.address("a/run"), stopped, control=False, names=("bright",))
    made = len(bucket.names("a/run/predictions/"))
    assert 0 < made < 3


def test_a_killed_run_is_in_use_until_it_counts_as_dead_and_then_goes_on(bucket, tmp_path, monkeypatch):
    address, plain = bucket.address("a/run"), study.RunFolder.write_part

    class Killed(BaseException):
        """What ends the process in the middle: nothing is released."""

    def kill(folder, table, index, rows):
        if (table, index) == ("images", 1):
            raise Killed
        plain(folder, table, index, rows)

    with monkeypatch.context() as patched:
        patched.setattr(study.RunFolder, "write_part", kill)
        patched.setattr(claims.Claim, "release", lambda claim: claim._ended.set())
        with pytest.raises(Killed):
            audit(address)
    assert [name for name in bucket.names() if ".claims" in name] == ["a/run/.claims/00001.json"]
    mounts._mounts.clear()
    with pytest.raises(FolderInUse, match=f"{address} is in use by a live run.*counts as dead after 120 s"):
        audit(address)
    monkeypatch.setattr(claims, "DEAD", -1.0)
    with monkeypatch.context() as patched:
        patched.setattr(claims.Claim, "check", lambda claim, name: None)  # at this age every run counts as dead
        audit(address)
    same_as_local(bucket, tmp_path)


def test_another_run_at_the_address_is_refused_or_deleted(bucket, tmp_path):
    address = bucket.address("a/run")
    audit(address, seed=1, control=False)
    bucket.write("a/run/mine.txt", b"kept")
    with pytest.raises(
        transect.errors.RunFolderError, match=f"{address} holds a run with other settings: --seed was 1"
    ):
        audit(address)
    audit(address, overwrite=True)
    assert bucket.read("a/run/mine.txt") == b"kept"
    bucket.delete("a/run/mine.txt")
    same_as_local(bucket, tmp_path)


def test_no_secret_leaves_the_environment(bucket, tmp_path, capfd):
    before = set(Path(tempfile.gettempdir()).glob("transect-*"))
    address = bucket.address("a/run")
    audit(address, control=False)
    run_here("report", bucket.address("nothing"))
    (folder,) = [mounts.opened(address)]
    here = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    there = [bucket.read(name) for name in bucket.names()]
    printed = "".join(capfd.readouterr()).encode()
    for content in (*here, *there, printed):
        assert SECRET.encode() not in content
        assert KEY.encode() not in content
        assert str(folder).encode() not in content
    assert os.stat(folder.parent).st_mode & 0o077 == 0
    mounts.close_all()
    assert set(Path(tempfile.gettempdir()).glob("transect-*")) <= before


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "opencv:haarcascade_smile", "--out", "s3://{secret}@bucket/run"),
        ("report", "s3://{secret}@bucket/run"),
        ("runs", "s3://{secret}@bucket/run"),
        ("check", "s3://{secret}@bucket/run", "--requirements", "none.toml"),
        ("compare", "s3://bucket/run?key={secret}", "s3://bucket/run"),
        ("view", "s3://{secret}@bucket/run"),
        ("export", "s3://{secret}@bucket/run", "--to", "csv"),
        ("search", "opencv:haarcascade_smile", "--out", "s3://{secret}@bucket/run"),
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(arguments, tmp_path):
    (tmp_path / "none.toml").write_text(REQUIRED)
    given = [
        text.format(secret=f"{KEY}:{SECRET}").replace("none.toml", str(tmp_path / "none.toml")) for text in arguments
    ]
    line = refused(*given)
    assert SECRET not in line
    assert KEY not in line


@pytest.mark.parametrize("command", ["export", "invert", "annotate questions"])
def test_a_command_that_reads_no_address_says_to_copy_the_run(command):
    arguments = {
        "export": ("export", "s3://bucket/run", "--to", "csv"),
        "invert": ("invert", "s3://bucket/run", "--out", "here"),
        "annotate questions": ("render", "--out", "s3://bucket/run"),
    }[command]
    assert "expected a file or folder of this machine, got an address; copy the run to this machine" in refused(
        *arguments
    )


def test_bytes_of_pictures_are_read_when_they_are_looked_at(bucket):
    address = bucket.address("a/run")
    audit(address, control=False)
    mounts.close_all()
    folder = mounts.opened(address)
    assert not list(folder.rglob("part-*"))
    run = transect.open_run(address)
    assert np.isfinite(run.images["intended.smile"].to_numpy()).all()

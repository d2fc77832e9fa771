"""Storage that fails: a run has the same bytes in the end, or stops with one line and goes on when it is run again."""

from datetime import timedelta

import pyarrow as pa
import pytest

from transect.errors import RunFolderError
from transect.runs import working_folders
from transect.runs.folder import FinishedRun, RunFolder

pytestmark = pytest.mark.integration
SPEC = {"design": {"seed": 1}, "targets": ["opencv"]}
PARTS = 3


def rows(index):
    return pa.table({"id": [f"{index}-{row}" for row in range(300)], "score": [row / 7 + index for row in range(300)]})


def write(place):
    """A run that makes the parts that are missing; how many it made."""
    made = 0
    with RunFolder(working_folders.opened(place), SPEC) as run:
        for index in range(PARTS):
            if not run.has_part("answers", index):
                run.write_part("answers", index, rows(index))
                made += 1
    return made


@pytest.fixture
def wanted(tmp_path):
    """The bytes of the tables of a run on this machine, by name."""
    write(tmp_path / "local")
    found = [path for path in (tmp_path / "local").rglob("*") if path.suffix in (".parquet", ".sha256", ".json")]
    return {path.relative_to(tmp_path / "local").as_posix(): path.read_bytes() for path in found}


def stored(bucket):
    return {name.removeprefix("run/"): bucket.read(name) for name in bucket.names("run/")}


@pytest.fixture
def impatient(request, monkeypatch):
    """Where the server hangs, a request may take a second."""
    if "hang" in request.node.name:
        monkeypatch.setattr("transect.runs.object_storage.SECONDS", timedelta(seconds=1))


def of_parts(deed, times=1):
    """A fault on the first requests that write each part."""
    return lambda method, path, number: deed if method == "PUT" and "/answers/part" in path and number < times else None


@pytest.mark.parametrize("deed", ["error", "cut", "lost"])
def test_a_fault_on_each_part_leaves_the_same_bytes(bucket, proxy, wanted, deed):
    proxy.fault = of_parts(deed)
    assert write(bucket.address("run")) == PARTS
    assert stored(bucket) == wanted
    assert len(proxy.done) >= PARTS


@pytest.mark.parametrize("deed", ["error", "cut"])
def test_faults_on_every_kind_of_request_leave_the_same_bytes(bucket, proxy, wanted, deed):
    proxy.fault = lambda method, path, number: deed if number % 3 == 0 else None
    write(bucket.address("run"))
    assert stored(bucket) == wanted
    assert {method for _, method, _ in proxy.done} >= {"PUT", "GET", "POST"}


@pytest.mark.parametrize("deed", ["error", "hang", "lost", "cut"])
def test_storage_that_stays_away_stops_the_run_with_one_line_that_says_to_resume(
    bucket, proxy, impatient, wanted, deed
):
    proxy.fault = lambda method, path, number: deed if method == "PUT" and "/run/answers/part-00001" in path else None
    with pytest.raises(RunFolderError) as error:
        write(bucket.address("run"))
    message = str(error.value)
    assert message.startswith(f"{bucket.address('run')}/answers/part-00001.parquet: the storage ")
    assert message.endswith("finished parts are kept: rerun the command to resume")
    assert "\n" not in message
    assert "PLANTED" not in message
    assert error.value.exit_code == 2
    proxy.fault = lambda method, path, number: None
    left = 1 if deed == "lost" else 2  # a part whose answers were lost is there
    assert write(bucket.address("run")) == left
    assert stored(bucket) == wanted


def test_an_answer_that_is_cut_is_asked_for_again(bucket, proxy, wanted):
    write(bucket.address("run"))
    working_folders.close_all()
    proxy.fault = lambda method, path, number: "cut answer" if "part-" in path and number == 0 else None
    finished = FinishedRun(working_folders.opened(bucket.address("run")))
    assert finished.read_table("answers", PARTS).equals(pa.concat_tables([rows(index) for index in range(PARTS)]))
    assert ("cut answer", "GET", f"/{bucket.name}/run/answers/part-00000.parquet") in proxy.done

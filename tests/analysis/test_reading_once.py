"""A report reads each part of a finished run once, and analyses a negative control once."""

from collections import Counter
from unittest import mock

import audited
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import transect
from transect.analysis import reporting
from transect.errors import CorruptedPart
from transect.runs import part_files
from transect.runs.folder import FinishedRun, RunFolder

OPTIONS = {"image_size": 32, "quiet": True}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An experiment of two parts with a negative control, ratings and a rule."""
    folder = tmp_path_factory.mktemp("once") / "run"
    with mock.patch("transect.experiment.study.IMAGES_PER_PART", 8):
        transect.audit(audited.brightness, vary=["glasses=0,1"], subjects=8, out=folder, **OPTIONS)
    spec = FinishedRun(folder).spec
    assert spec.parts == 2
    ids = FinishedRun(folder).read_table("images", spec.parts)["id"]
    fakeness = pa.array([0.9 if row % 7 == 0 else 0.1 for row in range(len(ids))])
    pq.write_table(pa.table({"id": ids, "fakeness": fakeness}), folder.parent / "perceived.parquet")
    reporting.rate(folder, folder.parent / "perceived.parquet", ["fakeness>=0.75"])
    return folder


@pytest.mark.integration
def test_each_part_is_read_once(run, monkeypatch):
    reads = Counter()
    original = part_files.read_part

    def counted(folder, table, index, **columns):
        reads[folder.relative_to(run).as_posix(), table, index] += 1
        return original(folder, table, index, **columns)

    monkeypatch.setattr(part_files, "read_part", counted)
    reporting.report(run)
    assert {table.partition("/")[0] for _, table, _ in reads} == {"images", "predictions"}
    assert {folder for folder, _, _ in reads} == {".", "negative-control"}
    assert max(reads.values()) == 1, reads


def test_a_part_that_changed_is_found_whatever_is_asked_of_it(tmp_path):
    with RunFolder(tmp_path, {"name": "tables"}) as written:
        written.write_part("numbers", 0, pa.table({"a": [1.5] * 100, "b": [2.5] * 100}))
    path = tmp_path / "numbers/part-00000.parquet"
    group = pq.read_metadata(path).row_group(0)
    content = bytearray(path.read_bytes())
    content[group.column(1).data_page_offset + group.column(1).total_compressed_size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptedPart, match=r"part-00000\.parquet is damaged: delete that file"):
        FinishedRun(tmp_path).read_part("numbers", 0, only=("a",))
    with pytest.raises(CorruptedPart, match=r"part-00000\.parquet is damaged: delete that file"):
        FinishedRun(tmp_path).read_part("numbers", 0, without=("b",))

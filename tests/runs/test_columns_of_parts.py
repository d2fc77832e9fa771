"""The columns of a run without its pictures: what is checked of them, and how far a run is made."""

import pyarrow.parquet as pq
import pytest
from small_run import make_run

from transect.analysis import finished_run
from transect.errors import CorruptedPart
from transect.runs.folder import FinishedRun


def test_columns_are_those_of_the_whole_part_less_the_pictures(tmp_path):
    run = FinishedRun(make_run(tmp_path / "run"))
    columns = run.read_columns("images", 1, ("image",))
    assert columns.equals(run.read_part("images", 1).drop_columns(["image"]))


def test_a_byte_that_changed_in_a_column_is_found_by_its_pages_checksum(tmp_path):
    run = FinishedRun(make_run(tmp_path / "run"))
    path = tmp_path / "run" / "images" / "part-00000.parquet"
    group = pq.read_metadata(path).row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    content = bytearray(path.read_bytes())
    subject = columns["subject"]
    content[subject.dictionary_page_offset + subject.total_compressed_size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptedPart, match="part-00000.parquet is damaged: delete that"):
        run.read_columns("images", 0, ("image",))


def test_a_column_of_another_type_is_refused_and_one_that_was_not_read_is_not_missed(tmp_path):
    run = FinishedRun(make_run(tmp_path / "run"))
    path = tmp_path / "run" / "images" / "part-00000.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.drop_columns(["image"]), path)
    assert run.read_columns("images", 0, ("image",)).num_rows == 8
    pq.write_table(rows.drop_columns(["cell"]), path)
    with pytest.raises(CorruptedPart, match="part-00000.parquet is damaged: delete that"):
        run.read_columns("images", 0, ("image",))


def test_a_run_as_far_as_it_is_made_has_whole_subjects_from_the_first(tmp_path):
    run = FinishedRun(make_run(tmp_path / "run", subjects=6))
    part = finished_run.of_images(run, run.read_columns("images", 0, ("image",)))
    assert (part.design.subjects, len(part.images), part.spec.design.subjects) == (4, 8, 6)

"""A finished run in Python: read back, and analysed again."""

import json

import audited
import jsonschema
import pyarrow.parquet as pq
import pytest

import transect
from transect.errors import BadInput


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("opened") / "run"
    request = transect.AuditRequest(control=False)
    return transect.audit(
        [audited.brightness, "audited:brightness"], request, vary=["glasses"], subjects=5, image_size=32, out=out, quiet=True
    )  # fmt: skip


def test_a_finished_run_reads_back(result):
    run = transect.open_run(result.folder)
    assert run.spec.design.subjects == 5
    assert run.images.num_rows == 10
    assert "image" not in run.images.column_names
    assert run.predictions.num_rows == 20
    assert set(run.predictions["target"].to_pylist()) == {"brightness", "audited:brightness"}
    assert run.effects.equals(result.table)
    assert run.results == result.results


def test_the_result_of_an_audit(result, tmp_path):
    assert len(result.effects) == result.table.num_rows == 4
    jsonschema.validate(result.to_json(), result.schema())
    assert result.to_json()["effects"] == result.results["effects"]
    assert result.report(tmp_path / "copy").read_bytes() == result.page.read_bytes()
    assert "0 of 4 effects significant" in result.headline()
    assert "glasses: off to on" in result._repr_html_()


def test_a_report_is_made_again(result):
    before = result.page.read_bytes()
    again = transect.report(result.folder)
    assert again.effects == result.effects
    assert again.page.read_bytes() == before
    assert transect.report(result.folder, correction="max-t").results["family"]["method"] == "max-t"
    transect.report(result.folder)


def test_what_is_no_finished_run_is_refused(result, tmp_path):
    with pytest.raises(BadInput, match="is not a run folder"):
        transect.open_run(tmp_path)
    (tmp_path / "run").symlink_to(result.folder)
    opened = transect.open_run(tmp_path / "run")
    several = type(opened)(opened.folder, opened.studies * 2, opened.effects, opened.results)
    with pytest.raises(BadInput, match="expected one study, got 2; choose one of .studies"):
        _ = several.spec


def test_effects_are_those_of_the_file(result):
    assert pq.read_table(result.folder / "effects.parquet").equals(result.table)
    assert json.loads((result.folder / "results.json").read_text()) == result.results

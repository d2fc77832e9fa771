"""A finished run in Python: read back, and analysed again."""

import json

import audited
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from published import fits

import transect
from transect.reports.document import follow


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("opened") / "run"
    request = transect.AuditRequest(control=False)
    return transect.audit(
        [audited.brightness, "audited:brightness"], request, vary=["glasses=0,1"], subjects=5, image_size=32, out=out, quiet=True
    )  # fmt: skip


@pytest.mark.integration
def test_a_finished_run_reads_back(result):
    run = transect.open_run(result.folder)
    assert run.spec.design.subjects == 5
    assert run.images.num_rows == 10
    assert "image" not in run.images.column_names
    assert run.predictions.num_rows == 20
    assert set(run.predictions["target"].to_pylist()) == {"brightness", "audited:brightness"}
    assert run.effects.equals(result.table)
    assert run.results == result.results
    assert run.table.equals(run.effects)
    assert run.headline() == result.headline()


def test_the_result_of_an_audit(result, tmp_path):
    assert len(result.effects) == result.table.num_rows == 4
    fits(result)
    assert result.to_json()["effects"] == result.results["effects"]
    copy = result.report(tmp_path / "copy")
    assert copy.read_text().replace('href="audit-numbers', 'href="report-numbers') == result.page.read_text()
    assert 'href="audit.html"' in (tmp_path / "copy" / "audit-numbers.html").read_text()
    assert sorted(path.name for path in copy.parent.iterdir()) == ["audit-numbers.html", "audit.html", "results.json"]
    assert result.report(result.folder).name == "audit.html"


KEYS = {
    "": "schema_version transect_version title question studies effects rates verdicts found_interactions warnings selection family world limits citations "
    "sections gallery interactions projections negative_controls plans families replicated",
    "/studies/0": "name spec spec_hash basis subjects images hold population truth seed attributes targets outcomes "
    "cells_left_out",
    "/studies/0/targets/0": "name slug task description truth n_images n_failed failure_reasons found_rule",
    "/effects/0": "study name attribute outcome target kind from to estimate low high p p_adjusted unit n_subjects n_images "
    "excluded basis reason interval_method test_method sources spec always_low always_high always_method always_reason same_test_as",
    "/rates/0": "study target outcome cell order rate low high n_subjects n_images excluded method unit",
    "/family": "size method alpha confidence significant not_estimable",
    "/plans/0": "study target outcome name unit n_subjects power detectable_difference target_difference subjects_needed",
    "/families/0": "name method alpha size significant members",
}
"""Keys of results.json; after the first release, whoever changes them raises the version of its schema."""


@pytest.mark.parametrize("place", KEYS)
def test_results_keep_their_keys(result, place):
    assert set(follow(json.loads((result.folder / "results.json").read_text()), place)) == set(KEYS[place].split())


def test_a_report_is_made_again(result):
    before = result.page.read_bytes()
    again = transect.report(result.folder)
    fits(again)
    assert again.effects == result.effects
    assert again.page.read_bytes() == before


IDS = [f"{subject}-000{cell}" for subject in range(5) for cell in (0, 1)]


def test_ratings_and_shares_may_be_tables_and_data_frames(tmp_path):
    request = transect.AuditRequest(
        control=False,
        ratings=transect.RatingSettings(perceived=Stream(pa.table({"id": IDS, "age": [0.1] * 2 + [0.9] * 8}))),
    )
    result = transect.audit(
        audited.brightness, request, vary=["glasses=0,1"], subjects=5, image_size=32, out=tmp_path / "run", quiet=True
    )
    assert pq.read_table(tmp_path / "run" / "perceived.parquet")["id"].to_pylist() == IDS
    answers = pa.table({"id": IDS[:4], "rater": ["a", "a", "b", "b"], "age": [0.2] * 4})
    shares = Stream(pa.table({"glasses": ["none", "thin frame"], "share": [0.25, 0.75]}))
    again = transect.report(result.folder, ratings=answers, prune=["age<0.3"], shares=[shares], quiet=True)
    assert again.results["projections"][0]["population"] == "shares 1"

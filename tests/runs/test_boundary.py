"""The band around the decision boundary: what is one, where it is kept, and when it has no meaning."""

import json

import auditing
import pytest

from transect.analysis import reporting
from transect.errors import BadInput
from transect.runs import report_options
from transect.runs.report_options import ReportSettings


@pytest.mark.parametrize("band", [(0.7, 0.3), (0.5, 0.5), (0.3, float("nan")), (0.3, float("inf"))])
def test_a_band_rises(band):
    with pytest.raises(BadInput, match="expected LOW below HIGH, two scores around the threshold"):
        report_options.check_boundary(band)


def test_a_band_is_kept_and_taken_away(tmp_path):
    assert report_options.read_boundary(tmp_path) is None
    report_options.write_boundary(tmp_path, (0.1, 1 / 3))
    assert report_options.read_boundary(tmp_path) == (0.1, 1 / 3)
    report_options.write_boundary(tmp_path, None)
    assert report_options.read_boundary(tmp_path) is None


@pytest.mark.parametrize("text", ["{}", "[1]", "[0.7, 0.3]", "[null, 1]", "no json"])
def test_a_file_that_holds_no_band_is_one_line(tmp_path, text):
    (tmp_path / "boundary.json").write_text(text)
    with pytest.raises(BadInput, match="expected"):
        report_options.read_boundary(tmp_path)


def test_the_band_of_an_audit_is_that_of_its_report(tmp_path):
    """The report made again says the same; another band is another number of subjects; the audit alone the default."""
    options = {"image_size": 32, "subjects": 6, "quiet": True, "control": False, "out": tmp_path / "run"}

    def near(result):
        (made,) = (one for one in result.results["sections"] if one["key"] == "sensitivity")
        (table,) = (one for one in made["tables"] if one["title"].startswith("Changes of the score"))
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        return made["text"][0], [row["subjects"] for row in rows if row["over"] == "near the boundary"]

    def audit(**more):
        return auditing.audit("audited:brightness", steps=["skin_tone=-1,0,1"], **options, **more)

    text, wide = near(audit(boundary=(0.0, 1.0)))
    assert "(0 < score < 1 at λ = 0, as asked for)" in text
    assert wide == [6, 6]
    assert near(reporting.report(tmp_path / "run")) == (text, wide)
    text, none = near(reporting.report(tmp_path / "run", settings=ReportSettings(boundary=(0.98, 0.99))))
    assert ("0.98 < score < 0.99" in text, none) == (True, [0, 0])
    assert json.loads((tmp_path / "run" / "boundary.json").read_text()) == [0.98, 0.99]
    assert "(0.3 < score < 0.7 at λ = 0)" in near(audit())[0]


def test_a_band_without_steps_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(BadInput, match="--boundary: expected attributes moved in steps"):
        auditing.audit("audited:brightness", vary=["glasses=0,1"], boundary=(0.2, 0.8), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    options = {"image_size": 32, "subjects": 3, "quiet": True, "control": False, "out": tmp_path / "run"}
    auditing.audit("audited:brightness", vary=["glasses=0,1"], **options)
    with pytest.raises(BadInput, match="--boundary: expected attributes moved in steps"):
        reporting.report(tmp_path / "run", settings=ReportSettings(boundary=(0.2, 0.8)))
    assert not (tmp_path / "run" / "boundary.json").exists()

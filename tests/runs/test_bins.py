"""Cut points of observed attributes from the command to the page: what --bins takes, keeps and refuses."""

import json

import auditing
import numpy as np
import pytest
from commands import printed, refused

from transect.analysis import reporting
from transect.errors import BadInput, UnknownName
from transect.jobs.audit.init import read_request
from transect.records import Attribute
from transect.runs import report_options
from transect.targets import as_target

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
KNOWN = {"age": AGE, "glasses": GLASSES}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["age"], "expected NAME=A,B,… with numbers"),
        (["age=old"], "expected NAME=A,B,… with numbers"),
        (["age=50,30"], "--bins age=50,30: expected rising numbers above 18 and up to 80"),
        (["age=18"], "expected rising numbers above 18 and up to 80"),
        (["age=nan"], "expected rising numbers above 18 and up to 80"),
        (["age=30", "age=50"], "--bins age: expected the attribute once, got it twice"),
        (["glasses=0.5"], "--bins glasses: expected an attribute with a range, got one of levels"),
    ],
)
def test_what_cannot_cut_is_refused(texts, message):
    with pytest.raises(BadInput, match=message):
        report_options.parse_bins(texts, KNOWN)


def test_attributes_that_were_not_observed_are_unknown():
    with pytest.raises(UnknownName, match="unknown attribute 'agee': did you mean age"):
        report_options.parse_bins(["agee=30"], KNOWN)
    with pytest.raises(UnknownName, match="set levels stay"):
        auditing.audit("audited:brightness", vary=["age=20,60"], bins=["age=30"], subjects=3, image_size=32)


@pytest.mark.parametrize("text", ["[30]", '{"age": 30}', '{"age": ["x"]}', "no json"])
def test_a_file_that_holds_no_cut_points_is_one_line(tmp_path, text):
    (tmp_path / report_options.BINS_FILE).write_text(text)
    with pytest.raises(BadInput, match="expected cut points by attribute"):
        report_options.read_bins(tmp_path)


def test_no_cut_points_delete_the_file(tmp_path):
    report_options.write_bins(tmp_path, {"age": (30.0, 50.0)})
    assert report_options.read_bins(tmp_path) == {"age": (30.0, 50.0)}
    report_options.write_bins(tmp_path, {})
    assert report_options.read_bins(tmp_path) == {}


def test_a_file_of_settings_has_them(tmp_path):
    (tmp_path / "study.toml").write_text('[report]\nbins = ["age=30,50"]\n')
    assert read_request(tmp_path / "study.toml").report.bins == ("age=30,50",)


def by_light(pixels):
    return [float(image.mean() > 110) for image in pixels]


def test_effects_rates_and_sections_of_a_run_are_cut_there_and_later_reports_too(tmp_path):
    out = tmp_path / "run"
    target = as_target(by_light, name="light", task="binary")
    options = {"images": 24, "image_size": 32, "truth": "smile>0.5", "compare": ["age", "glasses"], "control": False}
    result = auditing.audit(target, **options, bins=["age=30,50"], out=out)
    ages = np.array(reporting.finished_run.read(out).true["age"])
    names = [f"age: [{ages.min():.4g}, 30) to [50, {ages.max():.4g}]", "age: slope"]
    assert [effect.name for effect in result.effects if effect.attribute == "age"][:2] == names
    rates = [rate for rate in result.results["rates"] if rate["order"] == 1 and "age" in rate["cell"]]
    assert [rate["n_images"] for rate in rates[:3]] == [(ages < 30).sum(), ((ages >= 30) & (ages < 50)).sum(), (ages >= 50).sum()]  # fmt: skip
    assert json.loads((out / report_options.BINS_FILE).read_text()) == {"age": [30.0, 50.0]}
    again = json.loads(printed("report", str(out), "--bins", "age=40", "--json"))
    assert again["effects"][0]["name"] == f"age: [{ages.min():.4g}, 40) to [40, {ages.max():.4g}]"
    assert report_options.read_bins(out) == {"age": (40.0,)}
    assert "unknown attribute 'skin_ton'" in refused("report", str(out), "--bins", "skin_ton=3")

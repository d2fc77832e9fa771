"""Options of reports: cut points, the band around the decision boundary and margins, from the command to the page."""

import json
import math

import auditing
import numpy as np
import pytest
from commands import printed, refused

from transect.analysis import margins, reporting
from transect.analysis.sections.error_rates import combinations_of
from transect.errors import BadInput
from transect.records import Attribute
from transect.runs import report_options
from transect.runs.report_options import ReportSettings
from transect.targets import as_target

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
KNOWN = {"age": AGE, "glasses": GLASSES}
OUTCOMES = ("answer", "miss", "score")


@pytest.mark.parametrize(
    ("parse", "given", "message"),
    [
        ("bins", ["age"], "expected NAME=A,B,… with numbers"),
        ("bins", ["age=50,30"], "--bins age=50,30: expected increasing numbers above 18 and up to 80"),
        ("bins", ["age=30", "age=50"], "--bins age: given twice"),
        ("bins", ["glasses=0.5"], "--bins glasses: expected an attribute with a range, got levels"),
        ("margins", ["small"], "--margin 'small': expected a number or OUTCOME=NUMBER"),
        ("margins", ["0"], "expected a difference above 0, got 0"),
        ("margins", ["2"], "expected a share below 1, got 2; two points are 0.02"),
        ("margins", ["0.02", "0.03"], "expected one margin for all rates, got two"),
        ("boundary", (0.3, float("nan")), "expected LOW below HIGH, two scores around the threshold"),
        ("thresholds", [0.3, float("inf")], "--at-threshold: expected scores as numbers, got 0.3, inf"),
        ("conditions", list("abcdef"), "--by: expected at most 5 attributes, got 6"),
    ],
)
def test_what_is_refused(parse, given, message):
    parsers = {
        "bins": lambda texts: report_options.parse_bins(texts, KNOWN),
        "margins": lambda texts: margins.parse_margins(texts, OUTCOMES),
        "boundary": report_options.check_boundary,
        "thresholds": report_options.check_thresholds,
        "conditions": lambda names: report_options.check_error_conditions(names, [set("abcdef")]),
    }
    with pytest.raises(BadInput, match=message):
        parsers[parse](given)


def test_five_attributes_are_counted_alone_in_pairs_and_all_together():
    assert report_options.check_error_conditions(list("abcde"), [set("abcde")]) == tuple("abcde")
    groupings = combinations_of("abcde")
    assert groupings[:5] == [(name,) for name in "abcde"]
    assert len(groupings) == 5 + 10 + 1
    assert groupings[-1] == tuple("abcde")
    assert combinations_of("ab") == [("a",), ("b",), ("a", "b")]


@pytest.mark.integration
def test_a_stated_threshold_is_kept_for_later_reports(tmp_path):
    """Pictures whose mean is above T / 255 are a yes; at 1.5 none is, so that every image whose truth is yes errs."""
    target = as_target(lambda pixels: [float(image.mean() / 255) for image in pixels], name="light", task="binary")
    options = {"images": 12, "image_size": 32, "truth": "smile>0.5", "compare": ["glasses"], "control": False}
    auditing.audit(target, **options, at_thresholds=[1.5], out=tmp_path / "run")
    for _ in range(2):
        results = reporting.report(tmp_path / "run").results
        (section,) = [each for each in results["sections"] if each["key"] == "thresholds"]
        (table,) = [each for each in section["tables"] if "glasses" in each["title"]]
        found = {row[1]: row[3] for row in table["rows"] if (row[0], row[2]) == ("all", "FNR")}
        assert found[1.5] == 1.0
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["at_thresholds"] == [1.5]


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
    assert json.loads((out / "settings.json").read_text())["bins"] == ["age=30,50"]
    again = json.loads(printed("report", str(out), "--bins", "age=40", "--json"))
    assert again["effects"][0]["name"] == f"age: [{ages.min():.4g}, 40) to [40, {ages.max():.4g}]"
    assert report_options.read(out).bins == ["age=40"]
    assert reporting.finished_run.read(out).bins == {"age": (40.0,)}
    assert "unknown attribute 'skin_ton'" in refused("report", str(out), "--bins", "skin_ton=3")
    (out / "settings.json").write_text('{"covariates": ["gone"]}')
    assert "settings.json keeps the options of earlier reports" in refused("report", str(out))


@pytest.mark.integration
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
    assert report_options.read(tmp_path / "run").boundary == (0.98, 0.99)
    assert "(0.3 < score < 0.7 at λ = 0)" in near(audit())[0]


def test_a_band_without_steps_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(BadInput, match="`boundary` applies to attributes moved in steps"):
        auditing.audit("audited:brightness", vary=["glasses=0,1"], boundary=(0.2, 0.8), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_outcomes_own_margin_comes_before_that_of_all_rates():
    chosen = margins.parse_margins(["0.03", "miss=0.01", "score=0.5"], OUTCOMES)
    assert margins.margin_of(chosen, "miss", "proportion") == 0.01
    assert margins.margin_of(chosen, "answer", "proportion") == 0.03
    assert margins.margin_of(chosen, "score", "score") == 0.5


def test_rates_have_a_default_and_scores_have_none():
    assert margins.margin_of({}, "miss", "proportion") == 0.02
    assert math.isnan(margins.margin_of({}, "score", "score"))
    assert math.isnan(margins.margin_of({"": 0.03}, "score", "score"))


def test_what_is_stored_stays_where_nothing_else_is_given(tmp_path):
    given = [ReportSettings(by="age", margin=0.03), ReportSettings(margin=["miss=0.1"], boundary=(0.2, 0.8))]
    for settings in given:
        report_options.write(tmp_path, report_options.over(report_options.read(tmp_path), settings))
    stored = report_options.read(tmp_path)
    assert (stored.by, stored.margin, stored.boundary, stored.covariates) == (["age"], ["miss=0.1"], (0.2, 0.8), [])
    report_options.write(tmp_path, ReportSettings())
    assert not (tmp_path / "settings.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"bys": ["age"]}', "bys: expected no such key"),
        ('{"by": "age"}', "by: expected"),
        ('{"at_thresholds": [NaN]}', "expected scores as numbers, got nan"),
        ('{"boundary": [0.9, 0.1]}', "expected LOW below HIGH"),
        ("[" * 20_000, "expected"),
        (" " * (1 << 20) + "{}", "over 1,048,576 bytes"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "settings.json").write_text(content)
    with pytest.raises(BadInput, match="a report's settings") as refusal:
        report_options.read(tmp_path)
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_title_stays_until_another_is_given_and_an_empty_one_resets_it():
    stored = report_options.over(ReportSettings(), ReportSettings(title="Smile v2"))
    assert report_options.over(stored, ReportSettings(margin=["0.1"])).title == "Smile v2"
    assert report_options.over(stored, ReportSettings(title="")) == ReportSettings()

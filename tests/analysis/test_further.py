"""What stands beside the effects: interactions, projections, negative controls, plans, families; and the page."""

import json

import auditing
import jsonschema
import numpy as np
import pytest
from places import ROOT
from report_reader import classes, loose_digits, number_faults, parse, text_faults, text_of
from scipy.stats import norm

import transect
from transect.analysis import finished_run, reporting
from transect.analysis.findings import analyse
from transect.effects import holm
from transect.effects.contrasts import interactions
from transect.experiment.small_runs import control_design
from transect.records import Design

SCHEMA = json.loads((ROOT / "docs/reference/schemas/results.schema.json").read_text())
SHARES = "skin_tone,glasses,share\n1,none,.4\n1,thin frame,.1\n10,none,.2\n10,thin frame,.3\n"


def noisy(pixels):
    """Says yes more often to bright pictures, with a chance that hangs on the picture."""
    chance = np.mod(pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) * 0.6180339887, 1.0)
    return (chance < 5 * pixels.mean(axis=(1, 2, 3)) / 255 - 2).astype(float)


def corners(pixels):
    """Looks at the corners of the picture, where the background is: its red against its blue."""
    corner = pixels[:, :4, :4].astype(float).mean(axis=(1, 2))
    return (corner[:, 0] > corner[:, 2] + 1).astype(float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("further")
    (path / "clinic.csv").write_text(SHARES)
    vary = {"skin_tone": (1, 5, 10), "glasses": (0, 1), "hat": (0, 1, 2)}
    auditing.audit(noisy, vary=vary, subjects=24, image_size=32, outcomes=["answer", "score"], out=path / "run")
    return path


@pytest.fixture(scope="module")
def results(folder):
    reporting.report(folder / "run", shares=[folder / "clinic.csv"])
    return json.loads((folder / "run" / "results.json").read_text())


@pytest.fixture(scope="module")
def pages(folder, results):
    return [parse((folder / "run" / name).read_text()) for name in ("report.html", "report-numbers.html")]


@pytest.mark.integration
def test_shares_that_change_each_way_add_up_to_each_effect_on_answers(results):
    (section,) = [section for section in results["sections"] if section["key"] == "changes"]
    (table,) = section["tables"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    effects = [e for e in results["effects"] if e["outcome"] == "answer" and e["kind"] == "contrast"]
    assert len(rows) == len(effects)
    for row, effect in zip(rows, effects, strict=True):
        assert row["net, points"] == pytest.approx(effect["estimate"])
        assert row["no to yes"] - row["yes to no"] == pytest.approx(effect["estimate"])
        assert row["no to yes: low"] <= row["no to yes"] <= row["no to yes: high"]


def test_what_is_written_fits_the_schema(results):
    jsonschema.validate(results, SCHEMA, jsonschema.Draft202012Validator)


def test_interactions_are_those_of_the_tables_and_of_one_family_with_the_effects(folder, results):
    found = analyse(finished_run.read(folder / "run"))
    answered = found.answered[0]
    made = interactions(answered.values, answered.reasons, found.design, found.attributes, orders=[2, 3])
    rows = [row for row in results["interactions"] if row["outcome"] == "answer"]
    # skin tone: one comparison, glasses: one, hat: two; pairs 1 + 2 + 2, triples 2
    assert len(rows) == len(made) == 7
    for row, each in zip(rows, made, strict=True):
        assert row["estimate"] == pytest.approx(np.nanmean(each.differences))
        assert (row["attributes"], row["from"], row["to"]) == tuple(
            list(each.spec[key]) for key in ("attributes", "from", "to")
        )
    # The target says 0 or 1 as its score, so that both outcomes are one: of answers four contrasts, a slope and
    # seven interactions are tests, and those of scores repeat them.
    every = [*results["effects"], *results["interactions"]]
    own = [row for row in every if not row["same_test_as"]]
    assert len(own) == results["family"]["size"] == 12
    np.testing.assert_allclose([row["p_adjusted"] for row in own], holm(np.array([row["p"] for row in own])))
    again = [row for row in every if row["outcome"] == "score"]
    assert all(row["same_test_as"].endswith(", outcome answer") for row in again)
    assert [row["p_adjusted"] for row in again] == [row["p_adjusted"] for row in every if row["outcome"] == "answer"]
    assert {row["outcome"] for row in results["verdicts"]} == {"answer"}
    family, _ = results["families"]
    assert (family["name"], len(family["members"])) == ("effects and interactions", 12)
    assert any(
        "audit: skin_tone × glasses: 1 to 10 × none to thin frame, answer of " in each for each in family["members"]
    )


def test_a_negative_control_says_what_it_could_have_found(results):
    """80 % of repeats with an effect of that size are significant, by McNemar's exact test at alpha over the family."""
    controls = results["negative_controls"]
    family = sum(row["p"] is not None for row in controls)
    for row in controls:
        assert row["detectable"] is None or row["detectable"] > 0
    scores = [row for row in controls if row["outcome"] == "score"]
    assert scores
    for row in scores:  # Student's interval of n subjects is about ± 2 standard errors; found with 80 % beyond + .84
        half = (row["high"] - row["low"]) / 2
        shift = norm.ppf(1 - 0.05 / family / 2) + norm.ppf(0.8)
        # Scores of which too few subjects differ for so small a p could not be found at any size.
        assert row["detectable"] is None or row["detectable"] == pytest.approx(half / 1.96 * shift, rel=0.25)


def test_every_number_of_the_pages_stands_in_the_results(pages, results):
    for page in pages:
        assert number_faults(page, results) == []
        assert text_faults(page, results) == []
        assert set(loose_digits(page)) <= {"sha256"}  # the key of a setting of the target
    first, second = ([element.get("id") for element in page.iter("section")] for page in pages)
    assert "study-0-projection" in first
    for part in ("interactions", "control", "plan"):
        assert f"study-0-{part}" in second


def test_a_control_that_matters_is_said_loudly_and_one_that_does_not_is_not(folder, results, tmp_path):
    assert [row["attributes"] for row in results["negative_controls"]] == [["background_hue"]] * 2
    assert not any("alarm" in classes(p) for p in parse((folder / "run" / "report.html").read_text()).iter("p"))
    assert transect.open_run(folder / "run").warning_lines() == ()
    made = auditing.audit(
        corners, vary=["glasses=0,1"], subjects=30, image_size=32, outcomes=["answer"], out=tmp_path / "run"
    )
    control = made.results["negative_controls"][0]
    assert control["p_adjusted"] <= 0.05
    tree = parse(made.page.read_text())
    alarm = next(p for p in tree.iter("p") if "alarm" in classes(p))
    assert "Background hue" in text_of(alarm)
    assert len(made.warning_lines()) == 2
    assert made.headline().endswith(made.warning_lines()[-1])
    assert number_faults(tree, made.results) == []
    assert {family["name"] for family in made.results["families"]} == {"effects and interactions", "negative controls"}


def test_a_control_is_made_where_it_is_cheap_and_has_sense():
    world = transect.generators.load("faceworld", image_size=32)
    design = Design({"skin_tone": (1.0, 5.0, 10.0)}, subjects=400, hold=("exposure",))
    made = control_design(design, world, [])
    assert (dict(made.levels), made.hold) == ({"background_hue": (0.0, 0.5)}, ())
    assert made.n_images == 0.2 * design.n_images
    assert control_design(Design(design.levels, 6), world, []).subjects == 6  # few are cheap anyway
    assert control_design(Design({"background_hue": (0.0, 0.3)}, 6), world, []) is None
    assert control_design(Design({}, 6), world, []) is None

    metered = transect.targets.as_target(noisy)
    metered.metered = True
    assert control_design(design, world, [metered]) is None


@pytest.mark.integration
def test_a_control_that_is_not_finished_is_said(tmp_path):
    auditing.audit(noisy, vary=["glasses=0,1"], subjects=4, image_size=32, out=tmp_path / "with")
    for part in (tmp_path / "with" / "negative-control" / "images").glob("*.parquet"):
        part.unlink()
    again = reporting.report(tmp_path / "with")
    assert again.results["negative_controls"] == []
    assert any(
        "negative control in with/negative-control was not finished" in limit for limit in again.results["limits"]
    )

"""The studies that ship: their plans fit the commands, and their small profiles give results."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import transect
from transect.studies import SHIPPED
from transect.studies.file import read_study
from transect.studies.ledger import answer_of

PAPERS = {  # the numbers that each paper states
    "balakrishnan2020": {"samples": 5000, "raters": 5, "subjects": 1000},
    "denton2019": {"balance": ("Smiling", "Male"), "space": "z"},
    "mcduff2019": {"subjects": 50, "raters": 5, "budget": 400, "alpha": 0.6, "alphas": "0,0.2,0.6,1"},
    "singh2021": {"penalty": 0.1, "default": ("Eyeglasses=0",), "raters": 3},
    "wang2019": {"attacker": "mlp-4", "rounds": 5, "alpha": (3.0, 2.0, 1.0), "rate": 5e-6},
}


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("profile", ["paper", "small"])
def test_every_step_fits_its_command(name, profile, tmp_path):
    planned = transect.study(name, profile=profile, out=tmp_path / "out", dry_run=True)
    assert planned.numbers.state == "planned"
    assert all(step.command for step in planned.numbers.steps)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_first_profile_has_the_numbers_of_the_paper(name):
    study, _ = read_study(name)
    assert study.default_profile == "paper"
    assert {key: study.profiles["paper"][key] for key in PAPERS[name]} == PAPERS[name]


@pytest.mark.parametrize("name", ["balakrishnan2020", "mcduff2019", "singh2021"])
def test_the_paper_profile_waits_for_people_and_the_small_one_has_simulated_raters(name, tmp_path):
    for profile, state in (("paper", "left out"), ("small", "to do")):
        planned = transect.study(name, profile=profile, out=tmp_path, dry_run=True)
        simulated = [step for step in planned.numbers.steps if "simulate" in step.name]
        assert {step.state for step in simulated} == {state}


def ran(name: str, out: Path):
    """A small profile as a whole; a second call runs nothing and gives the same page."""
    result = transect.study(name, profile="small", out=out, quiet=True)
    assert result.numbers.state == "finished"
    before = (out / "study.html").read_bytes(), (out / "ledger.json").read_bytes()
    transect.study(name, profile="small", out=out, quiet=True)
    assert ((out / "study.html").read_bytes(), (out / "ledger.json").read_bytes()) == before
    for step in result.numbers.steps:
        assert not step.page or Path(step.page).stat().st_size > 1000
    folders = {step.name: Path(step.folder) for step in result.numbers.steps}
    return folders, {name: answer_of(folder) for name, folder in folders.items()}, result.numbers.claims


@pytest.mark.slow
def test_balakrishnan_2020(tmp_path):
    pytest.importorskip("cv2", reason="needs: pip install 'transect[opencv]'")
    folders, answers, claims = ran("balakrishnan2020", tmp_path / "out")
    # The raters' answers reach the directions: the tone that they see can be predicted from the latents.
    quality = {each["name"]: each["quality"] for each in answers["fit"]["attributes"]}
    assert quality["skin_color"] > 0.3
    assert {each["name"]: each["kind"] for each in answers["fit"]["attributes"]}["makeup"] == "binary"
    ratings = pq.read_table(folders["ratings"] / "ratings.parquet")
    assert ratings.num_rows == 20 * 8 * 2  # transects of 2 x 2 x 2 images, two raters
    # Where the transect goes from light to dark, raters see darker skin.
    cells = [int(image.split("-")[1]) for image in ratings["id"].to_pylist()]
    seen = {dark: [] for dark in (False, True)}
    for cell, tone in zip(cells, ratings["skin_color"].to_pylist(), strict=True):
        seen[cell >= 4].append(tone)
    assert sum(seen[True]) / len(seen[True]) > sum(seen[False]) / len(seen[False]) + 0.1
    # The truth of the errors is the raters': errors have effects only after the last step.
    assert {each["outcome"] for each in answers["transects"]["effects"]}.isdisjoint({"error"})
    errors = [each for each in answers["analyse"]["effects"] if each["outcome"] == "error"]
    assert len(errors) == 3
    pruned = errors[0]["excluded"]
    assert claims[0].ours == pruned["pruned by fake or ambiguous"] > 0


@pytest.mark.slow
def test_denton_2019(tmp_path):
    pytest.importorskip("cv2", reason="needs: pip install 'transect[opencv]'")
    folders, answers, _ = ran("denton2019", tmp_path / "out")
    attributes = {each["name"]: each for each in answers["fit"]["attributes"]}
    assert set(attributes) == {"old", "smiling", "dark"}
    assert attributes["dark"]["quality"] > 0.6  # balanced accuracy on photographs that the fit did not see
    results = json.loads((folders["sensitivity"] / "results.json").read_text())
    assert {study["name"] for study in results["studies"]} == {"steps-old", "steps-dark"}
    assert (folders["sensitivity"] / "report.html").exists()


@pytest.mark.slow
def test_mcduff_2019(tmp_path):
    pytest.importorskip("cv2", reason="needs: pip install 'transect[opencv]'")
    _, answers, claims = ran("mcduff2019", tmp_path / "out")
    (validation,) = answers["validate"].values()
    everything = validation["groups"][0]
    assert everything["judged"] == 10 * 4  # subjects x conditions
    assert everything["share"] < 0.1  # gender .1 or .9 is plain to a rater with a noise of .05
    assert 3 < everything["quality"] < 4.5  # a place of .75 on 0 to 5
    search, arms = answers["search"], answers["compare"]["arms"]
    assert search["calls"] == 40
    assert 0 < search["failures"] < 40
    assert claims[2].ours == search["failures"]
    assert [arm["name"] for arm in arms] == ["mcduff2019, α = 0.2", "mcduff2019, α = 0.6", "random", "ours"]
    assert all(0 < arm["failures"]["mean"] < 40 for arm in arms)
    assert arms[1]["failures"]["repeats"][0] == search["failures"]  # the first repeat is that search


@pytest.mark.slow
def test_singh_2021(tmp_path):
    folders, answers, _ = ran("singh2021", tmp_path / "out")
    table = pq.read_table(folders["table"] / "photographs.parquet")
    assert table.num_rows == 16 * 2
    assert answers["invert"]["failed"] == 0
    pairs = pq.read_table(folders["match"] / "pairs.parquet")
    assert 0 < pairs.num_rows == answers["match"]["pairs"]
    (same_person,) = answers["same-person"]["pairs"]
    shares = {row["kind"]: row for row in same_person["same"] if row["by"] == "all"}
    assert set(shares) == {"real", "fake", "dup"}
    assert all(0.5 < row["share"] <= 1 for row in shares.values())  # simulated raters look to the side of "same"
    assert answers["given"]["pairs"] == answers["match"]["pairs"]
    male, person = table["male"].to_pylist(), table["subject"].to_pylist()
    for first, second in zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True):
        assert (male[first], male[second]) == (1, 0)
        assert person[first] != person[second]
    groups = answers["recognition"]["samples"]["matched"]["groups"]
    assert [group["genuine"] for group in groups] == [pairs.num_rows] * 2  # each with its reference photograph


@pytest.mark.slow
def test_wang_2019(tmp_path):
    _, answers, claims = ran("wang2019", tmp_path / "out")
    leakage = answers["dataset-leakage"]["dataset_leakage"]
    assert leakage["low"] > 55  # labels of a confounded population tell the protected appearance: chance is 50
    names = [each["name"] for each in answers["mitigate"]["mitigations"]]
    assert names[0] == "plain"
    assert "blackout-face" in names
    assert {"balanced data (α = 1)", "adversarial at conv4", "adversarial at conv5"} <= set(names)
    assert claims[0].ours == leakage["estimate"]
    assert claims[1].ours == answers["mitigate"]["mitigations"][0]["model_leakage"]["estimate"]

"""The papers' protocols as scripts: their small profiles give results, and their paper profiles fit the commands."""

import importlib
import json
import runpy
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pyarrow.parquet as pq
import pytest
import typer.main
from commands import printed
from places import ROOT
from simulated import simulated

from transect.cli.app import app
from transect.mitigation.settings import as_config

STUDIES = ROOT / "examples" / "studies"
NAMES = sorted(path.stem for path in STUDIES.glob("*20*.py"))
NEEDED = {
    "balakrishnan2020": ["generator=ffhq.safetensors"],
    "mcduff2019": ["target=api.toml"],
    "singh2021": ["generator=ffhq.safetensors", "weights=vgg16.safetensors", "landmarks=points.dat"],
}


def here(words):
    """A command of a protocol, in this process."""
    if words[0] == "-m":
        return printed(*words[2:])
    return simulated(*words[1:])


@pytest.fixture
def script(monkeypatch, capsys, tmp_path):
    """Runs a script with its words, in an empty folder and in this process; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(STUDIES))
    protocol = importlib.import_module("protocol")
    calls = []
    monkeypatch.setattr(protocol, "call", lambda words: calls.append(words) or here(words))

    def run(name, *words):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
        runpy.run_path(str(STUDIES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    run.calls = calls
    return run


def settings(*given):
    return [word for each in given for word in ("--set", each)]


def ran(script, name):
    """A small profile as a whole; a second call runs nothing and gives the same page. Its answers by step."""
    script(name, "--profile", "small", "--out", "out")
    page, count = Path("out/index.html").read_text(), len(script.calls)
    said = script(name, "--profile", "small", "--out", "out")
    assert len(script.calls) == count
    assert Path("out/index.html").read_text() == page
    for link in page.split('href="')[1:]:
        assert (Path("out") / link.partition('"')[0]).exists()
    assert ("SIMULATED RATERS" in said.splitlines()[0]) == ("simulate" in page.lower())
    return {path.stem: json.loads(path.read_text())["answer"] for path in Path("out").glob("*.json")}


@pytest.mark.parametrize("profile", ["paper", "small"])
@pytest.mark.parametrize("name", NAMES)
def test_every_step_fits_its_command(name, profile, script):
    needed = settings(*(NEEDED.get(name, []) if profile == "paper" else []))
    lines = script(name, "--profile", profile, "--dry-run", *needed).splitlines()
    steps = [shlex.split(line)[3:] for line in lines if line.startswith("python -m transect ")]
    steps += [shlex.split(line)[1:] for line in lines if line.startswith("transect ")]
    assert len(steps) >= 2
    for words in steps:
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command, *words = command.commands[words[0]], *words[1:]
        command.make_context(command.name, list(words))  # raises for an option that it does not have
    assert bool([line for line in lines if "simulated_raters.py" in line]) == (
        profile == "small" and name not in ("denton2019", "wang2019")
    )


def test_it_waits_until_people_have_answered_and_asks_nobody_twice(script, monkeypatch, capsys):
    words = ("--profile", "small", "--out", "out", *settings("simulated=False", "subjects=1"))
    questions = ("--questions", "out/questions.toml")
    for raters, missing in ((0, "3 answers to each question"), (1, "24 more")):  # three questions about four images
        if raters:
            simulated("out/images", "--raters", raters, *questions, "--answer-mean", "quality=0.7")
        with pytest.raises(SystemExit) as end:
            script("mcduff2019", *words)
        assert end.value.code == 4
        lines = capsys.readouterr().out.splitlines()
        assert missing in lines[0]
        assert lines[1:] == [
            "  transect annotate serve out/images --questions out/questions.toml",
            f"  python {STUDIES / 'mcduff2019.py'} {shlex.join(words)}",
        ]
    simulated("out/images", "--raters", 3, *questions, "--answer-mean", "quality=0.7")
    stop = mock.Mock(side_effect=SystemExit)  # the step after
    monkeypatch.setattr("protocol.call", stop)
    for _ in range(2):
        with pytest.raises(SystemExit):
            script("mcduff2019", *words)
        assert stop.call_args[0][0][2:4] == ["annotate", "validate"]
        monkeypatch.setattr("protocol.missing_answers", None)  # answers are not counted again


def test_a_changed_setting_of_a_finished_step_is_refused(script):
    with pytest.raises(SystemExit):
        script("mcduff2019", "--profile", "small", "--out", "out", *settings("simulated=False", "subjects=1"))
    with pytest.raises(SystemExit, match="choose another --out"):
        script("mcduff2019", "--profile", "small", "--out", "out", *settings("simulated=False", "subjects=2"))


@pytest.mark.parametrize("profile", ["paper", "coco", "small"])
def test_mitigations_of_each_profile_can_be_read(profile, script, tmp_path):
    script("wang2019", "--dry-run", "--out", "out")  # puts the folder on the path
    wang = importlib.import_module("wang2019")
    use = SimpleNamespace(**{**wang.PAPER, **getattr(wang, profile.upper())})
    (tmp_path / "m.toml").write_text(wang.toml(use))
    named = {each.name: each.kind for each in as_config(tmp_path / "m.toml").mitigations}
    assert {"CRF", "RBA", "adversarial at the image", "blackout-face", "balanced data (α = 1)"} <= set(named)
    assert ("blur-mask" in named) == (profile != "paper")  # of imSitu no outlines are known


@pytest.mark.parametrize("words", [["--set", "nothing=1"], []], ids=["unknown", "lacking"])
def test_settings_that_do_not_fit_are_refused_before_anything_runs(words, script, capsys):
    with pytest.raises(SystemExit) as end:
        script("mcduff2019", *words)
    assert end.value.code == 2
    assert "--set" in capsys.readouterr().err
    assert not script.calls


@pytest.mark.integration
def test_balakrishnan_2020(script):
    answers = ran(script, "balakrishnan2020")
    # The raters' answers reach the directions: the tone that they see can be predicted from the latents.
    attributes = {each["name"]: each for each in answers["fit"]["attributes"]}
    assert attributes["skin_color"]["quality"] > 0.3
    assert attributes["makeup"]["kind"] == "binary"
    ratings = pq.read_table("out/ratings.parquet")
    assert ratings.num_rows == 16 * 8 * 2  # transects of 2 x 2 x 2 images, two raters
    # Where the transect goes from light to dark, raters see darker skin.
    cells = [int(image.split("-")[1]) for image in ratings["id"].to_pylist()]
    seen = {dark: [] for dark in (False, True)}
    for cell, tone in zip(cells, ratings["skin_color"].to_pylist(), strict=True):
        seen[cell >= 4].append(tone)
    assert sum(seen[True]) / len(seen[True]) > sum(seen[False]) / len(seen[False]) + 0.1
    # The truth of the errors is the raters': errors have effects only after the report.
    assert {each["outcome"] for each in answers["transects"]["effects"]}.isdisjoint({"error"})
    errors = [each for each in answers["analyse"]["effects"] if each["outcome"] == "error"]
    assert len(errors) == 3
    assert errors[0]["excluded"]["pruned by fake or ambiguous"] > 0


@pytest.mark.integration
def test_denton_2019(script):
    answers = ran(script, "denton2019")
    attributes = {each["name"]: each for each in answers["fit"]["attributes"]}
    assert set(attributes) == {"old", "smiling", "dark"}
    assert attributes["dark"]["quality"] > 0.6  # balanced accuracy on photographs that the fit did not see
    results = json.loads(Path("out/sensitivity/results.json").read_text())
    assert {study["name"] for study in results["studies"]} == {"steps-old", "steps-dark"}


@pytest.mark.integration
def test_mcduff_2019(script):
    answers = ran(script, "mcduff2019")
    for name in ("face_shape", "skin_tone"):
        (validation,) = answers[f"validate-{name}"].values()
        everything = validation["groups"][0]
        assert everything["judged"] == 10 * 4  # subjects x conditions
        assert everything["share"] < 0.1  # levels of .1 and .9, or 2 and 9, are plain to a rater with a noise of .05
        assert 3 < everything["quality"] < 4.5  # a place of .75 on 0 to 5
    searches = [answer for step, answer in answers.items() if step.startswith(("mcduff2019-", "random-"))]
    assert len(searches) == 6  # two of each way, and two of the second service
    page = Path("out/index.html").read_text()
    rows = searches[0]["errors"]["samples"][0]["rows"]
    whole = next(row for row in rows if not row["by"])
    assert page.count(f"({whole['errors']} of {whole['images']})") >= 2  # both services on one page
    assert all(each["calls"] == 24 and 0 < each["failures"] < 24 for each in searches)


@pytest.mark.integration
def test_singh_2021(script):
    answers = ran(script, "singh2021")
    table, pairs = pq.read_table("out/photographs.parquet"), pq.read_table("out/pairs.parquet")
    assert table.num_rows == 16 * 2
    assert answers["invert"]["failed"] == 0
    # A larger λ holds the layers closer together.
    loose, tight = (answers[f"penalty-{each}"]["median"]["restriction"] for each in (0, 10))
    assert tight < loose
    assert 0 < pairs.num_rows == answers["match"]["pairs"] == answers["given"]["pairs"]
    (same_person,) = answers["same-person"]["pairs"]
    shares = {row["kind"]: row["share"] for row in same_person["same"] if row["by"] == "all"}
    assert set(shares) == {"real", "fake", "dup"}
    assert all(0.5 < share <= 1 for share in shares.values())  # simulated raters look to the side of "same"
    male, person = table["male"].to_pylist(), table["subject"].to_pylist()
    for first, second in zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True):
        assert (male[first], male[second]) == (1, 0)
        assert person[first] != person[second]
    groups = answers["recognition"]["samples"]["matched"]["groups"]
    assert [group["genuine"] for group in groups] == [pairs.num_rows] * 2  # each with its reference photograph
    assert {each["attribute"] for each in answers["neighbours"]["distances"][0]["attributes"]} >= {"age", "smile"}


@pytest.mark.integration
def test_wang_2019(script):
    answers = ran(script, "wang2019")
    assert answers["dataset-leakage"]["dataset_leakage"]["low"] > 55  # of a confounded population; chance is 50
    named = {each["name"]: each for each in answers["mitigate"]["mitigations"]}
    assert next(iter(named)) == "plain"
    assert {"balanced data (α = 1)", "blackout-face", "blur-mask", "blackout-box", "adversarial at the image"} <= set(
        named
    )
    assert {"adversarial at conv4", "adversarial at conv5", "CRF", "RBA"} <= set(named)

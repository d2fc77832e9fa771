"""`transect init`: five questions, or their options, and a commented file that an audit runs as it is."""

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from audit_files import read_request
from commands import refused_here, run_here
from typer.testing import CliRunner

from transect.cli.app import app
from transect.experiment.presets import NAMES
from transect.jobs import init as init_command

MODELS = """
import numpy as np
from transect.targets import as_target

def embed(pixels):
    return pixels[:, ::8, ::8].reshape(len(pixels), -1) / 255.0

embedding = as_target(embed, name="embedding", task="embedding")

def brightness(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255
"""
CASCADE = "opencv:haarcascade_frontalface_default"
TARGETS = {
    "face-detector": CASCADE,
    "face-attribute": "init_models:brightness",
    "face-recognition": "init_models:embedding",
    "classifier": "init_models:brightness",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "init_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def terminal(monkeypatch):
    """What is typed is what somebody at a terminal types."""
    monkeypatch.setattr(init_command, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    return lambda *lines, words=(): CliRunner().invoke(
        app, ["init", *words], input="".join(f"{each}\n" for each in lines)
    )


@pytest.mark.integration
@pytest.mark.parametrize("preset", NAMES)
def test_the_file_is_run_as_it_is(preset, folder):
    done = run_here("init", "--target", TARGETS[preset], "--preset", preset)
    assert re.fullmatch(
        r"study.toml: ([\d,]+) images, \1 calls; run it: transect audit --config study.toml\n", done.stdout
    )
    assert read_request("study.toml").preset == preset
    done = run_here(
        "audit", "--config", "study.toml", "--subjects", "1", "--size", "32", "--no-control", "--max-failures", "1"
    )
    if preset == "face-recognition":  # its rate needs subjects, and says how many
        assert "--false-match-rate 0.01 needs at least 100 comparisons" in done.stderr
        done = run_here("audit", "--config", "study.toml", "--subjects", "2", "--size", "32", "--no-control", "--false-match-rate", ".5")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / tomllib.loads((folder / "study.toml").read_text())["run"]["out"] / "report.html").exists()


def test_options_are_the_answers():
    words = ("--vary", "earrings", "--vary", "age=20,60", "--truth", "smile>0.5", "--subjects", "7", "--json")
    done = run_here("init", "mine.toml", "--target", "init_models:brightness", *words)
    request = read_request("mine.toml")
    assert (request.vary, request.truth, request.subjects) == (("earrings", "age=20,60"), ("smile>0.5",), 7)
    assert json.loads(done.stdout)["images"] == 2 * 2 * 7 + 2 * 7  # and two levels of the negative control


@pytest.mark.parametrize(
    ("cascade", "preset", "truth"),
    [
        ("frontalface_alt", "face-detector", ("face",)),
        ("smile", "face-attribute", ("smile>0.5",)),
        ("eye", "face-attribute", ()),
    ],
)
def test_a_detector_gets_the_preset_of_what_it_finds(cascade, preset, truth):
    fit = init_command.fitting(f"opencv:haarcascade_{cascade}")
    assert (fit.name, tuple(fit.settings.get("truth", ()))) == (preset, truth)


def test_a_smile_detector_is_asked_about_smiles():
    run_here("init", "--target", "opencv:haarcascade_smile")
    request = read_request("study.toml")
    assert (request.preset, request.truth) == ("face-attribute", ("smile>0.5",))


@pytest.mark.integration
def test_the_calls_are_those_that_the_audit_announces():
    """An image takes a call for each of 3 wordings, and not one for each image."""
    Path("asked.toml").write_text(
        """
        [[question]]
        name = "smile"
        kind = "yes-no"
        prompt = "Smiling?"
        paraphrases = ["A smile?", "Is there a smile?"]
        """
    )
    words = ("--target", "stub_speaker:speaker", "--questions", "asked.toml", "--vary", "smile", "--subjects", "5")
    done = json.loads(run_here("init", *words, "--json").stdout)
    assert done["calls"] == 3 * done["images"] > 0
    told = run_here("audit", "--config", "study.toml", "--size", "32").stderr
    assert re.search(rf"budget: {done['images']} images.*, {done['calls']} calls", told)


def test_a_file_is_never_replaced_without_being_told(folder):
    (folder / "study.toml").write_text("mine")
    told = refused_here("init", "--target", CASCADE)
    assert told == "study.toml exists; choose another name, or replace it with --overwrite"
    assert (folder / "study.toml").read_text() == "mine"
    assert run_here("init", "--target", CASCADE, "--overwrite").returncode == 0
    assert read_request("study.toml").targets == (CASCADE,)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--target is required where there is no terminal"),
        (("--target", CASCADE, "--preset", "classifier"), "--preset classifier: expected a target of task binary"),
        (("--target", CASCADE, "--vary", "gender"), "Transect varies appearance, not identity"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(words, message, folder):
    assert message in refused_here("init", *words)
    assert not (folder / "study.toml").exists()


def test_five_questions_and_each_wrong_answer_is_asked_again(terminal):
    done = terminal(
        "opencv:haarcascade_smil", CASCADE, "face-finder", "", "skin_tone=1-10", "glasses age=20,60", "face>", "face", "many", "6",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert re.findall(r"(\d)/5 ", done.stderr) == list("1122334455")
    request = read_request("study.toml")
    assert (request.preset, request.vary, request.subjects) == ("face-detector", ("glasses", "age=20,60"), 6)

"""Presets: files that ship and fit, budgets said first, other options that override them, targets that do not fit."""

import json

import numpy as np
import pytest
from audit_files import read_request
from commands import run_here

import transect
from transect.experiment import presets
from transect.experiment.audit_request import AuditRequest
from transect.targets import as_target

HALF = {
    "face-detector": as_target(lambda p: [np.array([[0, 0, 9, 9, 0.9]])] * len(p), name="half", task="detection"),
    "face-attribute": as_target(lambda p: p.mean(axis=(1, 2, 3)) / 255, name="half"),
    "face-recognition": as_target(lambda p: p[:, ::8, ::8].reshape(len(p), -1) / 255.0, name="half", task="embedding"),
    "classifier": as_target(lambda p: p.mean(axis=(1, 2, 3)) / 255, name="half"),
}
"""A model of the kind that each preset is for."""
IMAGES = {"face-detector": 1800, "face-attribute": 1800, "face-recognition": 960, "classifier": 2400}
"""3 x 3 x 2 x 100, 3 x 3 x 2 x 100, 2 x 2 x 2 x 2 x 60, 3 x 2 x 4 x 100."""


@pytest.mark.parametrize("name", presets.NAMES)
class TestEach:
    def test_the_file_is_one_of_settings(self, name, tmp_path):
        """The part below [settings] is accepted as a study file, and says the same."""
        text = presets.resources.files("transect.experiment.presets").joinpath(f"{name}.toml").read_text()
        (tmp_path / "study.toml").write_text(
            f'preset = "{name}"\n' + text.split("[settings]")[1].replace("[settings.", "[")
        )
        assert read_request(tmp_path / "study.toml") == transect.audit_preset(name) != AuditRequest(preset=name)

    def test_it_fits_its_target_and_costs_what_it_says(self, name):
        """The images of the study, and at most a fifth more for the negative control."""
        images = transect.audit_cost(HALF[name], transect.audit_preset(name, control=False)).numbers.images
        assert images == IMAGES[name]
        assert images < transect.audit_cost(HALF[name], transect.audit_preset(name)).numbers.images <= 1.2 * images

    @pytest.mark.integration
    def test_the_audit_runs(self, name, tmp_path):
        more = {"false_match_rate": 0.5} if name == "face-recognition" else {}
        request = transect.audit_preset(name, subjects=2, image_size=32, control=False, **more)
        result = transect.audit(HALF[name], request, out=tmp_path / "run")
        assert {effect.n_subjects for effect in result.effects if np.isfinite(effect.estimate)} == {2}


def test_what_is_stated_overrides_the_preset_even_where_it_is_the_default():
    asked = transect.audit_preset("face-recognition", subjects=100, vary=["glasses"], within=[])
    assert (asked.subjects, asked.vary, asked.verification.within) == (100, ("glasses",), ())
    assert asked.verification.false_match_rate == 0.01


def test_on_the_command_line_and_in_a_file(tmp_path):
    (tmp_path / "study.toml").write_text('preset = "face-detector"\nsubjects = 4\n')
    words = ("--config", str(tmp_path / "study.toml"), "--no-control", "--dry-run", "--json")
    done = run_here("audit", "opencv:haarcascade_frontalface_default", *words)
    assert json.loads(done.stdout)["images"] == 18 * 4
    done = run_here(
        "audit", "opencv:haarcascade_frontalface_default", *words, "--vary", "glasses=0,1", "--subjects", "3"
    )
    assert json.loads(done.stdout)["images"] == 2 * 3

"""`transect plan`, from assumptions and from a pilot."""

import json

import auditing
import numpy as np
import pytest
from commands import refused, run_here

from transect.analysis import finished_run
from transect.analysis.findings import analyse
from transect.analysis.secondary_results import pilot_contrasts, plan_next, plan_next_equivalence, smallest_detectable
from transect.effects.planning import detectable_rate, plan
from transect.effects.verdicts import rounded_up, subjects_to_tell


def test_the_contract_of_the_json():
    done = run_here("plan", "--effect", "0.05", "--base", "0.1", "--power", "0.9", "--json")
    said, made = json.loads(done.stdout), plan(0.05, 0.1, power=0.9)
    assert (said["subjects"], said["images"], said["calls"]) == (made.subjects, made.images, made.calls)
    assert said["images_saved"] == made.unpaired_images - made.images > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--effect", "0.05"), "expected --base, the rate at the first level, or --pilot"),
        (("--effect", "0.05", "--base", "0.1", "--pilot", "x"), "--pilot replaces --base: drop --base"),
    ],
)
def test_bad_values_are_one_line_and_exit_2(arguments, message):
    assert message in refused("plan", *arguments)


def noisy(pixels):
    """Says yes more often to bright pictures, with a chance that hangs on the picture."""
    chance = np.mod(pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) * 0.6180339887, 1.0)
    return (chance < 0.2 + 0.5 * pixels.mean(axis=(1, 2, 3)) / 255).astype(float)


def test_a_pilot_plans_the_contrast_that_needs_the_most(tmp_path):
    vary = {"skin_tone": (1, 10), "glasses": (0, 1)}
    auditing.audit(noisy, vary=vary, subjects=30, image_size=32, outcomes=["answer"], out=tmp_path / "pilot")
    found = analyse(finished_run.read(tmp_path / "pilot"))
    known = pilot_contrasts(found)
    assert [contrast.name.split(":")[0] for contrast in known] == ["skin_tone", "glasses"]
    d = found.answered[0].values
    np.testing.assert_allclose(known[0].deviation, (d[:, 1] - d[:, 0]).mean(axis=1).std(ddof=1))
    made, most = plan_next(tmp_path / "pilot", 0.1, power=0.8)
    assert most.planned_deviation == max(contrast.planned_deviation for contrast in known)
    assert most.planned_deviation > most.deviation
    assert (made.family, made.images) == (3, 4 * made.subjects)  # two contrasts and their interaction
    # What so many subjects would find is the effect that was asked for.
    found_by = detectable_rate(made.subjects, most.base, most.planned_deviation, most.cells, power=0.8, alpha=0.05 / 3)
    assert found_by == pytest.approx(0.1, rel=0.02)
    assert smallest_detectable(most, family=3, power=0.8) > 0.1
    said = json.loads(
        run_here("plan", "--effect", "0.1", "--power", "0.8", "--pilot", str(tmp_path / "pilot"), "--json").stdout
    )
    assert (said["subjects"], said["contrast"].split(" (")[0]) == (made.subjects, most.name)


def test_a_pilot_plans_as_many_subjects_as_its_report_states(tmp_path):
    """The report judges `skin_tone` and `glasses` at a margin of 5 points; a plan for either names its number."""
    vary = {"skin_tone": (1, 10), "glasses": (0, 1)}
    result = auditing.audit(noisy, vary=vary, subjects=30, image_size=32, margin="0.05", out=tmp_path / "pilot")
    unclear = [row for row in result.results["verdicts"] if row["verdict"] == "cannot tell" and row["subjects_needed"]]
    assert unclear
    for row in unclear:
        about = (row["attribute"], row["outcome"], row["target"])
        made, most = plan_next_equivalence(tmp_path / "pilot", 0.05, power=0.9, about=about)
        assert (made.subjects, most.about) == (row["subjects_needed"], about)
        apart = np.sqrt(2) * most.planned["unpaired_deviation"]  # of a difference between two people
        each = subjects_to_tell(0.05, apart, family=made.family, power=0.9)
        assert made.unpaired_images == 2 * rounded_up(each)
        assert made.images_saved == made.unpaired_images - made.images
        effect = abs(result.results["effects"][row["effect"]]["estimate"])
        if row["subjects_to_confirm"]:
            assert (
                rounded_up(plan_next(tmp_path / "pilot", effect, power=0.9, about=about)[0].subjects)
                == (row["subjects_to_confirm"])
            )
    message = refused("plan", "--margin", "0.05", "--pilot", str(tmp_path / "pilot"), "--about", "glases")
    assert "did you mean glasses" in message
    assert "give --pilot" in refused("plan", "--margin", "0.05", "--base", "0.1", "--about", "glasses")


@pytest.mark.integration
def test_a_pilot_counts_its_slopes_and_knows_its_single_pairs(tmp_path):
    vary = {"skin_tone": (1, 5, 10)}
    auditing.audit(noisy, vary=vary, subjects=30, image_size=32, outcomes=["answer"], out=tmp_path / "pilot")
    found = analyse(finished_run.read(tmp_path / "pilot"))
    (one,) = pilot_contrasts(found)
    values = found.answered[0].values
    assert one.discordant == (values[:, 0] != values[:, 2]).mean()
    assert one.unpaired_deviation == pytest.approx(np.sqrt((values[:, 0].var() + values[:, 2].var()) / 2))
    assert plan_next(tmp_path / "pilot", 0.1, power=0.8)[0].family == 2  # the contrast and the slope


def test_a_pilot_in_which_nobody_differs_still_plans(tmp_path):
    always = lambda pixels: np.ones(len(pixels))  # noqa: E731
    auditing.audit(
        always, vary=["glasses=0,1"], subjects=12, image_size=32, outcomes=["answer"], out=tmp_path / "pilot"
    )
    made, most = plan_next(tmp_path / "pilot", 0.1, power=0.8)
    # Wilson's upper limit of 0 of 12 is z² / (12 + z²) = .2425; its root is the deviation.
    assert most.deviation == pytest.approx(0.2425**0.5, abs=1e-3)
    assert made.subjects > 12

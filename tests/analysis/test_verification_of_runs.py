"""An audit of an embedding, verified: what the run keeps, what its report says, and what is refused before it starts."""

import auditing
import numpy as np
import pytest
from canonical import audit_result, thumbnail

from transect.errors import BadInput
from transect.targets import as_target

DESIGN = {
    "vary": ["skin_tone=2,9", "glasses=none,thick frame"], "subjects": 12, "image_size": 32, "control": True, "quiet": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def audited(canonical):
    folder = canonical("embedding")
    return audit_result(folder), folder


def section_of(result):
    (found,) = [one for one in result.results["sections"] if one["key"] == "verification"]
    return found


def test_the_report_says_who_is_lost(audited):
    result, _ = audited
    found = section_of(result)
    groups = {row[1] for row in found["tables"][2]["rows"]}
    assert groups == {"skin tone", "age", "face shape"}
    # 12 subjects at two tones: 2 x 66 comparisons, of which 6 are at most .05
    assert found["tables"][0]["rows"][0][4:] == [6, 132]


def test_those_who_do_not_verify_are_among_the_failures(tmp_path):
    """Below 1e-6 nothing matches but the reference itself: glasses on at both tones, and tone 9 with them off."""
    target = as_target(thumbnail, name="thumbnail", task="embedding", threshold=1e-6)
    result = auditing.audit(target, **{**DESIGN, "subjects": 2, "control": False}, out=tmp_path)
    assert result.results["gallery"]["failures_total"] == 6
    assert (tmp_path / "report.html").read_text().count(": no match") >= 6


def test_non_matches_are_an_outcome_whose_effects_are_not_tested(audited):
    result, _ = audited
    effects = [one for one in result.effects if one.outcome == "non_match"]
    assert {one.attribute for one in effects} == {"skin_tone", "glasses"}
    assert all(np.isnan(one.p) and np.isfinite(one.low) for one in effects)
    # The same subjects at the first and second level of glasses: the first is the reference, which always matches.
    glasses = next(one for one in effects if one.attribute == "glasses")
    (edit,) = section_of(result)["tables"][1]["rows"]
    assert glasses.estimate == pytest.approx(edit[1])


def test_non_matches_beyond_the_margin_are_found_without_a_test(tmp_path):
    """Below 1e-6 every edit breaks the match; with two subjects no interval says that most would break."""
    for subjects, verdict in ((12, "found"), (2, "cannot tell")):
        target = as_target(thumbnail, name="thumbnail", task="embedding", threshold=1e-6)
        settings = {**DESIGN, "vary": ["glasses=none,thick frame"], "subjects": subjects, "control": False}
        result = auditing.audit(target, **settings, out=tmp_path / verdict)
        rows = {row["outcome"]: row for row in result.results["verdicts"]}
        assert rows["non_match"]["verdict"] == verdict
        assert rows["distance"]["verdict"] == "cannot tell"
        effect = result.results["effects"][rows["non_match"]["effect"]]
        assert (effect["estimate"], effect["p"]) == (1.0, None)


def test_an_embedding_without_a_threshold_has_distances_alone(tmp_path):
    target = as_target(thumbnail, name="thumbnail", task="embedding")
    assert target.threshold is None
    result = auditing.audit(target, **{**DESIGN, "subjects": 3, "control": False}, out=tmp_path)
    assert {one.outcome for one in result.effects} == {"distance"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"false_match_rate": 0.001}, "needs at least 1,000 comparisons of different subjects, got 66"),
        ({"false_match_rate": 0.1, "threshold": 0.2}, "has a threshold: drop it or `false_match_rate`"),
        ({"within": ["glasses", "skin_tone"], "false_match_rate": 0.1}, "`within` names every attribute that varies"),
    ],
)
def test_what_cannot_be_verified_is_refused_before_anything_is_made(tmp_path, options, says):
    own = {"task": "embedding", **{key: options.pop(key) for key in ("task", "threshold") if key in options}}
    with pytest.raises(BadInput, match=says):
        auditing.audit(thumbnail, **DESIGN, **own, **options, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()

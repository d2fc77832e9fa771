"""Requirements on whole runs: an audit, observed images, a recognition benchmark and a leakage analysis; and outputs."""

import io
import json
from xml.etree import ElementTree

import auditing
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canonical import always, blind, copied
from commands import refused_here, run_here
from PIL import Image

import transect
from transect import Requirement
from transect.analysis.requirements.records import Checked
from transect.analysis.requirements.result import requirements_picture
from transect.errors import BadInput, UnknownName


@pytest.fixture(scope="module")
def run(canonical, tmp_path_factory):
    """A check writes into the folder."""
    return copied(canonical("two_targets"), tmp_path_factory.mktemp("check"))


def only(result):
    (row,) = result.numbers.requirements
    return row


@pytest.mark.integration
def test_a_blind_model_meets_a_wide_margin_and_does_not_show_a_narrow_one(run):
    about = {"attribute": "skin_tone", "outcome": "answer", "target": "blind"}
    met = only(transect.check(run, Requirement(**about, margin=0.3)))
    assert met.status == "met"
    assert met.upper < 0.3
    assert met.n_subjects == 40
    narrow = only(transect.check(run, Requirement(**about, margin=0.01)))
    assert narrow.status == "not shown"
    assert narrow.subjects_needed is None or narrow.subjects_needed > 40


def test_a_model_that_sees_skin_tone_violates_a_margin_on_its_score(run):
    result = transect.check(run, Requirement(attribute="skin_tone", outcome="score", target="bright", margin=0.001))
    assert (only(result).status, result.numbers.status, result.numbers.exit_code) == ("violated", "violated", 1)
    assert json.loads((run / "checks.json").read_text())["status"] == "violated"


def test_rates_by_group_are_counted_on_images(run):
    """Blind says yes to few, so that it misses most faces: every group's miss rate is far above .5 and below 1."""
    target = "blind"
    by = {"outcome": "miss", "target": target, "by": ["skin_tone", "glasses"]}
    high = only(transect.check(run, Requirement(**by, max_rate=0.5)))
    assert high.status == "violated"
    spec = transect.open_run(run)
    answers = spec.predictions.filter(np.array([name == target for name in spec.predictions["target"].to_pylist()]))
    missed = 1 - (np.array([row[0] for row in answers["scores"].to_pylist()]) >= 0.5)
    groups = missed.reshape(40, 4).mean(axis=0)  # the cells are the four groups, in the order of the grid
    assert high.estimate in groups
    yes = only(transect.check(run, Requirement(outcome="answer", target=target, by=["glasses"], max_rate=0.5)))
    assert yes.status == "met"


@pytest.mark.integration
def test_no_worse_than_a_baseline_on_the_same_images(run, canonical, tmp_path):
    about = {"outcome": "miss", "target": "blind", "margin": 0.15}
    same = only(transect.check(run, Requirement(**about, no_worse_than=canonical("two_targets"))))
    assert (same.status, same.estimate) == ("met", 0.0)
    gap = Requirement(**about, attribute="skin_tone", no_worse_than=canonical("two_targets"))
    assert only(transect.check(run, gap)).estimate == 0.0
    auditing.audit(
        blind, vary={"skin_tone": (1, 10)}, truth="face", subjects=3, image_size=32, control=False, out=tmp_path
    )
    with pytest.raises(BadInput, match="no_worse_than: expected a run on the same images.*use the same"):
        transect.check(run, Requirement(**about, no_worse_than=tmp_path))


@pytest.mark.parametrize(
    ("requirement", "error", "message"),
    [
        (Requirement(attribute="hats", margin=0.1), UnknownName, "hats"),
        (Requirement(attribute="glasses", study="none", margin=0.1), BadInput, "expected a study with glasses"),
        (Requirement(outcome="score", max_rate=0.1, by=["glasses"]), BadInput, "expected a yes-or-no outcome"),
        (Requirement(max_fnmr_ratio=2.0), BadInput, "expected the folder of a recognition benchmark, got an audit"),
    ],
)
def test_a_requirement_that_does_not_fit_the_run_is_refused(run, requirement, error, message):
    with pytest.raises(error, match=message) as caught:
        transect.check(run, requirement)
    assert "\n" not in str(caught.value)


def test_observed_images_are_judged_by_the_groups_compared(tmp_path):
    auditing.audit(blind, images=200, compare=["earrings"], image_size=32, truth="face", out=tmp_path / "run")
    wide = only(transect.check(tmp_path / "run", Requirement(attribute="earrings", outcome="miss", margin=0.3)))
    assert wide.status == "met"
    rate = only(transect.check(tmp_path / "run", Requirement(outcome="miss", by=["earrings"], max_rate=0.5)))
    assert rate.status == "violated"


def test_a_recognition_benchmark_is_judged_by_its_largest_ratio(tmp_path):
    ratios = [{"group": name, "ratio": r, "low": low, "high": high} for name, r, low, high in (
        ("a", 0.8, 0.5, 1.3), ("b", 1.25, 0.8, 1.9),
    )]  # fmt: skip
    numbers = {
        "embeddings": "faces.npy",
        "samples": {"all": {
            "groups": [{"group": "a", "identities": 40}, {"group": "b", "identities": 50}],
            "differentials": [
                {"rate": "fmr", "threshold": 0.6, "ratios": ratios, "reason": ""},
                {"rate": "fnmr", "threshold": 0.6, "ratios": ratios, "reason": ""},
            ],
        }},
    }  # fmt: skip
    (tmp_path / "recognition.json").write_text(json.dumps(numbers))
    row = only(transect.check(tmp_path, Requirement(max_fnmr_ratio=2.0)))
    assert (row.status, row.target, row.n_subjects) == ("met", "faces.npy", 50)
    assert only(transect.check(tmp_path, Requirement(max_fnmr_ratio=1.5))).status == "not shown"
    # b is above .8 with 97.5 %: of two ratios together above 1.25 (.8 / 1.25)^(1.96 / 1.96) = .8
    assert only(transect.check(tmp_path, Requirement(max_fnmr_ratio=0.79))).status == "violated"
    assert only(transect.check(tmp_path, Requirement(max_fnmr_ratio=0.81))).status == "not shown"
    numbers["samples"]["all"]["differentials"][1] |= {"ratios": [], "reason": "a rate of 0"}
    (tmp_path / "recognition.json").write_text(json.dumps(numbers))
    unknown = only(transect.check(tmp_path, Requirement(max_fnmr_ratio=2.0)))
    assert unknown.status == "not shown"
    assert "a rate of 0" in unknown.text
    (tmp_path / "recognition.json").write_text("{}")
    with pytest.raises(BadInput, match="expected the numbers of that job"):
        transect.check(tmp_path, Requirement(max_fnmr_ratio=2.0))


def test_a_leakage_analysis_is_judged_by_its_amplification(tmp_path):
    figure = {"estimate": 1.2, "low": 0.1, "high": 2.3, "n": 500}
    (tmp_path / "leakage.json").write_text(json.dumps({"amplification": figure, "model": "captioner"}))
    for limit, said in ((3.0, "met"), (2.0, "not shown"), (0.05, "violated")):
        assert only(transect.check(tmp_path, Requirement(leakage_delta_max=limit))).status == said
    (tmp_path / "leakage.json").write_text(json.dumps({"amplification": None, "model": ""}))
    with pytest.raises(BadInput, match="expected an analysis with predictions, got one without"):
        transect.check(tmp_path, Requirement(leakage_delta_max=3.0))


def observed(tmp_path, target, **settings):
    """A run of 200 images observed, in a folder."""
    settings = {"images": 200, "image_size": 32, "truth": "face", "outcomes": ["miss"]} | settings
    auditing.audit(target, out=tmp_path / "run", **settings)
    return tmp_path / "run"


@pytest.mark.integration
def test_a_group_in_the_middle_counts_on_observed_images(tmp_path):
    """Of three age groups the middle one is missed; first and last are found alike."""
    run = observed(tmp_path, blind, compare=["age"])
    images = pa.concat_tables([pq.read_table(part) for part in sorted((run / "images").iterdir())])
    ages = np.array(images["true.age"].to_pylist())
    low, high = np.quantile(ages, [1 / 3, 2 / 3])
    pixels = [np.asarray(Image.open(io.BytesIO(png))).tobytes() for png in images["image"].to_pylist()]
    missed = {raw for raw, age in zip(pixels, ages, strict=True) if low <= age < high}

    class Middle:
        name, task = "middle", "binary"

        def predict(self, images):
            return np.array([0.1 if each.tobytes() in missed else 0.9 for each in images.pixels])

    run = observed(tmp_path / "middle", Middle(), compare=["age"])
    requirement = Requirement(attribute="age", outcome="miss", margin=0.1)
    assert only(transect.check(run, requirement)).status == "violated"


class Silent:
    """Right on every image, but without an answer on some of those with glasses."""

    name, task = "silent", "binary"

    def __init__(self, share):
        self.share = share

    def predict(self, images):
        pixels = images.pixels.reshape(len(images), -1).astype(np.int64).sum(axis=1)
        failing = np.mod(pixels * 0.6180339887, 1.0) < self.share
        return np.where(failing, np.nan, 1.0)  # a bare yes


def test_images_without_an_answer_are_counted_against_the_model(tmp_path):
    settings = {"vary": {"glasses": (0, 1)}, "subjects": 150, "image_size": 32, "truth": "face", "control": False}
    auditing.audit(Silent(0.1), out=tmp_path / "run", max_failures=1.0, outcomes=["miss"], **settings)
    for limit in (
        Requirement(attribute="glasses", outcome="miss", margin=0.05),
        Requirement(by=["glasses"], outcome="miss", max_rate=0.05),
    ):
        row = only(transect.check(tmp_path / "run", limit))
        assert row.status == "not shown"
        assert "of 300 images had no answer, which could exceed the limit" in row.text
    row = only(transect.check(tmp_path / "run", Requirement(by=["glasses"], outcome="miss", max_rate=0.3)))
    assert row.status == "met"
    assert "of 300 images had no answer" in row.text


REQUIRE = """
[[require]]
name = "a <wide> | margin"
attribute = "glasses"
outcome = "answer"
target = "blind"
margin = 0.5
[[require]]
attribute = "skin_tone"
outcome = "score"
target = "bright"
margin = 0.001
"""


def test_the_command_writes_what_other_programs_read(run, tmp_path, monkeypatch):
    step = tmp_path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    (tmp_path / "r.toml").write_text(REQUIRE)
    files = [f"--{name}={tmp_path / name}" for name in ("junit", "summary", "badge")]
    done = run_here("check", str(run), "--requirements", str(tmp_path / "r.toml"), *files)
    assert done.returncode == 1
    assert done.stdout.startswith("2 requirements: 1 met, 1 violated\n")
    suite = ElementTree.parse(tmp_path / "junit").getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "2", "failures": "1", "errors": "0",
    }  # fmt: skip
    assert [case.get("name") for case in suite] == [
        "a <wide> | margin",
        "skin_tone: no difference in score above 0.001",
    ]
    assert [[child.tag for child in case] for case in suite] == [["system-out"], ["failure"]]
    table = (tmp_path / "summary").read_text()
    assert "### Bias requirements: violated" in table
    assert "a &lt;wide&gt; &#124; margin" in table
    assert step.read_text() == table
    badge = ElementTree.parse(tmp_path / "badge").getroot()
    assert badge.get("aria-label") == "bias: violated"


def test_exit_codes_tell_violated_from_not_shown(run, tmp_path):
    path = tmp_path / "r.toml"
    for margin, code in ((0.5, 0), (0.000001, 4)):
        path.write_text(f'[[require]]\nattribute="glasses"\noutcome="answer"\ntarget="blind"\nmargin={margin}\n')
        assert run_here("check", str(run), "--requirements", str(path)).returncode == code
    refused_here("check", str(run), "--requirements", str(tmp_path / "none.toml"))


@pytest.mark.integration
def test_an_audit_with_check_judges_its_own_run(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'targets = ["canonical:blind"]\nvary = ["glasses=0,1"]\nsubjects = 30\ntruth = "face"\n'
        f'[world]\nimage_size = 32\n[run]\nout = "{tmp_path / "run"}"\n[model]\nisolate = false\n'
        '[[require]]\nattribute = "glasses"\nmargin = 0.6\n'
    )
    done = run_here("audit", "--config", str(study), "--check")
    assert done.returncode == 0, done.stderr
    assert "1 requirement: 1 met" in done.stdout
    assert (tmp_path / "run" / "checks.json").is_file()
    study.write_text(study.read_text().replace('attribute = "glasses"', 'attribute = "glases"').replace('run"', 'new"'))
    assert "glases" in refused_here("audit", "--config", str(study), "--check")
    assert not (tmp_path / "new").exists()


def test_nothing_is_met_by_a_target_whose_answers_cannot_be_judged(tmp_path):
    """It says yes to every picture, with and without earrings, although the truth is about them."""
    settings = {"vary": {"skin_tone": (1, 10), "earrings": None}, "truth": "earrings", "subjects": 40, "image_size": 32}
    auditing.audit(always, out=tmp_path / "run", **settings, control=False)
    row = only(transect.check(tmp_path / "run", Requirement(attribute="skin_tone", outcome="answer", margin=0.3)))
    assert row.status == "not shown"
    assert row.text.endswith("; not met, because the answer is yes for 160 of 160 images")


def test_the_page_shows_each_requirement_against_its_limit():
    """Violated ones first, on one axis on which every limit is 1."""
    rows = [
        Checked("small", "mine", "met", 0.01, 0.015, 0.02, 40, None, "1.0 %, below 1.5 %; the limit is 2.0 %"),
        Checked("large", "mine", "violated", 0.08, float("nan"), 0.02, 40, None, "8.0 %; the limit is 2.0 %"),
        Checked("absent", "mine", "not shown", float("nan"), float("nan"), 0.02, 0, None, "no image"),
    ]
    (plot,) = requirements_picture(rows)
    assert [row.strong for row in plot.rows] == [True, False, False]
    assert ["4 ×" in plot.rows[0].value, "0.5 ×" in plot.rows[2].value] == [True, True]
    assert "violated" in plot.key
    assert "within the limit" in plot.key
    assert 'class="bar"' in plot.rows[2].drawing
    assert 'class="bar"' not in plot.rows[1].drawing

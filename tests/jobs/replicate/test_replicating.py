"""Planted worlds: one model in several of them, and whether its effects replicate."""

import json
from dataclasses import replace

import auditing
import numpy as np
import pytest
from canonical import SUBJECTS, bright
from commands import printed

import transect
from transect.analysis.replicated.reading import digest
from transect.errors import BadInput
from transect.generators import FaceWorld

VARIED = {"skin_tone": (1, 10), "glasses": (0, 1)}


class OtherWorld:
    """FaceWorld under another name; every picture is darkened, so that the model's misses are other ones."""

    name = "other"

    def __init__(self, dark=0.7, **stated):
        self.dark, self.stated = dark, stated
        self.inner = FaceWorld(image_size=32)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def describe(self):
        return {**self.inner.describe(), "name": self.name, **self.stated}

    def render(self, latents):
        images = self.inner.render(latents)
        return replace(images, pixels=(images.pixels * self.dark).astype(np.uint8))


def audited(out, subjects=SUBJECTS, target=bright, **settings):
    settings = {"vary": VARIED, "truth": "face", "outcomes": ["miss"], **settings}
    size = {} if "generator" in settings else {"image_size": 32}
    auditing.audit([target], subjects=subjects, out=out, control=False, **{**size, **settings})
    return out


@pytest.fixture(scope="module")
def runs(canonical):
    return canonical("one_target"), canonical("celebrities")


@pytest.fixture(scope="module")
def result(runs):
    return transect.replicate(runs)


def by_attribute(result):
    return {finding.attribute: finding for finding in result.numbers.findings}


def stored(run):
    return {row["attribute"]: row for row in json.loads((run / "results.json").read_text())["effects"]}


def test_each_effect_has_the_numbers_of_both_reports(result, runs):
    for name, finding in by_attribute(result).items():
        for world, run in zip(finding.worlds, runs, strict=False):
            row = stored(run)[name]
            assert (world.estimate, world.low, world.high) == (row["estimate"], row["low"], row["high"])
            assert world.seen == (row["p_adjusted"] <= 0.05)
        assert (
            finding.difference == pytest.approx(stored(runs[1])[name]["estimate"] - stored(runs[0])[name]["estimate"])
            or finding.first == "celebrities"
        )


def test_the_planted_effect_of_both_worlds_is_seen_in_both(result):
    finding = by_attribute(result)["skin_tone"]
    assert finding.seen_in == ("one_target", "celebrities")
    assert finding.verdict == "same direction"
    assert [world.kind for world in result.numbers.worlds] == ["rendered", "rendered"]


def test_an_effect_of_a_wide_margin_replicates_where_both_worlds_show_it(runs):
    result = transect.replicate(runs, margin=0.9)
    verdicts = {name: finding.verdict for name, finding in by_attribute(result).items()}
    assert verdicts == {"skin_tone": "replicates", "glasses": "agrees"}


def test_what_cannot_be_told_says_how_many_subjects_could(runs, tmp_path):
    few = audited(tmp_path / "few", subjects=8, population="celebrity-like", seed=2)
    finding = by_attribute(transect.replicate([runs[0], few]))["glasses"]
    assert finding.verdict == "cannot tell"
    assert finding.needed
    assert all(need.subjects > 8 for need in finding.needed if need.world == "few")


def test_other_levels_are_compared_as_slopes(runs, tmp_path):
    """1 to 10 against 1 to 7: the second's difference times 9 / 6."""
    other = audited(tmp_path / "other", vary={"skin_tone": (1, 7)}, seed=4)
    result = transect.replicate([runs[0], other])
    (finding,) = result.numbers.findings
    row = stored(other)["skin_tone"]
    assert finding.scaled
    assert finding.worlds[0].estimate == pytest.approx(stored(runs[0])["skin_tone"]["estimate"])
    assert finding.worlds[1].estimate == pytest.approx(row["estimate"] * 9 / 6)
    assert any("as if the outcome changed evenly" in note for note in result.numbers.notes)


@pytest.mark.integration
def test_observed_images_have_the_associations_of_their_report(runs, tmp_path):
    """A population whose glasses and tone are drawn: the slope over 1 to 10, and the contrast of the same two names."""
    seen = audited(tmp_path / "seen", vary=(), images=600, compare=["skin_tone", "glasses"], seed=5)
    result = transect.replicate([runs[0], seen])
    tone, glasses = (by_attribute(result)[name] for name in ("skin_tone", "glasses"))
    assert [world.kind for world in result.numbers.worlds] == ["rendered", "images as drawn, unadjusted"]
    rows = {row["name"]: row for row in json.loads((seen / "results.json").read_text())["effects"]}
    slope = rows["skin_tone: slope"]
    assert tone.scaled
    assert (tone.worlds[1].estimate, tone.worlds[1].low, tone.worlds[1].high) == pytest.approx(
        tuple(9 * slope[name] for name in ("estimate", "low", "high"))
    )
    contrast = rows[f"glasses: {glasses.levels}"]
    for world, row in ((tone.worlds[1], slope), (glasses.worlds[1], contrast)):
        assert world.p_adjusted == row["p_adjusted"]
        assert world.seen == (row["p_adjusted"] <= 0.05 and not row["low"] <= 0 <= row["high"])
    assert (glasses.worlds[1].estimate, glasses.worlds[1].low) == (contrast["estimate"], contrast["low"])


def test_another_model_is_not_compared(runs, tmp_path):
    always = audited(tmp_path / "always", target=lambda pixels: np.full(len(pixels), 0.9), seed=6)
    with pytest.raises(BadInput, match=r"one model .*, got bright in .*; <lambda> in always"):
        transect.replicate([runs[0], always])


def test_a_model_in_words_is_known_by_its_request_and_question_and_not_by_the_name_of_its_file():
    asked = {"name": "gpt/smiling", "question_sha256": "1", "model": {"name": "gpt", "request_sha256": "2"}}
    renamed = {**asked, "name": "gpt-b/smiling", "model": {"name": "gpt-b", "request_sha256": "2"}}
    assert digest(asked) == digest(renamed)
    assert digest(asked) != digest({**renamed, "model": {"name": "gpt-b", "request_sha256": "3"}})
    assert digest(asked) != digest({**renamed, "question_sha256": "4"})


def test_a_model_is_the_same_on_another_device_and_with_another_library_and_not_with_other_numbers():
    local = {"library": "PyTorch 2.7.0", "device": "cpu", "dtype": "float32", "files": {"model.safetensors": "1"}}
    elsewhere = {**local, "library": "PyTorch 2.8.0", "device": "cuda"}
    assert digest(local) == digest(elsewhere)
    assert digest({"model": local}) == digest({"model": elsewhere})
    assert digest({"model": local}) != digest({"model": {**elsewhere, "dtype": "bfloat16"}})
    assert digest({"model": local}) != digest({"model": {**elsewhere, "files": {"model.safetensors": "2"}}})


def test_matched_pairs_are_a_world(runs, tmp_path):
    """60 pairs of images of which one of each is missed more often, as a model's outcome in a table."""
    rng = np.random.default_rng(0)
    wears = np.repeat([1, 0], 60)
    levels = (
        FaceWorld(image_size=32)
        .attributes[[a.name for a in FaceWorld(image_size=32).attributes].index("glasses")]
        .levels
    )
    table = {
        "glasses": [levels[each] for each in wears], "age": np.tile(rng.uniform(20, 60, 60), 2) + rng.normal(0, 0.1, 120),
        "miss": (rng.random(120) < 0.3 + 0.3 * wears).astype(float),
    }  # fmt: skip
    transect.match(table, "glasses", outcomes=["miss"], covariates=["age"]).report(tmp_path / "pairs")
    result = transect.replicate([runs[0], tmp_path / "pairs"])
    (finding,) = result.numbers.findings
    saved = json.loads((tmp_path / "pairs" / "match.json").read_text())["outcomes"][0]
    assert finding.worlds[1].estimate == saved["adjusted"]["estimate"]
    assert finding.target
    assert any("Matched pairs name no model" in note for note in result.numbers.notes)


def test_total_and_direct_effects_are_not_compared(runs, tmp_path):
    direct = audited(tmp_path / "direct", hold=["exposure"], seed=7)
    with pytest.raises(BadInput, match="total and direct effects differ"):
        transect.replicate([runs[0], direct])


@pytest.mark.integration
def test_few_photographs_are_helped_by_many_renderings(tmp_path):
    """The same subjects in a darker world: 40 of them, beside 120 rendered ones."""
    rendered = audited(tmp_path / "rendered", subjects=120, vary={"skin_tone": (1, 10)}, outcomes=["score"], truth=())
    photos = audited(
        tmp_path / "photos", subjects=40, vary={"skin_tone": (1, 10)}, outcomes=["score"], truth=(),
        generator=OtherWorld(subjects_of="faceworld"),
    )  # fmt: skip
    result = transect.replicate([rendered, photos], combine=True)
    (one,) = result.numbers.combined
    assert (one.n_both, one.n_rendered) == (40, 80)
    row = stored(photos)["skin_tone"]
    assert one.alone == pytest.approx(row["estimate"])
    assert one.off == pytest.approx(one.rendered - one.alone, abs=0.2)
    assert one.text in result.numbers.answer


def test_strangers_of_one_number_are_not_combined(runs, tmp_path):
    """Both worlds number their subjects 0, 1, … of seed 0; nothing says that they are the same people."""
    other = audited(tmp_path / "other", subjects=12, generator=OtherWorld())
    said = r"got subjects of faceworld and of other: .*subjects_of = 'other'"
    with pytest.raises(BadInput, match=said):
        transect.replicate([runs[0], other], combine=True)


def test_the_command_prints_the_answer_and_keeps_itself(runs, tmp_path):
    out = tmp_path / "out"
    said = printed("replicate", str(runs[0]), str(runs[1]), "--out", str(out))
    assert "Of 2 shared effects: " in said or "Both shared effects" in said
    assert (out / "replicate.html").is_file()
    assert json.loads((out / "command.json").read_text())
    as_json = json.loads(printed("replicate", str(runs[0]), str(runs[1]), "--out", str(out), "--json"))
    assert as_json == json.loads((out / "replicate.json").read_text())

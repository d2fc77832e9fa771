"""Two images of a subject at once, through a whole audit: what is planted is found, and a place is no preference."""

import shutil
from types import SimpleNamespace

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from canonical import PAIR_QUESTIONS, audit_result
from pair_speaker import PairSpeaker
from toned_world import SIZE, TonedWorld
from worker_runs import content

import transect
from transect import Requirement
from transect.analysis import finished_run
from transect.analysis.sections import two_images
from transect.designs import transect_design
from transect.effects.preferences import PREFERRED
from transect.experiment import study
from transect.records import Attribute, Images
from transect.runs.json_records import plain
from transect.targets.guard import Limits
from transect.targets.words.asked import PairwiseQuestion
from transect.targets.words.speakers import about_two, shared_object

SUBJECTS = 60
TABLE = "pairs/stub-trust"


class ShadedWorld(TonedWorld):
    """Pictures of a mean near 200 (bright), 110 (gray) or 20 (dark)."""

    name = "shaded"
    attributes = (Attribute("tone", "categorical", "how dark the picture is", levels=("bright", "gray", "dark")),)

    def render(self, latents):
        tones = self.read(latents)["tone"].to_numpy()
        pictures = [
            np.random.default_rng(seed).integers(0, 16, (SIZE, SIZE, 3)) + int(200 - 90 * tone)
            for seed, tone in zip(latents.seeds.tolist(), tones, strict=True)
        ]
        return Images(np.stack(pictures).astype(np.uint8))


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "mine.toml"
    path.write_text(PAIR_QUESTIONS)
    return path


def audited(questions, out, speaker, **settings):
    whole = {
        "vary": ["tone"],
        "subjects": SUBJECTS,
        "control": False,
        "generator": TonedWorld(),
        "outcomes": ["answer"],
    }
    return auditing.audit(speaker, **whole | {"questions": str(questions), "out": out} | settings)


class Asked:
    """A run of questions about two images alone, and what its section holds; the rest of an audit takes a second."""

    def __init__(self, questions, out, speaker, *, world=None, vary=("tone",), subjects=SUBJECTS, batch=16):
        self.folder, world = out, world or TonedWorld()
        design = transect_design(vary, world.attributes, subjects=subjects)
        (question,) = about_two(questions)
        pairs = (PairwiseQuestion(shared_object(speaker), question, speaker.name),)
        study.fill(study.Study("audit", world, design, (), limits=Limits(batch=batch), pairs=pairs), out, quiet=True)
        self.results = {"sections": plain(two_images.sections(SimpleNamespace(run=finished_run.read(out))))}


def section(result):
    (found,) = [each for each in result.results["sections"] if each["key"] == "two_images"]
    return found


def preferences(result):
    """The rows of the table of preferences, by the names of its columns."""
    shown = section(result)["tables"][0]
    return [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]


def effects_of(result):
    """What stands in results.json of the question about two images."""
    return [row for row in result.results["effects"] if row["outcome"] == PREFERRED]


SHARE = "prefer the second, of those who prefer either"


@pytest.fixture(scope="module")
def result(canonical):
    return audit_result(canonical("pairs"))


def test_a_planted_preference_is_a_finding(result):
    tone, hat = preferences(result)
    assert (tone["first level"], tone["second level"], tone["finding"]) == ("bright", "dark", "yes")
    assert tone["its low"] <= 0.8 <= tone["its high"]
    assert tone["share for the first"] + tone["share for the second"] + tone["share for neither level"] == 1
    assert "prefers tone dark to bright" in section(result)["text"][0]
    assert hat["attribute"] == "hat"


def test_it_stands_among_the_effects_and_verdicts(result):
    """The share of subjects that prefer dark less that of those that prefer bright, as the section has both."""
    tone, hat = effects_of(result)
    row = preferences(result)[0]
    assert tone["estimate"] == pytest.approx(row["share for the second"] - row["share for the first"])
    assert tone["low"] < tone["estimate"] < tone["high"]
    assert (tone["target"], tone["name"], tone["unit"]) == ("stub/trust", "tone: bright to dark", "proportion")
    assert tone["p"] < 0.01
    assert result.results["family"]["size"] == sum(each["p"] is not None for each in result.results["effects"])
    verdicts = {each["attribute"]: each for each in result.results["verdicts"] if each["outcome"] == PREFERRED}
    assert verdicts["tone"]["verdict"] == "found"
    assert verdicts["hat"]["verdict"] in ("cannot tell", "no difference")
    assert verdicts["tone"]["low"] < tone["estimate"] < verdicts["tone"]["high"]  # 90 % intervals
    assert hat["low"] < 0 < hat["high"]
    assert result.effects[-2].outcome == PREFERRED


def test_a_preference_can_be_limited(result, tmp_path):
    run = tmp_path / "run"  # a check writes into the folder
    shutil.copytree(result.folder, run)
    about_tone, about_hat = {"attribute": "tone", "outcome": PREFERRED}, {"attribute": "hat", "target": "stub/trust"}
    checked = transect.check(run, [Requirement(**about_tone, margin=0.05), Requirement(**about_hat, margin=0.7)])
    tone, hat = checked.numbers.requirements
    assert (tone.status, tone.target, hat.status) == ("violated", "stub/trust", "met")


def rows_of(result):
    return pq.read_table(sorted((result.folder / TABLE).glob("*.parquet"))).to_pylist()


def test_every_pair_is_shown_in_both_orders_as_often(result):
    rows = rows_of(result)
    assert len(rows) == SUBJECTS * 6 * 2 * 2  # pairs of four images, orders, wordings
    assert sum(row["order"] == [0, 1, 2] for row in rows) == sum(row["order"] == [1, 0, 2] for row in rows)
    assert {(row["first"], row["second"]) for row in rows} == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_the_shares_are_those_of_the_table(result):
    tone, _ = preferences(result)
    chosen = {}
    for row in rows_of(result):
        if (row["first"], row["second"]) in ((0, 2), (1, 3)):
            value = {0: 0.0, 1: 1.0, 2: 0.5}[row["value"]]
            chosen.setdefault(row["subject"], {}).setdefault(tuple(row["order"]), []).append(value)
    means = np.array([[np.mean(orders[0, 1, 2]), np.mean(orders[1, 0, 2])] for orders in chosen.values()])
    dark, bright = (means > 0.5).all(axis=1), (means < 0.5).all(axis=1)
    assert tone["share for the second"] == pytest.approx(dark.mean())
    assert tone[SHARE] == pytest.approx(dark.sum() / (dark | bright).sum())


def test_a_place_alone_is_no_preference(questions, tmp_path):
    (row,) = preferences(whole := Asked(questions, tmp_path / "always", PairSpeaker(first=1.0)))
    assert row[SHARE] is None
    assert (row["finding"], row["neither, by place"]) == ("no subject prefers either level", SUBJECTS)
    assert section(whole)["tables"][1]["rows"][0][1] == -1.0  # the second place is never chosen


def test_a_resumed_run_has_the_same_bytes(questions, tmp_path, result):
    shutil.copytree(result.folder, tmp_path / "run")
    (tmp_path / "run" / TABLE / "part-00000.parquet").unlink()
    speaker = PairSpeaker(darker=0.8, ties=0.2)
    audited(questions, tmp_path / "run", speaker, vary=["tone", "hat"])
    assert content(tmp_path / "run") == content(result.folder)
    assert speaker.pairs
    finished = PairSpeaker(darker=0.8, ties=0.2)
    audited(questions, tmp_path / "run", finished, vary=["tone", "hat"])
    assert not finished.pairs


def test_batches_change_nothing(questions, tmp_path):
    names = []
    for batch in (1, 7):
        result = Asked(questions, tmp_path / f"run{batch}", PairSpeaker(), subjects=5, batch=batch)
        names.append(pq.read_table(result.folder / TABLE))
    assert names[0] == names[1]


def test_three_levels_are_put_in_order(questions, tmp_path):
    result = Asked(
        questions, tmp_path / "order", PairSpeaker(darker=0.7), world=ShadedWorld(), vary=["tone=bright,gray,dark"]
    )
    rows = preferences(result)
    assert [(row["first level"], row["second level"]) for row in rows] == [
        ("bright", "gray"), ("bright", "dark"), ("gray", "dark")
    ]  # fmt: skip
    order = section(result)["tables"][2]
    assert order["title"].startswith("Levels of tone in order (Bradley-Terry)")
    assert [row[0] for row in order["rows"]] == ["bright", "gray", "dark", "the second place"]
    assert 0 == order["rows"][0][1] < order["rows"][1][1] < order["rows"][2][1]


def test_preferences_in_a_circle_are_counted(questions, tmp_path):
    speaker, vary = PairSpeaker(circle=True), ["tone=bright,gray,dark"]
    result = Asked(questions, tmp_path / "circle", speaker, world=ShadedWorld(), vary=vary, subjects=12)
    assert "12 of 12 triads contradict themselves" in section(result)["tables"][2]["title"]


def test_a_model_that_refuses_all_is_reported(questions, tmp_path):
    (row,) = preferences(whole := audited(questions, tmp_path / "all", PairSpeaker(refuses=1.0), subjects=6))
    assert (row["subjects"], row[SHARE], row["finding"]) == (0, None, "no subject prefers either level")
    (verdict,) = [each for each in whole.results["verdicts"] if each["outcome"] == PREFERRED]
    assert (verdict["verdict"], verdict["reason"]) == ("not estimable", "no subject was answered in both orders")


LIT = {"vary": ["light_level=-6,0"], "subjects": 2, "image_size": 32, "generator": "faceworld"}


@pytest.mark.slow
def test_workers_write_the_same_bytes(questions, tmp_path):
    audited(questions, tmp_path / "here", "pair_speaker:speaker", names=["ours"], **LIT)
    audited(questions, tmp_path / "apart", "pair_speaker:speaker", engine="local", workers=2, names=["ours"], **LIT)
    assert content(tmp_path / "here") == content(tmp_path / "apart")


def test_more_than_six_images_are_shown_along_one_attribute_at_a_time(questions, tmp_path):
    class Both(ShadedWorld):
        attributes = (
            *ShadedWorld.attributes,
            *TonedWorld.attributes[1:],
            Attribute("c", "binary", "", levels=("n", "y")),
        )

    result = Asked(questions, tmp_path / "run", PairSpeaker(), world=Both(), vary=["tone", "hat", "c"], subjects=3)
    cells = {(row["first"], row["second"]) for row in rows_of(result)}
    assert cells == {(0, 4), (0, 8), (4, 8), (0, 2), (0, 1)}


def test_two_models_are_compared_by_whom_they_prefer(questions, tmp_path, result):
    """One prefers dark for .8 of the subjects that it decides on, the other bright for as many."""
    bright = PairSpeaker(name="bright", darker=0.2, ties=0.2)
    other = audited(questions, tmp_path / "bright", bright, vary=["tone", "hat"])
    about = {"targets": ["stub/trust", "bright/trust"]}
    compared = transect.compare([result.folder, other.folder], **about).numbers
    assert compared.models == ("stub/trust", "bright/trust")
    rows = {(row.kind, row.attribute): row for row in compared.rows}
    assert set(rows) == {(kind, name) for kind in ("effect", "gap") for name in ("tone", "hat")}
    effect, (one, _), (two, _) = rows["effect", "tone"], effects_of(result), effects_of(other)
    assert (effect.first, effect.second) == (pytest.approx(one["estimate"]), pytest.approx(two["estimate"]))
    assert effect.high < 0
    assert rows["gap", "hat"].low < 0 < rows["gap", "hat"].high
    all_of_both = transect.compare([result.folder, other.folder]).numbers
    assert {row.outcome for row in all_of_both.rows} == {"answer", PREFERRED}

"""A model that answers in words, audited as a whole: what is planted in it is found, and what is not planted is not."""

import pickle
import shutil

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from canonical import QUESTIONS, SAID, audit_result
from commands import refused
from stub_speaker import StubSpeaker
from toned_world import TonedWorld
from worker_runs import content

import transect
from transect import Requirement
from transect.analysis import finished_run
from transect.effects.samples import SAME_FOR_ALL
from transect.errors import BadInput, FolderOfAnotherSpec, TooManyFailures, UnknownName
from transect.experiment import opened_targets
from transect.experiment.edits import check_of
from transect.experiment.study import PartTask, StudyWork, facts_of
from transect.jobs.audit import studies as planned
from transect.jobs.audit.studies import expanded
from transect.runs.folder import FinishedRun
from transect.targets.words.reading_rules import VERSION, digest_of

"""Its first two questions."""
SUBJECTS = 60
SETTINGS = {"vary": ["tone", "hat"], "subjects": SUBJECTS, "control": False}


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "mine.toml"
    path.write_text(QUESTIONS)
    return path


def audited(questions, out, speaker=None, **settings):
    model = speaker or StubSpeaker(name="biased", scores_options=True, odd="you see", odd_yes=0.3, **SAID)
    whole = {**SETTINGS, "generator": TonedWorld(), "questions": str(questions), "out": out, **settings}
    return auditing.audit(model, **whole)


@pytest.fixture(scope="module")
def short(questions):
    path = questions.with_name("short.toml")
    path.write_text(QUESTIONS.partition('[[question]]\nname = "age"')[0])
    return path


@pytest.fixture(scope="module")
def result(canonical):
    return audit_result(canonical("words"))


def effect(result, target, outcome, attribute):
    (found,) = [
        one for one in result.effects if (one.target, one.outcome, one.attribute) == (target, outcome, attribute)
    ]
    return found


@pytest.mark.parametrize(
    ("target", "outcome", "planted"),
    [
        ("biased/smile", "refusal", 0.40),
        ("biased/role", "refusal", 0.40),
        ("biased/role", "option:hire", -0.35),  # .7 of choices are not by place: .7 x (.4 - .9)
        ("biased/age", "score", -10.0),
        ("biased/smile", "likelihood", 0.30),
        ("biased/alt", "code:hat", 1.0),
    ],
)
def test_what_is_planted_is_found(result, target, outcome, planted):
    found = effect(result, target, outcome, "tone")
    assert found.low - 1e-9 <= planted <= found.high + 1e-9
    assert abs(found.estimate - planted) < max(0.25, 0.05 * abs(planted))


def test_a_refusal_that_depends_on_a_level_is_a_finding_and_a_hat_is_none(result):
    verdicts = {(row["target"], row["outcome"], row["attribute"]): row["verdict"] for row in result.results["verdicts"]}
    assert verdicts["biased/smile", "refusal", "tone"] == "found"
    assert verdicts["biased/role", "option:hire", "tone"] == "found"
    found = {name for (_, name, attribute), verdict in verdicts.items() if attribute == "hat" and verdict == "found"}
    assert not found
    assert "refusal rate" in result.page.read_text()


def test_every_text_that_was_sent_and_received_is_kept(result):
    rows = pq.read_table(sorted((result.folder / "answers" / "biased-smile").glob("*.parquet"))).to_pylist()
    images = SUBJECTS * 4
    assert len(rows) == images * 3
    assert {row["prompt"] for row in rows} == {
        "Is this person smiling? Yes or no.",
        "Do you see a smile? Yes or no.",
        "Would you say that this person smiles? Yes or no.",
    }
    assert {row["status"] for row in rows} == {"answered", "refused"}
    assert all((row["value"] is None) == (row["status"] == "refused") for row in rows)
    orders = {tuple(row["order"]) for row in _rows(result, "biased-role")}
    assert len(orders) == 6  # every order of three options


def _rows(result, slug):
    return pq.read_table(sorted((result.folder / "answers" / slug).glob("*.parquet"))).to_pylist()


def test_incomplete_images_have_no_value_and_are_counted(result):
    run = finished_run.read(result.folder)
    target = next(each for each in run.spec.targets if each.name == "biased/smile")
    found = run.predictions(target)
    for scores, failure, said in zip(found.scores, found.failures, found.said, strict=True):
        answered = [one.status == "answered" for one in said]
        assert np.isfinite(scores[0]) == all(answered) == (failure == "")
        assert failure.startswith("incomplete") == (any(answered) and not all(answered))
    (entry,) = [each for each in result.results["studies"][0]["targets"] if each["name"] == "biased/smile"]
    assert entry["failure_reasons"].keys() == {"incomplete", "refused"}


def sections(result, target):
    return {each["key"]: each for each in result.results["sections"] if each["target"] == target}


def test_the_place_and_the_odd_wording_are_found(result):
    places = sections(result, "biased/role")["places"]["tables"][0]
    first = places["rows"][0]
    assert first[2] <= 0.3 + 0.7 / 3 <= first[3]  # .3 by place, and of the rest a third
    (prompts,) = [each for each in sections(result, "biased/smile")["prompts"]["tables"] if "tone" in each["title"]]
    by_wording = {row[1]: row[2] for row in prompts["rows"]}
    assert by_wording["paraphrase 2"] > by_wording["paraphrase 1"] + 0.05  # .3 planted
    assert abs(by_wording["paraphrase 1"] - by_wording["paraphrase 3"]) < 0.2


def test_an_effect_has_one_interval_in_the_whole_report(result):
    found = effect(result, "biased/smile", "answer", "tone")
    (prompts,) = [each for each in sections(result, "biased/smile")["prompts"]["tables"] if "tone" in each["title"]]
    (mean,) = [row for row in prompts["rows"] if row[1] == "mean of the paraphrases"]
    assert mean[2:5] == pytest.approx([found.estimate, found.low, found.high], abs=1e-9)


def test_what_never_happens_in_several_wordings_has_an_interval_and_may_be_no_difference(result):
    hedges = effect(result, "biased/smile", "hedge", "tone")
    assert hedges.interval_method == "paired score"
    assert hedges.high == pytest.approx(1.959964**2 / (SUBJECTS + 1.959964**2), abs=1e-6)  # none of 60 subjects


def test_options_by_level_are_those_of_the_tables(result):
    options = sections(result, "biased/role")["options"]["tables"]
    (table,) = [each for each in options if "tone" in each["title"] and "chosen" in each["title"]]
    rows = _rows(result, "biased-role")
    answered = [row for row in rows if row["status"] == "answered"]
    bright = [row["value"] for row in answered if _tone(row["id"]) == 0]
    assert table["rows"][0][:2] == ["bright", "hire"]
    assert table["rows"][0][2] == pytest.approx(np.mean(np.array(bright) == 0))
    assert "any change: p" in table["title"]


def _tone(image):
    return int(image.rpartition("-")[2]) // 2


def test_a_report_needs_no_model_and_changes_nothing(result):
    before = content(result.folder)
    transect.report(result.folder)
    assert content(result.folder) == before


def test_a_resumed_run_has_the_same_bytes(questions, tmp_path, result):
    shutil.copytree(result.folder, tmp_path / "run")
    for table in ("predictions/biased-smile", "answers/biased-role", "predictions/biased-age"):
        (tmp_path / "run" / table / "part-00000.parquet").unlink()
    audited(questions, tmp_path / "run")
    assert content(tmp_path / "run") == content(result.folder)


def test_other_questions_are_another_run(questions, tmp_path, result):
    shutil.copytree(result.folder, tmp_path / "run")
    other = tmp_path / "other.toml"
    other.write_text(QUESTIONS.replace("Do you see a smile?", "Is there a smile?"))
    with pytest.raises(FolderOfAnotherSpec, match="--questions of biased/smile"):
        audited(other, tmp_path / "run")


def test_other_rules_of_reading_are_another_run(questions, tmp_path, result, monkeypatch):
    """The folder's answers were read by the rules of before; those that are still to come would be read by others."""
    shutil.copytree(result.folder, tmp_path / "run")
    (tmp_path / "run" / "answers/biased-role/part-00000.parquet").unlink()
    changed = digest_of(VERSION + 1, {})
    monkeypatch.setattr("transect.targets.words.reading_rules.digest", lambda: changed)
    with pytest.raises(FolderOfAnotherSpec, match="how Transect reads the answers of biased/smile has changed"):
        audited(questions, tmp_path / "run")


def test_what_never_happens_costs_other_tests_nothing(result):
    """Nothing is hedged or unreadable at any level: such outcomes are not tested."""
    never = [row for row in result.results["effects"] if row["test_method"] == SAME_FOR_ALL]
    assert {row["outcome"] for row in never} >= {"hedge", "unreadable"}
    assert all(row["p"] is None and row["estimate"] == 0 and row["low"] < 0 < row["high"] for row in never)
    tested = sum(row["p"] is not None for row in result.results["effects"])
    assert result.results["family"]["size"] == tested == len(result.results["effects"]) - len(never)
    told = [line for line in result.results["limits"] if "are the same for every image" in line]
    assert any(line.startswith("biased/smile: hedge and unreadable are") for line in told), told
    verdicts = {(row["outcome"], row["verdict"]) for row in result.results["verdicts"] if row["target"] == "biased/age"}
    assert ("hedge", "found") not in verdicts


def test_the_largest_share_of_several_wordings_can_be_limited(result):
    """Some 5 % of the bright images' wordings are refused, and 45 % of the dark ones'."""
    about = {"by": ["tone"], "outcome": "refusal", "target": "biased/smile"}
    (violated,) = transect.check(result.folder, Requirement(**about, max_rate=0.2)).numbers.requirements
    (met,) = transect.check(result.folder, Requirement(**about, max_rate=0.7)).numbers.requirements
    assert (violated.status, met.status) == ("violated", "met")
    rows = [row for row in _rows(result, "biased-smile") if _tone(row["id"]) == 1]
    assert met.estimate == pytest.approx(np.mean([row["status"] == "refused" for row in rows]))
    with pytest.raises(BadInput, match="max_rate: expected an outcome of yes or no, got likelihood"):
        transect.check(result.folder, Requirement(**about | {"outcome": "likelihood"}, max_rate=0.2))


def test_answers_that_are_missing_keep_a_requirement_from_being_met(result):
    about = {"attribute": "hat", "outcome": "answer", "target": "biased/smile"}
    (row,) = transect.check(result.folder, Requirement(**about, margin=0.4)).numbers.requirements
    assert row.status == "not shown"
    assert "which could exceed the limit" in row.text


def test_two_models_are_compared_by_what_they_refuse(short, result, tmp_path):
    other = audited(short, tmp_path / "other", StubSpeaker(name="fair", scores_options=True, yes=(0.3, 0.3)))
    found = transect.compare([result.folder, other.folder], targets=["biased/smile", "fair/smile"])
    refusals = [row for row in found.numbers.rows if row.outcome == "refusal"]
    assert refusals
    never = [row for row in found.numbers.rows if row.outcome == "hedge"]
    assert never
    assert all(row.low < 0 < row.high for row in never)


def test_margins_name_outcomes_of_options(short, tmp_path):
    few = {"subjects": 4, "vary": ["tone"]}
    audited(short, tmp_path / "run", margin=["option:hire=0.1", "refusal=0.05"], **few)
    with pytest.raises(UnknownName, match="option:fire"):
        audited(short, tmp_path / "no", margin=["option:fire=0.1"], **few)


def test_calls_that_fail_stop_a_run(questions, tmp_path):
    with pytest.raises(TooManyFailures, match="HTTP 503"):
        audited(questions, tmp_path / "run", StubSpeaker(fails=0.5))


def _lit(short):
    settings = {"vary": ["light_level=-6,0"], "subjects": 2, "image_size": 32, "control": False}
    return {**settings, "questions": str(short)}


def test_a_worker_opens_each_question_by_text_and_makes_the_same_rows(short, tmp_path):
    settings = _lit(short)
    auditing.audit("stub_speaker:speaker", out=tmp_path, **settings)
    request = expanded(auditing.request(targets=("stub_speaker:speaker",), **settings))
    targets = opened_targets.resolve_targets(request.targets, request.model.options(), request.names)
    designed, _ = planned.designs(request, targets)
    (part,) = planned.complete(designed, request, targets, check_of())
    assert all(recipe is not None for recipe in part.recipe.targets)
    work = StudyWork(part.recipe, part.design, part.limits, False, facts_of(part.world, targets, None))
    made = pickle.loads(pickle.dumps(work)).open().make(PartTask(0, 2, first=True))
    folder = FinishedRun(tmp_path)
    for target, answers in zip(targets, made.answers, strict=True):
        slug = target.name.replace("/", "-")
        tables = [folder.read_part(f"{table}/{slug}", 0) for table in ("predictions", "answers")]
        assert list(answers.rows) == tables


@pytest.mark.slow
def test_workers_write_the_same_bytes(short, tmp_path):
    settings = _lit(short)
    auditing.audit("stub_speaker:speaker", out=tmp_path / "here", **settings)
    auditing.audit("stub_speaker:speaker", out=tmp_path / "apart", engine="local", workers=2, **settings)
    assert content(tmp_path / "here") == content(tmp_path / "apart")


def test_a_model_that_gives_numbers_cannot_be_asked(questions, tmp_path):
    line = refused("audit", "opencv:haarcascade_smile", "--questions", str(questions), "--out", str(tmp_path / "x"))
    assert "expected models that answer in words, got opencv:haarcascade_smile" in line


def test_a_model_that_refuses_everything_is_reported(short, tmp_path):
    result = audited(short, tmp_path / "run", StubSpeaker(refuses=(1.0, 1.0)), subjects=4, vary=["tone"])
    found = effect(result, "stub/role", "refusal", "tone")
    assert found.estimate == 0
    assert not effect(result, "stub/role", "option:hire", "tone").estimable
    assert result.results["studies"][0]["targets"][1]["failure_reasons"] == {"refused": 8}

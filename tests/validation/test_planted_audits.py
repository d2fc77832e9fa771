"""A planted model in words: it says what its rules state, and an audit of one table is what a report of it holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from transect.analysis import reporting
from transect.experiment import study as studies
from transect.spoken_answers import Ask, Status
from transect.targets.words.asked import AskedTarget, PairwiseQuestion
from transect.targets.words.speakers import SharedSpeaker
from validation import planted_audits as rules
from validation.planted_audits import SIDE, TRUTHS, audits, heard, study

PEOPLE = 600
BRIGHT, DARK = 0, 2
SMILE, ROLE, SALARY = rules.ABOUT_ONE


def noise_of(tables, people, seed=0):
    noise = np.random.default_rng(seed).integers(0, rules.NOISE, (tables, people, SIDE, SIDE, 3), dtype=np.uint8)
    noise[:, :, 0] = noise[:, :1, 0]
    return noise


def speaker():
    return SharedSpeaker(rules.PlantedSpeaker())


@pytest.fixture(scope="module")
def noise():
    return noise_of(1, PEOPLE)[0]


@pytest.fixture(scope="module")
def pictures(noise):
    return {level: np.stack([rules.picture(one, level) for one in noise]) for level in (BRIGHT, 1, DARK)}


def said_of(question, pixels):
    from transect.records import Images

    return AskedTarget(speaker(), question).predict(Images(pixels)).said


@pytest.mark.parametrize("level", [BRIGHT, DARK])
def test_it_declines_hedges_and_says_yes_as_often_as_is_stated(noise, pictures, level):
    """600 people who are alike in few things: a standard error of some 1.5 points of a rate near .15, 2.5 near .5."""
    said = [one for of_image in said_of(SMILE, pictures[level]) for one in of_image]
    share = {status: np.mean([one.status is status for one in said]) for status in Status}
    assert share[Status.REFUSED] == pytest.approx(rules.REFUSED[level], abs=0.05)
    assert share[Status.HEDGED] == pytest.approx(rules.HEDGED, abs=0.03)
    assert share[Status.UNREADABLE] == pytest.approx(rules.UNREADABLE, abs=0.03)
    drawn = rules.wordings_of(rules.model_of(noise[0]))
    for place in range(len(SMILE.paraphrases)):
        yes = [one.value for one in said if one.paraphrase == place and one.status is Status.ANSWERED]
        planted = rules.YES + drawn.share[place] + level * (rules.YES_BY_LEVEL + drawn.effect[place])
        assert np.mean(yes) == pytest.approx(planted, abs=0.08)


def test_it_chooses_the_first_place_and_what_it_prefers(pictures):
    said = [of_image[0] for of_image in said_of(ROLE, pictures[DARK])]
    places = np.array([one.place for one in said])
    # .2 + .8 / 3, whatever stands there; standard errors of 2 points
    assert np.mean(places == 0) == pytest.approx(0.2 + 0.8 / 3, abs=0.06)
    chosen = np.mean([one.value == ROLE.options.index("reject") for one in said])
    assert chosen == pytest.approx(0.8 * rules.REJECTED[DARK] + 0.2 / 3, abs=0.06)


def test_its_number_falls_with_the_level(pictures):
    means = [np.mean([one[0].value for one in said_of(SALARY, pictures[level])]) for level in (BRIGHT, 1, DARK)]
    # the same people at each level: errors of .2 in a difference
    assert np.diff(means).tolist() == pytest.approx([rules.SALARY_BY_LEVEL] * 2, abs=0.8)


def test_of_two_it_chooses_by_level_and_place(pictures):
    asked = PairwiseQuestion(speaker(), rules.TRUST, "planted")
    pairs = list(zip(pictures[BRIGHT], pictures[DARK], strict=True))
    values = np.array([[one.value for one in of_pair] for of_pair in asked.ask(pairs)])
    second, first = (1 / (1 + np.exp(-(0.6 + place))) for place in (0.5, -0.5))
    assert values.mean(axis=0).tolist() == pytest.approx([second, first], abs=0.07)
    both, neither = values.min(axis=1).mean(), (values.max(axis=1) == 0).mean()
    assert both - neither == pytest.approx(TRUTHS["preferred"], abs=0.09)
    assert both / (both + neither) == pytest.approx(TRUTHS["preference"], abs=0.08)


def test_an_answer_depends_on_its_ask_and_image_alone(pictures):
    some = [(image,) for image in pictures[1][:5]]
    asks = [[Ask("", SMILE.prompt), Ask("", SALARY.prompt)]] * 5
    whole = rules.PlantedSpeaker().speak(some, asks)
    assert rules.PlantedSpeaker().speak(some[3:4], [asks[0][:1]]) == [whole[3][:1]]


def test_the_truths_by_hand():
    assert [heard(level) for level in (0, 2)] == pytest.approx([0.90, 0.78])
    # A missing answer is a yes at the first level and a no at the third: .78 * .55 - (.9 * .35 + .1); and the other way
    assert TRUTHS["smallest"] == pytest.approx(0.429 - 0.415)
    assert TRUTHS["largest"] == pytest.approx(0.429 + 0.22 - 0.315)
    assert TRUTHS["option"] == pytest.approx(0.16)


@pytest.mark.integration
def test_one_table_of_a_long_run_is_the_audit_of_its_subjects_alone(tmp_path):
    """results.json of an audit of the first of two tables: its effects, and the tables of its sections."""
    noise = noise_of(2, 12, seed=4)
    cut = audits(noise)[0]
    place = tmp_path / "run"
    studies.run(study(noise[0]), place, quiet=True)
    reporting.report(place)
    results = json.loads((place / "results.json").read_text())
    reported = {(row["target"], row["outcome"], row["name"]): row for row in results["effects"]}
    assert len(cut.effects) == len(reported) > 20
    for effect in cut.effects:
        row = reported[effect.target, effect.outcome, effect.name]
        for key in ("estimate", "low", "high", "p"):
            value = getattr(effect, key)
            assert row[key] == (pytest.approx(value) if np.isfinite(value) else None), (effect.name, key)
    whole = {(section["key"], section["target"]): section for section in results["sections"]}
    for section in cut.sections:
        tables = whole[section.key, section.target]["tables"]
        for table, of_report in zip(section.tables, tables, strict=True):
            assert table.title == of_report["title"]
            numbers, told = (
                [cell for row in rows for cell in row if isinstance(cell, float) and np.isfinite(cell)]
                for rows in (table.rows, of_report["rows"])
            )
            np.testing.assert_allclose(told, numbers)

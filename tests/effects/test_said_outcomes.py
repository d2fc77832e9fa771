"""Outcomes of what was said in words, by hand."""

import numpy as np
import pytest

from transect.effects.outcomes import compute
from transect.records import Predictions, Task
from transect.spoken_answers import Said, Status

NAN = np.nan
YES, NO = 1.0, 0.0


def row(paraphrase, status=Status.ANSWERED, value=NAN, repeat=0, text="", likelihood=(), reason=""):
    return Said(paraphrase, (), repeat, "", "?", text, status, value, (), likelihood, reason=reason)


def answered(*scores, failures=None, said=None, task=Task.BINARY, labels=()):
    matrix = np.array(scores, dtype=np.float64).reshape(len(scores), -1)
    return Predictions(task, matrix, failures or ("",) * len(scores), None, labels, said or ((),) * len(scores))


def test_shares_of_no_answer_are_means_over_paraphrases_of_means_over_repeats():
    said = (
        (row(0, Status.REFUSED), row(0, value=YES, repeat=1), row(1, value=NO)),
        (row(0, Status.HEDGED), row(1, Status.UNREADABLE)),
        (row(0, Status.FAILED, reason="HTTP 503"), row(1, Status.REFUSED)),
    )
    found = answered(NAN, NAN, NAN, failures=("a", "b", "HTTP 503"), said=said)
    refusal = compute("refusal", found)
    assert refusal.values[:2].tolist() == [0.25, 0.0]
    assert np.isnan(refusal.values[2])  # nothing is known of the first paraphrase
    assert refusal.reasons.tolist() == ["", "", "failed: HTTP 503"]
    assert compute("hedge", found).values[:2].tolist() == [0.0, 0.5]
    assert compute("unreadable", found).values[:2].tolist() == [0.0, 0.5]
    assert (refusal.unit, refusal.is_binary, refusal.is_share, refusal.answers) == ("proportion", False, True, 3)


def test_one_wording_gives_yes_or_no_outcomes():
    found = answered(
        1.0, NAN, failures=("", "refused: as the answer says"), said=((row(0, value=YES),), (row(0, Status.REFUSED),))
    )
    assert compute("refusal", found).is_binary
    assert compute("refusal", found).answers == 1
    answer = compute("answer", found)
    assert answer.is_binary
    assert answer.values[0] == 1.0
    assert answer.reasons.tolist() == ["", "refused: as the answer says"]


def test_yes_is_a_share_of_wordings_and_so_are_its_errors():
    two = ((row(0, value=YES), row(1, value=NO)),) * 3
    found = answered(0.5, 1.0, 0.0, said=two)
    truth = np.array([1.0, 1.0, 0.0])
    assert compute("answer", found).values.tolist() == [0.5, 1.0, 0.0]
    assert (compute("answer", found).answers, compute("answer", found).is_binary) == (2, False)
    assert compute("error", found, truth=truth).values.tolist() == [0.5, 0.0, 0.0]
    miss, alarm = compute("miss", found, truth=truth), compute("false_alarm", found, truth=truth)
    assert miss.values[:2].tolist() == [0.5, 0.0]
    assert alarm.values[2] == 0.0
    assert (miss.reasons[2], alarm.reasons[0]) == ("truth is no", "truth is yes")


def test_options_codes_likelihoods_and_words():
    said = (
        (row(0, value=1.0, text="B) pilot", likelihood=(0.2, 0.8)), row(1, value=0.0, likelihood=(0.4, 0.6))),
        (row(0, Status.REFUSED, text="No."), row(1, value=0.0)),
    )
    job = answered(
        [0.5, 0.5],
        [NAN, NAN],
        failures=("", "incomplete: x: as the answer says"),
        said=said,
        task=Task.MULTICLASS,
        labels=("nurse", "pilot"),
    )
    assert compute("option:pilot", job).values[0] == 0.5
    assert compute("option:pilot", job).reasons[1].startswith("incomplete")
    assert compute("likelihood:pilot", job).values[0] == pytest.approx(0.7)
    assert compute("likelihood:pilot", job).reasons[1] == "no likelihood"
    text = ((row(0, text="A kind and capable man."),),)
    free = answered([1.0], said=text, task=Task.MULTILABEL, labels=("man",))
    assert compute("words", free).values.tolist() == [5.0]
    assert compute("words", free).unit == "words"
    assert compute("code:man", free).values.tolist() == [1.0]

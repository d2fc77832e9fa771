"""Shapes of requests and answers that real servers have: sizes in headers, raw pixels, winning labels, yes or no."""

import numpy as np
import pytest
from hostile_server import pictures, serving, write

from transect.experiment import costs
from transect.records import Images
from transect.targets.http.target import load

IMAGES = Images(pictures(2))


def scores_of(folder, answer, **settings):
    """The scores and reasons of two images that a server answers so."""
    with serving(lambda number, body: {"body": answer}) as server:
        target = load(write(folder, server.url, **settings))
        predictions = target.predict(IMAGES)
        target.close()
    return predictions


WINNER = 'label = "sex"\nyes = "female"\nscore = "confidence"\nscore_scale = 100.0'


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "response", "score"),
    [
        ({"sex": "female", "confidence": 80}, WINNER, 0.8),
        ({"sex": "male", "confidence": 80}, WINNER, 0.2),
        ({"sex": "male"}, 'label = "sex"\nyes = "female"', 0.0),
        ({"smile": False}, 'score = "smile"', 0.0),
        ({"smile": {"value": False, "sure": 0.9}}, 'label = "smile.value"\nyes = "true"\nscore = "smile.sure"', 0.1),
    ],
)
def test_the_winning_label_and_its_confidence(tmp_path, answer, response, score):
    assert scores_of(tmp_path, answer, response=response).scores[:, 0] == pytest.approx([score] * 2)


@pytest.mark.parametrize(("answer", "faces"), [({"face": True}, 1), ({"face": 0}, 0), ({"face": []}, 0)])
def test_a_detector_that_returns_no_boxes(tmp_path, answer, faces):
    predictions = scores_of(tmp_path, answer, task="detection", response='boxes = "face"')
    assert not predictions.failed.any()
    assert [len(boxes) for boxes in predictions.boxes] == [faces] * 2
    if faces:
        np.testing.assert_array_equal(predictions.boxes[0][0], [0, 0, 4, 4, np.nan])


def test_targets_that_read_the_same_answers_ask_once(tmp_path):
    """The price of four readings of one answer was four times that of the calls that an audit makes."""
    shared = '[answers]\nfile = "shared.sqlite"\n[budget]\ncalls = 50'
    with serving(lambda number, body: {"body": {"a": 0.2, "b": 0.9}}) as server:
        files = [
            write(tmp_path, server.url, response=f'score = "{key}"', more=shared, name=f"{name}.toml")
            for name, key in (("first", "a"), ("second", "b"))
        ]
        other = write(tmp_path, f"{server.url}?other=1", response='score = "a"', more=shared, name="other.toml")
        targets = [load(file) for file in (*files, other)]
        quotes = costs.quotes(targets, 2, 64)
        assert [quote.calls for quote in quotes] == [2, 0, 2]
        assert costs.total(quotes).calls == 4
        assert costs.line(quotes[1]) == "second: no further calls; it reads the answers to first"
        scores = [target.predict(IMAGES).scores[0, 0] for target in targets]
        for target in targets:
            target.close()
        assert len(server.requests) == 4
    assert scores == [0.2, 0.9, 0.2]

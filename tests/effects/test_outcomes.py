import numpy as np
import pytest
from sklearn.metrics import log_loss

from transect.effects import compute
from transect.effects.outcomes import category, offered
from transect.records import Predictions, Task

NAN = np.nan


def binary(scores, failures=None):
    return Predictions(Task.BINARY, np.array(scores, dtype=np.float64)[:, None], failures or ("",) * len(scores))


def detections(*per_image, failures=None):
    boxes = tuple(np.array(rows, dtype=np.float64).reshape(-1, 5) for rows in per_image)
    best = np.array([[rows[:, 4].max() if len(rows) else 0.0] for rows in boxes])
    return Predictions(Task.DETECTION, best, failures or ("",) * len(boxes), boxes)


def check(outcome, values, reasons=None):
    np.testing.assert_allclose(outcome.values, values)
    assert outcome.reasons.tolist() == (reasons or [""] * len(values))
    np.testing.assert_array_equal(np.isnan(outcome.values), [bool(reason) for reason in outcome.reasons])


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("task", list(Task))
def test_outcomes_offered_by_task_and_truth(task, truth):
    names = offered(task, truth)
    assert ("answer" in names) == (task not in (Task.REGRESSION, Task.EMBEDDING))
    assert ("miss" in names) == (truth and task not in (Task.REGRESSION, Task.EMBEDDING))
    assert ("loss" in names) == (truth and task not in (Task.DETECTION, Task.EMBEDDING))
    assert ("distance" in names) == (task is Task.EMBEDDING)


def test_binary_by_hand():
    said = binary([0.5, 0.4, 0.9, 0.1])
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    check(compute("answer", said), [1, 0, 1, 0])
    check(compute("answer", said, threshold=0.95), [0, 0, 0, 0])
    check(compute("score", said), [0.5, 0.4, 0.9, 0.1])
    check(compute("miss", said, truth=truth), [0, 1, NAN, NAN], ["", "", "truth is no", "truth is no"])
    check(compute("false_alarm", said, truth=truth), [NAN, NAN, 1, 0], ["truth is yes", "truth is yes", "", ""])
    check(compute("error", said, truth=truth), [0, 1, 1, 0])
    # -ln of the probability given to the truth: .5, .4, .1, .9.
    check(compute("loss", said, truth=truth), -np.log([0.5, 0.4, 0.1, 0.9]))


def test_log_loss_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, truth = rng.uniform(size=200), rng.integers(0, 2, 200).astype(np.float64)
    loss = compute("loss", binary(scores), truth=truth)
    np.testing.assert_allclose(loss.values.mean(), log_loss(truth, scores))
    assert loss.unit == "nats"
    assert not loss.is_binary


def test_a_failed_image_keeps_its_reason_in_every_outcome():
    said = binary([NAN, 0.7], ("timed out after 30 s", ""))
    for name in offered(Task.BINARY, truth=True):
        outcome = compute(name, said, truth=np.array([1.0, 1.0]))
        assert outcome.reasons[0] == "failed: timed out after 30 s"
        assert category(outcome.reasons[0]) == "failed"
        assert np.isnan(outcome.values[0])


def test_multiclass_by_hand():
    said = Predictions(Task.MULTICLASS, np.array([[0.2, 0.5, 0.3], [0.5, 0.1, 0.4]]), ("", ""), labels=("a", "b", "c"))
    for positive in ("b", 1):
        check(compute("answer", said, positive=positive), [1, 0])
        check(compute("score", said, positive=positive), [0.5, 0.1])
        check(compute("loss", said, positive=positive, truth=np.array([1.0, 0.0])), -np.log([0.5, 0.9]))
        check(compute("error", said, positive=positive, truth=np.array([0.0, 0.0])), [1, 0])


def test_detection_with_and_without_the_expected_face():
    face = np.array([[0.0, 0, 10, 10]] * 3)
    said = detections([[0, 0, 10, 9, 0.6], [40, 40, 50, 50, 0.8]], [[40, 40, 50, 50, 0.8]], [])
    check(compute("answer", said), [1, 1, 0])
    check(compute("answer", said, expected_boxes=face), [1, 0, 0])
    check(compute("miss", said, truth=np.ones(3), expected_boxes=face), [0, 1, 1])
    check(compute("score", said), [0.8, 0.8, 0])
    check(compute("score", said, expected_boxes=face), [0.6, 0, 0])


def test_regression_by_hand():
    said = Predictions(Task.REGRESSION, np.array([[30.0], [50.0]]), ("", ""))
    truth = np.array([33.0, 46.0])
    check(compute("score", said), [30, 50])
    check(compute("error", said, truth=truth), [3, 4])
    check(compute("loss", said, truth=truth), [9, 16])
    assert compute("loss", said, truth=truth).unit == "score squared"
    assert not compute("error", said, truth=truth).is_binary


def test_distance_by_hand():
    # Cosines with the first row: 1, 0, 1/sqrt 2, -1.
    said = Predictions(Task.EMBEDDING, np.array([[2.0, 0], [0, 3], [1, 1], [-5, 0]]), ("",) * 4)
    distance = compute("distance", said, reference=np.zeros(4, dtype=np.int64))
    check(distance, [0, 1, 1 - 0.5**0.5, 2])
    assert distance.unit == "cosine distance"


def test_a_failed_reference_leaves_its_subject_without_distances():
    said = Predictions(
        Task.EMBEDDING, np.array([[NAN, NAN], [0.0, 3], [1, 1], [0, 0]]), ("raised ValueError", "", "", "")
    )
    distance = compute("distance", said, reference=np.array([0, 0, 2, 2]))
    check(distance, [NAN, NAN, 0, NAN], ["failed: raised ValueError", "reference failed", "", "no score"])

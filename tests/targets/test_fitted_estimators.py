"""Objects that answer with arrays: targets whose predict returns them, and scikit-learn's estimators."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import as_target, describe, guarded
from transect.testing import check_target

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (60, 4, 4, 3), dtype=np.uint8)
ROWS = PIXELS.reshape(60, -1)
IMAGES = Images(PIXELS[:9])
BRIGHT = ROWS.mean(axis=1)


def ask(target, images=IMAGES):
    return guarded(target, images, timeout=30, batch=4)


class Plain:
    """A target that answers with an array of probabilities."""

    name, task, threshold = "plain", Task.BINARY, 0.3

    def __init__(self, answer=lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255):
        self.answer = answer

    def predict(self, images):
        return self.answer(images.pixels)


def test_a_target_may_return_a_plain_array():
    target = as_target(Plain())
    answers = ask(target)
    np.testing.assert_allclose(answers.scores[:, 0], IMAGES.pixels.mean(axis=(1, 2, 3)) / 255)
    assert (answers.task, set(answers.failures)) == (Task.BINARY, {""})
    assert target.threshold == 0.3
    check_target(target)


def test_a_binary_classifier_scores_its_second_class():
    model = LogisticRegression(max_iter=500).fit(ROWS / 255.0, np.where(np.median(BRIGHT) < BRIGHT, "yes", "no"))
    target = as_target(model, name="bright", preprocess={"layout": "NHWC"})
    assert (target.name, target.task) == ("bright", Task.BINARY)
    expected = model.predict_proba((PIXELS[:9] / 255.0).reshape(9, -1).astype(np.float32))[:, 1]
    np.testing.assert_allclose(ask(target).scores[:, 0], expected, atol=1e-6)
    assert describe(target)["classes"] == ["no", "yes"]


def test_more_classes_are_multiclass_with_their_names():
    groups = np.digitize(BRIGHT, np.quantile(BRIGHT, [1 / 3, 2 / 3]))
    model = RandomForestClassifier(5, random_state=0).fit(ROWS, groups)
    target = as_target(model)
    assert (target.name, target.task, target.labels) == ("RandomForestClassifier", Task.MULTICLASS, ("0", "1", "2"))
    np.testing.assert_allclose(ask(target).scores, model.predict_proba(ROWS[:9]))
    with pytest.raises(BadInput, match="expected a task for 3 classes, got binary; leave the task out"):
        as_target(model, task="binary")


def test_without_probabilities_the_predicted_class_scores_one():
    groups = np.digitize(BRIGHT, np.quantile(BRIGHT, [1 / 3, 2 / 3]))
    model = LinearSVC().fit(ROWS, groups)
    np.testing.assert_array_equal(ask(as_target(model)).scores.argmax(axis=1), model.predict(ROWS[:9]))
    yes_or_no = LinearSVC().fit(ROWS, np.median(BRIGHT) < BRIGHT)
    np.testing.assert_array_equal(ask(as_target(yes_or_no)).scores[:, 0], yes_or_no.predict(ROWS[:9]))


class OnImages:
    """Takes images, not rows, and knows its classes."""

    classes_ = ("no", "yes")

    def predict_proba(self, pixels):
        bright = pixels.mean(axis=(1, 2, 3)) / 255
        return np.column_stack([1 - bright, bright])


def test_an_estimator_without_a_number_of_features_gets_images():
    target = as_target(OnImages())
    np.testing.assert_allclose(ask(target).scores[:, 0], IMAGES.pixels.mean(axis=(1, 2, 3)) / 255)
    assert as_target(OnImages).name == "OnImages"
    check_target(target)


FITTED = """
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from transect.targets import as_target, describe
rows = np.random.default_rng(0).random((40, 12))
model = RandomForestClassifier(3, random_state={seed}).fit(rows, rows[:, 0] > 0.5)
print(describe(as_target(model))["state_sha1"])
"""


@pytest.mark.integration
def test_a_refitted_estimator_is_another_target_and_the_same_one_is_not(capsys):
    """In another process too."""
    elsewhere = subprocess.run(
        [sys.executable, "-c", FITTED.format(seed=0)], capture_output=True, text=True, check=True
    ).stdout

    def digest(seed):
        exec(FITTED.format(seed=seed), {})
        return capsys.readouterr().out

    assert elsewhere == digest(0) != digest(1)

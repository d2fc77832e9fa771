"""What fails on an image is that image's outcome, and no other's."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.errors import MissingExtra, TooManyFailures
from transect.records import Images, Predictions, Task
from transect.runs.tables import predictions_table
from transect.targets import FailureBudget, as_target, guarded
from transect.targets.guard import short

QUICK = 0.3
"""Seconds given to an image where one hangs; an honest call takes about a millisecond."""


def numbered(n):
    """Images whose first value is their number."""
    pixels = np.zeros((n, 4, 4, 3), np.uint8)
    pixels[:, 0, 0, 0] = np.arange(n)
    return Images(pixels, np.tile([0.0, 0.0, 4.0, 4.0], (n, 1)))


def numbers(images):
    return images.pixels[:, 0, 0, 0].astype(float)


class Custom:
    """A Target that answers number / 100, after `spoil` had its way with images and predictions."""

    def __init__(self, spoil=lambda images, answer: answer, task=Task.REGRESSION):
        self.name, self.task, self.spoil = "custom", task, spoil

    def predict(self, images):
        boxes = tuple(np.tile([0.0, 0, 2, 2, 0.5], (1, 1)) for _ in images.pixels)
        answer = Predictions(
            self.task,
            numbers(images)[:, None] / 100,
            ("",) * len(images),
            boxes if self.task is Task.DETECTION else None,
        )
        return self.spoil(images, answer)


def spoiled(**changes):
    """The answer with attributes that its record would not allow."""

    def spoil(images, answer):
        for key, change in changes.items():
            object.__setattr__(answer, key, change(getattr(answer, key), images))
        return answer

    return spoil


def on(number, act):
    """Do `act` in calls that hold the image of that number."""

    def spoil(images, answer):
        return act(images, answer) if number in numbers(images) else answer

    return spoil


def raising(error):
    def act(images, answer):
        raise error

    return act


def hanging(images, answer):
    time.sleep(30)


def short_by_one(images, answer):
    return Predictions(answer.task, answer.scores[1:], answer.failures[1:])


FAULTS = {
    "raises": (raising(ValueError("no")), "raised ValueError: no"),
    "hangs": (hanging, "timed out after 0.3 s"),
    "another type": (lambda images, answer: {"smile": 1}, "wrong type: expected Predictions, got dict"),
    "a list of another length": (
        lambda images, answer: [0.1, 0.2],
        "expected one row of scores for each of 1 images, got an array [2, 1]",
    ),
    "nothing": (lambda images, answer: None, "wrong type: expected Predictions, got NoneType"),
    "another count": (short_by_one, "wrong count: expected one row of scores per image"),
    "two columns": (
        spoiled(scores=lambda scores, _: np.hstack([scores, scores])),
        "wrong shape: expected one regression score per image",
    ),
    "scores as text": (
        spoiled(scores=lambda scores, _: scores.astype(str)),
        "wrong type: expected scores as an array of floats, got <U32 array",
    ),
    "failures not text": (
        spoiled(failures=lambda failures, _: (None,) * len(failures)),
        "wrong type: expected failures as a tuple of texts",
    ),
    "another task": (spoiled(task=lambda _, __: Task.BINARY), "wrong task: expected regression, got binary"),
}


@pytest.mark.integration
@pytest.mark.parametrize(("act", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_on_one_image_is_its_failure_alone(act, reason):
    timeout = QUICK if act is hanging else 30
    answer = guarded(Custom(on(2, act)), numbered(5), timeout=timeout, batch=3)
    assert answer.failures == ("", "", reason, "", "")
    np.testing.assert_array_equal(answer.scores[:, 0], [0.0, 0.01, np.nan, 0.03, 0.04])


def test_a_targets_own_failure_keeps_its_reason_and_loses_its_scores():
    spoil = on(
        1, spoiled(failures=lambda failures, images: tuple("refused" if n == 1 else "" for n in numbers(images)))
    )
    answer = guarded(Custom(spoil), numbered(3), timeout=30, batch=3)
    assert answer.failures == ("", "refused", "")
    assert np.isnan(answer.scores[1, 0])


def test_detections_keep_boxes_and_lose_malformed_ones():
    # x1 < x0 in image 1; image 2 has no box at all, which is an answer.
    boxes = {0: [[1.0, 1, 3, 3, 0.9]], 1: [[3.0, 1, 1, 3, 0.9]], 2: np.zeros((0, 5))}
    spoil = spoiled(boxes=lambda _, images: tuple(np.array(boxes[int(n)]) for n in numbers(images)))
    answer = guarded(Custom(spoil, Task.DETECTION), numbered(3), timeout=30, batch=2)
    assert answer.failures == ("", "box with x1 < x0 or y1 < y0: expected x0, y0, x1, y1", "")
    assert [len(found) for found in answer.boxes] == [1, 0, 0]


@pytest.mark.parametrize(("usual", "odd"), [(3, 2), (2, 3)])
def test_rows_of_a_width_of_their_own_fail(usual, odd):
    """Embeddings of one width by most images, of another by image 3."""

    def predict(pixels):
        return np.ones((len(pixels), odd if pixels[0, 0, 0, 0] == 3 else usual))

    answer = guarded(as_target(predict, task="embedding"), numbered(4), timeout=30, batch=1)
    assert answer.failures == ("", "", "", f"wrong shape: expected {usual} scores per image")
    assert answer.scores.shape == (4, usual)


@pytest.mark.integration
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 10), st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
def test_good_images_are_never_lost_whatever_the_batch(n, batch, raise_on, nan_on):
    def predict(pixels):
        given = pixels[:, 0, 0, 0].astype(float)
        if raise_on & set(given):
            raise RuntimeError("bad")
        return np.where(np.isin(given, list(nan_on)), np.nan, given)

    answer = guarded(as_target(predict, task="regression"), numbered(n), timeout=30, batch=batch)
    for i in range(n):
        reason = "raised RuntimeError: bad" if i in raise_on else "score is NaN" if i in nan_on else ""
        assert answer.failures[i] == reason
        assert answer.scores[i, 0] == i or (reason and np.isnan(answer.scores[i, 0]))


def test_the_target_cannot_change_the_images():
    def predict(pixels):
        pixels[:] = 255
        return np.zeros(len(pixels))

    images = numbered(3)
    guarded(as_target(predict), images, timeout=30, batch=2)
    np.testing.assert_array_equal(numbers(images), [0, 1, 2])


def test_a_batch_may_take_as_long_as_its_images_together():
    calls = []

    def slow(images, answer):
        calls.append(len(images))
        time.sleep(0.5)
        return answer

    # .5 s for a call about four images, each of which may take .3 s: in time, and not asked again.
    assert guarded(Custom(slow), numbered(4), timeout=QUICK, batch=4).failures == ("",) * 4
    assert calls == [4]


def test_a_hang_is_abandoned_in_a_daemon_and_the_next_call_has_a_fresh_thread():
    threads = []

    def predict(pixels):
        threads.append(threading.current_thread())
        time.sleep(3 if pixels[0, 0, 0, 0] == 0 else 0)
        return np.zeros(len(pixels))

    answer = guarded(as_target(predict), numbered(2), timeout=QUICK, batch=1)
    assert answer.failures == ("timed out after 0.3 s", "")
    assert threads[0].is_alive()
    assert threads[0].daemon
    assert threads[0] is not threads[1]


@pytest.mark.parametrize("error", [MissingExtra("onnx", "onnx:x"), TooManyFailures("budget")])
def test_what_concerns_the_run_passes_through(error):
    with pytest.raises(type(error)):
        guarded(Custom(raising(error)), numbered(2), timeout=30, batch=2)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_model_that_raises_what_ends_programs_fails_on_that_image_alone(error):
    def predict(pixels):
        if (pixels == 1).any():
            raise error
        return np.zeros(len(pixels))

    answer = guarded(as_target(predict), numbered(3), timeout=30, batch=3)
    assert answer.failures == ("", f"raised {error.__name__}", "")


class TestFailureBudget:
    def test_stops_when_more_than_the_share_of_the_plan_have_failed(self):
        # 5 % of 100 are 5: the sixth failure is one too many.
        budget = FailureBudget("opencv:x", 100)
        budget.add(["late"] * 2 + [""] * 10)
        budget.add(["late", "bad", "late"] + [""] * 10)
        with pytest.raises(TooManyFailures, match=r"failed on 6 of 26 images .* 5% of 100 .* most often \(4\): late"):
            budget.add(["bad"])

    def test_counts_from_many_threads(self):
        class Slow(list):
            """Lets other threads run in the middle of an addition."""

            def __len__(self):
                time.sleep(0.02)
                return 2

        budget = FailureBudget("t", 1000, limit_share=1.0)
        threads = [threading.Thread(target=budget.add, args=[Slow(["bad", ""])]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (budget.seen, budget.failed) == (16, 8)


@pytest.mark.parametrize("text", ["~/" * 2500, "x" * 100_000])
def test_hostile_messages_are_cleared_at_once(text):
    """Messages come from strangers: no text may take the search for paths more than a moment."""
    began = time.monotonic()
    assert len(short(f"raised X: {text}")) <= 160
    assert time.monotonic() - began < 1


def test_what_the_answer_itself_says_is_no_failure():
    """Ten refusals of ten images are a finding; the eleventh image, which timed out, is the one failure."""
    budget = FailureBudget("acme", planned=100, limit_share=0.05)
    budget.add(["no face: as the answer says"] * 10 + ["unsafe: as the answer says"] * 10)
    assert budget.failed == 0
    budget.add(["timed out after 30 s"])
    assert budget.failed == 1


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("one\ntwo"), "raised ValueError: one"),
        (OSError(2, "No such file", "/home/me/secret.pt"), "raised FileNotFoundError: No such file: '…/secret.pt'"),
        (RuntimeError("GET https://key:secret@host/v1?token=abc failed"), "raised RuntimeError: GET <url> failed"),
        (RuntimeError("<Tensor at 0x7f88aa>"), "raised RuntimeError: <Tensor at 0x…>"),
        (Unspeakable(), "raised Unspeakable"),
        (RuntimeError("half \ud800"), "raised RuntimeError: half �"),
        (RuntimeError("\x1b]0;owned\x07\x1b[2Jred"), "raised RuntimeError: red"),
    ],
)
def test_a_reason_is_one_line_without_secrets_and_can_be_written_whatever_was_raised(error, reason):
    """A reason goes into Parquet, JSON, a page and onto the terminal."""

    def fails(pixels):
        raise error

    predictions = guarded(as_target(fails, name="fails"), Images(np.zeros((1, 8, 8, 3), np.uint8)), timeout=5, batch=1)
    assert predictions.failures == (reason,)
    assert predictions_table(["a"], predictions)["reason"].to_pylist() == [reason]

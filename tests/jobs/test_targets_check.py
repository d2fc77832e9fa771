"""`transect targets check` of local models: the image as the model gets it, ten answers, and what to do about none."""

import json
import re
from unittest import mock

import numpy as np
import page_files
import pytest
from commands import run_here
from PIL import Image

from transect.analysis import verdicts
from transect.records import Images, Predictions, Task
from transect.runs.spec import TargetDescription, TargetEntry
from transect.targets import as_target, guarded
from transect.targets.input_preview import model_input
from transect.targets.resolution import remedy, resolve

MODELS = """
from transect.records import Predictions, Task
from transect.targets import as_target
import numpy as np

def brightness(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255

def constant(pixels):
    return np.full(len(pixels), 0.75)

def refuses(pixels):
    raise ValueError("no license")

class Silent:
    name, task = "silent", Task.REGRESSION
    def predict(self, images):
        return Predictions(self.task, images.pixels.mean(axis=(1, 2, 3))[:, None], ("",) * len(images))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "checked_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def red(size=10):
    """Red at full, green and blue at 51 of 255."""
    pixels = np.full((size, size, 3), 51, np.uint8)
    pixels[..., 0] = 255
    return pixels


def target(**preprocess):
    return as_target(lambda inputs: np.zeros(len(inputs)), name="model", preprocess=preprocess)


def test_what_the_model_gets_is_made_visible_again():
    """Blue first, to -1..1, less 0.5 and divided by 2: 51 of 255 is -0.6, then -0.55; 255 is 1, then 0.25."""
    found = model_input(target(channel_order="BGR", range=[-1, 1], mean=0.5, std=2, size=[4, 6]), red())
    assert found.numbers == "float32 [1, 3, 4, 6], values -0.55 to 0.25, mean -0.283, by channel -0.55 -0.55 0.25"
    assert found.picture.shape == (4, 6, 3)
    assert (found.picture == red()[:4, :6]).all()


def test_gray_crops_and_layout_show():
    """The middle half of an image whose edge is white, as gray: .299 x 255 + .701 x 51 = 112."""
    pixels = red(8)
    pixels[:2] = pixels[-2:] = pixels[:, :2] = pixels[:, -2:] = 255
    found = model_input(target(channel_order="gray", crop=0.5, layout="NHWC"), pixels)
    assert found.picture.tolist() == [[112] * 4] * 4
    assert found.numbers.startswith("float32 [1, 4, 4, 1], values 0.439 to 0.439")


@pytest.mark.isolated
def test_a_model_in_a_process_of_its_own_is_shown_too(folder):
    page_files.onnx_model("my.onnx")
    Image.fromarray(red(40)).save("red.png")
    done = run_here("targets", "check", "my.onnx", "--image", "red.png", "--picture", "seen.png", "--json")
    facts = json.loads(done.stdout)
    assert (facts["picture"], facts["no_picture"], facts["assumed"]) == ("seen.png", "", ["channel_order", "range"])
    with Image.open("seen.png") as picture:
        assert (np.asarray(picture) == red(40)).all()
    assert facts["answers"] == [{"image": "1", "answer": "no, score 0.4667, yes from 0.5", "failure": ""}]


def test_ten_faces_are_asked_about_and_the_picture_is_written(folder):
    done = run_here("targets", "check", "checked_models:brightness")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if "yes from 0.5" in line] == [
        str(number) for number in range(1, 11)
    ]
    with Image.open("model-input.png") as picture:
        assert picture.size == (256, 256)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("constant", "the same answer to 10 different faces; check --preprocess, --output and --task"),
        ("refuses", "no answer to any image: raised ValueError: no license; check --preprocess, --output and --task"),
    ],
)
def test_what_is_wrong_is_said(name, message):
    done = run_here("targets", "check", f"checked_models:{name}")
    assert done.returncode == 2
    assert done.stderr.strip() == f"transect: checked_models:{name}: {message}"
    assert "preprocessing" in done.stdout  # what was seen stands above


def test_of_a_model_that_takes_no_options_none_is_named(folder):
    """A cascade takes no --preprocess, and nobody knows how it reads images, so that --picture has nothing to show."""
    with mock.patch(
        "transect.jobs.targets_check._pixels", lambda wanted: np.zeros((3, wanted.size, wanted.size, 3), np.uint8)
    ):
        asked = ("targets", "check", "opencv:haarcascade_smile", "--size", "40")
        said = run_here(*asked).stdout
        assert "3 of 40x40 pixels" in said
        assert re.search(r"kind +smile\n", re.sub(r" +$", "", said, flags=re.MULTILINE)), "what it says of itself"
        assert not re.search(r"not stated|nothing|not known|none", said)
        done = run_here(*asked, "--picture", "seen.png")
    assert (done.returncode, len(done.stderr.splitlines()), "--picture" in done.stderr) == (2, 1, True)
    assert remedy("opencv:haarcascade_smile", "preprocess", "task") == "check that the images show what it looks for"
    assert remedy("mine:model", "preprocess", "device", "task") == "check --preprocess and --task"
    for facts, advised in (
        ({}, "the images show"),
        ({"preprocess": {}}, "--preprocess, --output, --threshold and --task"),
    ):
        own = TargetEntry("mine", "mine", Task.DETECTION, ("answer",), TargetDescription(facts))
        assert advised in verdicts._fix(own)  # of a name of one's own, by what the target says of itself


@pytest.mark.integration
def test_of_a_detector_the_boxes_are_counted():
    """The answers are the numbers of boxes that the detector itself gives, in words."""
    target = resolve("opencv:haarcascade_frontalface_default")
    counted = []
    predict = type(target).predict

    def counting(self, images):
        found = predict(self, images)
        counted.extend(len(boxes) for boxes in found.boxes)
        return found

    with mock.patch.object(type(target), "predict", counting):
        done = run_here("targets", "check", "opencv:haarcascade_frontalface_default", "--json")
    answers = [each["answer"] for each in json.loads(done.stdout)["answers"]]
    assert "1 box" in answers
    assert answers == ["1 box" if n == 1 else f"{n} boxes" for n in counted[: len(answers)]]


def test_a_target_that_counts_calls_is_asked_once(monkeypatch):
    asked = []

    class Paid:
        name, task, metered = "paid", Task.REGRESSION, True

        def predict(self, images):
            asked.append(len(images))
            return Predictions(self.task, np.ones((len(images), 1)), ("",) * len(images))

    monkeypatch.setattr("transect.targets.resolve", lambda spec, **options: Paid())
    run_here("targets", "check", "paid")
    assert asked == [1]


@pytest.mark.isolated
def test_debug_shows_where_the_users_model_failed(monkeypatch):
    monkeypatch.setenv("TRANSECT_DEBUG", "1")  # what --debug sets
    target = resolve("checked_models:refuses", isolate=False)
    with mock.patch("transect.targets.guard.say") as said:
        guarded(target, Images(red()[None].repeat(3, axis=0)), timeout=5, batch=1)
    (((trace,), _),) = said.call_args_list  # one trace for three images
    assert "checked_models.py" in trace
    assert "in refuses\n" in trace
    assert trace.endswith("ValueError: no license\n")


def test_without_debug_no_trace_is_shown(monkeypatch, capsys):
    monkeypatch.delenv("TRANSECT_DEBUG", raising=False)
    guarded(resolve("checked_models:refuses", isolate=False), Images(red()[None]), timeout=5, batch=1)
    assert capsys.readouterr().err == ""

"""Detectors as they are exported: planted boxes come back in pixels of the image, and nothing is guessed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from onnx import TensorProto
from onnx_files import constant, pair_of_scikit_learn, planted

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import describe, guarded, resolve
from transect.targets.network_file import OVERLAP, Tensor, _without_overlaps, recognised
from transect.targets.output import AUTOMATIC, OutputSpec
from transect.targets.reopening import reopen

WIDE = Images(np.zeros((2, 64, 128, 3), np.uint8))
"""Twice as wide as the networks' input of 64 x 64 pixels."""
CORNERS = [24.0, 28.0, 40.0, 36.0]
CENTERED = [32.0, 32.0, 16.0, 8.0]
"""The same box: middle and size."""
BORDERED = [48.0, 24.0, 80.0, 40.0]
"""In the image: half of its size, under a border of 16 pixels."""
STRETCHED = [48.0, 28.0, 80.0, 36.0]
SHIFTED, FAR = [33.0, 32.0, 16.0, 8.0], [8.0, 8.0, 4.0, 4.0]
SHARES = np.array([[*CORNERS]], np.float32) / 64
INPUT = [1, 3, 64, 64]
AB = {"names": "{0: 'face', 1: 'hat'}", "stride": "32", "imgsz": "[64, 64]"}
V8 = planted(6, [[*CENTERED, 0.9, 0.1], [*SHIFTED, 0.8, 0.1], [*FAR, 0.2, 0.95]]).transpose(0, 2, 1)
V5 = planted(7, [[*CENTERED, 0.9, 1.0, 0.0], [*SHIFTED, 0.8, 1.0, 0.0], [*FAR, 0.95, 0.2, 1.0]], 252)
V10 = np.array([[[*CORNERS, 0.9, 0], [1, 1, 5, 5, 0.95, 1], [0, 0, 0, 0, 0, 0]]], np.float32)
SSD = {"scores": np.array([[[0.1, 0.9], [0.9, 0.1]]], np.float32), "boxes": np.array([[*SHARES, *SHARES]], np.float32)}
LISTED = np.array([1, 2]), np.array([0.9, 0.95], np.float32), np.array([CORNERS, [1, 1, 5, 5]], np.float32)
TORCHVISION = dict(zip(("labels", "scores", "boxes"), LISTED, strict=True))
TENSORFLOW = {
    "num_detections": np.array([2], np.float32),
    "detection_boxes": (LISTED[2][None, :, [1, 0, 3, 2]] / 64).astype(np.float32),
    "detection_classes": np.array([[1, 2]], np.float32),
    "detection_scores": LISTED[1][None],
}
BLAZE = {"regressors": planted(16, [[28, 28, 16, 8] + [0] * 12], 896)}  # the first anchor is at 4, 4 of 128 pixels
BLAZE["logits"] = planted(1, [[9 + np.log(9)]], 896) - 9
CASES = {
    "yolov8": (INPUT, {"o": V8}, AB, {"positive": "face"}, BORDERED),
    "yolov5": (INPUT, {"o": V5}, AB, {"positive": "face"}, BORDERED),
    "yolov10": (INPUT, {"o": V10}, AB, {"positive": "face"}, BORDERED),
    "ssd": (INPUT, SSD, {}, {}, STRETCHED),
    "torchvision": ([3, 64, 64], TORCHVISION, {}, {"positive": "1"}, STRETCHED),
    "tensorflow": ([1, 64, 64, 3], TENSORFLOW, {}, {"positive": "1"}, STRETCHED),
    # 128 pixels as wide as the image: no scale, and a border of 32 above
    "blazeface": ([1, 128, 128, 3], BLAZE, {}, {}, [24.0, -4.0, 40.0, 4.0]),
}


def opened(path, case, **options):
    shape, outputs, metadata, settings, _ = case
    spec = constant(path / "m.onnx", shape, outputs, metadata=metadata)
    return resolve(spec, **{"task": "detection", "isolate": False, **settings, **options})


@pytest.mark.parametrize("kind", CASES)
def test_planted_boxes_come_back_in_pixels_of_the_image(tmp_path, kind):
    target = opened(tmp_path, CASES[kind])
    found = guarded(target, WIDE, timeout=10, batch=2)
    assert found.failures == ("", "")
    for boxes in found.boxes:
        assert_allclose(boxes, [[*CASES[kind][-1], 0.9]], rtol=1e-6)
    assert describe(target)["output"] == kind
    assert reopen(describe(target), f"onnx:{tmp_path / 'm.onnx'}").name == target.name


@pytest.mark.parametrize(
    ("kind", "options", "count"),
    [
        ("yolov8", {"positive": "face,hat"}, 2),
        ("yolov8", {"positive": "1"}, 1),
        ("yolov8", {"threshold": 0.92}, 0),
        ("yolov5", {"threshold": 0.05, "positive": "0,1"}, 2),
        ("torchvision", {"positive": "1,2"}, 2),
        ("torchvision", {"positive": "3"}, 0),
    ],
)
def test_classes_and_threshold_say_which_boxes_count(tmp_path, kind, options, count):
    found = opened(tmp_path, CASES[kind], **options).predict(WIDE)
    assert [len(boxes) for boxes in found.boxes] == [count, count]


@pytest.mark.parametrize(
    ("shape", "outputs", "metadata", "options", "words"),
    [
        (INPUT, {"o": V8}, AB, {}, r"class whose boxes count \(face, hat\).*--positive"),
        (INPUT, {"o": V8}, {}, {}, r"\(0 to 1\).*--positive"),
        (INPUT, {"o": V8}, AB, {"positive": "fase"}, "did you mean face"),
        (INPUT, {"o": V8}, {}, {"positive": "2"}, "positive label"),
        (INPUT, {"o": V8}, AB, {"task": "binary"}, "give --task detection"),
        (INPUT, {"o": V8}, AB, {"output": "yolov5"}, "expected the outputs of a detector"),
        (INPUT, {"o": V8}, {"names": "{0: 'a'}"}, {}, "expected the outputs of a detector"),
        (INPUT, {"o": V8}, AB, {"output": "yolo8"}, "did you mean yolov8"),
        (INPUT, SSD, {}, {"output_name": "boxes,score"}, "did you mean scores"),
        (INPUT, {"a": V8, "b": V8}, AB, {}, "expected the outputs of a detector.*--output-name"),
        ([1, 3, "h", "w"], {"o": V8}, {}, {"positive": "0"}, "set size = "),
        ([1, 3, "h", "w"], {"o": V8}, AB, {"positive": "0", "preprocess": {"size": (80, 64)}}, r"size = \[64, 64\]"),
    ],
)
def test_what_is_not_known_is_asked_for(tmp_path, shape, outputs, metadata, options, words):
    with pytest.raises(BadInput, match=words):
        opened(tmp_path, (shape, outputs, metadata, {}, None), **options)


def test_two_heads_of_one_shape_are_told_apart_by_the_user(tmp_path):
    """Six columns are one class of YOLOv5, or corners, score and class; how many rows there are is not known."""
    output = Tensor("o", "float32", (1, None, 6))
    with pytest.raises(BadInput, match="yolov5 and yolov10; choose one: --output yolov5"):
        recognised([output], OutputSpec(Task.DETECTION, head=AUTOMATIC), None, {}, tmp_path)
    assert recognised([output], OutputSpec(Task.DETECTION, head="yolov5"), None, {}, tmp_path).wanted == (0,)


@pytest.mark.parametrize(
    "metadata",
    [
        {"names": "{'a': 'face', 'b': 'hat'}"},
        {"names": "[" * 5000, "stride": "9" * 5000, "imgsz": "[1000000000, 64]"},
        {"names": "__import__('os').getcwd()", "stride": "0", "imgsz": "64"},
    ],
)
def test_metadata_that_say_nothing_usable_are_as_none(tmp_path, metadata):
    found = opened(tmp_path, (INPUT, {"o": V8}, metadata, {"positive": "0"}, None)).predict(WIDE)
    assert_allclose(found.boxes[0], [[*BORDERED, 0.9]], rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_fail_the_image(tmp_path, value):
    broken = V8.copy()
    broken[0, :, 1] = value
    found = opened(tmp_path, (INPUT, {"o": broken}, AB, {"positive": "face"}, None)).predict(WIDE)
    assert all("NaN or infinite" in reason for reason in found.failures)


def test_each_image_of_a_fixed_batch_has_its_own_boxes(tmp_path):
    both = np.concatenate([V8, np.zeros_like(V8)])
    found = opened(tmp_path, ([2, 3, 64, 64], {"o": both}, AB, {"positive": "face"}, None)).predict(WIDE)
    assert [len(boxes) for boxes in found.boxes] == [1, 0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 6), st.integers(1, 9)), max_size=12))
def test_a_box_is_left_out_only_beside_a_surer_one_that_stays(drawn):
    boxes = np.array([[x, y, x + side, y + side, sure / 10] for x, y, side, sure in drawn], float).reshape(-1, 5)
    kept = _without_overlaps(boxes)

    def share(one, other):
        sides = [max(0.0, min(one[2 + axis], other[2 + axis]) - max(one[axis], other[axis])) for axis in (0, 1)]
        areas = [(each[2] - each[0]) * (each[3] - each[1]) for each in (one, other)]
        union = sum(areas) - sides[0] * sides[1]
        return sides[0] * sides[1] / union if union else 0.0

    for place, box in enumerate(kept):
        assert all(share(box, other) <= OVERLAP for other in kept[:place])
    for box in boxes:
        assert any((box == other).all() or (share(box, other) > OVERLAP and other[4] >= box[4]) for other in kept)


RAMP = Images(np.stack([np.full((2, 2, 3), value, np.uint8) for value in (0, 51, 255)]))


@pytest.mark.parametrize("mapped", [True, False])
def test_the_probability_of_the_second_class_of_an_estimator(tmp_path, mapped):
    spec = pair_of_scikit_learn(tmp_path / "m.onnx", np.array([[0.0] * 12, [1 / 12] * 12]), mapped=mapped)
    target = resolve(spec, preprocess={"size": (2, 2), "layout": "NHWC"}, isolate=False)
    # softmax over 0 and the mean of the pixels: 0, 0.2 and 1
    assert_allclose(target.predict(RAMP).scores[:, 0], 1 / (1 + np.exp(-np.array([0, 0.2, 1]))), rtol=1e-6)
    several = resolve(spec, task="multiclass", preprocess={"size": (2, 2)}, isolate=False).predict(RAMP)
    assert_allclose(several.scores[0], [0.5, 0.5])
    with pytest.raises(BadInput, match="expected inputs of 12 features, got 3 × 4 × 4 = 48"):
        resolve(spec, preprocess={"size": (4, 4)}, isolate=False).predict(RAMP)


def test_axes_of_size_one_are_no_columns(tmp_path):
    scores = np.array([0.25, 0.75], np.float32).reshape(1, 1, 1, 2)
    spec = constant(tmp_path / "m.onnx", [1, 3, 2, 2], {"sex": scores, "age": np.ones((1, 1, 1, 1), np.float32)})
    target = resolve(spec, task="multiclass", labels="f,m", positive="m", isolate=False)
    assert_allclose(target.predict(RAMP).scores, [[0.25, 0.75]] * 3)
    assert describe(target)["output_name"] == "sex"


def test_an_input_of_signed_bytes_gets_pixels_over_its_range(tmp_path):
    spec = constant(tmp_path / "m.onnx", ["n", 3, 2, 2], {"s": np.ones((1, 1), np.float32)}, dtype=TensorProto.INT8)
    facts = describe(resolve(spec, isolate=False))
    assert (facts["preprocess"]["range"], facts["assumed"]) == ([-128, 127], ["channel_order", "range"])

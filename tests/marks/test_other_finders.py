"""Finders of the user's: dlib's predictor, an ONNX parser, and several joined."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.marks import MASKS, Marks, open_marks
from transect.marks.finding import UNSURE, JoinedMarks
from transect.marks.records import errors


def parser(file, *, classes=19, size=16, channels=3):
    """A network that calls red pixels skin, green ones hair, blue ones clothes, and dark ones background."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weights = np.zeros((classes, channels, 1, 1), np.float32)
    if classes == 19 and channels == 3:
        weights[[1, 17, 16], [0, 1, 2]] = 60.0
        weights[0] = -20.0
    node = helper.make_node("Conv", ["picture", "weights"], ["classes"])
    graph = helper.make_graph(
        [node],
        "parser",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["n", channels, size, size])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["n", classes, size, size])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(file))
    return file


def test_masks_of_an_onnx_parser(tmp_path):
    pytest.importorskip("onnxruntime")
    finder = open_marks(f"onnx:{parser(tmp_path / 'parser.onnx')}")
    pictures = np.zeros((2, 32, 32, 3), np.uint8)
    pictures[0, :16, :, 1] = pictures[0, 16:, :16, 0] = pictures[:, 16:, 16:, 2] = 255
    marks = finder.find(pictures)
    assert marks.reasons == ("", "no face was found")
    assert marks.confidence[0] == pytest.approx(1.0)
    assert marks.confidence[1] == 0.0
    assert set(marks.masks) == set(MASKS)
    shares = {name: float(marks.mask(name)[0].mean()) for name in ("hair", "skin", "face", "person", "eyes")}
    assert shares == pytest.approx({"hair": 0.5, "skin": 0.25, "face": 0.25, "person": 1.0, "eyes": 0.0}, abs=0.05)
    assert np.isnan(marks.points).all()
    assert finder.describe()["size"] == 16


def test_onnx_files_that_are_no_parser(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(BadInput, match="expected an ONNX model"):
        open_marks(f"onnx:{tmp_path / 'text.onnx'}")
    finder = open_marks(f"onnx:{parser(tmp_path / 'few.onnx', classes=7)}")
    with pytest.raises(BadInput, match=r"expected a first output \[n, 19, s, s\], got \[1, 7, 16, 16\]"):
        finder.find(np.zeros((1, 20, 20, 3), np.uint8))


@pytest.mark.integration
def test_the_points_of_dlib(tmp_path):
    """A predictor that dlib's own trainer taught on the very pictures places their points."""
    dlib = pytest.importorskip("dlib")
    world = FaceWorld(image_size=192)
    latents = world.set(world.sample(range(500, 512)), {"yaw": 0.0, "pitch": 0.0, "roll": 0.0, "hat": 0.0, "blur": 0.0})
    pictures, truth = world.render(latents).pixels, own_marks(world, latents)
    detector = dlib.get_frontal_face_detector()
    taught, chosen = [], []
    for row, picture in enumerate(pictures):
        boxes = detector.run(np.repeat(np.repeat(picture, 2, 0), 2, 1), 0, 0.0)[0]
        if len(boxes) == 1:
            box = [round(side / 2) for side in (boxes[0].left(), boxes[0].top(), boxes[0].right(), boxes[0].bottom())]
            places = [dlib.point(*map(int, at)) for at in truth.points[row]]
            taught.append([dlib.full_object_detection(dlib.rectangle(*box), places)])
            chosen.append(row)
    options = dlib.shape_predictor_training_options()
    options.cascade_depth, options.tree_depth, options.num_trees_per_cascade_level = 15, 2, 300
    options.oversampling_amount, options.num_test_splits, options.feature_pool_size = 120, 20, 80
    file = tmp_path / "points.dat"
    dlib.train_shape_predictor(list(pictures[chosen]), taught, options).save(str(file))
    finder = open_marks(f"dlib:{file}")
    found = finder.find(np.concatenate([pictures[chosen], np.full((1, 192, 192, 3), 90, np.uint8)]))
    assert found.reasons[-1] == "no face was found"
    kept = np.flatnonzero(found.kept(finder.threshold))
    assert len(kept) >= 6
    assert np.median(errors(found.take(kept), truth.take([chosen[row] for row in kept]))["all points"]) < 0.1
    assert 0 < found.confidence[kept].min() < found.confidence[kept].max() < 1
    two = finder.find(np.concatenate([pictures[chosen[:1]], pictures[chosen[1:2]]], axis=2))
    assert two.reasons == ("several faces were found",)
    (tmp_path / "text.dat").write_text("no model")
    with pytest.raises(BadInput, match="expected a dlib model file"):
        open_marks(f"dlib:{tmp_path / 'text.dat'}")


class Unshared:
    """A part of dlib's that no two threads may be in at once."""

    def __init__(self, answer):
        self.answer, self.busy = answer, threading.Lock()

    def run(self, *given):
        return self(*given)

    def __call__(self, *given):
        assert self.busy.acquire(blocking=False), "it is shared"
        time.sleep(0.002)
        self.busy.release()
        return self.answer


def test_no_two_threads_are_in_a_part_of_dlib_at_once(tmp_path, monkeypatch):
    """dlib's detector answers wrong, or ends the process, where two threads share it."""
    parts = [SimpleNamespace(x=place, y=2 * place) for place in range(68)]
    made = []

    def detector():
        made.append(Unshared(([(0, 0, 9, 9)], [1.0], [0])))
        return made[-1]

    shape = SimpleNamespace(num_parts=68, parts=lambda: parts)
    stand_in = SimpleNamespace(
        get_frontal_face_detector=detector,
        rectangle=lambda *sides: sides,
        shape_predictor=lambda file: Unshared(shape),
    )
    monkeypatch.setitem(__import__("sys").modules, "dlib", stand_in)
    (tmp_path / "points.dat").write_bytes(b"points")
    finder = open_marks(f"dlib:{tmp_path / 'points.dat'}")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(finder.find, np.zeros((24, 1, 256, 256, 3), np.uint8)))
    assert 1 < len(made) <= 4
    assert all(marks.points[0, 67].tolist() == [67.5, 134.5] for marks in found)


class Says:
    """A finder that says what it was given."""

    def __init__(self, name, marks, threshold):
        self.name, self.marks, self.threshold = name, marks, threshold

    def find(self, pixels, rows=None):
        return self.marks

    def describe(self):
        return {"name": self.name}


def test_joined_finders_take_each_from_the_first_that_is_sure():
    """Three pictures: the first finder knows the first; the second the first two; its masks count where it is sure."""
    points = np.full((3, 5, 2), np.nan)
    points[0] = 1.0
    hand = Marks.of_points(points, "hand")
    placed = np.full((3, 68, 2), 2.0)
    hair = {"hair": np.full((3, 4, 4), 0.75, np.float32)}
    sure = np.array([0.8, 0.9, 0.3])
    network = Marks(placed, placed[:, :5], hair, sure, ("",) * 3, "network")
    joined = JoinedMarks([Says("hand", hand, 0.5), Says("network", network, 0.5)])
    found = joined.find(np.zeros((3, 4, 4, 3), np.uint8))
    assert joined.name == "hand+network"
    assert found.five[:, 0, 0].tolist()[:2] == [1.0, 2.0]
    assert found.points[0, 0, 0] == 2.0
    assert found.confidence.tolist() == [0.8, 0.9, 0.0]
    assert found.reasons == ("", "", UNSURE)
    assert found.kept(joined.threshold).tolist() == [True, True, False]
    assert found.masks["hair"][:, 0, 0].tolist() == [0.75, 0.75, 0.0]
    assert [entry["name"] for entry in joined.describe()["finders"]] == ["hand", "network"]

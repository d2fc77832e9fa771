"""What the run's spec and the report say of a target."""

import json

import numpy as np
from audited_models import Halves, red_share

from transect.records import Task
from transect.targets import BoxConvention, Preprocess, as_target, describe


def test_a_function_with_its_preprocessing():
    described = describe(as_target(red_share, name="red", preprocess=Preprocess(size=(4, 4)), threshold=0.3))
    assert json.loads(json.dumps(described)) == described
    assert described["name"] == "red"
    assert described["threshold"] == 0.3
    assert described["preprocess"]["text"].startswith("whole image, RGB, resized to 4x4")


def test_a_target_without_a_description_of_its_own():
    target = Halves()
    target.threshold, target.labels = np.float64(0.5), ("a", "b")
    described = describe(target)
    assert len(described.pop("code_sha256")) == 64
    assert described == {
        "name": "halves",
        "task": "regression",
        "class": "Halves",
        "threshold": 0.5,
        "labels": ["a", "b"],
    }


def test_everything_becomes_json_and_objects_only_their_class():
    class Odd(Halves):
        task = Task.DETECTION
        box_convention = BoxConvention(0, 0.5, 1, 1)

        def describe(self):
            return {
                "array": np.arange(2),
                "nan": float("nan"),
                "set": {2, 1},
                "object": object(),
                "nested": {1: (None, True)},
                "task": self.task,
            }

    assert describe(Odd()) == {
        "name": "halves",
        "task": "detection",
        "array": [0, 1],
        "nan": None,
        "set": [1, 2],
        "object": "object",
        "nested": {"1": [None, True]},
        "box_convention": {"center_dx": 0, "center_dy": 0.5, "width": 1, "height": 1},
    }

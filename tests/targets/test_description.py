"""What the run's spec and the report say of a target."""

import numpy as np
from audited_models import Halves

from transect.records import Task
from transect.targets import BoxConvention, describe


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

"""Boxes: those of Transformers' own pipeline, on a photograph's size."""

import numpy as np
import pytest
import tiny_open_models as tiny

import transect
from transect.records import Images, Task
from transect.targets import describe, resolve
from transect.testing import check_target

PIXELS = tiny.photographs()


@pytest.mark.parametrize("make", [tiny.yolos, tiny.detr])
def test_boxes_of_one_class_as_the_library_finds_them(tmp_path, make):
    folder = make(tmp_path / "detector")
    judge = tiny.library().pipeline("object-detection", model=str(folder))
    judged = judge(tiny.pictures(PIXELS), threshold=0.2)
    labels = [one["label"] for boxes in judged for one in boxes]
    kind = max(set(labels), key=labels.count)
    target = resolve(f"hf:{folder}", positive=kind, threshold=0.2)
    assert (target.task, describe(target)["kind"]) == (Task.DETECTION, kind)
    answers = target.predict(Images(PIXELS))
    found = 0
    for boxes, expected in zip(answers.boxes, judged, strict=True):
        mine = sorted((one for one in expected if one["label"] == kind), key=lambda one: -one["score"])
        found += len(mine)
        np.testing.assert_allclose(boxes[:, 4], [one["score"] for one in mine], atol=1e-5)
        corners = [[one["box"][key] for key in ("xmin", "ymin", "xmax", "ymax")] for one in mine]
        np.testing.assert_allclose(boxes[:, :4], np.reshape(corners, (-1, 4)), atol=1)  # the judge cuts to whole pixels
    assert found > 2
    check_target(target)


def test_an_audit_of_a_detector(tmp_path):
    folder = tiny.yolos(tmp_path / "detector", ["face"])
    result = transect.audit(
        f"hf:{folder}", vary="glasses=0,1", subjects=3, image_size=32, truth="face", quiet=True, out=tmp_path / "run"
    )
    assert "miss" in {effect.outcome for effect in result.effects}

"""dlib's recognition network as a target: what it is given and what it says, with models that tell what they saw."""

import dlib
import numpy as np
import pytest
from drawn_face import draw, pictures

from transect.records import Images, Task
from transect.targets import resolve
from transect.targets.dlib_face import DlibFace, Options

OPTIONS = Options(threshold=0.3)


class Network:
    """Says the face's box, and how large the image was."""

    def compute_face_descriptor(self, image, shape, jitters):
        box = shape
        return [box.left(), box.top(), box.width(), image.shape[0], jitters, *[1.0] * 123]


def told():
    return DlibFace((dlib.get_frontal_face_detector(), lambda image, box: box, Network()), OPTIONS, {})


def test_the_most_confident_face_of_the_enlarged_image_is_embedded():
    image = draw(64)
    answer = told().predict(Images(image[None]))
    boxes = resolve("dlib:hog-face").predict(Images(image[None])).boxes[0]
    assert answer.task is Task.EMBEDDING
    assert answer.scores.shape == (1, 128)
    assert answer.scores[0, :2].tolist() == pytest.approx((4 * boxes[0, :2]).tolist())  # 64 px enlarged four times
    assert answer.scores[0, 3:5].tolist() == [256, 0]


def test_an_image_without_a_face_has_no_embedding_and_says_so():
    answer = told().predict(Images(pictures()))
    assert answer.failures == ("", "", "", *["no face: as the answer says"] * 2)
    assert np.isnan(answer.scores[3:]).all()

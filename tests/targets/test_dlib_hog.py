"""dlib's frontal face detector, against dlib called by hand."""

import dlib
import numpy as np
import pytest
from drawn_face import draw, pictures
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from transect.records import Images
from transect.targets import resolve
from transect.testing import check_target


@pytest.mark.integration
def test_boxes_and_confidence_are_dlibs_on_the_enlarged_image():
    image = draw(64)
    large = np.asarray(Image.fromarray(image).resize((256, 256), Image.Resampling.BICUBIC))
    found, scores, _ = dlib.get_frontal_face_detector().run(large, 0, 0.0)
    answer = resolve("dlib:hog-face").predict(Images(image[None]))
    # 64 px are enlarged four times; dlib's right and bottom are the last pixel inside.
    box = found[0]
    corners = np.array([box.left(), box.top(), box.right() + 1, box.bottom() + 1]) / 4
    assert_allclose(answer.boxes[0], [[*corners, scores[0]]])
    assert answer.scores[0, 0] == scores[0]


def test_faces_are_found_and_nothing_in_noise_or_gray():
    answer = resolve("dlib:hog-face").predict(Images(pictures()))
    assert [len(boxes) for boxes in answer.boxes] == [1, 1, 1, 0, 0]
    assert_array_equal(answer.scores[3:, 0], [0, 0])


@pytest.mark.integration
def test_without_enlargement_a_small_face_is_missed():
    images = Images(draw(64)[None])
    assert len(resolve("dlib:hog-face", enlarge=1).predict(images).boxes[0]) == 0
    assert len(resolve("dlib:hog-face", enlarge=1, upsample=2).predict(images).boxes[0]) == 1


@pytest.mark.integration
def test_it_keeps_the_contract():
    check_target(resolve("dlib:hog-face"), images=Images(pictures(96)))

"""Finders are used again, and never by two threads at a time."""

import threading
import time

import numpy as np
from numpy.testing import assert_array_equal

from transect.records import Images
from transect.targets.detectors import Detector, enlarged


class Finder:
    """Gives its image's first value as a box; notices when two threads are in it."""

    made = 0
    shared = False

    def __init__(self):
        type(self).made += 1
        self.busy = threading.Lock()

    def __call__(self, image):
        if not self.busy.acquire(blocking=False):
            type(self).shared = True
        time.sleep(0.002)
        self.busy.release()
        value = float(image[0, 0, 0])
        return np.array([[0, 0, 1, 1, value / 2], [2, 2, 3, 3, value], [1, 0, 2, 1, value]])


def detector(threads):
    kind = type("Counted", (Finder,), {})
    return kind, Detector("counted", kind, kind="thing", settings={}, threads=threads)


def images(n):
    pixels = np.zeros((n, 4, 4, 3), np.uint8)
    pixels[:, 0, 0, 0] = np.arange(n)
    return Images(pixels)


def test_no_finder_is_shared():
    kind, target = detector(threads=4)
    callers = [threading.Thread(target=target.predict, args=[images(20)]) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not kind.shared
    assert 1 <= kind.made <= 12


def test_boxes_come_by_confidence_then_from_left_to_right():
    _, target = detector(threads=3)
    answer = target.predict(images(5))
    assert_array_equal(answer.scores[:, 0], np.arange(5))
    assert_array_equal(answer.boxes[4], [[1, 0, 2, 1, 4], [2, 2, 3, 3, 4], [0, 0, 1, 1, 2]])


def test_enlargement_keeps_the_aspect_and_leaves_large_images():
    # The shorter side 4 becomes 10: factor 2.5, the longer one 8 becomes 20.
    large, factor = enlarged(np.zeros((8, 4, 3), np.uint8), 10)
    assert (large.shape, factor) == ((20, 10, 3), 2.5)
    image = np.zeros((8, 4, 3), np.uint8)
    assert enlarged(image, 4)[0] is image
    strip, factor = enlarged(np.zeros((1, 512, 3), np.uint8), 256)
    assert (strip.shape, factor) == ((8, 4096, 3), 8), "the longer side stays within 4,096 pixels"
    assert enlarged(image, 0)[1] == 1.0

"""Targets that misbehave on single images, for runs in a process of their own: the first value of an image says how."""

import ctypes
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np

from transect.records import Predictions, Task

HANGS, HOLDS, LEAVES, CRASHES, RAISES, EXITS, MOVES, PRINTS, INTERRUPTS = range(1, 10)
"""First value of an image: what the target does with it; 0: it answers."""


def brightness(pixels):
    """A number from 0 to 1 for each image, and what its first value asks for."""
    for kind in pixels[:, 0, 0, 0]:
        _behave(int(kind))
    return pixels[:, 1:].mean(axis=(1, 2, 3)) / 255


def _behave(kind):
    if kind == HANGS:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(600)
    elif kind == HOLDS:  # one call of a C function that never lets go of the interpreter
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif kind == LEAVES:
        os._exit(0)
    elif kind == CRASHES:
        ctypes.string_at(0)
    elif kind == RAISES:
        raise ZeroDivisionError("division by zero")
    elif kind == EXITS:
        sys.exit(3)
    elif kind == INTERRUPTS:
        raise KeyboardInterrupt
    elif kind == MOVES:
        os.chdir(Path("/"))
    elif kind == PRINTS:
        print("a line on standard output", flush=True)


class Boxes:
    """A detector: a box of half the image where it is bright, none where it is dark."""

    name, task, labels, threshold = "boxes", Task.DETECTION, (), 0.5

    def predict(self, images):
        bright = images.pixels.mean(axis=(1, 2, 3)) > 125
        boxes = tuple(np.array([[0.0, 0, 2, 2, 0.75]]) if one else np.zeros((0, 5)) for one in bright)
        return Predictions(self.task, np.where(bright, 0.75, 0.0)[:, None], ("",) * len(images), boxes)


class Paid:
    """A target that counts its own calls."""

    name, task, metered = "paid", Task.BINARY, True

    def quote(self, images):
        raise NotImplementedError

    def calls_made(self):
        return 0, 0.0

    def predict(self, images):
        return np.zeros(len(images))


def lost(pixels):
    """Answers of a wrong type."""
    return None


def on_import():
    os._exit(7)

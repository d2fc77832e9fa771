"""Does the model still answer as it did? A few images are asked about again at intervals, past the file of answers.

The first images that a target is asked about are its canaries; their ordinary answers are round 0. After every N
answered images all are asked about again, and paid for, as a separate round.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BudgetSpent
from transect.records import Predictions
from transect.runs.picture_files import pixels_of_png
from transect.runs.plain_json import plain
from transect.targets.http.ledger import Ledger, Reply
from transect.targets.http.messages import Pixels, image_key
from transect.targets.http.settings import Canary
from transect.targets.http.transport import CallFailed


def round_key(request: str, number: int) -> str:
    """The request of one round: that of the target itself for round 0, so that its answers are no calls more.

    >>> round_key("abc", 0)
    'abc'
    """
    return request if number == 0 else hashlib.sha256(f"{request} canaries {number}".encode()).hexdigest()


@final
class Canaries:
    """The canaries of one target. ask(pixels, round) gives the final reply, or raises CallFailed or BudgetSpent."""

    def __init__(self, settings: Canary, request: str, ask: Callable[[Pixels, int], Reply]) -> None:
        self._settings, self._request, self._ask = settings, request, ask
        self._lock = threading.Lock()
        self._full = False
        self._asked: set[int] = set()
        self._read: dict[tuple[int, int], Predictions] = {}
        self._apart: dict[tuple[int, int, int], float] = {}

    def choose(self, ledger: Ledger, pixels: UInt8[np.ndarray, "n h w 3"]) -> None:
        """Make canaries of the first images, until there are enough; the file of answers keeps them."""
        with self._lock:
            if self._full or not self._settings.every:
                return
            known = [key for key, _ in ledger.canaries(self._request)]
            for image in pixels:
                if len(known) < self._settings.images and (key := image_key(image)) not in known:
                    ledger.add_canary(self._request, len(known), key, _png(image))
                    known.append(key)
            self._full = len(known) >= self._settings.images

    def ask_again(self, ledger: Ledger, threads: int) -> bool:
        """Ask about all of them if it is time, and say whether it was.

        A spent budget stops no run here, the next image says so itself.
        """
        number = self._due(ledger)
        if number is None:
            return False

        def request_one(pixels: Pixels) -> None:
            with contextlib.suppress(CallFailed, BudgetSpent):  # then there is no answer to compare
                self._ask(pixels, number)

        pictures = [_pixels(png) for _, png in ledger.canaries(self._request)]
        with ThreadPoolExecutor(max(1, threads)) as pool:
            list(pool.map(request_one, pictures))
        return True

    def _due(self, ledger: Ledger) -> int | None:
        with self._lock:
            number = ledger.answered(self._request) // self._settings.every if self._settings.every else 0
            if number < 1 or number in self._asked:
                return None
            self._asked.add(number)
            return number

    def record(self, ledger: Ledger, read: Callable[[Reply, int, int], Predictions]) -> dict[str, object] | None:
        """All rounds as JSON values; None without a second round.

        every, images; rounds: their numbers; distances [images, rounds, rounds]: how far answers are apart, None where
        one is missing.
        """
        canaries = ledger.canaries(self._request)
        if not self._settings.every or not canaries:
            return None
        numbers = [0, *range(1, ledger.answered(self._request) // self._settings.every + 1)]
        replies = {n: [ledger.find(round_key(self._request, n), key) for key, _ in canaries] for n in numbers}
        rounds = [n for n in numbers if any(replies[n])]
        if len(rounds) < 2:
            return None
        distances = []
        for i, (_, png) in enumerate(canaries):
            height, width, _ = _pixels(png).shape
            for n in rounds:
                if (i, n) not in self._read and (reply := replies[n][i]) is not None:
                    self._read[i, n] = read(reply, width, height)
            distances.append(plain([[self._distance(i, n, m) for m in rounds] for n in rounds]))
        return {"every": self._settings.every, "images": len(canaries), "rounds": rounds, "distances": distances}

    def _distance(self, image: int, earlier: int, other: int) -> float:
        """Distance between two rounds' final answers about an image; cached, since each round writes a record."""
        place = (image, min(earlier, other), max(earlier, other))
        if place not in self._apart:
            first, second = (self._read.get((image, n)) for n in place[1:])
            if first is None or second is None:
                return float("nan")
            self._apart[place] = apart(first, second)
        return self._apart[place]


def apart(first: Predictions | None, other: Predictions | None) -> float:
    """How far two answers about one image are apart; 0 where they are equal, NaN where one is missing.

    Scores: Euclidean. Boxes: 1 for another number of them, else one less their mean overlap, and the difference of the
    best confidences. An answer and none, or two reasons for none, are 1 apart.
    """
    if first is None or other is None:
        return float("nan")
    if first.failures[0] or other.failures[0]:
        return float(first.failures[0] != other.failures[0])
    if first.scores.shape != other.scores.shape:
        return 1.0
    scores = np.nan_to_num(first.scores[0]) - np.nan_to_num(other.scores[0])
    return float(np.linalg.norm(scores)) + (0.0 if first.boxes is None else _boxes_apart(first, other))


def _boxes_apart(left: Predictions, other: Predictions) -> float:
    first, second = (_in_order(each.boxes[0]) for each in (left, other) if each.boxes is not None)
    if len(first) != len(second):
        return 1.0
    return float(1 - _overlap(first, second).mean()) if len(first) else 0.0


def _in_order(boxes: Float[np.ndarray, "m 5"]) -> Float[np.ndarray, "m 4"]:
    return np.asarray(boxes[np.lexsort(boxes[:, :4].T), :4])


def _overlap(a: Float[np.ndarray, "m 4"], b: Float[np.ndarray, "m 4"]) -> Float[np.ndarray, " m"]:
    """Intersection over union, row by row; 1 for equal boxes."""
    sides = np.clip(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0, None)
    inside = sides.prod(axis=1)
    union = sum(np.clip(box[:, 2:] - box[:, :2], 0, None).prod(axis=1) for box in (a, b)) - inside
    shares = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    return np.asarray(np.where((a == b).all(axis=1), 1.0, shares))


def _png(pixels: Pixels) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(sink, "PNG")
    return sink.getvalue()


def _pixels(png: bytes) -> Pixels:
    return pixels_of_png(png)

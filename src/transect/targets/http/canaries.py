"""Does the model still answer as it did? A few images are asked about again at intervals, past the file of answers.

The first images that a target is asked about are its canaries; their ordinary answers are round 0. After every N
answered images all are asked about again, and paid for, as a separate round. Where a target answers questions about
images, a canary is an image with its question.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, final

import numpy as np
from jaxtyping import Float

from transect.errors import BudgetSpent
from transect.records import CallCounts, Predictions
from transect.runs.json_records import plain
from transect.runs.pictures import pixels_of_png
from transect.targets.http.asking import Asker, CallFailed, Transport
from transect.targets.http.ledger import Allowance, Ledger, Reply
from transect.targets.http.messages import Pixels, encode_as
from transect.targets.http.settings import Canary, Secrets
from transect.targets.python_objects import array_digest

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def round_key(request: str, number: int) -> str:
    """The request of one round: that of the target itself for round 0, so that its answers are no calls more."""
    return request if number == 0 else hashlib.sha256(f"{request} canaries {number}".encode()).hexdigest()


@final
@dataclass(frozen=True, slots=True)
class Kind(Generic[Item, Answer]):
    """What is asked again: how an item is named, kept in the file of answers and read back, and answers compared."""

    key: Callable[[Item], str]
    pack: Callable[[Item], bytes]
    unpack: Callable[[bytes], Item]
    read: Callable[[Reply, Item], Answer]
    apart: Callable[[Answer | None, Answer | None], float]


@final
class Canaries(Generic[Item, Answer]):
    """The canaries of one target. ask(item, round) gives the final reply, or raises CallFailed or BudgetSpent."""

    def __init__(
        self, settings: Canary, request: str, ask: Callable[[Item, int], Reply], kind: Kind[Item, Answer]
    ) -> None:
        self._settings, self._request, self._ask, self._kind = settings, request, ask, kind
        self._lock = threading.Lock()
        self._full = False
        self._asked: set[int] = set()
        self._read: dict[tuple[int, int], Answer] = {}
        self._apart: dict[tuple[int, int, int], float] = {}

    def choose(self, ledger: Ledger, items: Iterable[Item]) -> None:
        """Make canaries of the first items, until there are enough; the file of answers keeps them."""
        with self._lock:
            if self._full or not self._settings.every:
                return
            known = [key for key, _ in ledger.canaries(self._request)]
            for item in items:
                if len(known) >= self._settings.images:
                    break
                if (key := self._kind.key(item)) not in known:
                    ledger.add_canary(self._request, len(known), key, self._kind.pack(item))
                    known.append(key)
            self._full = len(known) >= self._settings.images

    def ask_again(self, ledger: Ledger, threads: int) -> None:
        """Ask about all of them if it is time. A spent budget stops no run here."""
        number = self._due(ledger)
        if number is None:
            return

        def request_one(item: Item) -> None:
            with contextlib.suppress(CallFailed, BudgetSpent):  # then there is no answer to compare
                self._ask(item, number)

        items = [self._kind.unpack(packed) for _, packed in ledger.canaries(self._request)]
        with ThreadPoolExecutor(max(1, threads)) as pool:
            list(pool.map(request_one, items))

    def _due(self, ledger: Ledger) -> int | None:
        with self._lock:
            number = ledger.answered(self._request) // self._settings.every if self._settings.every else 0
            if number < 1 or number in self._asked:
                return None
            self._asked.add(number)
            return number

    def record(self, ledger: Ledger) -> dict[str, object] | None:
        """All rounds as JSON values, distances as [images, rounds, rounds]; None without a second round."""
        canaries = ledger.canaries(self._request)
        if not self._settings.every or not canaries:
            return None
        numbers = [0, *range(1, ledger.answered(self._request) // self._settings.every + 1)]
        replies = {n: [ledger.find(round_key(self._request, n), key) for key, _ in canaries] for n in numbers}
        rounds = [n for n in numbers if any(replies[n])]
        if len(rounds) < 2:
            return None
        distances = []
        for i, (_, packed) in enumerate(canaries):
            item = self._kind.unpack(packed)
            for n in rounds:
                if (i, n) not in self._read and (reply := replies[n][i]) is not None:
                    self._read[i, n] = self._kind.read(reply, item)
            distances.append(plain([[self._distance(i, n, m) for m in rounds] for n in rounds]))
        return {"every": self._settings.every, "images": len(canaries), "rounds": rounds, "distances": distances}

    def _distance(self, image: int, earlier: int, other: int) -> float:
        """Distance between two rounds' final answers about an image; cached, since each round writes a record."""
        place = (image, min(earlier, other), max(earlier, other))
        if place not in self._apart:
            first, second = (self._read.get((image, n)) for n in place[1:])
            if first is None or second is None:
                return float("nan")
            self._apart[place] = self._kind.apart(first, second)
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
    boxes = (each.boxes[0] for each in (left, other) if each.boxes is not None)
    first, second = (each[np.lexsort(each[:, :4].T), :4] for each in boxes)
    if len(first) != len(second):
        return 1.0
    return float(1 - _overlap(first, second).mean()) if len(first) else 0.0


def _overlap(a: Float[np.ndarray, "m 4"], b: Float[np.ndarray, "m 4"]) -> Float[np.ndarray, " m"]:
    """Intersection over union, row by row; 1 for equal boxes."""
    sides = np.clip(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0, None)
    inside = sides.prod(axis=1)
    union = sum(np.clip(box[:, 2:] - box[:, :2], 0, None).prod(axis=1) for box in (a, b)) - inside
    shares = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    return np.asarray(np.where((a == b).all(axis=1), 1.0, shares))


def of_images(read: Callable[[Reply, int, int], Predictions]) -> Kind[Pixels, Predictions]:
    """Images whose answers are predictions. read: of a reply about an image of that width and height."""
    return Kind(
        array_digest,
        partial(encode_as, image_format="png"),
        pixels_of_png,
        lambda reply, shown: read(reply, shown.shape[1], shown.shape[0]),
        apart,
    )


class Repeated:
    """What a target and a chat model behind a web address have alike: calls and money in a file, and canaries."""

    metered = True
    canaries: Canaries[Any, Any]

    def __init__(
        self, settings: Any, path: Path, request: str, transport: Transport, secrets: Secrets, **reading: Any
    ) -> None:
        self.name, self.request = settings.name or path.stem, request
        answers, allowance = settings.answers, {**settings.budget.model_dump(), **settings.price.model_dump()}
        self.asker = Asker(
            path.parent / (answers.file or f"{path.stem}.answers.sqlite"),
            Allowance(**allowance),
            settings.limits,
            transport,
            secrets,
            ask_unconfirmed=answers.unconfirmed == "ask",
            **reading,
        )

    @property
    def ledger(self) -> Ledger:
        """The file of calls and answers, opened when it is first needed."""
        return self.asker.ledger

    @property
    def patience(self) -> float:
        """Seconds that one image may take at the longest."""
        return self.asker.patience

    def calls_made(self) -> tuple[int, float]:
        """Calls and money that this process spent here."""
        spent = self.asker.made()
        return spent.calls, float(spent.money)

    def call_counts(self) -> CallCounts | None:
        """Images (or questions), calls, retries and failures under this request; None where nothing was asked."""
        return None if self.asker.is_fresh else self.ledger.counts(self.request)

    def asked_again(self) -> dict[str, object] | None:
        """How far the answers about the canaries are apart, as `Canaries.record` has it; None where there is none."""
        return None if self.asker.is_fresh else self.canaries.record(self.ledger)

    def close(self) -> None:
        """Close the file of answers and all connections."""
        self.asker.close()

    def ask_canaries(self, threads: int) -> None:
        """Ask about the canaries again if it is time."""
        self.canaries.ask_again(self.ledger, threads)

"""A model behind a web address, as a target: each image is asked about once, paid for once, and accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import final

import numpy as np

from transect.errors import MissingExtra
from transect.records import CallCounts, Images, Predictions, Quote, Task
from transect.targets.http.answers import AnswerReader, failed
from transect.targets.http.asking import Asker
from transect.targets.http.canaries import Canaries, of_images, round_key
from transect.targets.http.ledger import Ledger, Reply
from transect.targets.http.messages import Messages, Pixels, image_key, request_key
from transect.targets.http.money import Allowance
from transect.targets.http.rekognition import RekognitionTransport
from transect.targets.http.settings import Settings, read_settings
from transect.targets.http.transport import CallFailed, HttpTransport, Transport


def load(path: str | Path) -> HttpTarget:
    """The target that a TOML file describes.

    Raises BadInput for what is wrong with the file, or an environment
    variable that is not set; MissingExtra where a library is not installed.

    >>> load("nowhere.toml")
    Traceback (most recent call last):
    transect.errors.BadInput: nowhere.toml: cannot be read (there is no such file or folder): expected a target's ...
    """
    path = Path(path)
    settings = read_settings(path)
    return HttpTarget(settings, path)


@final
class HttpTarget:
    """A Target that asks over HTTP. It counts its calls (`metered`), so that no trial calls are made.

    on_round: called with `asked_again()` whenever the canaries were asked about again.
    patience: seconds that one image may take, with waiting and further tries; the guard gives it that long.
    """

    metered = True

    def __init__(self, settings: Settings, path: Path) -> None:
        self.settings, self.name = settings, settings.name or path.stem
        self.reader = AnswerReader(settings)
        self.messages = Messages(settings)
        self.task, self.labels, self.threshold = settings.task, settings.labels, self.reader.spec.threshold
        self.positive = self.reader.spec.positive_column
        self.request = request_key(settings)
        self._transport = _transport(settings)
        store = path.parent / (settings.answers.file or f"{path.stem}.answers.sqlite")
        budget, price = settings.budget, settings.price
        self.asker = Asker(
            store,
            Allowance(budget.calls, budget.money, price.per_call, price.currency),
            settings.limits,
            self._transport,
            self.messages.secrets,
            ask_unconfirmed=settings.answers.unconfirmed == "ask",
        )
        self.canaries = Canaries(settings.canary, self.request, self.ask, of_images(self.reader.read))
        self.on_round: Callable[[dict[str, object]], None] | None = None

    @property
    def ledger(self) -> Ledger:
        """The file of calls and answers, opened when it is first needed."""
        return self.asker.ledger

    @property
    def patience(self) -> float:
        """Seconds that one image may take at the longest."""
        return self.asker.patience

    def describe(self) -> dict[str, object]:
        """What is asked and how answers are read, without secrets; limits, budget and price are no part of it."""
        shown = self.settings.model_dump(mode="json", by_alias=True)
        keys = ("version", "preset", "request", "response")
        facts = {key: shown[key] for key in keys}
        return {"kind": "HTTP", "request_sha256": self.request, **self.reader.spec.describe(), **facts}

    def quote(self, images: int) -> Quote:
        """The maximum cost of N new images without further tries, and what the budget allows.

        Images that were answered before, under the same request and version, cost nothing.
        """
        canary = self.settings.canary
        calls = images + (images // canary.every * canary.images if canary.every else 0)
        return self.asker.quote(self.name, images, self.request, calls=calls)

    def calls_made(self) -> tuple[int, float]:
        """Calls and money that this process spent here."""
        spent = self.asker.made()
        return spent.calls, float(spent.money)

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order; a failed image has its reason.

        Raises BudgetSpent or AnswersUnusable, which concern the whole run; what was answered by then is kept.
        """
        threads = self.settings.limits.concurrency
        self.canaries.choose(self.ledger, images.pixels)
        with ThreadPoolExecutor(max(1, min(threads, len(images)))) as pool:
            rows = list(pool.map(self._one, images.pixels))
        if self.canaries.ask_again(self.ledger, threads) and self.on_round and (record := self.asked_again()):
            self.on_round(record)
        return _together(self.task, rows, self.labels)

    def call_counts(self) -> CallCounts | None:
        """Images, calls, retries and failures under this request; None where nothing was ever asked."""
        if self.asker.is_fresh:
            return None
        return self.ledger.counts(self.request)

    def asked_again(self) -> dict[str, object] | None:
        """How far the answers about the canaries are apart, as `Canaries.record` has it; None where there is none."""
        if self.asker.is_fresh:
            return None
        return self.canaries.record(self.ledger)

    def ask(self, pixels: Pixels, again: int = 0) -> Reply:
        """The final reply about one image, from the file of answers or by calls. again: the round of a canary.

        Raises CallFailed where there is none, BudgetSpent and AnswersUnusable.
        """
        return self.asker.ask(
            round_key(self.request, again),
            image_key(pixels),
            lambda: self.messages.make(pixels, again),
            done=lambda: self.messages.done(pixels),
        )

    def close(self) -> None:
        """Close the file of answers and all connections."""
        self.asker.close()
        self.messages.close()

    def _one(self, pixels: Pixels) -> Predictions:
        try:
            return self.reader.read(self.ask(pixels), pixels.shape[1], pixels.shape[0])
        except CallFailed as error:
            return failed(self.task, error.reason)


def _transport(settings: Settings) -> Transport:
    try:
        import tenacity  # noqa: F401  (fails now rather than at the first call)
    except ModuleNotFoundError:
        raise MissingExtra("http", "an HTTP target") from None
    if settings.is_rekognition:
        return RekognitionTransport(settings)
    return HttpTransport(settings.request.url, settings.limits)


def _together(task: Task, rows: Sequence[Predictions], labels: tuple[str, ...]) -> Predictions:
    """One table of the answers about single images; a row of another width than the labels or most rows fails."""
    widths = [row.scores.shape[1] for row in rows if not row.failures[0]]
    width = len(labels) or max(sorted(set(widths)), key=widths.count, default=1)
    reasons = [
        row.failures[0] or ("" if row.scores.shape[1] == width else f"invalid answer: expected {width} numbers")
        for row in rows
    ]
    scores = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        if not reasons[i]:
            scores[i] = row.scores[0]
    boxes = tuple(row.boxes[0] if row.boxes else np.zeros((0, 5)) for row in rows) if task is Task.DETECTION else None
    return Predictions(task, scores, tuple(reasons), boxes, labels)

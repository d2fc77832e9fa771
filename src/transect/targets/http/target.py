"""A model behind a web address, as a target: each image is asked about once, paid for once, and accounted for."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import final

import numpy as np

from transect.errors import BudgetSpent, Interrupted, MissingExtra
from transect.records import CallCounts, Images, Predictions, Quote, Task
from transect.targets.http.answers import AnswerReader, failed
from transect.targets.http.canaries import Canaries, round_key
from transect.targets.http.ledger import Allowance, Call, Ledger, Reply, Spent, Unconfirmed, UnderWay
from transect.targets.http.messages import Messages, Pixels, image_key, request_key
from transect.targets.http.pacing import Pacer, backoff, retry_after
from transect.targets.http.rekognition import RekognitionTransport
from transect.targets.http.settings import Settings, read_settings
from transect.targets.http.transport import CallFailed, HttpTransport, Transport

_RETRYABLE = (429, *range(500, 600))
_SET_UP_WRONG = (401, 402, 403, 404, 405, 407)
"""What says something about the account or the address, not about the image: never kept as an answer."""

UNCONFIRMED = (
    "unconfirmed: under way when a program was killed, and perhaps paid for; [answers] unconfirmed = 'ask' asks again"
)

_stopping = threading.Event()
_under_way: set[int] = set()


def drain() -> None:
    """Let no further call out in this process, and wait for those under way, so that what was paid for is kept."""
    _stopping.set()
    while _under_way:
        time.sleep(0.02)


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
        self._store = path.parent / (settings.answers.file or f"{path.stem}.answers.sqlite")
        budget, price = settings.budget, settings.price
        self._allowance = Allowance(budget.calls, budget.money, price.per_call, price.currency)
        self._pacer = Pacer(settings.limits.rate)
        self.canaries = Canaries(settings.canary, self.request, self.ask)
        self.on_round: Callable[[dict[str, object]], None] | None = None
        self._slots = threading.BoundedSemaphore(settings.limits.concurrency)
        self._opening = threading.Lock()
        self._opened: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """The file of calls and answers, opened when it is first needed."""
        with self._opening:
            if self._opened is None:
                ask = self.settings.answers.unconfirmed == "ask"
                self._opened = Ledger(self._store, self._allowance, ask_unconfirmed=ask)
            return self._opened

    @property
    def patience(self) -> float:
        """Seconds that one image may take at the longest."""
        limits = self.settings.limits
        gap = 1 / limits.rate if limits.rate else 0.0
        return limits.attempts * (self._longest_call + gap + limits.longest_wait)

    @property
    def _longest_call(self) -> float:
        return 2 * self.settings.limits.timeout + 1

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
        fresh = self._opened is None and not self._store.exists()  # a question about prices makes no file
        spent = Spent(0, Decimal(0)) if fresh else self.ledger.spent()
        allowed, canary = self._allowance, self.settings.canary
        calls = images + (images // canary.every * canary.images if canary.every else 0)
        return Quote(
            self.name,
            images,
            calls,
            float(allowed.per_call * calls),
            allowed.currency,
            answers_kept=0 if fresh else self.ledger.answered(self.request),
            calls_spent=spent.calls,
            money_spent=float(spent.money),
            calls_left=None if allowed.calls is None else max(0, allowed.calls - spent.calls),
            money_left=None if allowed.money is None else float(max(allowed.money - spent.money, Decimal(0))),
            answers_of=f"{hashlib.sha256(str(self._store.resolve()).encode()).hexdigest()[:12]}-{self.request[:12]}",
        )

    def calls_made(self) -> tuple[int, float]:
        """Calls and money that this process spent here."""
        spent = Spent(0, Decimal(0)) if self._opened is None else self._opened.made
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
        if self._opened is None and not self._store.exists():
            return None
        return self.ledger.counts(self.request)

    def asked_again(self) -> dict[str, object] | None:
        """How far the answers about the canaries are apart, as `Canaries.record` has it; None where there is none."""
        if self._opened is None and not self._store.exists():
            return None
        return self.canaries.record(self.ledger, self.reader.read)

    def ask(self, pixels: Pixels, again: int = 0) -> Reply:
        """The final reply about one image, from the file of answers or by calls. again: the round of a canary.

        Raises CallFailed where there is none, BudgetSpent and AnswersUnusable.
        """
        image, limits = image_key(pixels), self.settings.limits
        request = round_key(self.request, again)
        known = self.ledger.find(request, image)
        if known is not None:
            return known
        from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

        def pause(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            wait = backoff(state.attempt_number, limits.first_wait, limits.longest_wait)
            return max(wait, error.wait) if isinstance(error, _Wait) else wait

        tries = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, _Wait)),
            stop=stop_after_attempt(limits.attempts),
            wait=pause,
            reraise=True,
        )
        try:
            return tries(self._try, pixels, image, again)
        except _Wait as error:
            raise CallFailed(f"{error.reason} (tries: {limits.attempts})", retryable=False, sent=True) from None
        finally:
            self.messages.done(pixels)

    def close(self) -> None:
        """Close the file of answers and all connections."""
        self._transport.close()
        self.messages.close()
        if self._opened is not None:
            self._opened.close()

    def _one(self, pixels: Pixels) -> Predictions:
        try:
            return self.reader.read(self.ask(pixels), pixels.shape[1], pixels.shape[0])
        except CallFailed as error:
            return failed(self.task, error.reason)

    def _try(self, pixels: Pixels, image: str, again: int) -> Reply:
        """One try: a call, or the answer that another thread or process got meanwhile."""
        request = round_key(self.request, again)
        while True:
            self._slots.acquire()
            try:
                claimed = self._claim(request, image)
                if isinstance(claimed, Reply):
                    return claimed
                if isinstance(claimed, Unconfirmed):
                    raise CallFailed(UNCONFIRMED, retryable=False, sent=True)
                if isinstance(claimed, Call):
                    return self._call(claimed, pixels, again)
            finally:
                self._slots.release()
            if isinstance(claimed, UnderWay):
                time.sleep(0.02)

    def _claim(self, request: str, image: str) -> Reply | Call | UnderWay | Unconfirmed:
        if self.ledger.under_way(request, image):
            return UnderWay()  # without taking a turn
        self._pacer.wait()
        if _stopping.is_set():
            raise Interrupted("interrupted before this image was asked about")
        try:
            return self.ledger.claim(request, image, seconds=self._longest_call)
        except BudgetSpent:
            if self.ledger.may_be_given_back():
                return UnderWay()
            return self.ledger.claim(request, image, seconds=self._longest_call)  # it may have come back just now

    def _call(self, call: Call, pixels: Pixels, again: int) -> Reply:
        _under_way.add(id(call))
        try:
            return self._settled(call, pixels, again)
        finally:
            _under_way.discard(id(call))

    def _settled(self, call: Call, pixels: Pixels, again: int) -> Reply:
        try:
            reply = self._sent(pixels, again)
        except CallFailed as error:
            self.ledger.fail(call, error.reason, sent=error.sent)
            if error.retryable:
                raise _Wait(error.reason, 0.0) from None
            raise
        reply = self._cleared(reply)
        final = reply.status not in (*_RETRYABLE, *_SET_UP_WRONG) and not 300 <= reply.status < 400
        self.ledger.settle(call, reply, final=final)
        if final:
            return reply
        raise self._fault(reply)

    def _sent(self, pixels: Pixels, again: int) -> Reply:
        try:
            message = self.messages.make(pixels, again)
        except Exception as error:
            raise CallFailed(
                f"no request could be made ({type(error).__name__})", retryable=False, sent=False
            ) from None
        try:
            return self._transport.send(message)
        except CallFailed:
            raise
        except Exception as error:  # its text may hold what was sent
            raise CallFailed(f"sending failed ({type(error).__name__})", retryable=False, sent=True) from None

    def _cleared(self, reply: Reply) -> Reply:
        """The reply without secrets, which the other side may have sent back."""
        secrets = self.messages.secrets
        kind = secrets.redact_text(reply.content_type)[:200]
        body = secrets.redact_cut(reply.body) if reply.reason else secrets.redact(reply.body)
        return Reply(reply.status, kind, body, reply.reason, reply.retry_after)

    def _fault(self, reply: Reply) -> Exception:
        if 300 <= reply.status < 400:
            return CallFailed(f"redirected: HTTP {reply.status}, which is not followed", retryable=False, sent=True)
        if reply.status not in _RETRYABLE:
            reason = f"not allowed: HTTP {reply.status}: check address and credentials"
            return CallFailed(reason, retryable=False, sent=True)
        wait = retry_after(reply.retry_after) or 0.0
        longest = self.settings.limits.longest_wait
        if wait > longest:
            reason = f"HTTP {reply.status}: asked to wait longer than {longest:g} s"
            return CallFailed(reason, retryable=False, sent=True)
        if wait:
            self._pacer.pause(wait)
        return _Wait(f"HTTP {reply.status}", wait)


@final
class _Wait(Exception):
    """Another try has sense, not before `wait` seconds."""

    def __init__(self, reason: str, wait: float) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


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

"""A target that fails on an image fails on that image alone: the run continues, and the failure is counted.

A call that outlasts its time is abandoned. A target in a separate process is stopped, and started again for the
next call. In this process a thread cannot be killed: it continues in the background as a daemon, with a copy of the
images, until it ends or the program does, and the next call gets a fresh thread.
"""

from __future__ import annotations

import math
import os
import re
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, final

import numpy as np

from transect.errors import (
    AnswersUnusable,
    BadInput,
    BudgetSpent,
    Interrupted,
    MissingExtra,
    TargetChanged,
    TooManyFailures,
    TransectError,
    UnknownName,
)
from transect.options import Option, names_fields
from transect.protocols import RunsApart, Target
from transect.records import Images, Predictions, Task, declared
from transect.runs.wording import counted
from transect.spoken_answers import Said
from transect.targets.capabilities import answers_in_words, labels_of, patience_of, positive_of
from transect.targets.output import ONE_COLUMN, as_predictions, row_fault, structure_fault
from transect.texts import say, shown, words_of

_PASS_THROUGH = (
    Interrupted,
    TooManyFailures,
    BudgetSpent,
    AnswersUnusable,
    TargetChanged,
    MissingExtra,
)
"""What concerns the whole run and is no answer about an image. A KeyboardInterrupt of the call's own thread is the
model's: a signal reaches the main thread.
"""

_REASON_LENGTH = 160
_STOPPING = 5.0  # seconds for a call whose process was stopped
_LONGEST_LINE = 2000  # what an untrusted message is searched for paths in

abandoned = 0
"""Calls that outlasted their time and may still run: then the program must not wait for their threads at its end."""


def guarded(
    target: Target, images: Images, *, timeout: float, batch: int, budget: FailureBudget | None = None
) -> Predictions:
    """The target's answers, with each failure where it belongs.

    timeout: seconds per image; a call about m images may take m times as long, or longer where the target has a
    `patience` attribute (seconds per image), since it waits and tries again. batch: images per call. An image on
    which the target raises, hangs, or returns NaN, infinity, a wrong shape, count or type has NaN scores, no boxes and
    the reason in `failures`; rows of another width than the labels (or than most rows) fail too. A call that fails as a
    whole is asked again image by image, so that no good image is lost. `budget` counts answers and failures as they
    come, so that a target which hangs on every image stops the run after a few of them. The target works on a copy of
    the pixels.

    Raises BadInput for a batch or timeout that is not above 0; Interrupted, TooManyFailures, BudgetSpent,
    AnswersUnusable, TargetChanged and MissingExtra pass through.

    >>> from transect.targets import as_target
    >>> pixels = np.stack([np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)])
    >>> reciprocal = as_target(lambda pixels: [1 / int(image.max()) for image in pixels], name="reciprocal")
    >>> guarded(reciprocal, Images(pixels), timeout=10, batch=2).failures
    ('raised ZeroDivisionError: division by zero', '')
    """
    if batch < 1 or not timeout > 0:
        raise BadInput(f"guard: expected batch >= 1 and timeout > 0 seconds, got {batch} and {timeout:g}")
    timeout = max(timeout, patience_of(target))
    starts = range(0, len(images), batch)
    count, tell = (budget.add, budget.tell_once) if budget else (_uncounted, _uncounted)
    parts = [images.take(slice(start, start + batch)) for start in starts]
    rows = [row for part in parts for row in _rows(target, part, timeout, count, tell)]
    predictions = _assemble(target, rows)
    if budget:
        budget.found_later([why for why, row in zip(predictions.failures, rows, strict=True) if why and not row.reason])
    return predictions


_Result = TypeVar("_Result")


def attempt(
    work: Callable[[], _Result], timeout: float, stop: Callable[[], None] | None = None
) -> tuple[_Result | None, str]:
    """The result of `work` in a thread, and "" or why there is none. stop: ends work that outlasts `timeout`."""
    result: list[_Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # a plug-in may raise anything, SystemExit too
            failure.append(error)

    thread = threading.Thread(target=run, name="transect-target", daemon=True)
    thread.start()
    thread.join(min(timeout, threading.TIMEOUT_MAX))
    if failure:
        if isinstance(failure[0], _PASS_THROUGH):
            raise failure[0]
        return None, reason_of(failure[0])
    if result:
        return result[0], ""
    if stop is not None:
        stop()
        thread.join(_STOPPING)
    global abandoned  # noqa: PLW0603  (one count for the process, which is what has to end)
    abandoned += thread.is_alive()
    return None, f"timed out after {timeout:g} s"


def reason_of(error: BaseException) -> str:
    """One short line about an exception, without paths, addresses of the web or of memory.

    With --debug its traceback is printed too, since what is kept of it is the line.

    >>> reason_of(ValueError("no /home/me/key.pem at 0x7f001 for https://me:secret@host/?token=1"))
    'raised ValueError: no …/key.pem at 0x… for <url>'
    """
    words = words_of(error, _LONGEST_LINE)
    if not isinstance(error, TransectError):
        if os.environ.get("TRANSECT_DEBUG"):
            # Print where an error was raised, as --debug asks; once for each place, since others count alike.
            trace = "".join(traceback.format_exception(error))
            if trace not in _traces:
                _traces.add(trace)
                say(trace, error=True, end="")
        name = type(error).__name__
        words = f"raised {name}" if words == name else f"raised {name}: {words}"
        if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
            words += f": '{error.filename}'"
    return short(words)


_traces: Final[set[str]] = set()


def short(text: str) -> str:
    """The first line of a reason, shortened and cleared as `reason_of` says, fit to be stored and shown."""
    line = (shown(text[:_LONGEST_LINE]).strip().splitlines() or [""])[0]
    line = re.sub(r"\b\w+://\S+", "<url>", line)
    line = re.sub(r"(?<![\w.])(?:~|[A-Za-z]:)?[\\/][^\s'\":,;]*[\\/](?=[^\\/\s'\":,;]+)", "…/", line)
    line = re.sub(r"0x[0-9a-fA-F]+", "0x…", line)
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"


_OF_WORDS: Final = "fix the model or the question (try: transect targets check MODEL --questions FILE)"
_OF_OTHERS: Final = "fix the model, or how it is read (try: transect targets check MODEL)"
"""What helps where every image failed."""


_MINIMUM: Final = 20
"""Answers from which on a target that fails on most of them stops a run."""


class FailureBudget:
    """Stops a run whose target fails on too many images.

    planned: images of the whole run for this target. limit_share: share of them that may fail. The run is stopped as
    soon as more than that have failed (it cannot come back within the limit), or when of at least `minimum` answers
    more than half, and more than the limit, have failed (there is no point in going on). An answer that says itself why
    it has none (no face, a refusal) is an outcome and no failure. in_words: whether the target answers questions in
    words, for the advice. Safe to share between threads.
    """

    def __init__(
        self, target: str, planned: int, *, limit_share: float = 0.05, minimum: int = _MINIMUM, in_words: bool = False
    ) -> None:
        if not 0 <= limit_share <= 1:
            raise BadInput(f"share of failed images: expected 0 to 1, got {limit_share:g}")
        self.target, self.planned, self.limit_share, self.minimum = target, planned, limit_share, minimum
        self._lock = threading.Lock()
        self.seen = 0
        self._reasons: Counter[str] = Counter()
        self._told = False
        self._remedy = _OF_WORDS if in_words else _OF_OTHERS

    @property
    def failed(self) -> int:
        """Images that failed until now."""
        return self._reasons.total()

    def add(self, failures: Sequence[str]) -> None:
        """Count the `failures` of some predictions ("" for an answer). Raises TooManyFailures above the limit."""
        self._count(failures)

    def _count(self, failures: Sequence[str]) -> None:
        with self._lock:
            self.seen += len(failures)
            self._reasons.update(reason for reason in failures if reason and not declared(reason))
            too_many = self.failed > self.limit_share * self.planned
            hopeless = self.seen >= self.minimum and self.failed > max(0.5, self.limit_share) * self.seen
            if too_many or hopeless:
                raise TooManyFailures(self._message())

    def found_later(self, failures: Sequence[str]) -> None:
        """Count failures of answers that `add` took for good. Raises TooManyFailures above the limit."""
        with self._lock:
            self.seen -= len(failures)
        if failures:
            self._count(failures)

    def _message(self) -> str:
        reason, times = self._reasons.most_common(1)[0]
        if self.failed == self.seen:
            return (
                f"{self.target} failed on each of the first {counted(self.seen, 'image')}; most often ({times}): "
                f"{reason}; {self._remedy}, and run the command again"
            )
        return (
            f"{self.target} failed on {self.failed} of {self.seen} images ({self.failed / self.seen:.0%}), more than "
            f"the {self.limit_share:.0%} of {self.planned} allowed; most often ({times}): {reason}; "
            "finished parts are kept: raise --max-failures and run again, or fix the model and choose another --out"
        )

    def tell_once(self, text: str) -> None:
        """Print a line about this target, the first time only."""
        with self._lock:
            new, self._told = not self._told, True
        if new:
            say(text, error=True)


@dataclass(frozen=True, slots=True)
class _Row:
    """The answer about one image."""

    scores: np.ndarray
    boxes: np.ndarray
    reason: str
    labels: tuple[str, ...] = ()
    said: tuple[Said, ...] | None = None


_NO_BOXES = np.zeros((0, 5))


def _rows(
    target: Target, images: Images, timeout: float, count: Callable[[Sequence[str]], None], tell: Callable[[str], None]
) -> list[_Row]:
    """One row per image, counted as soon as it is there; if the call fails as a whole, image by image."""
    n = len(images)
    boxes = None if images.face_boxes is None else images.face_boxes.copy()
    points = None if images.landmarks is None else images.landmarks.copy()
    copy = Images(images.pixels.copy(), boxes, points)
    apart = target if isinstance(target, RunsApart) else None
    if apart is not None:
        apart.ready()
    stop = None if apart is None else apart.stop
    with _same_folder():
        answer, reason = attempt(lambda: as_predictions(target.predict(copy), target, n), timeout * n, stop)
    reason = reason or structure_fault(answer, Task(target.task), n)
    if isinstance(answer, Predictions) and not reason:
        return _counted(list(_sound_rows(answer)), count)
    if n == 1:
        return _counted([_Row(np.zeros(0), _NO_BOXES, short(reason))], count)
    rows = [row for i in range(n) for row in _rows(target, images.take(slice(i, i + 1)), timeout, count, tell)]
    if not any(row.reason for row in rows):
        tell(
            f"{target.name} gave no answer to a call with {n} images ({short(reason)}) and answers each image alone: "
            "let it return one row for each image, or give --batch 1"
        )
    return rows


@contextmanager
def _same_folder() -> Iterator[None]:
    """Undoes a change of the working folder, so that relative paths keep their meaning for the run."""
    folder = _folder()
    try:
        yield
    finally:
        if folder is not None and _folder() != folder:
            os.chdir(folder)


def _folder() -> Path | None:
    """The working folder; None where somebody has removed it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _uncounted(_: object) -> None:
    pass


def _counted(rows: list[_Row], count: Callable[[Sequence[str]], None]) -> list[_Row]:
    count([row.reason for row in rows])
    return rows


def _sound_rows(answer: Predictions) -> Iterator[_Row]:
    for i in range(len(answer)):
        reason = short(row_fault(answer, i))
        boxes = answer.boxes[i] if answer.boxes is not None and not reason else _NO_BOXES
        said = None if answer.said is None else answer.said[i]
        yield _Row(np.asarray(answer.scores[i], dtype=np.float64), boxes, reason, answer.labels, said)


def _assemble(target: Target, rows: Sequence[_Row]) -> Predictions:
    task, width = Task(target.task), _width(target, rows)
    rows = [_of_width(row, width) for row in rows]
    scores = np.array([row.scores for row in rows]).reshape(len(rows), width)
    boxes = tuple(row.boxes for row in rows) if task is Task.DETECTION else None
    labels = labels_of(target) or next((row.labels for row in rows if row.labels), ())
    said = tuple(row.said or () for row in rows) if answers_in_words(target) else None
    yes = positive_of(target) if labels and task in (Task.MULTICLASS, Task.MULTILABEL) else None
    if isinstance(yes, str) and yes not in labels:
        raise UnknownName(f"positive class of {target.name}", yes, labels)
    return Predictions(task, scores, tuple(row.reason for row in rows), boxes, tuple(labels), said)


def _of_width(row: _Row, width: int) -> _Row:
    wrong = "" if row.reason or len(row.scores) == width else f"wrong shape: expected {width} scores per image"
    reason = row.reason or wrong
    return replace(row, scores=np.full(width, np.nan), boxes=_NO_BOXES, reason=reason) if reason else row


def _width(target: Target, rows: Sequence[_Row]) -> int:
    """Columns of scores: one, as many as labels, or what most valid rows have (the fewer in a tie); 1 without any."""
    if target.task in ONE_COLUMN:
        return 1
    if labels := labels_of(target):
        return len(labels)
    counts = Counter(len(row.scores) for row in rows if not row.reason)
    return min(counts, key=lambda width: (-counts[width], width), default=1)


_PANEL: Final = "Limits"
_NEVER: Final = 1 << 62
_Rows = TypeVar("_Rows")


Counted = tuple[Literal["add", "found_later", "tell_once"], Any]
"""One thing that was counted or said of a target: a method of a FailureBudget, and what it was given."""


def counted_rows(rows: _Rows | None, counted: Sequence[Counted], budget: FailureBudget) -> _Rows:
    """A worker's rows, once what it counted is counted for the whole run. No part is ever left out without a reason."""
    for method, given in counted:
        getattr(budget, method)(given)
    if rows is None:
        raise RuntimeError(f"{budget.target}: a worker skipped a part for failures that the run allows")
    return rows


@final
class FailureLog(FailureBudget):
    """Counts one part's failures, and says nothing. planned, limit_share: as of the run's FailureBudget.

    first: whether no part comes before, so that this part alone says whether there is no point in going on; any part
    stops once its own failures exceed the run's limit.
    """

    def __init__(self, target: str, planned: int, *, limit_share: float, first: bool) -> None:
        super().__init__(target, planned, limit_share=limit_share, minimum=_MINIMUM if first else _NEVER)
        self.counted: list[Counted] = []
        """All that was counted and said, in order."""

    def add(self, failures: Sequence[str]) -> None:
        """As of a FailureBudget."""
        self.counted.append(("add", tuple(failures)))
        super().add(failures)

    def found_later(self, failures: Sequence[str]) -> None:
        """As of a FailureBudget."""
        self.counted.append(("found_later", tuple(failures)))
        super().found_later(failures)

    def tell_once(self, text: str) -> None:
        """Note a line about the target, for the run to say."""
        self.counted.append(("tell_once", text))


TIMEOUT: Final = Option("Time limit of a model for each image, in seconds.", panel=_PANEL, rare=True)


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """How patiently targets are asked: seconds an image, images a call, share of failed images that stops the run."""

    timeout: Annotated[float, TIMEOUT] = 10.0
    batch: Annotated[int, Option("Images in each call of a model.", panel=_PANEL, rare=True)] = 16
    max_failures: Annotated[
        float, Option("Stop when more than this share of images fails.", panel=_PANEL, rare=True)
    ] = 0.05

    @names_fields
    def __post_init__(self) -> None:
        if not 0 < self.timeout < math.inf:
            raise BadInput(f"--timeout: expected a finite number of seconds above 0, got {self.timeout:g}")
        if self.batch < 1:
            raise BadInput(f"--batch: expected at least 1 image, got {self.batch}")
        if not 0 <= self.max_failures <= 1:
            raise BadInput(f"--max-failures: expected a share from 0 to 1, got {self.max_failures:g}; 0.05 is 5 %")

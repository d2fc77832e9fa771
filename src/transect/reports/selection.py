"""Which images of a run does the page show? Chosen by a stated rule, so that nobody picks what pleases.

Per target and varied attribute: the first subject, and the first whose answer changes along the attribute, and becomes
right or wrong, the way answers do on average. Where an attribute moves in steps: the first subjects whose answer flips
either way, each beside its own image. Of the images that failed or were answered wrongly: evenly spaced ones in the
order of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.effects.contrasts import known_mean
from transect.records import DECLARED, Attribute, Design, Predictions, Task
from transect.reports.records import Example, Gallery, Strip
from transect.runs.pictures import packed
from transect.runs.wording import spaced
from transect.spoken_answers import Status
from transect.texts import one_line

MAXIMUM_FAILURES = 24
LONGEST_QUOTE = 90
"""Characters of an answer in words under an image."""
MAXIMUM_STRIPS_PER_TARGET = 6
MAXIMUM_PAIRS = 3
"""Subjects per attribute and way whose flip is shown."""
WRONG = ("error", "miss", "false_alarm")


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """One target's answers in one study, ready to be shown.

    answers: what to print per image. decisions: the answer as one number per image, NaN where there is none (to find
    changes). wrong: answered, but not as the truth has it. expected_boxes: NaN rows where unknown. in_steps: levels are
    steps from each subject's own value.
    """

    study: str
    target: str
    design: Design
    attributes: Mapping[str, Attribute]
    subjects: Int[np.ndarray, " n"]
    true: Mapping[str, Float[np.ndarray, " n"]]
    predictions: Predictions
    answers: Sequence[str]
    decisions: Float[np.ndarray, " n"]
    wrong: Bool[np.ndarray, " n"]
    expected_boxes: Float[np.ndarray, "n 4"] | None
    in_steps: bool = False

    def cell(self, row: int) -> dict[str, float]:
        """The levels of the image: those set, or the world's own values in a population, where they are known."""
        if not self.design.levels:
            own = {name: float(self.true[name][row]) for name in self.attributes}
            return {name: value for name, value in own.items() if math.isfinite(value)}
        return self.design.cells()[row % self.design.n_cells]

    def example(self, row: int, png: bytes) -> Example:
        """The image of a row with the target's answer."""
        boxes = self.predictions.boxes
        expected = self.expected_boxes
        return Example(
            study=self.study,
            target=self.target,
            subject=int(self.subjects[row]),
            cell=self.cell(row),
            png=png,
            answer=self.answers[row],
            boxes=tuple(tuple(box[:4]) for box in boxes[row].tolist()) if boxes is not None else (),
            expected_box=None if expected is None or np.isnan(expected[row]).any() else tuple(expected[row].tolist()),
            failed=bool(self.predictions.failures[row]),
            wrong=bool(self.wrong[row]),
            answer_yes=None if np.isnan(self.decisions[row]) else bool(self.decisions[row]),
        )


def answer_texts(predictions: Predictions, values: Float[np.ndarray, " n"]) -> list[str]:
    """What to print under each image: why it failed, found or not, the class, or the score."""
    return [failure or _answer(predictions, row, values[row]) for row, failure in enumerate(predictions.failures)]


def _answer(predictions: Predictions, row: int, value: float) -> str:
    scores = predictions.scores[row]
    if predictions.task is Task.DETECTION:
        return "found" if value else "not found"
    if predictions.task is Task.EMBEDDING:
        return "embedded"
    if predictions.task is Task.REGRESSION:
        return f"{scores[0]:.3g}"
    if predictions.task is Task.MULTICLASS:
        best = int(np.argmax(scores))
        return predictions.labels[best] if predictions.labels else f"class {best}"
    return ("yes" if value else "no") + (f" ({scores[0]:.2f})" if len(scores) == 1 else "")


def quoted(predictions: Predictions, answers: Sequence[str]) -> list[str]:
    """What to print under each image of a target that answers in words: the answer, and what it said first."""
    texts = []
    for said, answer, why in zip(
        predictions.said or ((),) * len(predictions), answers, predictions.failures, strict=True
    ):
        chosen = [one for one in said if not why or one.status is not Status.ANSWERED]
        words = one_line(chosen[0].text, LONGEST_QUOTE) if chosen else ""
        short = answer.removesuffix(f": {DECLARED}")
        texts.append(f"{short}: “{words}”" if words else short)
    return texts


def distance_texts(
    predictions: Predictions, distance: Float[np.ndarray, " n"], match: Float[np.ndarray, " n"]
) -> list[str]:
    """Under each image of an embedding target: its distance from the reference, and whether they match."""
    texts = []
    for failure, far, same in zip(predictions.failures, distance.tolist(), match.tolist(), strict=True):
        answer = "embedded" if np.isnan(far) else f"distance {far:.3f}"
        verdict = "" if np.isnan(same) or np.isnan(far) else ": match" if same else ": no match"
        texts.append(failure or answer + verdict)
    return texts


def choose(shown: Shown, png_of: Callable[[Sequence[int]], Mapping[int, bytes]]) -> Gallery:
    """The strips, flips and failures of one target; `png_of` gives the stored image of each row asked for."""
    chosen_strips = [strip for name in shown.design.levels for strip in _strips(shown, name)][
        :MAXIMUM_STRIPS_PER_TARGET
    ]
    bad = np.flatnonzero(shown.wrong | shown.predictions.failed)
    picked = bad[np.unique(np.linspace(0, len(bad) - 1, MAXIMUM_FAILURES).round().astype(int))] if len(bad) else bad
    flips = _flips(shown) if shown.in_steps else []
    pngs = png_of([row for _, rows in chosen_strips + flips for row in rows] + picked.tolist())

    def strips(chosen: Sequence[tuple[str, list[int]]]) -> tuple[Strip, ...]:
        return tuple(Strip(title, tuple(shown.example(row, pngs[row]) for row in rows)) for title, rows in chosen)

    failures = tuple(shown.example(row, pngs[row]) for row in picked.tolist())
    return Gallery(strips(chosen_strips), failures, len(bad), strips(flips))


def _flips(shown: Shown) -> list[tuple[str, list[int]]]:
    """Title and rows of the pairs along the attribute: a subject's own image, and the nearest step where it flips."""
    ((name, levels),) = shown.design.levels.items()
    steps, values = np.array(levels), shown.decisions.reshape(shown.design.subjects, -1)
    zero = int(np.flatnonzero(steps == 0)[0])
    nearest = np.lexsort((-steps, np.abs(steps)))  # of two equally near ones the higher
    flips = []
    for before, way in ((0.0, "S 0→1, from no to yes"), (1.0, "S 1→0, from yes to no")):
        turned = (values[:, [zero]] == before) & (values == 1 - before)
        subjects = np.flatnonzero(turned.any(axis=1)).tolist()
        chosen = subjects[:MAXIMUM_PAIRS]
        ends = [(subject, nearest[np.argmax(turned[subject][nearest])]) for subject in chosen]
        rows = [int(subject * len(steps) + step) for subject, end in ends for step in (zero, end)]
        counted = (
            f"all {len(subjects)}" if len(chosen) == len(subjects) else f"the first {len(chosen)} of {len(subjects)}"
        )
        counted = "the one subject" if len(subjects) == 1 else f"{counted} subjects"
        title = f"{spaced(name)}, {way}: {counted} whose answer flips so"
        flips += [(title, rows)] if rows else []
    return flips


def _strips(shown: Shown, name: str) -> list[tuple[str, list[int]]]:
    """Title and rows of the strips along one attribute."""
    rows = rows_along(shown.design, name)
    values = shown.decisions[rows]
    # Where the answer changes and becomes right or wrong as it does on average; else where the answer changes.
    changes = _changing(values)
    both = changes & _changing(np.where(np.isfinite(values), shown.wrong[rows], np.nan))
    changes = both if both.any() else changes
    subject, combination = np.unravel_index(int(np.argmax(changes)), changes.shape)
    where = (int(subject), int(combination))
    words = spaced(name)
    if not changes.any():
        known = "; no subject's answer changes" if np.isfinite(values).any() else ""
        return [(f"{words}: the first subject{known}", rows[0, 0].tolist())]
    if where == (0, 0):
        return [(f"{words}: the first subject, whose answer changes", rows[where].tolist())]
    return [
        (f"{words}: the first subject", rows[0, 0].tolist()),
        (f"{words}: the first subject and setting whose answer changes", rows[where].tolist()),
    ]


def _changing(values: Float[np.ndarray, "s c k"]) -> Bool[np.ndarray, "s c"]:
    """Where the answer changes as it does on average between the first level and the one that differs most from it;
    where no answer does, or nothing changes on average, wherever it changes at all.
    """
    means = np.array([known_mean(level) for level in np.moveaxis(values, -1, 0)])
    differences = means - means[0]
    if np.isfinite(differences).any() and np.nanmax(np.abs(differences)) > 0:
        most = int(np.nanargmax(np.abs(differences)))
        along = np.sign(values[..., most] - values[..., 0]) == np.sign(differences[most])
        if along.any():
            return np.asarray(along)
    lowest, highest = np.nanmin(values, axis=-1, initial=np.inf), np.nanmax(values, axis=-1, initial=-np.inf)
    return np.asarray(highest > lowest)


def rows_along(design: Design, name: str) -> Int[np.ndarray, "s c k"]:
    """Rows of the tables by subject, combination of the other attributes, and level of `name`.

    >>> rows_along(Design({"a": (0.0, 1.0), "b": (0.0, 1.0)}, subjects=1), "a").tolist()
    [[[0, 2], [1, 3]]]
    """
    axis = list(design.levels).index(name) + 1
    grid = np.arange(design.n_images).reshape(design.subjects, *design.shape)
    return np.moveaxis(grid, axis, -1).reshape(design.subjects, -1, design.shape[axis - 1])


def stored_images(read_part: Callable[[int], pa.Table], rows_per_part: int, rows: Sequence[int]) -> dict[int, bytes]:
    """The PNGs of some rows, packed, reading each part once."""
    pictures: dict[int, bytes] = {}
    for part in sorted({row // rows_per_part for row in rows}):
        images = read_part(part)["image"]
        wanted = [row for row in rows if row // rows_per_part == part]
        pictures |= {row: packed(images[row - part * rows_per_part].as_py()) for row in wanted}
    return pictures

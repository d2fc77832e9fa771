"""Pictures in the order of what people said of them, with what rules leave out marked (Balakrishnan et al. 2020)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import words
from transect.analysis.sections.deviations import Deviations
from transect.analysis.sections.raters import Rated
from transect.analysis.sections.seen_along import SHOWN, Shown
from transect.effects.pruning import Rule
from transect.reports.records import PictureGallery, PictureGroup, RatedPicture

BINS: Final = 10
EACH: Final = 3
"""Pictures of each tenth of the scale."""
_KEPT: Final = "(from the ratings stored with the run, as in its report)"


def by_score(
    study: str,
    ids: Sequence[str],
    subjects: Int[np.ndarray, " n"],
    question: Rated,
    rules: Sequence[Rule],
    steps: Sequence[tuple[Rule, Float[np.ndarray, " n"]]] = (),
) -> PictureGallery:
    """Images by mean answer, from one end of the scale to the other (Figs. 8 and 10).

    Of each tenth of the scale those nearest to its middle, of different subjects where there are enough; a picture
    whose mean a rule leaves out is marked. kept: rules that the run's report goes by, and the values [n] that they are
    judged on there, which may be in other units.
    """
    edges = question.low + question.width * np.linspace(0, 1, BINS + 1)
    means, mine = question.mean, [rule for rule in rules if rule.attribute == question.name]
    theirs = [(rule, values) for rule, values in steps if rule.attribute == question.name]
    matched = [rule.applies(values) for rule, values in [*((rule, means) for rule in mine), *theirs]]
    cut = np.any(matched, axis=0) if matched else np.zeros(len(means), dtype=bool)
    groups = []
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        within = (means >= low) & ((means < high) if k < BINS - 1 else (means <= high))
        rows = np.flatnonzero(within)
        near = rows[np.argsort(np.abs(means[rows] - (low + high) / 2), kind="stable")]
        chosen = _different(near, subjects)[:EACH]
        label = f"{low:.3g} to {high:.3g}: {len(rows):,}".replace("-", "−")
        groups.append(PictureGroup(label, [_scored(study, ids, means, row, cut) for row in chosen]))
    bands = "; ".join([*(rule.text for rule in mine), *(f"{rule.text} {_KEPT}" for rule, _ in theirs)])
    framed = f" Images framed in red are left out by {bands}." if bands else " No rule leaves any of them out."
    text = (
        f"Images by mean answer, from one end of the scale to the other: at most {EACH} images of each tenth, "
        f"below its range and its number of images.{framed}"
    )
    return PictureGallery(f"Faces by {words(question.name)}", text, "by-score", groups)


def _different(rows: np.ndarray, subjects: np.ndarray) -> list[int]:
    """The rows in their order, but first one of each subject."""
    first = set(np.unique(subjects[rows], return_index=True)[1].tolist())
    return [int(rows[k]) for k in sorted(range(len(rows)), key=lambda k: k not in first)]


def _scored(study: str, ids: Sequence[str], means: np.ndarray, row: int, cut: np.ndarray) -> RatedPicture:
    return _picture(study, ids[row], f"{means[row]:.2f}", "left out" if cut[row] else "")


def _picture(study: str, image: str, seen: str, left_out: str = "") -> RatedPicture:
    return RatedPicture(study, image, seen.replace("-", "−"), left_out)


def side_by_side(study: str, ids: Sequence[str], shown: Shown, question: Rated) -> PictureGallery:
    """A few subjects' images with what was intended and what was seen (Fig. 9b), those with most answers first."""
    answers = np.isfinite(question.ratings).sum(axis=1)
    subjects, place = np.unique(shown.subjects, return_inverse=True)
    many = np.argsort(-np.bincount(place, weights=answers), kind="stable")[:SHOWN]
    attribute, means = (
        shown.attributes[question.attribute],
        question.majority if question.scale == "nominal" else question.mean,
    )
    groups = []
    for k in many.tolist():
        rows = np.flatnonzero(place == k)
        intended = shown.intended[question.attribute]
        rows = rows[np.argsort(intended[rows], kind="stable")]
        pictures = [
            _picture(
                study,
                ids[row],
                f"intended {attribute.label(float(intended[row]))}, {_seen(question, means[row])}",
            )
            for row in rows[:24].tolist()
        ]
        groups.append(PictureGroup(f"subject {int(subjects[k])}", pictures))
    text = (
        "What was set on each image, and the mean of what people saw on it; for levels in no order, the most "
        "common answer."
    )
    return PictureGallery(f"Intended and seen: {words(question.name)}", text, "rows", groups)


def _seen(question: Rated, value: float) -> str:
    if not np.isfinite(value):
        return "no majority" if question.scale == "nominal" else "not rated"
    if question.scale == "nominal" and question.levels:
        return f"seen {question.levels[question.values.index(float(value))]}"
    return f"seen {value:.2f}"


def farthest(differences: Deviations, study: str, ids: Sequence[str]) -> PictureGallery:
    """The images on which a model lies farthest from people, in both directions (Fig. 17)."""
    directions: Mapping[str, np.ndarray] = {
        "the model above people": differences.over,
        "the model below people": differences.under,
    }
    groups = [
        PictureGroup(
            name,
            [
                _picture(study, ids[k], f"model {differences.model[k]:.2f}, people {differences.people[k]:.2f}")
                for k in rows.tolist()
            ],
        )
        for name, rows in directions.items()
    ]
    text = f"Answers about {differences.text}, farthest first; people's answers are means." + (
        " 0 is no, 1 is yes." if differences.binary else ""
    )
    return PictureGallery(f"Farthest from people: {differences.target}", text, "rows", groups)

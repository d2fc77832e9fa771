"""The raters of a study: how many, how far they agree, who was left out (a count, never a name), and what they said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.sections.answers import point, table, words
from transect.annotation.agreement import krippendorff_alpha, percent_agreement, rater_reliability, spread
from transect.annotation.agreement.alpha_interval import SOURCE as ALPHA_INTERVAL
from transect.annotation.agreement.krippendorff import SOURCE as ALPHA
from transect.annotation.agreement.logistic_curve import SOURCE
from transect.annotation.simulated import notice, simulated_count
from transect.records import Annotations
from transect.reports.records import Figure, Panel, Point, Section, Series, Table

BINS: Final = 20
_WIDEST: Final = 0.5
"""The largest standard deviation that answers can have, in ranges of the scale: half at either end."""
_TEXT: Final = (
    "Raters appear as numbers, not names. Agreement is the share of pairs of answers about one image that are "
    "equal; Krippendorff's α corrects it for chance. Its interval is for these raters and further subjects, not for "
    "other raters. The spread is the standard deviation of the answers about one image, in ranges of the scale "
    "(Balakrishnan et al. 2020, Fig. 8). The correlation of each rater with the mean of the others shows whether "
    "somebody answered blindly."
)


@final
@dataclass(frozen=True, slots=True)
class Rated:
    """All answers to one question about single images of a study.

    name, text: of the question. ratings [n, raters]: answers in the question's units, in the order of the study's
    images; NaN: none. values: the answers that can be given, in order; levels: what they are called ("" where only
    numbers are known). scale: whether they have an order. attribute: of the study, which the answers are about; "".
    unsure: answers that say so; None: not known. simulated: answers of simulated raters.
    """

    name: str
    ratings: Float[np.ndarray, "n raters"]
    values: tuple[float, ...]
    scale: Literal["nominal", "ordinal", "interval"] = "ordinal"
    levels: tuple[str, ...] = ()
    attribute: str = ""
    text: str = ""
    unsure: int | None = None
    simulated: int = 0
    anonymous: bool = False
    """Columns are slots and not persons."""

    @property
    def low(self) -> float:
        """The lower end of the scale."""
        return self.values[0]

    @property
    def width(self) -> float:
        """From end to end of the scale; 1 where there is one answer alone."""
        return (self.values[-1] - self.values[0]) or 1.0

    @property
    def level(self) -> float:
        """Distance of neighbouring answers, on average."""
        return self.width / max(len(self.values) - 1, 1)

    @property
    def mean(self) -> Float[np.ndarray, " n"]:
        """The mean answer about each image, NaN without one."""
        known = np.isfinite(self.ratings)
        n = known.sum(axis=1)
        sums = np.where(known, self.ratings, 0.0).sum(axis=1)
        return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))

    @property
    def majority(self) -> Float[np.ndarray, " n"]:
        """The most common answer about each image; NaN where several tie or there is none."""
        counts = np.stack([(self.ratings == value).sum(axis=1) for value in self.values], axis=1)
        most = counts.max(axis=1)
        alone = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
        return np.where(alone, np.asarray(self.values)[counts.argmax(axis=1)], np.nan)


@final
@dataclass(frozen=True, slots=True)
class Excluded:
    """Raters whose answers are left out, and how many answers that are; None: not known."""

    raters: int | None = None
    answers: int | None = None
    checks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Known answers met and repeats answered the same: of how many."""


def section(
    study: str, rated: Sequence[Rated], excluded: Excluded, people: Int[np.ndarray, " n"] | None = None
) -> Section:
    """The section on the raters of one study. people: who is on each image; None: another person on each."""
    ordered = [question for question in rated if question.scale != "nominal"]
    return Section(
        key="raters",
        study=study,
        title=f"The raters of {words(study)}",
        text=[_TEXT],
        warnings=_warnings(rated, excluded),
        figures=[_spreads(ordered), _means(ordered), *_histograms(ordered)] if ordered else [],
        tables=[_who(rated, excluded), _agreement(rated, people), _reliability(ordered)],
        sources=[SOURCE, ALPHA, ALPHA_INTERVAL],
    )


def _warnings(rated: Sequence[Rated], excluded: Excluded) -> list[str]:
    warnings = [
        f"One answer per image to {words(question.name)}: agreement cannot be estimated"
        for question in rated
        if _single(question)
    ]
    warnings += [f"The raters of {words(question.name)} are not known" for question in rated if question.anonymous]
    warnings += [
        f"{words(question.name)}: {notice(question.simulated, int(np.isfinite(question.ratings).sum()))}"
        for question in rated
        if question.simulated
    ]
    if excluded.raters is None:
        warnings.append("It is not known whether raters were left out before these answers were supplied")
    return warnings


def _single(question: Rated) -> bool:
    return bool((np.isfinite(question.ratings).sum(axis=1) <= 1).all())


def _who(rated: Sequence[Rated], excluded: Excluded) -> Table:
    heads = [("question", "text"), ("raters", "count"), ("answers", "count"), ("images rated", "count")]
    heads += [("not rated", "count"), ("answers per image, median", "number"), ("cannot tell", "count")]
    rows: list[list[object]] = []
    for question in rated:
        known = np.isfinite(question.ratings)
        n = known.sum(axis=1)
        each = float(np.median(n[n > 0])) if n.any() else np.nan
        people = None if question.anonymous else int(known.any(axis=0).sum())
        counts = [int(n.sum()), int((n > 0).sum()), int((n == 0).sum())]
        rows.append([words(question.name), people, *counts, each, question.unsure])
    if excluded.raters is not None:
        rows.append(["left out with their rater", excluded.raters, excluded.answers, None, None, None, None])
    if simulated := sum(question.simulated for question in rated):
        rows.append(["of simulated raters", None, simulated, None, None, None, None])
    for name, (met, of) in excluded.checks.items():
        rows.append([f"{name}: {met:,} of {of:,}", None, None, None, None, None, None])
    return table("Who answered", heads, rows)


def _agreement(rated: Sequence[Rated], people: Int[np.ndarray, " n"] | None) -> Table:
    heads = [
        ("question", "text"),
        ("scale", "text"),
        ("equal pairs", "proportion"),
        ("Krippendorff's α", "number"),
    ]
    heads += [("α: low", "number"), ("α: high", "number"), ("median spread", "number"), ("note", "text")]
    rows = []
    for question in rated:
        alpha = krippendorff_alpha(question.ratings, question.scale, subjects=people)
        apart = spread(question.ratings, question.low, question.low + question.width)
        median = float(np.nanmedian(apart)) if np.isfinite(apart).any() and question.scale != "nominal" else np.nan
        rows.append(
            [
                words(question.name),
                question.scale,
                percent_agreement(question.ratings),
                *(alpha.value, alpha.low, alpha.high),
                median,
                alpha.reason,
            ]
        )
    return table("Agreement between raters", heads, rows)


def _reliability(rated: Sequence[Rated]) -> Table:
    heads = [
        ("question", "text"),
        ("raters compared", "count"),
        ("correlation with the others, least", "number"),
    ]
    heads += [("median", "number"), ("most", "number"), ("bias in levels, least", "number"), ("most bias", "number")]
    rows: list[list[object]] = []
    for question in rated:
        if question.anonymous:
            continue
        reliability = rater_reliability(question.ratings)
        known, bias = (
            reliability.correlation[np.isfinite(reliability.correlation)],
            reliability.bias[np.isfinite(reliability.bias)] / question.level,
        )
        ends = [float(f(known)) if len(known) else np.nan for f in (np.min, np.median, np.max)]
        ends += [float(f(bias)) if len(bias) else np.nan for f in (np.min, np.max)]
        rows.append([words(question.name), len(known), *ends])
    return table("Each rater against the mean of the others", heads, rows)


def _spreads(rated: Sequence[Rated]) -> Figure:
    spreads = {
        question.name: spread(question.ratings, question.low, question.low + question.width) for question in rated
    }
    labels = {question.name: f"{words(question.name)} [{len(question.values)}]" for question in rated}
    title = "Spread of the answers about one image"
    caption = (
        "(standard deviation of an image's answers, in ranges of the scale; in brackets the answers to choose from)"
    )
    return _violins(title, caption, "standard deviation", {labels[name]: x for name, x in spreads.items()}, _WIDEST)


def _means(rated: Sequence[Rated]) -> Figure:
    means = {words(question.name): (question.mean - question.low) / question.width for question in rated}
    title, caption = "Distribution of mean answers", "(0 and 1 are the ends of each scale; the numbers are images)"
    return _violins(title, caption, "mean answer", means, 1.0)


def _violins(
    title: str, caption: str, y_words: str, columns: Mapping[str, Float[np.ndarray, " n"]], high: float
) -> Figure:
    """Shapes of columns from 0 to `high`, with medians and quartiles."""
    edges = np.linspace(0.0, high, BINS + 1)
    points = []
    for label, column in columns.items():
        known = np.clip(column[np.isfinite(column)], 0.0, high)
        low, median, up = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else (np.nan,) * 3
        counts = np.histogram(known, edges)[0].tolist()
        reason = "" if len(known) else "no image has the answers that it needs"
        points.append(point(median, low=low, high=up, label=label, n=len(known), counts=counts, reason=reason))
    panel = Panel(heading="", y_words=y_words, edges=edges.tolist(), series=[Series(name="", points=points)])
    return Figure(kind="violins", title=title, caption=caption, panels=[panel])


def _histograms(rated: Sequence[Rated]) -> list[Figure]:
    """Images by mean answer, for what raters say of the picture itself: how fake, or how good, it looks."""
    histograms = []
    for question in rated:
        if question.name not in ("fakeness", "quality"):
            continue
        caption = "(images whose mean answer is nearest to each answer that could be given)"
        title = f"Images by mean {words(question.name)}"
        panel = Panel(heading=title, y_words="images", series=[Series(name="", points=histogram(question))])
        histograms.append(Figure(kind="bars", title=title, caption=caption, panels=[panel]))
    return histograms


def histogram(question: Rated) -> list[Point]:
    """Images by the answer that their mean is nearest to; a mean halfway counts to the higher one."""
    known = question.mean[np.isfinite(question.mean)]
    middles = (np.asarray(question.values[1:]) + np.asarray(question.values[:-1])) / 2
    counts = np.bincount(np.searchsorted(middles, known, side="right"), minlength=len(question.values))
    names = question.levels or tuple(f"{value:g}" for value in question.values)
    return [point(int(n), label=name, n=int(n)) for name, n in zip(names, counts, strict=True)]


def rated_of(name: str, annotations: Annotations, n_images: int, **known: Any) -> Rated:
    """Answers about images 0 to n_images - 1 as a table of images by raters.

    known: attribute, scale, levels and `ends` of its scale, where the study has the attribute or the question is known;
    otherwise the answers given are the scale. Levels are dropped where answers are none of them. Where nobody gave two
    answers, raters are taken to be unknown.
    """
    has_value = np.isfinite(annotations.value)
    image, value = annotations.image[has_value], annotations.value[has_value]
    names = [rater for rater, answered in zip(annotations.rater, has_value, strict=True) if answered]
    raters = {rater: place for place, rater in enumerate(dict.fromkeys(names))}
    anonymous = len(raters) == len(names) > 1
    column = _slots(image) if anonymous else np.array([raters[rater] for rater in names], dtype=np.int64)
    ratings = np.full((n_images, int(column.max(initial=-1)) + 1), np.nan)
    ratings[image, column] = value
    values = tuple(float(answer) for answer in np.unique([*value, *known.pop("ends", ())])) or (0.0,)
    if len(known.get("levels", ())) != len(values):
        known["levels"] = ()
    return Rated(name, ratings, values, anonymous=anonymous, simulated=simulated_count(names), **known)


def _slots(image: Int[np.ndarray, " r"]) -> Int[np.ndarray, " r"]:
    """How many answers about the same image come before each."""
    order = np.argsort(image, kind="stable")
    first = np.searchsorted(image[order], image[order])
    slots = np.empty(len(image), dtype=np.int64)
    slots[order] = np.arange(len(image)) - first
    return slots

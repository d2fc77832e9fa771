"""Raters: who answered and how far they agree, what they saw along transects, what lies farthest from them, and
galleries.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import Answers, drawn, point, table, words
from transect.annotation.agreement.coefficients import ALPHA_SOURCE as ALPHA
from transect.annotation.agreement.coefficients import INTERVAL_SOURCE as ALPHA_INTERVAL
from transect.annotation.agreement.coefficients import krippendorff_alpha, percent_agreement, rater_reliability, spread
from transect.annotation.agreement.image_validation import Rule
from transect.annotation.agreement.logistic_curve import SOURCE, LogisticCurve, fit_logistic
from transect.annotation.agreement.numbers import notice, simulated_count
from transect.effects.contrasts import known_means
from transect.effects.outcomes import Truth
from transect.records import Annotations, Attribute, Design, Task
from transect.reports.records import (
    Figure,
    Panel,
    PictureGallery,
    PictureGroup,
    Point,
    RatedPicture,
    Section,
    Series,
    Table,
)
from transect.reports.wording import short_name

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
        return known_means(self.ratings, axis=1)

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
        title=f"Raters: {words(study)}",
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
        if (np.isfinite(question.ratings).sum(axis=1) <= 1).all()
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
    heads = [("question", "text"), ("scale", "text"), ("equal pairs", "proportion"), ("Krippendorff's α", "number")]
    heads += [("α: low", "number"), ("α: high", "number"), ("median spread", "number"), ("note", "text")]
    rows = []
    for question in rated:
        alpha = krippendorff_alpha(question.ratings, question.scale, subjects=people)
        apart = spread(question.ratings, question.low, question.low + question.width)
        median = float(np.nanmedian(apart)) if np.isfinite(apart).any() and question.scale != "nominal" else np.nan
        about = [words(question.name), question.scale, percent_agreement(question.ratings)]
        rows.append([*about, alpha.value, alpha.low, alpha.high, median, alpha.reason])
    return table("Agreement between raters", heads, rows)


def _reliability(rated: Sequence[Rated]) -> Table:
    heads = [("question", "text"), ("raters compared", "count"), ("correlation with the others, least", "number")]
    heads += [("median", "number"), ("most", "number"), ("bias in levels, least", "number"), ("most bias", "number")]
    rows: list[list[object]] = []
    for question in rated:
        if question.anonymous:
            continue
        reliability = rater_reliability(question.ratings)
        known = reliability.correlation[np.isfinite(reliability.correlation)]
        bias = reliability.bias[np.isfinite(reliability.bias)] / question.level
        ends = [float(f(known)) if len(known) else np.nan for f in (np.min, np.median, np.max)]
        ends += [float(f(bias)) if len(bias) else np.nan for f in (np.min, np.max)]
        rows.append([words(question.name), len(known), *ends])
    return table("Each rater against the mean of the others", heads, rows)


def _spreads(rated: Sequence[Rated]) -> Figure:
    spreads = {}
    for question in rated:
        label = f"{words(question.name)} [{len(question.values)}]"
        spreads[label] = spread(question.ratings, question.low, question.low + question.width)
    title = "Spread of the answers about one image"
    caption = (
        "(standard deviation of an image's answers, in ranges of the scale; in brackets the answers to choose from)"
    )
    return _violins(title, caption, "standard deviation", spreads, _WIDEST)


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
        histograms.append(drawn("bars", title, caption, {title: {"": histogram(question)}}, "images"))
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


SHOWN: Final = 3
"""Subjects whose own transects are drawn, those with most answers; the table has the curve of all."""
STEPS: Final = 40
_SEEN_ALONG_TEXT: Final = (
    "Each dot is an answer (larger where several are equal), at the value that was set; the line is a logistic "
    "function fitted by least squares (Balakrishnan et al. 2020, Fig. 7). Where answers follow it within one "
    "level, raters see what was set; where they are flat, the control changed something that raters do not see.",
    "Intended and perceived (their Fig. 9b): what the generator was asked for, and the mean of what people saw "
    "on each image. Effects of perceived attributes use the latter.",
    "Answers about an attribute along the transect of another one show whether the manipulation moved it too: they "
    "should be flat.",
)


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """One experiment: its design, attributes, the intended values [n] by name, and the subject of each image [n]."""

    study: str
    design: Design
    attributes: Mapping[str, Attribute]
    intended: Mapping[str, Float[np.ndarray, " n"]]
    subjects: Int[np.ndarray, " n"]

    def axis_words(self, name: str) -> str:
        """The intended value of an attribute, with its unit."""
        unit = self.attributes[name].unit
        return f"intended {words(name)}{f', {unit}' if unit else ''}"

    def most_answered(self, question: Rated) -> dict[int, Bool[np.ndarray, " n"]]:
        """The images of the subjects that are drawn, those with most answers first."""
        subjects, place = np.unique(self.subjects, return_inverse=True)
        answers = np.isfinite(question.ratings).sum(axis=1)
        many = np.argsort(-np.bincount(place, weights=answers), kind="stable")[:SHOWN]
        return {int(subjects[k]): place == k for k in many.tolist()}


def seen_along_section(shown: Shown, rated: Sequence[Rated]) -> Section | None:
    """The section of one experiment: every question along every attribute that was varied; None without either."""
    along = [name for name in shown.design.levels if name in shown.intended and not shown.attributes[name].nominal]
    ordered = [question for question in rated if question.scale != "nominal"]
    pairs = [(question, name) for question in ordered for name in along]
    pairs.sort(key=lambda pair: not _own(*pair))
    unordered = [question for question in rated if _unordered(shown, question)]
    if not pairs and not unordered:
        return None
    curves = {(question.name, name): _curves(shown, question, name) for question, name in pairs}
    return Section(
        key="seen along",
        study=shown.study,
        title=f"Ratings along transects: {words(shown.study)}",
        text=list(_SEEN_ALONG_TEXT if len(pairs) > sum(_own(*pair) for pair in pairs) else _SEEN_ALONG_TEXT[:2]),
        figures=[
            figure
            for question, name in pairs
            for figure in _figures(shown, question, name, curves[question.name, name])
        ],
        tables=[
            *([_curve_table(pairs, curves)] if pairs else []),
            *(_against(shown, question, name) for question, name in pairs),
            *(_levels_against(shown, question) for question in unordered),
        ],
        sources=[SOURCE],
    )


def _own(question: Rated, name: str) -> bool:
    return question.attribute == name


def _unordered(shown: Shown, question: Rated) -> bool:
    """Whether a question about what was varied has levels in no order."""
    if question.attribute not in shown.design.levels or question.attribute not in shown.intended:
        return False
    return question.scale == "nominal" or shown.attributes[question.attribute].nominal


_Curves = dict[int | None, LogisticCurve]
"""By subject; None: all of them."""


def _curves(shown: Shown, question: Rated, name: str) -> _Curves:
    """The curve of all subjects, and of those with most answers, along one attribute."""
    x = shown.intended[name]
    curves: _Curves = {None: _fitted(x, question, np.ones(len(x), dtype=bool))}
    return curves | {subject: _fitted(x, question, rows) for subject, rows in shown.most_answered(question).items()}


def _fitted(x: Float[np.ndarray, " n"], question: Rated, rows: np.ndarray) -> LogisticCurve:
    ratings = question.ratings[rows]
    places = np.broadcast_to(x[rows, None], ratings.shape)
    return fit_logistic(places.ravel(), ratings.ravel(), question.low, question.low + question.width, question.level)


def _titled(question: Rated, name: str) -> str:
    """The question, and the attribute along which it was answered where that is another."""
    return words(question.name) + ("" if _own(question, name) else f", along {words(name)}")


def _figures(shown: Shown, question: Rated, name: str, curves: _Curves) -> list[Figure]:
    """Answers along the transects, and mean answers by image against the intended value."""
    folded = not _own(question, name)
    along = Figure(
        kind="scatter",
        title=f"Answers along the transect: {_titled(question, name)}",
        caption=f"(up to {SHOWN} subjects with the most answers, then all; numbers count answers)",
        folded=folded,
        panels=[_panel(shown, question, name, subject, curves[subject]) for subject in [*list(curves)[1:], None]],
    )
    x, means = shown.intended[name], question.mean
    dots = _dots(
        x[:, None], np.round((means[:, None] - question.low) / question.width * 20) / 20 * question.width + question.low
    )
    against = {f"{words(question.name)}, all images": {"mean answers of images": dots}}
    caption = "(a dot per mean answer, to a twentieth of the scale; larger for more images; the numbers are images)"
    title = f"Intended against perceived: {_titled(question, name)}"
    x_words = shown.axis_words(name)
    return [along, drawn("scatter", title, caption, against, "mean answer", x_words=x_words, folded=folded)]


def _panel(shown: Shown, question: Rated, name: str, subject: int | None, curve: LogisticCurve) -> Panel:
    rows = np.ones(len(question.ratings), dtype=bool) if subject is None else shown.subjects == subject
    x = shown.intended[name]
    series: list[Series] = [Series(name="answers", points=_dots(x[rows, None], question.ratings[rows]))]
    if not curve.reason:
        along = np.linspace(x[rows].min(), x[rows].max(), STEPS + 1)
        points = [point(y, x=float(at)) for at, y in zip(along, curve.at(along), strict=True)]
        series.append(Series(name="logistic curve", points=points, drawn="line"))
    return Panel(
        heading="all subjects" if subject is None else f"subject {subject}",
        x_words=shown.axis_words(name),
        y_words="answer",
        series=series,
    )


def _dots(x: Float[np.ndarray, "n _"], y: Float[np.ndarray, "n r"]) -> list[Point]:
    """A point for each distinct pair, with how often it occurs."""
    across = np.broadcast_to(x, y.shape)[np.isfinite(y)]
    pairs, counts = np.unique(np.column_stack([across, y[np.isfinite(y)]]), axis=0, return_counts=True)
    return [point(pair[1], x=float(pair[0]), n=int(n)) for pair, n in zip(pairs, counts, strict=True)]


_Pair = tuple[Rated, str]
"""A question, and the attribute along which it was answered."""


def _curve_table(pairs: Sequence[_Pair], curves: Mapping[tuple[str, str], _Curves]) -> Table:
    heads = [("question", "text"), ("along", "text"), ("subjects", "text"), ("begins at", "number")]
    heads += [("ends at", "number")]
    heads += [("halfway at", "number"), ("slope", "number"), ("answers within one level of it", "proportion")]
    heads += [("answers", "count"), ("places", "count"), ("note", "text")]
    rows = []
    for question, name in pairs:
        for subject, c in curves[question.name, name].items():
            called = "all" if subject is None else f"subject {subject}"
            numbers = [c.start, c.end, c.middle, c.slope, c.near]
            rows.append([words(question.name), words(name), called, *numbers, c.answers, c.places, c.reason])
    return table("Logistic curves", heads, rows)


def _against(shown: Shown, question: Rated, name: str) -> Table:
    """Mean and quartiles of the images' mean answers at each intended value."""
    heads = [(f"intended {words(name)}", "text"), ("mean perceived", "number"), ("lower quartile", "number")]
    heads += [("upper quartile", "number"), ("images rated", "count"), ("not rated", "count")]
    means, rows = question.mean, []
    for value in shown.design.levels[name]:
        seen = means[np.isclose(shown.intended[name], value)]
        known = seen[np.isfinite(seen)]
        ends = [float(known.mean()), *np.quantile(known, [0.25, 0.75]).tolist()] if len(known) else [np.nan] * 3
        rows.append([shown.attributes[name].label(value), *ends, len(known), len(seen) - len(known)])
    return table(f"Intended against perceived: {_titled(question, name)}", heads, rows)


def _levels_against(shown: Shown, question: Rated) -> Table:
    """Images by intended level and the level that most raters saw."""
    named = [question.levels[k] if question.levels else f"{value:g}" for k, value in enumerate(question.values)]
    heads = [(f"intended {words(question.attribute)}", "text"), *((f"seen: {name}", "count") for name in named)]
    heads.append(("no majority", "count"))
    rows = []
    for value in shown.design.levels[question.attribute]:
        majority = question.majority[np.isclose(shown.intended[question.attribute], value)]
        counts = [int((majority == seen).sum()) for seen in question.values]
        rows.append([shown.attributes[question.attribute].label(value), *counts, int(np.isnan(majority).sum())])
    return table(f"Intended against perceived: {words(question.name)}", heads, rows)


MOST: Final = 12
"""Images of each direction that are shown."""


@final
@dataclass(frozen=True, slots=True)
class Deviations:
    """A target's answers beside people's, both from 0 (no) to 1 (yes); of a regression in the units of the attribute.

    model, people [n]: NaN where there is none. over, under: rows of the images that are shown, on which the model is
    farthest above and below, farthest first.
    """

    study: str
    target: str
    text: str
    model: Float[np.ndarray, " n"]
    people: Float[np.ndarray, " n"]
    over: Int[np.ndarray, " o"]
    under: Int[np.ndarray, " u"]
    binary: bool


def deviations(answers: Answers, truth: Truth, rated: Rated) -> Deviations | None:
    """What lies farthest from people's mean answer; None where the target gives no answer that could be compared.

    Where people are asked about more than two levels their mean's place on the scale stands for a share of yes, as in
    the paper; of levels without order it is the share of answers that agree with the truth.
    """
    if answers.task is Task.REGRESSION:
        if truth.comparison:
            return None
        model, people, binary = answers.scores, rated.mean, False
    elif answers.task is Task.EMBEDDING:
        return None
    else:
        known = answers.scores[np.isfinite(answers.scores)]
        probable = answers.cut and len(known) > 0 and bool(((known >= 0) & (known <= 1)).all())
        model, people, binary = (answers.scores if probable else answers.answers), _yes(truth, rated), True
    gap = model - people
    order = np.argsort(-np.abs(np.nan_to_num(gap)), kind="stable")
    over, under = (order[(sign * gap[order]) > 0][:MOST] for sign in (1, -1))
    return Deviations(answers.study, answers.target, truth.text, model, people, over, under, binary)


def _yes(truth: Truth, rated: Rated) -> Float[np.ndarray, " n"]:
    """How far people's answers lie towards yes, 0 to 1."""
    if truth.comparison in ("==", "!=") or rated.scale == "nominal":
        answers = Truth(truth.text, rated.name, truth.comparison, truth.value).of({rated.name: rated.ratings.ravel()})
        return known_means(answers.reshape(rated.ratings.shape), axis=1)
    share = (rated.mean - rated.low) / rated.width
    return 1 - share if truth.comparison in ("<", "<=") else share


def deviations_section(differences: Deviations, ids: list[str]) -> Section:
    """Both directions as a table; the pictures stand in a gallery of the page on the raters."""
    gap = np.abs(differences.model - differences.people)
    both = gap[np.isfinite(gap)]
    ends = [float(both.mean()), float(both.max())] if len(both) else [np.nan] * 2
    heads = [("images with both", "count"), ("without", "count"), ("mean deviation", "number"), ("largest", "number")]
    tables = [table("How far apart", heads, [[len(both), len(gap) - len(both), *ends]])]
    heads = [("image", "text"), ("the model", "number"), ("people, mean", "number"), ("apart", "number")]
    for title, rows in (("The model above people", differences.over), ("The model below people", differences.under)):
        cells = [[ids[k], differences.model[k], differences.people[k], gap[k]] for k in rows.tolist()]
        tables.append(table(title, heads, cells))
    return Section(
        key="deviations",
        study=differences.study,
        title=f"Differences from people's answers: {short_name(differences.target)}",
        text=[
            f"The truth is {words(differences.text)}. People's mean answer is the reference, as where no "
            "physical truth exists. Images on which the model deviates most from it come first (Balakrishnan "
            "et al. 2020, Fig. 17). A deviation from the mean of a few people may also be their error."
        ],
        tables=tables,
        sources=[SOURCE],
    )


GALLERIES_BINS: Final = 10
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
    edges = question.low + question.width * np.linspace(0, 1, GALLERIES_BINS + 1)
    means, mine = question.mean, [rule for rule in rules if rule.attribute == question.name]
    theirs = [(rule, values) for rule, values in steps if rule.attribute == question.name]
    matched = [rule.applies(values) for rule, values in [*((rule, means) for rule in mine), *theirs]]
    cut = np.any(matched, axis=0) if matched else np.zeros(len(means), dtype=bool)
    groups = []
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        within = (means >= low) & ((means < high) if k < GALLERIES_BINS - 1 else (means <= high))
        rows = np.flatnonzero(within)
        near = rows[np.argsort(np.abs(means[rows] - (low + high) / 2), kind="stable")]
        chosen = _different(near, subjects)[:EACH]
        label = f"{low:.3g} to {high:.3g}: {len(rows):,}".replace("-", "−")
        pictures = [_picture(study, ids[row], f"{means[row]:.2f}", "left out" if cut[row] else "") for row in chosen]
        groups.append(PictureGroup(label, pictures))
    bands = "; ".join([*(rule.text for rule in mine), *(f"{rule.text} {_KEPT}" for rule, _ in theirs)])
    framed = f" Images framed in red are left out by {bands}." if bands else " No rule leaves any of them out."
    text = (
        f"Images by mean answer, from one end of the scale to the other: at most {EACH} images per tenth, "
        f"under its range and number of images.{framed}"
    )
    return PictureGallery(f"Faces by {words(question.name)}", text, "by-score", groups)


def _different(rows: np.ndarray, subjects: np.ndarray) -> list[int]:
    """The rows in their order, but first one of each subject."""
    first = set(np.unique(subjects[rows], return_index=True)[1].tolist())
    return [int(rows[k]) for k in sorted(range(len(rows)), key=lambda k: k not in first)]


def _picture(study: str, image: str, seen: str, left_out: str = "") -> RatedPicture:
    return RatedPicture(study, image, seen.replace("-", "−"), left_out)


def side_by_side(study: str, ids: Sequence[str], shown: Shown, question: Rated) -> PictureGallery:
    """A few subjects' images with what was intended and what was seen (Fig. 9b), those with most answers first."""
    attribute, intended = shown.attributes[question.attribute], shown.intended[question.attribute]
    means = question.majority if question.scale == "nominal" else question.mean
    groups = []
    for subject, inside in shown.most_answered(question).items():
        rows = np.flatnonzero(inside)
        rows = rows[np.argsort(intended[rows], kind="stable")]
        pictures = [
            _picture(study, ids[row], f"intended {attribute.label(at)}, {_seen(question, means[row])}")
            for row, at in zip(rows[:24].tolist(), intended[rows].tolist(), strict=False)
        ]
        groups.append(PictureGroup(f"subject {subject}", pictures))
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
    groups = []
    for name, rows in (("the model above people", differences.over), ("the model below people", differences.under)):
        pairs = [(ids[k], differences.model[k], differences.people[k]) for k in rows.tolist()]
        pictures = [_picture(study, of, f"model {model:.2f}, people {people:.2f}") for of, model, people in pairs]
        groups.append(PictureGroup(name, pictures))
    text = f"Answers about {differences.text}, farthest first; people's answers are means." + (
        " 0 is no, 1 is yes." if differences.binary else ""
    )
    return PictureGallery(f"Farthest from people: {differences.target}", text, "rows", groups)

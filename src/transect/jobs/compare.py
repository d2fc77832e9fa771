"""Compare models on the same images: who is better on what, by how much, and on which images they differ."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from transect.analysis.compared.comparing import compare_runs
from transect.analysis.compared.conclusions import (
    MARKS,
    MOST,
    CompareNumbers,
    Conclusion,
    DifferingAnswers,
    DifferingImage,
    Left,
    Row,
    amount,
    associations,
    called,
    compared,
    left,
    level_words,
    needs,
    of_each,
    same_as_threshold,
    sized_interval,
)
from transect.analysis.compared.measuring import shifted
from transect.effects.outcomes import WORSE_WHEN_LARGER
from transect.job import Content, Job, Option, Out, function
from transect.records import Estimate
from transect.reports import blocks
from transect.reports.album import reduced
from transect.reports.answer_picture import Judged, mark_of, picture
from transect.reports.blocks import Block, Folded, Heading, Paragraph, Part, Secondary
from transect.reports.builder import data_address
from transect.reports.columns import Column, Table
from transect.reports.drawing.svg import joined, tag
from transect.reports.next_steps import HERE, Step, gate, listed
from transect.reports.wording import outcome_words
from transect.runs import report_options, working_folders
from transect.runs.json_records import plain
from transect.runs.wording import counted, spaced

_SHOWN: Final = 8
"""Conclusions of one kind that are not folded."""
_RENDERED: Final = (
    "The images were made with their attributes set: confirm a difference on photographs before you act on it. A model "
    "that was trained on these subjects looks better here than it is."
)
_METHOD: Final = (
    "Only images that both models answered are compared. A rate is the mean over subjects: each counts equally, "
    "however many images it has. Intervals and tests are by subject: a subject's answers of both models are one pair. "
    "A gap is the size of an effect; that of the model is compared with that of the baseline through the difference "
    "and the sum of both effects, each with half of the error, so its interval holds whatever their signs, and is "
    "slightly too wide. p is of sign-flip tests (of gaps between groups of observed images, the level at which the "
    "interval ends at 0), corrected over all rates and gaps of this page (Holm), and over all details. No difference "
    "larger than the margin is shown by 90 % intervals, for each comparison by itself and not corrected over the page. "
    "The conclusions in compare.json also have an interval that allows for their selection. A smaller gap counts as "
    "better, and of errors a lower rate; gaps on the attribute that the truth is about are not judged."
)


@final
@dataclass(frozen=True)
class Compare(Job[CompareNumbers]):
    """The models of finished audits on the same images, each compared with the first (in words: of the same question).

    The result says who is better on what: differences of rates and of gaps with intervals by subject and p corrected
    over all of them (Holm), and the images on which the models differ. Its table has a row per compared number.

    Raises BadInput for other images, fewer than two models or no outcome in common; UnknownName for another target.
    """

    OUT: ClassVar = Out("Folder for compare.html and compare.json; default: that of the last run.")

    runs: Annotated[
        str | Path | Sequence[str | Path],
        Option(
            "Finished audits on the same images, the baseline first (folders or addresses such as s3://…), or one "
            "with several targets.",
            list[str],
            metavar="RUN...",
            argument=True,
            opens="data",
        ),
    ]
    _: KW_ONLY
    targets: Annotated[
        Sequence[str],
        Option(
            "Compare only this target; repeatable; default all.",
            names=("--target",),
            opens="value",
        ),
    ] = ()
    margin: Annotated[
        float | str | Sequence[str],
        Option(
            "Smallest difference that matters, for all rates (0.02) or one outcome (miss=0.01); repeatable; default "
            "that of the first run.",
            opens="value",
        ),
    ] = ()

    def compute(self) -> CompareNumbers:
        """The comparison."""
        folders = list(map(working_folders.opened, self._places()))
        return compare_runs(folders, self.targets, report_options.listed_margins(self.margin))

    def place(self) -> str | Path:
        """The folder of the last run."""
        return self._places()[-1]

    def _places(self) -> Sequence[str | Path]:
        return [self.runs] if isinstance(self.runs, str | Path) else self.runs

    def _steps(self, numbers: CompareNumbers) -> Iterator[Step]:
        first, *_, last = map(str, (*self._places(), self._places()[-1]))
        yield Step("Look at the images of the last run:", [f"transect view {shlex.quote(last)}"])
        outcome = next((row.outcome for row in numbers.rows if row.outcome in WORSE_WHEN_LARGER), "")
        if outcome and first != last:
            words = "Fail the build of a model that is worse than the reference:"
            yield gate(words, last, no_worse_than=first, outcome=outcome)

    def content(self, numbers: CompareNumbers) -> Content:
        """Who is better on what, and the images on which they differ."""
        set_levels = any(not row.observed for row in numbers.rows)
        limits = [Folded("Limits", (Paragraph(_RENDERED),))] if set_levels else []
        judged = [(each, numbers.rows[each.row]) for each in numbers.conclusions]
        table = Table("Verdicts", judged, CONCLUSIONS)
        return Content(
            title=_title(numbers),
            question="Which model is better on the same images, and on what?",
            picture=_picture(numbers),
            answer=[*numbers.answer, *map(left, _told_left(numbers)), *_shifted(numbers)],
            remarks=[
                _against(numbers),
                *associations(numbers.rows),
                *(f"Not compared: {note}." for note in numbers.notes),
            ],
            first=[*listed(list(self._steps(numbers)), HERE), *_images(numbers), *limits],
            parts=(
                Part("verdicts", "All verdicts", tuple(_verdicts(numbers))),
                Part("images", "Images on which they differ", (_counts(numbers),)),
                Part("numbers", "Rates and effects", (Secondary((_table(numbers),)),)),
                Part("methods", "Methods", (Paragraph(_METHOD),)),
            ),
            sources=numbers.works,
            rows=pa.Table.from_pylist([dict(plain(row)) for row in numbers.rows]),
            terminal=[*numbers.answer, table, *numbers.notes, *associations(numbers.rows)],
        )


compare = function(Compare)


def _against_each(numbers: CompareNumbers) -> dict[str, list[str]]:
    """The references, each with the models that are compared with it."""
    found: dict[str, list[str]] = {}
    for model, reference in dict.fromkeys((row.model, row.reference) for row in numbers.rows):
        found.setdefault(reference, []).append(model)
    return found


def _title(numbers: CompareNumbers) -> str:
    groups = _against_each(numbers)
    if len(groups) > MOST:
        return f"{len(groups)} questions, each asked of several models"
    on = counted(max((row.n_subjects for row in numbers.rows), default=0), "subject")
    return "; ".join(f"{', '.join(models)} against {reference}" for reference, models in groups.items()) + f" on {on}"


def _named(numbers: CompareNumbers, row: Row | DifferingAnswers) -> str:
    """The model of a row, with its reference where there are several."""
    return f"{row.model} against {row.reference}" if len(_against_each(numbers)) > 1 else row.model


def _told_left(numbers: CompareNumbers) -> list[Left]:
    """Where the models err most: of each the first study and kind of error, which a miss is before others."""
    first: dict[str, Left] = {}
    for each in sorted(numbers.left, key=lambda left: left.outcome != "miss"):
        first.setdefault(each.model, each)
    return list(first.values())[:MOST]


def _shifted(numbers: CompareNumbers) -> Iterator[str]:
    """Of each model and study whether a moved threshold would look the same."""
    groups = dict.fromkeys((row.study, row.model) for row in numbers.disagreements)
    found = [shifted([row for row in numbers.disagreements if (row.study, row.model) == group]) for group in groups]
    yield from dict.fromkeys(same_as_threshold(one) for one in found if one is not None)


def _against(numbers: CompareNumbers) -> str:
    groups = _against_each(numbers)
    reference, others = next(iter(groups.items()))
    images = max((row.images for row in numbers.disagreements), default=0)
    subjects = max((row.n_subjects for row in numbers.rows), default=0)
    same = f"On the same {counted(images, 'image')} of {counted(subjects, 'subject')}."
    if len(groups) > 1:
        return f"{same} Each model is compared with the first that was asked the same question."
    if len(others) > 1:
        return (
            f"{same} Each model is compared with the first, {reference}; the others are not compared with each other."
        )
    return f"{same} Differences are {others[0]} minus {reference}."


def _images(numbers: CompareNumbers) -> Iterator[Block]:
    """For each model how many images differ, and a strip of them."""
    shown = dict.fromkeys((image.study, image.model, image.outcome) for image in numbers.images)
    several_studies = len({row.study for row in numbers.rows}) > 1
    for study, model, outcome in shown:
        row = next(
            each for each in numbers.disagreements if (each.study, each.model, each.outcome) == (study, model, outcome)
        )
        chosen = [
            (image, picture)
            for image, picture in zip(numbers.images, numbers.pictures, strict=False)
            if (image.study, image.model, image.outcome) == (study, model, outcome) and picture
        ]
        yield Paragraph(f"Study {study}: {_differ(row)}" if several_studies else _differ(row))
        yield from _strips(chosen, row)


def _strips(chosen: Sequence[tuple[DifferingImage, bytes]], row: DifferingAnswers) -> Iterator[Block]:
    """A strip of the images on which one model's outcome is larger, then one of the other's, and of how many."""
    for words in dict.fromkeys(_larger(image) for image, _ in chosen):
        figures = [_figure(image, picture, words) for image, picture in chosen if _larger(image) == words]
        one = next(image for image, _ in chosen if _larger(image) == words)
        all_of_them = row.only_model if one.of_model > one.of_reference else row.only_reference
        shown = f" ({len(figures)} of {counted(all_of_them, 'image')} shown)" if len(figures) < all_of_them else ""
        yield Paragraph(f"{words}{shown}:", "key")
        yield tag("div", tag("div", joined(figures), class_="shots"), class_="strip first")


def _differ(row: DifferingAnswers) -> str:
    """How many images differ, which way."""
    both = row.only_reference + row.only_model
    head = f"{row.model} and {row.reference} differ on {both:,} of {counted(row.images, 'image')}"
    done = called(row.outcome, row.task)
    if done is None:
        words = f"the {spaced(row.outcome)} of {row.model} is larger on {row.only_model:,}"
        return f"{head}: {words}, that of {row.reference} on {row.only_reference:,}."
    alone = [(row.only_reference, row.reference), (row.only_model, row.model)]
    said = ", ".join(f"on {count:,} only {name} {done}" for count, name in alone if count)
    source = " All differences in this outcome come from these images." if both else ""
    return f"{head}{f': {said}' if said else ''}.{source}"


def _larger(image: DifferingImage) -> str:
    """Whose outcome is the larger on an image."""
    larger = image.model if image.of_model > image.of_reference else image.reference
    done = called(image.outcome, image.task)
    return f"Only {larger} {done}" if done else f"{spaced(image.outcome).capitalize()} of {larger} is the larger"


def _figure(image: DifferingImage, picture: bytes, words: str) -> Markup:
    settings = ", ".join(f"{spaced(name)} {value.replace('-', '−')}" for name, value in image.settings[:3])
    shown = tag("img", src=data_address(reduced(picture)), alt=f"{words}; {settings}")
    caption = tag("figcaption", tag("span", settings, class_="set")) if settings else Markup()
    return tag("figure", tag("div", shown, class_="frame") + caption, class_="shot")


def _verdicts(numbers: CompareNumbers) -> Iterator[Block]:
    for verdict, (mark, word) in MARKS.items():
        texts = [each.text for each in numbers.conclusions if each.verdict == verdict]
        if not texts:
            continue
        yield Heading(f"{mark} {word.capitalize()}")
        yield blocks.Bullets(texts[:_SHOWN], "limits")
        if len(texts) > _SHOWN:
            yield Folded(counted(len(texts) - _SHOWN, "more verdict"), (blocks.Bullets(texts[_SHOWN:], "limits"),))


def _picture(numbers: CompareNumbers) -> list[Block]:
    """Each judged difference, those that were found first."""
    order = list(MARKS)
    judged = [(each, numbers.rows[each.row]) for each in numbers.conclusions]
    ranked = sorted(judged, key=lambda each: (order.index(each[0].verdict), -abs(np.nan_to_num(each[1].estimate))))
    meanings: dict[str, str] = {verdict: word for verdict, (_, word) in MARKS.items()}
    rows = [
        Judged(
            verdict=conclusion.verdict,
            about=compared(conclusion, row).capitalize(),
            detail=f"{row.model} minus {row.reference}",
            mark=mark_of(Estimate(row.estimate, row.low, row.high)),
            unit=row.unit,
            margin=None if np.isnan(conclusion.margin) else conclusion.margin,
        )
        for conclusion, row in ranked
    ]
    return picture(rows, meanings, "Difference with its 95 % interval")


def _counts(numbers: CompareNumbers) -> Table[DifferingAnswers]:
    groups = _against_each(numbers)
    reference = "the baseline" if len(groups) > 1 else next(iter(groups))
    columns: list[Column[DifferingAnswers]] = [
        Column("model", lambda row: _named(numbers, row)),
        Column("outcome", lambda row: outcome_words(row.outcome, task=row.task)),
        Column("study", "study"),
        Column("images of both", "images", "count"),
        Column(f"{reference} is higher", "only_reference", "count"),
        Column("the model is higher", "only_model", "count"),
    ]
    return Table("Images on which the models differ", numbers.disagreements, columns)


def _table(numbers: CompareNumbers) -> Table[Row]:
    columns: list[Column[Row]] = [
        Column("compared", lambda row: f"{spaced(row.attribute)}: {row.name}" if row.attribute else row.name),
        Column("of", lambda row: "association" if row.observed and row.kind == "effect" else row.kind),
        Column("model", lambda row: _named(numbers, row)),
        Column("outcome", "outcome"),
        Column("study", "study"),
        Column("baseline", lambda row: of_each(row.first, row), "figure"),
        Column("model's", lambda row: of_each(row.second, row), "figure"),
        Column("difference", lambda row: amount(row.estimate, row.unit, signed=True), "figure"),
        Column(
            f"{level_words(numbers.confidence)} interval",
            lambda row: sized_interval(row.low, row.high, row.unit),
            "figure",
        ),
        Column("p, corrected", "p_adjusted", "p"),
        Column("subjects", "n_subjects", "count"),
    ]
    return Table("All numbers", numbers.rows, columns)


_Judged = tuple[Conclusion, Row]
CONCLUSIONS: Final[Sequence[Column[_Judged]]] = (
    Column("verdict", lambda each: " ".join(MARKS[each[0].verdict])),
    Column("model", lambda each: each[1].model),
    Column("compared", lambda each: compared(*each)),
    Column("baseline", lambda each: of_each(each[1].first, each[1])),
    Column("model's", lambda each: of_each(each[1].second, each[1])),
    Column("difference", lambda each: amount(each[1].estimate, each[1].unit, signed=True)),
    Column("95 % interval", lambda each: sized_interval(each[1].low, each[1].high, each[1].unit)),
    Column("p, corrected", lambda each: each[1].p_adjusted, "p"),
    Column("to settle it", lambda each: needs(*each) if each[0].verdict == "cannot tell" else ""),
)

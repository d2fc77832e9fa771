"""Two images at once: which of two a model prefers, of one subject or of two matched ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from transect.analysis import asked_answers
from transect.analysis.asked_answers import AskedPairs, Matched
from transect.analysis.finished_run import Run
from transect.analysis.sections.answers import dot, drawn, ends, table, with_ends, words
from transect.analysis.sections.places import RunFindings, placed
from transect.designs.pairs import Pair, all_pairs, along, cell_pairs, rule
from transect.effects.analysis import CONFIDENCE
from transect.effects.matched_pairs import GATE, balance
from transect.effects.multiplicity import holm
from transect.effects.preferences import ABILITY_SOURCES as BRADLEY_TERRY
from transect.effects.preferences import SOURCES as PREFERENCES
from transect.effects.preferences import Abilities, Preference
from transect.reports.columns import decimals, decimals_for
from transect.reports.records import Figure, Point, Section, Table
from transect.reports.wording import short_name
from transect.spoken_answers import Status
from transect.targets.words.asked import swapped
from transect.texts import one_line

_MATCHED_SUBJECTS_TEXT: Final = (
    "This is an observation, not an experiment: the model sees images of two different people at once, in both orders. "
    "A preference is associated with the level. It may come from anything else in which the two images differ and "
    "that was not matched.",
    "A pair counts for a level where the model chooses its image in both orders (with several wordings: on average "
    "above one half in either order); a choice that follows the place, or is neither, counts for no level. Shares have "
    "exact intervals over pairs; pairs that share a person count as one. In the tables, a subject is such a pair.",
    "A finding is a share, among pairs of which a level was preferred, whose interval excludes one half and whose "
    "exact sign test holds (p of at most 5 %) when corrected for all pairs of levels (Holm). Levels are appearances, "
    "as an onlooker sees them. The share does not say how large a difference is.",
)


def matched_subjects_shown(matched: Matched) -> str:
    """Which pairs these are."""
    n, people = len(matched.images), len(np.unique(matched.people))
    joined = "" if n == people else f", of which {n - people:,} share a person with another"
    alone = f"; on the images of {matched.alone:,} it is one person" if matched.alone else ""
    return f"{n:,} pairs of {matched.source} that differ in {words(matched.attribute)}{joined}{alone}"


def matched_subjects_text(run: Run, matched: Matched) -> list[str]:
    """What was done, how it was counted, and which labels still differ within pairs."""
    apart = [name for name, smd, _ in _differences(run, matched) if not abs(smd) <= GATE]
    left = ", ".join(words(name) for name in apart)
    still = (
        f"Still apart within pairs (standardized mean difference above {GATE:g}): {left}."
        if left
        else f"No other label of the data set differs within pairs by a standardized mean difference above {GATE:g}."
    )
    return [*_MATCHED_SUBJECTS_TEXT, still + " What has no label could not be compared."]


def balanced(run: Run, matched: Matched) -> Table:
    """How far the labels differ within pairs, and in how many pairs."""
    rows = [[words(name), smd, share] for name, smd, share in _differences(run, matched)]
    heads = [("label", "text"), ("standardized mean difference, second less first level", "number")]
    return table("In what else the pairs differ", [*heads, ("pairs that differ in it", "proportion")], rows)


def _differences(run: Run, matched: Matched) -> list[tuple[str, float, float]]:
    first, second = matched.images[:, 0], matched.images[:, 1]
    others = [name for name in {**run.attributes, **run.held} if name != matched.attribute and name in run.true]
    values = {name: np.asarray(run.true[name], dtype=np.float64) for name in others}
    found = balance(values, np.unique(second), np.unique(first), (second, first))
    rows = []
    for each in found:
        a, b = values[each.covariate][first], values[each.covariate][second]
        known = np.isfinite(a) & np.isfinite(b)
        differ = float((a != b)[known].mean()) if known.any() else float("nan")
        rows.append((each.covariate, each.after.smd, differ))
    return rows


ALPHA: Final = 1 - CONFIDENCE
EACH: Final = 2
"""Answers of each kind that are quoted."""
_TWO_IMAGES_TEXT: Final = (
    "The model sees two images of one subject at once, in both orders. A subject counts for a level where the model "
    "chooses its image in both orders (with several wordings: on average above one half in either order); a choice "
    "that follows the place, or is neither, counts for no level. So a model that chooses by place alone prefers "
    "nothing. Shares of subjects have exact intervals.",
    "A finding is a share, among subjects for whom a level was preferred, whose interval excludes one half and whose "
    "exact sign test holds (p of at most 5 %) when corrected for all pairs of levels (Holm). The verdicts "
    "of the report are on the difference of both levels' shares (outcome preferred), and corrected for all tests.",
    "Levels are appearances, as an onlooker sees them. A preference of nine in ten subjects may come from a difference "
    "that is small but steady: the share does not say how large it is.",
)


@final
@dataclass(frozen=True, slots=True)
class _Compared:
    """Two levels of one attribute. cells: the pairs of cells that differ in them alone; p: corrected."""

    attribute: str
    first: str
    second: str
    cells: list[Pair]
    found: Preference
    p: float = float("nan")

    @property
    def is_finding(self) -> bool:
        """Whether the interval of the share excludes one half, and the corrected test holds."""
        share = self.found.share
        return bool(self.p <= ALPHA and (share.low > 0.5 or share.high < 0.5))


@placed(410, "run")
def sections(about: RunFindings) -> list[Section]:
    """The section of each question about two images that a run asked. Raises BadInput for unfinished tables."""
    return [section_of(about.run, asked_answers.read(about.run, entry)) for entry in about.run.spec.pairs]


def section_of(run: Run, asked: AskedPairs) -> Section:
    """The section of one question about two images."""
    compared = _compared(run, asked)
    matched = asked.matched
    abilities = [each for name in run.design.levels if (each := _of_levels(run, asked, name))]
    text, tables = [*_TWO_IMAGES_TEXT], [_preferences(compared), _places(compared), *abilities, *_of_cells(run, asked)]
    if matched is not None:
        text = matched_subjects_text(run, matched)
        tables = [_preferences(compared), balanced(run, matched), _places(compared)]
        tables += _of_matched_levels(asked, matched)
    return Section(
        key="two_images",
        study=run.spec.name,
        target=asked.name,
        title=f"{'Two images at once' if matched is None else 'Matched pairs'}: {short_name(asked.name)}",
        text=[*_headline(compared, matched), *_question(run, asked), *text],
        figures=[_figure(compared)],
        tables=[*tables, _unanswered(asked, compared), _quotes(run, asked)],
        sources=list(dict.fromkeys([*PREFERENCES, *BRADLEY_TERRY, *asked.question.sources])),
    )


def _compared(run: Run, asked: AskedPairs) -> list[_Compared]:
    rows = [
        (*levels, cells, asked.preferred(cells, seed=run.design.seed)) for levels, cells in _shown_levels(run, asked)
    ]
    corrected = holm(np.array([row[-1].p for row in rows])).tolist()
    return [_Compared(*row, p) for row, p in zip(rows, corrected, strict=True)]


def _shown_levels(run: Run, asked: AskedPairs) -> list[tuple[tuple[str, str, str], list[Pair]]]:
    """An attribute and two of its levels, and the pairs of cells that differ in them alone."""
    if (matched := asked.matched) is not None:
        shown = sorted({pair.cells for pair in asked.pairs})
        levels = matched.levels
        return [((matched.attribute, levels[low], levels[high]), [(low, high)]) for low, high in shown]
    found = []
    for name, values in run.design.levels.items():
        label = run.attributes[name].label
        for (low, high), cells in along(run.design, name).items():
            found.append(((name, label(values[low]), label(values[high])), cells))
    return found


def _headline(compared: Sequence[_Compared], matched: Matched | None) -> list[str]:
    findings = [each for each in compared if each.is_finding]
    if not findings:
        return ["No finding: for no two levels is it shown that the model prefers one of them."]
    return [f"Finding: {_said(each, matched)}" for each in findings]


def _said(each: _Compared, matched: Matched | None) -> str:
    shown, counted = ("images of one subject", "subjects") if matched is None else ("matched people", "pairs")
    share, found = each.found.share, each.found
    decided = round((found.second.estimate + found.first.estimate) * found.subjects)
    second = share.estimate > 0.5
    level, other = (each.second, each.first) if second else (each.first, each.second)
    low, value, high = (share.low, share.estimate, share.high) if second else (
        1 - share.high, 1 - share.estimate, 1 - share.low
    )  # fmt: skip
    numbers, digits = (value, low, high, found.undecided.estimate), decimals_for(low, high)
    preferred, least, most, neither = (decimals(100 * number, digits) for number in numbers)
    return (
        f"of two {shown} the model prefers {words(each.attribute)} {level} to {other} for {preferred} % of the "
        f"{decided:,} {counted} for whom it prefers either ({least} to {most} %); of all {found.subjects:,} "
        f"it prefers neither for {neither} %."
    )


def _question(run: Run, asked: AskedPairs) -> list[str]:
    question = asked.question
    limits = {
        "A result may be used for": question.may_be_used_for,
        "It may not be used for": question.may_not_be_used_for,
    }
    shown = f"{rule(run.design)}, {len(cell_pairs(run.design)):,} of each subject"
    if asked.matched is not None:
        shown = matched_subjects_shown(asked.matched)
        del limits["A result may be used for"]  # which questions say of two images of one subject
    return [
        f"Asked: “{one_line(question.prompt, 1000)}”"
        + (f" and {len(question.paraphrases) - 1} more wordings." if len(question.paraphrases) > 1 else ""),
        f"Shown: {shown}. Every text that was sent and received stands in the tables pairs/ of the run folder.",
        *(f"{head}: {one_line(text, 2000)}" for head, text in limits.items() if text),
    ]


def _preferences(compared: Sequence[_Compared]) -> Table:
    rows = []
    for each in compared:
        found = each.found
        rows.append([
            words(each.attribute), each.first, each.second,
            *ends(found.share), each.p, "yes" if each.is_finding else found.share.reason or "no",
            *ends(found.first), *ends(found.second), *ends(found.undecided), found.by_place, found.subjects,
            found.incomplete,
        ])  # fmt: skip
    heads = [("attribute", "text"), ("first level", "text"), ("second level", "text")]
    heads += [("prefer the second, of those who prefer either", "proportion"), ("its low", "proportion")]
    heads += [("its high", "proportion"), ("corrected p", "p"), ("finding", "text")]
    for name in ("first", "second", "neither level"):
        share = f"share for the {name}".replace("the neither", "neither")
        heads += [(share, "proportion"), *with_ends(name, "proportion")[1:]]
    heads += [("neither, by place", "count"), ("subjects", "count"), ("subjects without both orders", "count")]
    return table("Preferences, by subjects", heads, rows)


def _places(compared: Sequence[_Compared]) -> Table:
    rows = [[_pair(each), *ends(each.found.place), each.found.place_p, each.found.place.reason] for each in compared]
    heads = [("levels", "text"), ("second place less first", "points"), ("low", "points"), ("high", "points")]
    title = "Preference for a place: how much more often the image in the second place is chosen"
    return table(title, [*heads, ("p", "p"), ("reason", "text")], rows)


def _pair(each: _Compared) -> str:
    return f"{words(each.attribute)}: {each.first} or {each.second}"


def _of_levels(run: Run, asked: AskedPairs, name: str) -> Table | None:
    """Abilities of an attribute's levels, where it has more than two."""
    levels = run.design.levels[name]
    if len(levels) < 3:
        return None
    places = {cells: pair for pair, shown in along(run.design, name).items() for cells in shown}
    labels = [run.attributes[name].label(level) for level in levels]
    return _abilities(f"Levels of {words(name)} in order", labels, asked.abilities(places, len(levels)))


def _of_matched_levels(asked: AskedPairs, matched: Matched) -> list[Table]:
    """Abilities of the levels at which matched pairs are, where they are more than two."""
    if len(matched.levels) < 3:
        return []
    places = {pair.cells: pair.cells for pair in asked.pairs}
    found = asked.abilities(places, len(matched.levels))
    return [_abilities(f"Levels of {words(matched.attribute)} in order", matched.levels, found)]


def _of_cells(run: Run, asked: AskedPairs) -> list[Table]:
    """Abilities of whole cells, where all pairs of several attributes' cells were shown."""
    design = run.design
    if len(design.levels) < 2 or not all_pairs(design):
        return []
    names = [
        ", ".join(f"{words(name)} {run.attributes[name].label(value)}" for name, value in cell.items())
        for cell in design.cells()
    ]
    places = {pair: pair for pair in cell_pairs(design)}
    return [_abilities("Images of a subject in order", names, asked.abilities(places, design.n_cells))]


def _abilities(title: str, labels: Sequence[str], found: Abilities) -> Table:
    rows: list[list[object]] = [
        [label, *ends(ability), ability.reason] for label, ability in zip(labels, found.abilities, strict=True)
    ]
    rows.append(["the second place", *ends(found.place), found.place.reason])
    expected = "" if np.isnan(found.expected) else f", {found.expected:.3g} expected of independent answers"
    triads = f"{found.circular:,} of {found.triads:,} triads contradict themselves{expected}"
    heads = [("level", "text"), ("log odds over the first", "number"), ("low", "number"), ("high", "number")]
    about = f"{found.answers:,} answers, {found.unanswered:,} without a choice"
    return table(f"{title} (Bradley-Terry): {triads}; {about}", [*heads, ("reason", "text")], rows)


def _unanswered(asked: AskedPairs, compared: Sequence[_Compared]) -> Table:
    rows = []
    for each in compared:
        n = asked.count(each.cells)
        counts = [asked.became(status, each.cells) for status in Status]
        rows.append([_pair(each), n, *counts, counts[1] / n if n else float("nan")])
    heads = [("levels", "text"), ("texts", "count"), *((str(status), "count") for status in Status)]
    return table("What became of the texts", [*heads, ("share refused", "proportion")], rows)


def _quotes(run: Run, asked: AskedPairs) -> Table:
    cells: Sequence[str] = [
        ", ".join(run.attributes[name].label(value) for name, value in cell.items()) for cell in run.design.cells()
    ]
    if asked.matched is not None:
        cells = asked.matched.levels
    rows: list[list[object]] = []
    for status in Status:
        found = ((pair, one) for pair in asked.pairs for one in pair.said[:EACH] if one.status is status)
        for pair, one in itertools.islice(found, EACH):
            shown = [cells[cell] for cell in pair.cells]
            chosen = "" if one.status is not Status.ANSWERED else [*shown, "neither"][int(one.value)]
            first, second = reversed(shown) if swapped(one.order) else shown
            text = f"“{one_line(one.text, 240)}”" if one.text else one_line(one.reason, 240)
            rows.append([str(pair.subject), first, second, str(status), text, chosen or one.reason])
    shown_in = ("shown first", "shown second", "what became of it", "the model said", "read as")
    heads = [(name, "text") for name in ("subject" if asked.matched is None else "pair", *shown_in)]
    return table("The first answers of each kind", heads, rows)


def _figure(compared: Sequence[_Compared]) -> Figure:
    panels: dict[str, dict[str, list[Point]]] = {}
    for each in compared:
        dots = panels.setdefault(words(each.attribute), {"share of subjects": []})["share of subjects"]
        dots.append(dot(each.found.share, f"{each.second} over {each.first}"))
    caption = (
        "(share of the subjects for whom a level is preferred, %, with exact 95 % intervals; 50 % without a preference)"
    )
    return drawn("rows", "Which level is preferred?", caption, panels, "share of subjects", "proportion")

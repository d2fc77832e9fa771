"""The page of a matching: first the effect on the outcome and what may still lie behind it, then balance, overlap, the
pairs side by side, and who was refused for what.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from markupsafe import Markup

from transect.effects.matched_pairs import AdjustedPairs, Cell, Side
from transect.jobs.match.figures import (
    MOST_PAIRS,
    MOST_PANELS,
    MOST_REFUSED,
    Card,
    Content,
    Joint,
    histogram_numbers,
    joint_numbers,
    levels,
    love_rows,
    overlap_histograms,
    share_marks,
    share_numbers,
)
from transect.jobs.match.options import METHOD
from transect.jobs.match.outcomes import MatchedOutcome, MatchNumbers
from transect.jobs.match.text import (
    agreements,
    balance_rows,
    effect_tables,
    groups_of,
    headline,
    matched_effects,
    sized,
)
from transect.reports import builder
from transect.reports.blocks import (
    Answer,
    Block,
    DotPlot,
    Facts,
    Folded,
    Heading,
    Page,
    Paragraph,
    Part,
    Plot,
    Plots,
    Row,
    TextTable,
)
from transect.reports.builder import data_address
from transect.reports.columns import decimals
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Tick, tag, tick_text
from transect.reports.saving import savable
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.wording import counted, spaced

MOST_OUTCOMES: Final = 4
"""Outcomes that the answer names; the part on matched effects has all."""
MOST_COVARIATES: Final = 8
ALPHA: Final = 0.05
_DOUBT: Final = " What still differs may explain a difference of the outcome"
_NONE: Final = "none was given. Name a column with --outcome, such as errors, to compare it within pairs."
_SHARES: Final = {
    "accuracy_in_sample": "accuracy of the propensity model in-sample",
    "accuracy_cross_validated": "cross-validated",
    "recall": "recall of the index",
}


def first_screen(page: Content) -> Iterator[Block]:
    """The blocks of the summary."""
    numbers = page.numbers
    balanced = numbers.verdict.startswith("balanced")
    verdict = Markup("<b>{}.</b>{}").format(numbers.verdict[0].upper() + numbers.verdict[1:], _covariates(numbers))
    yield Answer(tuple(_answers(page)), tuple(_remarks(numbers)))
    yield Paragraph(verdict + ("" if balanced else _doubt(numbers)), "note" if balanced else "notice")
    yield Paragraph(
        "Matching makes groups similar in what was measured. What was not measured may still differ, so differences "
        f"between matched groups are associations. {ATTRIBUTE_NOTE}",
        "note",
    )
    yield from (Paragraph(note, "note") for note in _notes(numbers))
    yield Folded("Images and method", (Facts([*_counts(page), ("method", numbers.method), *_measured(numbers)]),))


def lines(numbers: MatchNumbers) -> Iterator[str | tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """What the terminal shows: counts, reasons, the verdict, the covariates that differed most, outcomes."""
    yield headline(numbers)
    yield from (f"  refused: {count} ({reason})" for reason, count in numbers.refused.items())
    yield from (f"  {words}: {value}" for words, value in _measured(numbers))
    yield from (f"  note: {note}" for note in _notes(numbers))
    yield numbers.verdict
    rows = balance_rows(numbers)
    if rows:
        yield ("covariate", "SMD before", "SMD after"), rows
    if left := len(numbers.balance) - len(rows):
        yield f"{counted(left, 'more covariate')} differed less before: --json has all"
    control, treated = groups_of(numbers)
    yield from (effect(outcome, treated, outcome.versus or control).striptags() for outcome in numbers.outcomes)
    for table in effect_tables(numbers):
        yield f"{table.title}:"
        yield table.texts()
    if numbers.method == METHOD and numbers.outcomes:
        yield agreements(numbers.outcomes)


def _notes(numbers: MatchNumbers) -> list[str]:
    """What to know of the matching, with the method's own warning."""
    return [*numbers.notes, *map(str, filter(None, [numbers.facts.get("warning")]))]


def _covariates(numbers: MatchNumbers) -> str:
    """The names of the covariates whose balance was measured."""
    names = [spaced(row.covariate) for row in numbers.balance]
    more = len(names) - MOST_COVARIATES
    listed = ", ".join(names[:MOST_COVARIATES]) + (f" and {more} more" if more > 0 else "")
    return f" Measured were {listed}." if names else ""


def _doubt(numbers: MatchNumbers) -> str:
    """What imbalance means for outcomes; the adjusted difference is named only where there is one."""
    if not numbers.outcomes:
        return ""
    adjusted = any(map(_is_adjusted, numbers.outcomes[:MOST_OUTCOMES]))
    return f"{_DOUBT}{'; the adjusted one allows for it' if adjusted else ''}."


def _is_adjusted(outcome: MatchedOutcome) -> bool:
    return math.isfinite(outcome.adjusted.estimate) and outcome.adjusted.covariates > 0


def _answers(page: Content) -> Iterator[Markup]:
    numbers = page.numbers
    for outcome in numbers.outcomes[:MOST_OUTCOMES]:
        yield effect(outcome, page.groups[1], outcome.versus or page.groups[0])
    if numbers.outcomes:
        return
    why = "This method weighs images and makes no pairs, so it compares no outcome." if numbers.weighted else _NONE
    yield Markup("<b>No effect on an outcome:</b> {} {}").format(why, _made(page))


def _made(page: Content) -> str:
    numbers = page.numbers
    if numbers.weighted is not None:
        return f"{numbers.weighted:,} images have a weight."
    pairs = "1 pair was" if numbers.pairs == 1 else f"{numbers.pairs:,} pairs were"
    return f"{pairs} found for {numbers.treated:,} images with {page.groups[1]}."


def effect(outcome: MatchedOutcome, treated: str, control: str) -> Markup:
    """What the pairs show of an outcome: the verdict, the outcome of both groups, their difference, its interval."""
    head = Markup("<b>{}: {}</b>")
    if not math.isfinite(outcome.estimate):
        return head.format(outcome.outcome, f"not estimable ({outcome.reason}).")
    text = head.format(outcome.outcome, _verdict(outcome, treated, control))
    pairs = "1 pair" if outcome.n_pairs == 1 else f"{outcome.n_pairs:,} pairs"
    shown = Markup(" Within {} it is {} with {} and {} with {}: a difference of {}.")
    text += shown.format(
        pairs, _level(outcome, outcome.of_a), treated, _level(outcome, outcome.of_b), control, _sized(outcome, outcome)
    )
    if outcome.pairs_needed is not None:
        text += f" About {outcome.pairs_needed:,} pairs like these could tell."
    if _is_adjusted(outcome):
        adjusted = Markup(" Adjusted for what still differs within pairs: {}{}.")
        text += adjusted.format(_sized(outcome, outcome.adjusted), _kept(outcome))
    return text


def _verdict(outcome: MatchedOutcome, treated: str, control: str) -> str:
    """The claim, by p (corrected where there are several groups) and the 90 % interval."""
    margin, p = sized(outcome, outcome.margin), outcome.tested_p
    if not math.isfinite(p):
        return "a difference is not tested."
    if outcome.verdict == "found":
        more = "higher" if outcome.estimate > 0 else "lower"
        return f"{more} with {treated} than with {control} (p {rounded(p)})."
    if outcome.verdict == "no difference":
        ends = " to ".join(sized(outcome, end, unit=False) for end in (outcome.least, outcome.most))
        return f"no difference larger than {margin} (90 % interval {ends})."
    if math.isfinite(outcome.margin):
        return f"cannot tell whether {treated} and {control} differ by {margin} or more."
    return f"a difference is not shown (p {rounded(p)})."


def rounded(p: float) -> str:
    """A p value to two digits.

    >>> rounded(0.00001), rounded(0.0321), rounded(0.9998)
    ('< 0.0001', '0.032', '1.0')
    """
    return "< 0.0001" if p < 5e-5 else f"{p:#.2g}"


def _level(outcome: MatchedOutcome, mean: float) -> str:
    """The mean outcome of one side, in percent where it is 0 or 1."""
    return f"{decimals(100 * mean, 1)} %" if outcome.is_binary else decimals(mean)


def _kept(outcome: MatchedOutcome) -> str:
    """Whether the adjusted difference is shown too, by p (corrected where there are several groups)."""
    p = outcome.adjusted_p_groups if math.isfinite(outcome.adjusted_p_groups) else outcome.adjusted.p
    if not math.isfinite(p):
        return ", which is not tested"
    return "" if p <= ALPHA else f", which does not show a difference (p {rounded(p)})"


def _sized(outcome: MatchedOutcome, found: MatchedOutcome | AdjustedPairs) -> Markup:
    """A difference and its interval, in points where the outcome is 0 or 1."""
    plus = "+" if found.estimate > 0 else ""
    estimate = f"{plus}{sized(outcome, found.estimate)}"
    if not math.isfinite(found.low):
        return Markup("{} ({})").format(estimate, found.reason)
    ends = " to ".join(sized(outcome, end, unit=False) for end in (found.low, found.high))
    return Markup('{} <span class="range">(95 % interval {})</span>').format(estimate, ends)


def _remarks(numbers: MatchNumbers) -> Iterator[str]:
    left = len(numbers.outcomes) - MOST_OUTCOMES
    if left > 0:
        yield f"{left} more {'outcome is' if left == 1 else 'outcomes are'} below."
    groups = len({outcome.versus for outcome in numbers.outcomes})
    if groups > 1:
        yield f"p is corrected for the {groups} groups (Holm); each 95 % interval is of its group alone."
    if len({outcome.outcome for outcome in numbers.outcomes}) > 1:
        yield "p is not corrected for the number of outcomes."


def _counts(page: Content) -> Iterator[tuple[str, str]]:
    numbers = page.numbers
    if numbers.weighted is not None:
        yield "images weighted", f"{numbers.weighted:,}"
    else:
        yield "pairs", f"{numbers.pairs:,}"
    if numbers.dose_gap is not None:
        yield "images", f"{numbers.treated:,}"
        yield f"{numbers.treatment} differs by", f"{numbers.dose_gap} or more"
    else:
        yield f"treated ({page.groups[1]})", f"{numbers.treated:,}"
        yield f"control ({page.groups[0]})", f"{numbers.control:,}"


def _measured(numbers: MatchNumbers) -> Iterator[tuple[str, str]]:
    for name, words in _SHARES.items():
        share = numbers.facts.get(name)
        if isinstance(share, float):
            yield words, f"{decimals(100 * share, 1)} %"
    if numbers.missing:
        more = " …" if numbers.missing > len(numbers.missing_rows) else ""
        rows = "row" if numbers.missing == 1 else "rows"
        yield "with missing values", f"{numbers.missing:,}: {rows} {', '.join(map(str, numbers.missing_rows))}{more}"


LOVE_ROWS: Final = 10
"""Rows of the love plot that are not folded: the covariates that differed most."""
PANELS: Final = 6
"""Panels of shares that are not folded."""
_NO_PICTURES: Final = "To see them, give --pictures COLUMN."
_HIDE: Final = Markup("#r-{0}:checked ~ .cards .card:not(.reason-{0}) {{ display: none; }}\n")


def write(content: Content, folder: Path) -> Path:
    """Writes `match.html` and `match.json`; returns the page's path. The folder is made where it is missing."""
    return builder.write(page_of(content), folder / "match.html", content.numbers)


def page_of(page: Content) -> Page:
    """The page of a matching from what it shows."""
    numbers, reasons = page.numbers, sorted({card.reason for card in page.refused[:MOST_REFUSED]})
    treated, control = page.groups[1], page.groups[0]
    question = (
        f"Which images with {treated} have a counterpart {'in each of' if len(numbers.groups) > 2 else 'with'} "
        f"{control} that is similar in everything else?"
    )
    if numbers.outcomes:
        named = ", ".join(dict.fromkeys(outcome.outcome for outcome in numbers.outcomes))
        question = (
            f"Does {named} differ between {treated} and {control} in images that are similar in all that was measured?"
        )
    if numbers.weighted is not None:
        question = f"With which weights are images with {treated} and with {control} similar in everything else?"
    parts = (
        Part("summary", "Summary", tuple(first_screen(page))),
        Part("outcomes", "Matched effects", tuple(matched_effects(numbers))),
        Part("balance", "Balance", tuple(_balance(page))),
        Part("shares", "Shares", tuple(_shares(page))),
        Part("overlap", "Overlap", tuple(_overlap(page))),
        Part("references", "Reference images", tuple(_references(page))),
        Part("joint", "Joint distribution", tuple(_joints(page))),
        Part("pairs", "Pairs", tuple(_pairs(page))),
        Part("refused", "Images without a match", tuple(_refused(page, reasons)), "Without a match"),
    )
    return Page(
        f"Matching by {numbers.treatment}",
        tuple(part for part in parts if part.blocks),
        f"Images matched across {numbers.treatment}",
        question,
        style=Markup("").join(_HIDE.format(number) for number in range(len(reasons))),
    )


def _percent(share: float) -> str:
    return decimals(100 * share, 1)


def _balance(page: Content) -> Iterator[Block]:
    numbers = page.numbers
    split = f"; “before” compares the images above and below the median {numbers.treatment}"
    yield Paragraph(
        "Absolute standardized mean differences in standard deviations of the unmatched groups, before matching "
        f"(hollow) and after (filled){split if numbers.dose_gap is not None else ''}. The vertical line is the balance "
        f"threshold, {decimals(page.gate, 2)}. The method saw the covariates marked “used”."
    )
    scale, rows = love_rows(page.balance, page.gate)
    ticks = [Tick(100 * scale.fraction(tick), tick_text(scale, tick, False), tick) for tick in scale.ticks]
    gate = 100 * scale.fraction(min(page.gate, scale.high))
    drawn = []
    for number, row in enumerate(rows):
        used = Markup(' <span class="change">used</span>') if row.used else ""
        title, words = f"{row.name}: absolute standardized mean difference", "Hollow before matching, filled after."
        track = svg.track(f"love-{number}", title, words, [(gate, 0)], row.marks)
        after = tag("b" if row.beyond else "span", decimals(row.smd_after))
        value = Markup("{} → {}").format(decimals(row.smd_before), after)
        drawn.append(Row(Markup("{}{}").format(row.name, used), track, value, row.beyond))
    caption = tag("strong", "Absolute standardized mean differences, before (hollow) and after (filled)")
    differences = [(row.name, str(row.smd_before), str(row.smd_after)) for row in rows]
    saved = TextTable("Balance", ("covariate", "SMD before", "SMD after"), differences)
    yield DotPlot(caption, ticks, drawn[:LOVE_ROWS], "before → after", "love", saved)
    if rest := drawn[LOVE_ROWS:]:
        words = f"{len(rest)} more {'covariate' if len(rest) == 1 else 'covariates'}, with smaller differences before"
        yield Folded(words, (DotPlot(caption, ticks, rest, "before → after", "love", saved),))
    yield Folded("Table of balance", (_balance_table(page),))


def _balance_table(page: Content) -> TextTable:
    headings = ["covariate", *(f"mean {page.groups[side]} {when}" for when in ("before", "after") for side in (1, 0))]
    headings += ["SMD before", "SMD after", "variance ratio after", "KS after"]
    rows = []
    for balance in page.balance:
        before, after = balance.before, balance.after
        figures = (before.treated, before.control, after.treated, after.control)
        spread = (before.smd, after.smd, after.variance_ratio, after.ks)
        rows.append((balance.covariate, *map(decimals, (*figures, *spread))))
    return TextTable("Balance", headings, rows)


def _key(number: int) -> Markup:
    mark = tag("svg", svg.placed(number, "7", 7), width=14, height=14, aria_hidden="true", class_="inline-key")
    return tag("span", mark, class_=f"series s{number}")


def _among(opening: str, treated: str, control: str, rest: str) -> Paragraph:
    """A sentence on shares in both groups, with the marks of the groups."""
    words = Markup("{} among {} {} and {} {}, before and after{}")
    return Paragraph(words.format(opening, treated, _key(0), control, _key(1), rest))


def _shares(page: Content) -> Iterator[Block]:
    shares = [covariate for covariate in page.balance if np.isfinite(covariate.before.treated_interval[0])]
    if not shares:
        return
    left = len(shares) - MOST_PANELS
    more = f" {left} more {'is' if left == 1 else 'are'} in match.json." if left > 0 else ""
    treated, control = page.groups[1], page.groups[0]
    yield _among("Share of each attribute", treated, control, f", with 95 % Wilson intervals.{more}")
    panels = [
        _proportion(f"share-{number}", share.covariate, (share.before, share.after), treated, control)
        for number, share in enumerate(shares[:MOST_PANELS])
    ]
    yield savable(tag("div", svg.joined(panels[:PANELS]), class_="proportions"), share_numbers(page, shares[:PANELS]))
    if rest := panels[PANELS:]:
        numbers = share_numbers(page, shares[PANELS:MOST_PANELS])
        yield Folded(f"{len(rest)} more", (savable(tag("div", svg.joined(rest), class_="proportions"), numbers),))


def _proportion(name: str, title: str, sides: Sequence[Side | Cell], treated: str, control: str) -> Markup:
    """One share in both groups, before and after."""
    lines = []
    for when, side in zip(("before", "after"), sides, strict=True):
        words = f"{title} {when}: {_percent(side.treated)} % of {treated}, {_percent(side.control)} % of {control}"
        track = svg.track(f"{name}-{when}", words, "", [(0, 1), (100, 1)], share_marks(side))
        lines.append(tag("span", when) + track)
    axis = tag("span") + tag("span", tag("span", "0 %") + tag("span", "100 %"), class_="fine ends")
    return tag("div", tag("b", title) + svg.joined(lines) + axis, class_="proportion")


def _histograms(
    name: str, words: str, groups: Mapping[str, tuple[np.ndarray, np.ndarray]], digits: int
) -> tuple[list[str], Plots]:
    """The ends of the axis in words, and the plots."""
    edges, drawn = overlap_histograms(groups)
    ends = [decimals(edge, digits) for edge in edges]
    numbers = histogram_numbers(edges, drawn)
    foot = tag("span", tag("span", ends[0]) + tag("span", ends[1]), class_="ends")
    plots = [
        Plot(
            Markup("<strong>{}</strong>").format(panel.title.capitalize()),
            svg.histograms(f"{name}-{number}", f"{words}, {panel.title}", panel.treated, panel.control),
            foot,
        )
        for number, panel in enumerate(drawn)
    ]
    return ends, Plots(plots, numbers=numbers)


def _overlap(page: Content) -> Iterator[Block]:
    if not page.overlap:
        return
    treated, control = page.groups[1], page.groups[0]
    (low, high), plots = _histograms("overlap", "Distribution of log odds", page.overlap, 1)
    yield Paragraph(
        f"Log odds of being {treated}, from {low} to {high}: {treated} above, {control} below. Where only one side has "
        "bars, images have no counterpart."
    )
    yield plots


def _references(page: Content) -> Iterator[Block]:
    numbers = page.numbers.references
    if not page.references or numbers is None:
        return
    treated, control = page.groups[1], page.groups[0]
    yield Paragraph(
        f"Distance of each matched image from a second image of the same person: {treated} above, {control} below. Of "
        "several second images, the two that are most nearly equally far are taken (Eq. 5 of Singh et al. 2021), so "
        "that the second image is about as hard to recognize in both groups."
    )
    yield Facts(
        [
            (f"mean, {treated}", decimals(numbers.mean_treated)),
            (f"mean, {control}", decimals(numbers.mean_control)),
            ("mean difference in pairs", decimals(numbers.mean_difference_in_pairs)),
            ("largest difference of the distributions (KS)", decimals(numbers.ks)),
        ]
    )
    yield _histograms("reference", "Distribution of the distance of reference images", page.references, 3)[1]


def _joints(page: Content) -> Iterator[Block]:
    several = len(page.joints) > 1
    for place, joint in enumerate(page.joints):
        if several:
            yield Heading(f"{joint.treated} and {joint.control}")
        first = ", with 95 % Wilson intervals: groups may agree in each attribute and not in their combinations."
        yield _among("Share of each combination", joint.treated, joint.control, "." if place else first)
        panels = [
            _proportion(f"joint-{place}-{number}", levels(cells[0]), cells, joint.treated, joint.control)
            for number, cells in enumerate(zip(joint.before, joint.after, strict=True))
        ]
        yield savable(tag("div", svg.joined(panels), class_="proportions"), joint_numbers(joint))
    if page.joints:
        tables = [table for joint in page.joints for table in _joint_tables(joint, several)]
        yield Folded(f"{'Tables' if several else 'Table'} of the joint distribution", tables)


def _joint_tables(joint: Joint, several: bool) -> Iterator[Block]:
    for when, cells in (("before", joint.before), ("after", joint.after)):
        yield Heading(when.capitalize() + (f": {joint.treated} and {joint.control}" if several else ""))
        title = f"Joint distribution {when}, {joint.treated} and {joint.control}"
        rows = [
            (levels(cell), *(_ranged(*side) for side in (
                (cell.treated, cell.treated_interval), (cell.control, cell.control_interval)))
            ) for cell in cells
        ]  # fmt: skip
        yield TextTable(title, ("combination", f"{joint.treated}, %", f"{joint.control}, %"), rows)


def _ranged(share: float, ends: tuple[float, float]) -> Markup:
    return Markup('{} <span class="range">{} to {}</span>').format(_percent(share), *map(_percent, ends))


def _pairs(page: Content) -> Iterator[Block]:
    pairs, every = page.pairs[:MOST_PAIRS], page.numbers.pairs
    if not pairs:
        yield Paragraph("This method weighs images and makes no pairs.")
        return
    which = "Every pair, the nearest first"
    if len(pairs) < every:
        which = f"{len(pairs)} of {every:,} pairs, in equal steps from the nearest to the farthest"
    if not _any_picture(pairs):
        yield Paragraph(f"{which}, by row of the table. {_NO_PICTURES}")
        rows = [(str(pair.a), str(pair.b), decimals(pair.distance)) for pair in pairs]
        yield Folded("Table of pairs", (TextTable("Pairs", (page.groups[1], page.groups[0], "distance"), rows),))
        return
    yield Paragraph(f"{which}: {page.groups[1]} left, {page.groups[0]} right.")
    kinds = {"all": "all", "nearest": "nearest quarter", "farthest": "farthest quarter"}
    yield _filters("f", kinds)
    low, high = np.quantile([pair.distance for pair in page.pairs], [0.25, 0.75])
    quarters = ["nearest" if p.distance <= low else "farthest" if p.distance >= high else "middle" for p in pairs]
    cards = [
        _card(card, kind, f"{card.a} with {card.b}, distance {decimals(card.distance)}")
        for card, kind in zip(pairs, quarters, strict=True)
    ]
    yield tag("div", svg.joined(cards), class_="cards")


def _filters(group: str, kinds: Mapping[str, str]) -> Markup:
    """Buttons that choose which cards are shown; the style sheet hides the others."""
    return svg.joined(
        tag(
            "input",
            class_="filter",
            type="radio",
            name=group,
            id=f"{group}-{kind}",
            checked="checked" if kind == "all" else None,
        )
        + tag("label", words, **{"for": f"{group}-{kind}"})
        for kind, words in kinds.items()
    )


def _card(card: Card, css: str, words: str) -> Markup:
    images = [
        tag("img", src=data_address(png), alt=f"image {row}")
        for png, row in ((card.picture_a, card.a), (card.picture_b, card.b))
        if png
    ]
    return tag("figure", Markup(" ").join(images) + tag("figcaption", words), class_=f"card {css}")


def _refused(page: Content, reasons: Sequence[str]) -> Iterator[Block]:
    numbers, refused = page.numbers, page.refused[:MOST_REFUSED]
    images = f"images with {page.groups[1]}" if numbers.sets is not None else "treated images"
    rows = [(reason, f"{count:,}") for reason, count in numbers.refused.items()] or [("none", "")]
    yield TextTable("Images without a match", ("reason", images), rows)
    if not refused:
        return
    other = "image of the group named" if numbers.sets is not None else "control"
    shown = "1 refused image with its" if len(refused) == 1 else f"{len(refused)} refused images with their"
    if not _any_picture(refused):
        yield Paragraph(
            f"{shown} nearest {other}, whatever the constraint, by row of the table. {_NO_PICTURES}", "fine"
        )
        yield Folded("Table of images without a match", (_refused_table(refused, other),))
        return
    yield Paragraph(f"{shown} nearest {other}, whatever the constraint; each reason has its share:", "fine")
    yield _filters("r", {"all": "all", **{str(number): reason for number, reason in enumerate(reasons)}})
    cards = [_card(card, f"reason-{reasons.index(card.reason)}", _why(card)) for card in refused]
    yield tag("div", svg.joined(cards), class_="cards")


def _any_picture(cards: Sequence[Card]) -> bool:
    return any(card.picture_a or card.picture_b for card in cards)


def _refused_table(refused: Sequence[Card], other: str) -> TextTable:
    rows = [
        (str(card.a), "none" if card.b is None else str(card.b), decimals(card.distance), card.reason)
        for card in refused
    ]
    return TextTable(
        "Images without a match, and the nearest", ("image", f"nearest {other}", "distance", "reason"), rows
    )


def _why(card: Card) -> str:
    nearest = "" if card.b is None else f" with {card.b}, distance {decimals(card.distance)}"
    return f"{card.a}{nearest}: {card.reason}"

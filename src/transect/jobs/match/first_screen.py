"""The first screen of a matching: the effect on the outcome, what may still lie behind it, then counts and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from transect.effects.matched_pairs import AdjustedPairs
from transect.jobs.match.figures import Content
from transect.jobs.match.matched_effects import sized
from transect.jobs.match.numbers import MatchedOutcome, MatchNumbers
from transect.reports.blocks import Answer, Block, Facts, Folded, Paragraph
from transect.reports.builder import decimals
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.wording import spaced

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
    warning = numbers.facts.get("warning")
    for note in (*numbers.notes, *([str(warning)] if warning else [])):
        yield Paragraph(note, "note")
    yield Folded("Images and method", (Facts([*_counts(page), ("method", numbers.method), *_measured(numbers)]),))


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

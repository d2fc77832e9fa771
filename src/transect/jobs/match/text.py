"""A matching in words, and its outcomes as tables: within pairs, adjusted, and next to an experiment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from transect.effects.matched_pairs import GAMMAS
from transect.jobs.match.options import METHOD
from transect.jobs.match.outcomes import ExperimentComparison, MatchedOutcome, MatchNumbers
from transect.reports.blocks import Block, Folded, Heading, Paragraph, TextTable
from transect.reports.columns import decimals, probability
from transect.runs.wording import signed


def matched_effects(numbers: MatchNumbers) -> Iterator[Block]:
    """Outcomes within pairs, adjusted for what still differs, and beside an experiment; nothing without outcomes."""
    outcomes, (control, treated) = numbers.outcomes, groups_of(numbers)
    if not outcomes:
        return
    yield Heading("Outcomes within pairs")
    yield Paragraph(
        f"{treated} minus {control} in each pair; outcomes of 0 and 1, and their changes, in percentage points."
    )
    if numbers.sets is not None:
        others = f"the {len(numbers.groups) - 1} other groups"
        yield Paragraph(f"p of {treated} against {others} are corrected together (Holm), too.")
    yield _outcome_table(numbers)
    if numbers.method == METHOD:
        yield Paragraph(agreements(outcomes))
    hidden = _hidden_table(outcomes)
    if hidden is None:
        yield Paragraph("No difference was found, so there is none that something hidden would have to explain.")
    else:
        words = (
            "Two images of a pair look the same in what was measured and may still differ in something hidden, which "
            f"makes the odds of being {treated} larger for one of them by some factor (Rosenbaum’s gamma). A p is the "
            "largest that this factor allows; up to the “largest factor” the difference stays significant."
        )
        yield Folded("Could something hidden explain the difference?", (Paragraph(words), hidden))
    yield Heading("Adjusted for what still differs within pairs")
    yield Paragraph(
        "A pair is similar, not identical. Least squares of each pair’s difference in outcome on its differences in "
        "the covariates removes what these explain, as far as that is linear; each pair is one observation (HC3 "
        "errors)."
    )
    yield _outcome_table(numbers, adjusted=True)
    if any(outcome.experiment for outcome in outcomes):
        yield Heading("Compared with the experiment")
        yield Paragraph(_EXPERIMENT)
        yield _experiment_table(outcomes)


def effect_tables(numbers: MatchNumbers) -> list[TextTable]:
    """The tables of outcomes that the terminal shows, too."""
    outcomes = numbers.outcomes
    compared = [_experiment_table(outcomes)] if any(outcome.experiment for outcome in outcomes) else []
    hidden = _hidden_table(outcomes)
    adjusted = _outcome_table(numbers, adjusted=True)
    return [_outcome_table(numbers), *([hidden] if hidden else []), adjusted, *compared] if outcomes else []


def groups_of(numbers: MatchNumbers) -> tuple[str, str]:
    """Control and treated in words; of more than two groups the base, which is the first, is the treated one."""
    first, *others = [named(numbers.treatment, group) for group in numbers.groups]
    return (first, others[0]) if len(others) == 1 else ("other groups", first)


def named(treatment: str, group: str) -> str:
    """A group in words: a bare number needs its column."""
    return f"{treatment} {group}" if group.replace(".", "").lstrip("-").isdigit() else group


def agreements(outcomes: Sequence[MatchedOutcome]) -> str:
    """How far the two images of pairs that were given agree, in a sentence."""
    said = [
        f"{outcome.label} {decimals(outcome.agreement, 2)} ({'kappa' if outcome.is_binary else 'correlation'})"
        if math.isfinite(outcome.agreement)
        else f"{outcome.label} not estimable: a side that does not vary, or fewer than three pairs"
        for outcome in outcomes
    ]
    return f"Agreement of the two images of a pair: {'; '.join(said)}."


def _hidden_table(outcomes: Sequence[MatchedOutcome]) -> TextTable | None:
    """How strong a hidden difference within pairs would have to be to explain the differences; None without any."""
    if not any(math.isfinite(outcome.tolerated) or outcome.no_bounds for outcome in outcomes):
        return None
    headings = ["outcome", "largest factor", *(f"p at {gamma}" for gamma in GAMMAS if gamma > 1)]
    return TextTable("Hidden bias", headings, [[outcome.label, *_bounds(outcome)] for outcome in outcomes])


def sized(outcome: MatchedOutcome, value: float, *, unit: bool = True) -> str:
    """A difference of an outcome: in points where it is 0 or 1."""
    if outcome.is_binary:
        return decimals(100 * value, 1) + (" points" if unit else "")
    return decimals(value)


def _outcome_table(numbers: MatchNumbers, *, adjusted: bool = False) -> TextTable:
    """The difference of each outcome within pairs, as found or adjusted."""
    headings = ["outcome", "difference", "95 % interval", "p", "pairs", "pairs without both outcomes"]
    rows = []
    for outcome in numbers.outcomes:
        found = outcome.adjusted if adjusted else outcome
        estimate = sized(outcome, found.estimate) if math.isfinite(found.estimate) else f"not estimable: {found.reason}"
        ends = " to ".join(sized(outcome, end, unit=False) for end in (found.low, found.high))
        interval = ends if math.isfinite(found.low) else found.reason
        row = [outcome.label, estimate, interval, probability(found.p), f"{found.n_pairs:,}", f"{found.n_missing:,}"]
        if adjusted:
            row += [str(outcome.adjusted.covariates), ", ".join(outcome.adjusted.left_out)]
        if numbers.sets is not None:
            row.insert(4, probability(outcome.adjusted_p_groups if adjusted else outcome.p_groups))
        rows.append(row)
    if adjusted:
        headings += ["covariates", "not used"]
    if numbers.sets is not None:
        headings.insert(4, "p, corrected")
    return TextTable("Adjusted outcomes" if adjusted else "Outcomes within pairs", headings, rows)


def _bounds(outcome: MatchedOutcome) -> tuple[str, ...]:
    """The largest factor, and p at each; the reason in the first cell where there are none."""
    if not outcome.largest_p:
        return (outcome.no_bounds, *("–" for gamma in GAMMAS if gamma > 1))
    tolerated = decimals(outcome.tolerated, 2) if math.isfinite(outcome.tolerated) else "no difference found"
    return (tolerated, *map(probability, outcome.largest_p[1:]))


_EXPERIMENT: Final = (
    "An audit set the attribute on generated subjects and held all else; the pairs are photographs as collected. "
    "Where the two differ by more than chance, either the pairs differ in something hidden or generated images do "
    "not represent photographs. One being significant and the other not is no disagreement: the difference itself "
    "is tested (z from both intervals; interval by square-and-add). The last column is the true difference that a "
    "comparison of this size detects in 80 % of cases; smaller ones are easily missed."
)


def _experiment_table(outcomes: Sequence[MatchedOutcome]) -> TextTable:
    interval = "95 % interval"
    headings = ("outcome", "experiment", "its effect", interval, "pairs", "minus experiment", interval, "p")
    rows = [
        row
        for outcome in outcomes
        for effect in outcome.experiment
        for row in (_compared(outcome, effect, adjusted=False), _compared(outcome, effect, adjusted=True))
    ]
    return TextTable("Matched effects compared with the experiment", (*headings, "detectable with 80 % power"), rows)


def _compared(outcome: MatchedOutcome, effect: ExperimentComparison, *, adjusted: bool) -> tuple[str, ...]:
    test = effect.adjusted if adjusted else effect.matched
    estimate = sized(outcome, effect.estimate) if math.isfinite(effect.estimate) else "not estimable"
    ends = " to ".join(sized(outcome, end, unit=False) for end in (effect.low, effect.high))
    head = (
        outcome.outcome,
        f"{effect.name}, {effect.target}",
        estimate,
        ends if math.isfinite(effect.low) else "",
        "adjusted" if adjusted else "not adjusted",
    )
    if test is None or not math.isfinite(test.p):
        return (*head, effect.reason or (test.reason if test else ""), "–", "–", "–")
    interval = " to ".join(sized(outcome, end, unit=False) for end in (test.low, test.high))
    smallest = sized(outcome, test.smallest_found, unit=False)
    return (*head, sized(outcome, test.difference), interval, probability(test.p), smallest)


MOST_SHOWN: Final = 15


def headline(numbers: MatchNumbers) -> str:
    """How many pairs, of which images, by which method."""
    images = f"{numbers.treated} treated and {numbers.control} control images"
    if numbers.dose_gap is not None:  # every image may be the higher or the lower of a pair
        images = f"{numbers.treated} images whose {numbers.treatment} differs by {numbers.dose_gap:g} or more"
    pairs = "1 pair" if numbers.pairs == 1 else f"{numbers.pairs} pairs"
    weighted = numbers.weighted
    return f"{pairs if weighted is None else f'{weighted} images weighted'} from {images} ({numbers.method})"


def balance_rows(numbers: MatchNumbers) -> list[tuple[str, str, str]]:
    """Covariate, SMD before and SMD after, of the covariates that differed most before."""
    ranked = sorted(numbers.balance, key=lambda row: 0.0 if math.isnan(row.before) else -abs(row.before))
    return [(row.covariate, _smd(row.before), _smd(row.after)) for row in ranked[:MOST_SHOWN]]


def _smd(value: float) -> str:
    return signed(value) if math.isfinite(value) else "unknown"

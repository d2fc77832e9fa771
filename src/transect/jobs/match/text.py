"""A matching in words, as `transect match` prints it, with the part on outcomes: within pairs, adjusted, and next to
an experiment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from transect.effects.matched_pairs import GAMMAS, AdjustedPairs
from transect.jobs.match.figures import Content
from transect.jobs.match.options import METHOD
from transect.jobs.match.outcomes import ExperimentComparison, MatchedOutcome, MatchNumbers
from transect.reports.blocks import Block, Folded, Heading, Paragraph, TextTable
from transect.reports.columns import decimals, probability
from transect.runs.wording import signed, spaced

_WITHOUT: Final = "pairs without both outcomes"


def matched_effects(page: Content) -> Iterator[Block]:
    """Outcomes within pairs, adjusted for what still differs, and beside an experiment; nothing without outcomes."""
    outcomes, treated = page.numbers.outcomes, page.groups[1]
    if not outcomes:
        return
    yield Heading("Outcomes within pairs")
    yield Paragraph(
        f"{treated} minus {page.groups[0]} in each pair; outcomes of 0 and 1, and their changes, in percentage points."
    )
    headings = ["outcome", "difference", "95 % interval", "p", "pairs", _WITHOUT]
    rows = [[*_estimated(outcome, outcome)] for outcome in outcomes]
    if page.numbers.sets is not None:
        others = f"the {len(page.numbers.groups) - 1} other groups"
        yield Paragraph(f"p of {treated} against {others} are corrected together (Holm), too.")
        headings.insert(4, "p, corrected")
        for row, outcome in zip(rows, outcomes, strict=True):
            row.insert(4, probability(outcome.p_groups))
    yield TextTable("Outcomes within pairs", headings, rows)
    if page.numbers.method == METHOD:
        yield Paragraph(agreements(outcomes))
    yield from _hidden(outcomes, treated)
    yield Heading("Adjusted for what still differs within pairs")
    yield Paragraph(
        "A pair is similar, not identical. Least squares of each pair’s difference in outcome on its differences in "
        "the covariates removes what these explain, as far as that is linear; each pair is one observation (HC3 "
        "errors)."
    )
    headings = ["outcome", "difference", "95 % interval", "p", "pairs", _WITHOUT, "covariates", "not used"]
    rows = [
        [*_estimated(outcome, outcome.adjusted), str(outcome.adjusted.covariates), ", ".join(outcome.adjusted.left_out)]
        for outcome in outcomes
    ]
    if page.numbers.sets is not None:
        headings.insert(4, "p, corrected")
        for row, outcome in zip(rows, outcomes, strict=True):
            row.insert(4, probability(outcome.adjusted_p_groups))
    yield TextTable("Adjusted outcomes", headings, rows)
    if any(outcome.experiment for outcome in outcomes):
        yield from _experiments(outcomes)


def agreements(outcomes: Sequence[MatchedOutcome]) -> str:
    """How far the two images of pairs that were given agree, in a sentence."""
    said = [
        f"{outcome.label} {decimals(outcome.agreement, 2)} ({'kappa' if outcome.is_binary else 'correlation'})"
        if math.isfinite(outcome.agreement)
        else f"{outcome.label} not estimable: a side that does not vary, or fewer than three pairs"
        for outcome in outcomes
    ]
    return f"Agreement of the two images of a pair: {'; '.join(said)}."


def _hidden(outcomes: Sequence[MatchedOutcome], treated: str) -> Iterator[Block]:
    """How strong a hidden difference within pairs would have to be to explain the differences that were found."""
    if not any(math.isfinite(outcome.tolerated) or outcome.no_bounds for outcome in outcomes):
        yield Paragraph("No difference was found, so there is none that something hidden would have to explain.")
        return
    headings = ["outcome", "largest factor", *(f"p at {gamma}" for gamma in GAMMAS if gamma > 1)]
    words = Paragraph(
        "Two images of a pair look the same in what was measured and may still differ in something hidden, which makes "
        f"the odds of being {treated} larger for one of them by some factor (Rosenbaum’s gamma). A p is the largest "
        "that this factor allows; up to the “largest factor” the difference stays significant."
    )
    table = TextTable("Hidden bias", headings, [[outcome.label, *_bounds(outcome)] for outcome in outcomes])
    yield Folded("Could something hidden explain the difference?", (words, table))


def sized(outcome: MatchedOutcome, value: float, *, unit: bool = True) -> str:
    """A difference of an outcome: in points where it is 0 or 1."""
    if outcome.is_binary:
        return decimals(100 * value, 1) + (" points" if unit else "")
    return decimals(value)


def _estimated(outcome: MatchedOutcome, found: MatchedOutcome | AdjustedPairs) -> tuple[str, ...]:
    estimate = sized(outcome, found.estimate) if math.isfinite(found.estimate) else f"not estimable: {found.reason}"
    ends = " to ".join(sized(outcome, end, unit=False) for end in (found.low, found.high))
    interval = ends if math.isfinite(found.low) else found.reason
    return outcome.label, estimate, interval, probability(found.p), f"{found.n_pairs:,}", f"{found.n_missing:,}"


def _bounds(outcome: MatchedOutcome) -> tuple[str, ...]:
    """The largest factor, and p at each; the reason in the first cell where there are none."""
    if not outcome.largest_p:
        return (outcome.no_bounds, *("–" for gamma in GAMMAS if gamma > 1))
    tolerated = decimals(outcome.tolerated, 2) if math.isfinite(outcome.tolerated) else "no difference found"
    return (tolerated, *map(probability, outcome.largest_p[1:]))


def _experiments(outcomes: Sequence[MatchedOutcome]) -> Iterator[Block]:
    yield Heading("Compared with the experiment")
    yield Paragraph(
        "An audit set the attribute on generated subjects and held all else; the pairs are photographs as collected. "
        "Where the two differ by more than chance, either the pairs differ in something hidden or generated images do "
        "not represent photographs. One being significant and the other not is no disagreement: the difference itself "
        "is tested (z from both intervals; interval by square-and-add). The last column is the true difference that a "
        "comparison of this size detects in 80 % of cases; smaller ones are easily missed."
    )
    interval = "95 % interval"
    headings = ("outcome", "experiment", "its effect", interval, "pairs", "minus experiment", interval, "p")
    rows = [
        row
        for outcome in outcomes
        for effect in outcome.experiment
        for row in (_compared(outcome, effect, adjusted=False), _compared(outcome, effect, adjusted=True))
    ]
    yield TextTable("Matched effects compared with the experiment", (*headings, "detectable with 80 % power"), rows)


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
_SHARES: Final = ("accuracy_in_sample", "accuracy_cross_validated", "recall")


def lines(numbers: MatchNumbers) -> list[str]:
    """The answer: counts, reasons, the verdict, the covariates that differed most, outcomes."""
    texts = [headline(numbers)]
    texts += [f"  refused: {count} ({reason})" for reason, count in numbers.refused.items()]
    if numbers.missing:
        rows = ", ".join(map(str, numbers.missing_rows)) + (" …" if numbers.missing > len(numbers.missing_rows) else "")
        images = "1 image, row" if numbers.missing == 1 else f"{numbers.missing} images, rows"
        texts.append(f"  missing values: {images} {rows}")
    warning = numbers.facts.get("warning")
    texts += [f"  note: {note}" for note in (*numbers.notes, *filter(None, [warning]))]
    for name in _SHARES:
        share = numbers.facts.get(name)
        if isinstance(share, float):
            texts.append(f"  {spaced(name)}: {share:.4f}")
    texts += [numbers.verdict, *_balance_lines(numbers)]
    texts += [line for outcome in numbers.outcomes for line in outcome_lines(outcome)]
    given = numbers.method == METHOD and numbers.outcomes
    return [*texts, *([agreements(numbers.outcomes)] if given else [])]


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


def _balance_lines(numbers: MatchNumbers) -> list[str]:
    """The covariates that differed most before, and how many more there are."""
    rows = balance_rows(numbers)
    if not rows:
        return []
    width = max(len(covariate) for covariate, _, _ in rows)
    texts = [f"{'covariate':<{width}}  SMD before   after"]
    texts += [f"{covariate:<{width}}  {before:>10} {after:>7}" for covariate, before, after in rows]
    left = len(numbers.balance) - len(rows)
    covariates = "1 more covariate" if left == 1 else f"{left} more covariates"
    return [*texts, *([f"{covariates} differed less before: --json has all"] if left else [])]


def outcome_lines(outcome: MatchedOutcome) -> list[str]:
    """The difference of an outcome within pairs, its bounds under hidden bias, adjusted, and next to the experiment."""
    scale, unit = (100, " points") if outcome.is_binary else (1, "")
    adjusted = outcome.adjusted
    covariates = "1 covariate" if adjusted.covariates == 1 else f"{adjusted.covariates} covariates"
    corrected = outcome.adjusted_p_groups
    p = f", p = {adjusted.p:.2g} ({corrected:.2g} corrected over the groups)" if math.isfinite(corrected) else ""
    words = f"  adjusted for {covariates}: {_words(adjusted, scale, unit)}{p}"
    texts = [*_difference_lines(outcome, scale, unit), words]
    for effect in outcome.experiment:
        texts.append(f"  experiment ({effect.name}, {effect.target}): {_words(effect, scale, unit)}")
        for name, test in (("matched", effect.matched), ("adjusted", effect.adjusted)):
            if test is None or math.isnan(test.p):
                texts.append(f"    {name} minus experiment: {effect.reason or (test.reason if test else '')}")
                continue
            texts.append(
                f"    {name} minus experiment: {scale * test.difference:+z.3g}{unit} ({scale * test.low:+z.3g} to "
                f"{scale * test.high:+z.3g}), p = {test.p:.2g}; a difference below "
                f"{scale * test.smallest_found:.2g}{unit} is easily missed"
            )
    return texts


def _difference_lines(outcome: MatchedOutcome, scale: int, unit: str) -> list[str]:
    missing = f", {outcome.n_missing} without both outcomes left out" if outcome.n_missing else ""
    if math.isnan(outcome.estimate):
        return [f"{outcome.label}: not estimable: {outcome.reason}{missing}"]
    ends = outcome.reason
    if math.isfinite(outcome.low):
        ends = f"{scale * outcome.low:+z.3g} to {scale * outcome.high:+z.3g}"
    pairs = "1 pair" if outcome.n_pairs == 1 else f"{outcome.n_pairs} pairs"
    estimate = f"{scale * outcome.estimate:+z.3g}{unit} within {pairs}"
    p = f"p = {outcome.p:.2g}"
    if math.isfinite(outcome.p_groups):
        p += f" ({outcome.p_groups:.2g} corrected over the groups)"
    return [f"{outcome.label}: {estimate} ({ends}), {p}{missing}", f"  hidden bias: {_bias(outcome)}"]


def _bias(outcome: MatchedOutcome) -> str:
    if not outcome.gammas:
        return outcome.no_bounds
    if not outcome.discordant:
        return "no pair differs"
    if math.isnan(outcome.tolerated):
        return f"not computed, since the difference is not significant (p = {outcome.largest_p[0]:.2g})"
    least = "at least" if outcome.tolerated >= 100 else "up to"
    pairs = "1 pair that differs" if outcome.discordant == 1 else f"{outcome.discordant} pairs that differ"
    return (
        "stays significant where two images of a pair differ in their odds of the treatment by a factor "
        f"of {least} {outcome.tolerated:g} (Rosenbaum, {outcome.bounds_method}, {pairs})"
    )


def _words(effect: AdjustedPairs | ExperimentComparison, scale: int, unit: str) -> str:
    if math.isnan(effect.estimate):
        return f"not estimable: {effect.reason}"
    if math.isnan(effect.low):
        return f"{scale * effect.estimate:+z.3g}{unit}, {effect.reason}"
    return f"{scale * effect.estimate:+z.3g}{unit} ({scale * effect.low:+z.3g} to {scale * effect.high:+z.3g})"

"""A matching in words, as `transect match` prints it."""

from __future__ import annotations

import math
from typing import Final

from transect.effects.matched_pairs import AdjustedPairs
from transect.jobs.match.given import METHOD
from transect.jobs.match.matched_effects import agreements
from transect.jobs.match.numbers import CovariateBalance, ExperimentComparison, MatchedOutcome, MatchNumbers
from transect.runs.wording import signed, spaced

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
    return [(row.covariate, _smd(row.before), _smd(row.after)) for row in _ranked(numbers)[:MOST_SHOWN]]


def _ranked(numbers: MatchNumbers) -> list[CovariateBalance]:
    return sorted(numbers.balance, key=lambda row: 0.0 if math.isnan(row.before) else -abs(row.before))


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
                f"    {name} minus experiment: {scale * test.difference:+.3g}{unit} ({scale * test.low:+.3g} to "
                f"{scale * test.high:+.3g}), p = {test.p:.2g}; a difference below "
                f"{scale * test.smallest_found:.2g}{unit} is easily missed"
            )
    return texts


def _difference_lines(outcome: MatchedOutcome, scale: int, unit: str) -> list[str]:
    missing = f", {outcome.n_missing} without both outcomes left out" if outcome.n_missing else ""
    if math.isnan(outcome.estimate):
        return [f"{outcome.label}: not estimable: {outcome.reason}{missing}"]
    ends = outcome.reason
    if math.isfinite(outcome.low):
        ends = f"{scale * outcome.low:+.3g} to {scale * outcome.high:+.3g}"
    pairs = "1 pair" if outcome.n_pairs == 1 else f"{outcome.n_pairs} pairs"
    estimate = f"{scale * outcome.estimate:+.3g}{unit} within {pairs}"
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
        return f"{scale * effect.estimate:+.3g}{unit}, {effect.reason}"
    return f"{scale * effect.estimate:+.3g}{unit} ({scale * effect.low:+.3g} to {scale * effect.high:+.3g})"

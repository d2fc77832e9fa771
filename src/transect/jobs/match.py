"""Find pairs of real images that differ in one attribute and are similar in the rest, and report their balance."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias, final

import numpy as np
from markupsafe import Markup

from transect.analysis.compared.conclusions import stated
from transect.analysis.matched import figures
from transect.analysis.matched.figures import PANELS, Card
from transect.analysis.matched.methods import distance_name
from transect.analysis.matched.outcomes import ALPHA, ExperimentComparison, MatchedOutcome, MatchNumbers, matching
from transect.analysis.matched.request import MatchOptions, Method, Request, opened
from transect.analysis.matched.user_pairs import METHOD
from transect.datasets.features import FeaturesLike, parse_weighted
from transect.designs.matching.sample import Metric
from transect.effects.matched_pairs import GAMMAS, AdjustedPairs, Balance
from transect.errors import BadInput
from transect.job import Content, Job, Option, Out, function
from transect.reports.answer_picture import Judged, mark_of, picture
from transect.reports.blocks import Block, Facts, Folded, Heading, Paragraph, Part, Secondary
from transect.reports.columns import AnyTable, Column, Form, Table, decimals, decimals_for, probability
from transect.reports.drawing.svg import joined, tag
from transect.reports.next_steps import HERE, Step, listed
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.folder import write_table
from transect.runs.table_inputs import TableLike, as_names
from transect.runs.wording import counted, signed, spaced

MOST_OUTCOMES: Final = 4
"""Outcomes that the answer names; the part on matched effects has all."""
MOST_COVARIATES: Final = 8
MOST_SHOWN: Final = 15
"""Covariates of the terminal's table."""
MOST_PANELS: Final = 24
_NONE: Final = "none was given. Name a column with --outcome, such as errors, to compare it within pairs."
_SHARES: Final = {
    "accuracy_in_sample": "accuracy of the propensity model in-sample",
    "accuracy_cross_validated": "cross-validated",
    "recall": "recall of the index",
}
_LIMITS: Final = (
    "Matching makes groups similar in what was measured. What was not measured may still differ, so differences "
    f"between matched groups are associations. {ATTRIBUTE_NOTE}"
)
_HIDDEN: Final = (
    "Two images of a pair look the same in what was measured and may still differ in something hidden, which makes the "
    "odds of being {} larger for one of them by some factor (Rosenbaum’s gamma). A p is the largest that this factor "
    "allows; up to the “largest factor” the difference stays significant."
)
_ADJUSTED: Final = (
    "A pair is similar, not identical. Least squares of each pair’s difference in outcome on its differences in the "
    "covariates removes what these explain, as far as that is linear; each pair is one observation (HC3 errors)."
)
_EXPERIMENT: Final = (
    "An audit set the attribute on generated subjects and held all else; the pairs are photographs as collected. "
    "Where the two differ by more than chance, either the pairs differ in something hidden or generated images do "
    "not represent photographs. One being significant and the other not is no disagreement: the difference itself "
    "is tested (z from both intervals; interval by square-and-add). The last column is the true difference that a "
    "comparison of this size detects in 80 % of cases; smaller ones are easily missed."
)
_NO_PICTURES: Final = "To see them, give --pictures COLUMN."
_HIDE: Final = Markup("#r-{0}:checked ~ .cards .card:not(.reason-{0}) {{ display: none; }}\n")


class Weighted(NamedTuple):
    """Features, and the weight of their squared distances."""

    features: FeaturesLike
    weight: float


def _weighted(texts: Sequence[str] | None) -> list[Weighted]:
    return [Weighted(*parse_weighted(text)) for text in texts or ()]


@final
@dataclass(frozen=True)
class Match(Job[MatchNumbers]):
    """Pairs of images that differ in `treatment` and are similar in the features, and how balanced they are.

    Matching makes groups comparable in what was measured; a difference between matched groups is an association.

    Features are arrays [images, ...], .npy files, tables or inversions, or several side by side; the table is a path,
    an Arrow table, a data frame, columns by name or a finished audit, by default the features, if they are a table. Of
    a numeric treatment of 0 and 1 the images with 1 are the treated ones; of names the last in the alphabet; of more
    than two groups the smallest is matched to each other one. No method sees the outcomes.

    The table has a row per pair (a, b, distance; with more than two groups also set and group, with references also
    their rows and difficulties), or of methods that weigh row and weight; rows are counted from 0.

    Raises BadInput for inputs or options that cannot be used, and where no pair keeps the constraints, with what would
    leave one; UnknownName for a column, method or group that does not exist.

    >>> images = {"age": [30.0, 50.0, 31.0, 70.0], "hat": [1, 1, 0, 0]}
    >>> result = match(images, "hat", caliper=5.0)
    >>> result.table.to_pylist(), dict(result.numbers.refused)
    ([{'a': 0, 'b': 2, 'distance': 1.0}], {'caliper': 1})
    """

    OUT: ClassVar = Out("Folder for the report: balance, overlap, pairs.", name="--report")

    features: Annotated[
        FeaturesLike | Sequence[FeaturesLike] | None,
        Option(
            "Features that define the distance: .npy, table or inversion, FILE or FILE=WEIGHT; repeatable; not needed "
            "with --pairs.",
            list[str],
            opens="data",
            needed=False,
            read=_weighted,
        ),
    ]
    treatment: Annotated[str, Option("Column of the table with the groups: 0 and 1, or names.", opens="value")]
    table: Annotated[
        TableLike | None,
        Option("Table with a row per image; by default the features, if they are a table.", Path, opens="data"),
    ] = None
    _: KW_ONLY
    method: Annotated[Method, Option("greedy, optimal, propensity, propensity-published, mahalanobis or overlap.")] = (
        "greedy"
    )
    metric: Annotated[Metric, Option("euclidean, standardized or mahalanobis.")] = "euclidean"
    exact: Annotated[str | Sequence[str], Option("Match exactly on this column; repeatable.", opens="value")] = ()
    caliper: Annotated[
        float | None, Option("Largest distance within a pair; with propensity, in standard deviations of log odds.")
    ] = None
    identity: Annotated[str | None, Option("Column of identities; each is in at most one pair.", opens="value")] = None
    covariates: Annotated[
        str | Sequence[str],
        Option("Column whose balance is measured; default all numeric columns.", names=("--covariate",), opens="value"),
    ] = ()
    outcomes: Annotated[
        str | Sequence[str],
        Option(
            "Column to compare within pairs, e.g. errors: difference, bounds under hidden bias.",
            names=("--outcome",),
            opens="value",
        ),
    ] = ()
    seed: Annotated[int, Option("Random seed.")] = 0
    options: MatchOptions = field(default_factory=MatchOptions)
    quiet: bool = field(default=True, init=False)

    def place(self) -> None:
        """No page without --report. Raises BadInput for pictures that would stand nowhere."""
        if self.options.pictures is not None and distance_name(self.options.difficulty) is None:
            raise BadInput("--pictures needs --report DIR")

    def compute(self) -> MatchNumbers:
        """The matching; its rows are written to `options.out`."""
        options, features = self.options, self.features
        blocks = list(features) if isinstance(features, list | tuple) else [] if features is None else [features]
        weights = [each.weight for each in blocks if isinstance(each, Weighted)] or options.weights
        sources = [each.features if isinstance(each, Weighted) else each for each in blocks]
        self._check_out([*sources, self.table, options.second, options.pairs])
        opened_blocks, table, root = opened(sources, self.table, paired=options.pairs is not None)
        numbers = matching(
            Request(
                blocks=opened_blocks,
                treatment=self.treatment,
                table=table,
                root=root,
                method=self.method,
                metric=self.metric,
                exact=as_names(self.exact),
                caliper=self.caliper,
                identity=self.identity,
                covariates=as_names(self.covariates),
                outcomes=as_names(self.outcomes),
                seed=self.seed,
                options=replace(options, weights=weights),
            )
        )
        if options.out is not None:
            write_table(Path(options.out), numbers.matched.rows)
        return numbers

    def _check_out(self, inputs: Sequence[object]) -> None:
        """Refuses before the work starts: the folder of --out must exist, and the file must not be an input."""
        if self.options.out is None:
            return
        out = Path(self.options.out)
        if out.resolve() in [Path(source).resolve() for source in inputs if isinstance(source, str | Path)]:
            raise BadInput(f"--out {out}: would overwrite an input; choose another file")
        if not out.parent.is_dir() or out.is_dir():
            raise BadInput(f"--out {out}: expected a file name in an existing folder; create {out.parent} first")

    def content(self, numbers: MatchNumbers) -> Content:
        """The effect on the outcomes and what may lie behind it, balance, overlap, pairs, and who was refused."""
        table = _balance_table(numbers)
        wrote = [] if self.options.out is None else [f"wrote {self.options.out}"]
        return Content(
            title=f"Matching by {numbers.treatment}",
            question=_question(numbers),
            picture=_picture(numbers),
            answer=tuple(_answers(numbers)),
            remarks=tuple(_remarks(numbers)),
            first=tuple(_first(numbers)),
            table=table,
            rows=numbers.matched.rows,
            parts=partial(_parts, numbers, table),
            style="".join(map(_HIDE.format, range(len(numbers.refused)))),
            terminal=[*_lines(numbers), *wrote],
        )


match = function(Match)


def _picture(numbers: MatchNumbers) -> list[Block]:
    """The difference within pairs of each outcome."""
    treated, control = groups_of(numbers)
    rows = [
        Judged(
            verdict=outcome.verdict,
            about=outcome.outcome,
            detail=f"{treated} minus {outcome.versus or control}",
            mark=mark_of(outcome),
            unit="proportion" if outcome.is_binary else "",
            margin=outcome.margin if math.isfinite(outcome.margin) else None,
        )
        for outcome in numbers.outcomes
    ]
    meanings = {"found": "found", "no difference": "none larger than the margin", "cannot tell": "inconclusive"}
    meanings["not estimable"] = "not estimable"
    return picture(rows, meanings, "Difference within pairs with its 95 % interval")


def _parts(numbers: MatchNumbers, table: Table[Balance]) -> list[Part]:
    return [
        Part("outcomes", "Matched effects", tuple(_effects(numbers))),
        Part("balance", "Balance", tuple(_balance(numbers, table))),
        Part("shares", "Shares", tuple(_shares(numbers))),
        Part("overlap", "Overlap", tuple(_overlap(numbers))),
        Part("references", "Reference images", tuple(_references(numbers))),
        Part("joint", "Joint distribution", tuple(_joints(numbers))),
        Part("pairs", "Pairs", tuple(_pairs(numbers))),
        Part("refused", "Images without a match", tuple(_refused(numbers)), "Without a match"),
    ]


def groups_of(numbers: MatchNumbers) -> tuple[str, str]:
    """Treated and control in words; of more than two groups the base, which is the first, is the treated one."""
    first, *others = _named(numbers)
    return (others[0], first) if len(others) == 1 else (first, "other groups")


def _named(numbers: MatchNumbers) -> list[str]:
    """The groups in words: a bare number needs its column."""
    bare = {group for group in numbers.groups if group.replace(".", "").lstrip("-").isdigit()}
    return [f"{numbers.treatment} {group}" if group in bare else group for group in numbers.groups]


def _question(numbers: MatchNumbers) -> str:
    treated, control = groups_of(numbers)
    if numbers.outcomes:
        named = ", ".join(dict.fromkeys(outcome.outcome for outcome in numbers.outcomes))
        return f"Does {named} differ between {treated} and {control} in images that are similar in everything measured?"
    if numbers.weighted is not None:
        return f"With which weights are images with {treated} and with {control} similar in everything else?"
    among = "in each of" if len(numbers.groups) > 2 else "with"
    return f"Which images with {treated} have a counterpart {among} {control} that is similar in everything else?"


def _answers(numbers: MatchNumbers) -> Iterator[Markup]:
    treated, control = groups_of(numbers)
    for outcome in numbers.outcomes[:MOST_OUTCOMES]:
        yield effect(outcome, treated, outcome.versus or control)
    if numbers.outcomes:
        return
    none = Markup("<b>No effect on an outcome:</b> {} {}")
    if numbers.weighted is not None:
        made = f"{numbers.weighted:,} images have a weight."
        yield none.format("This method weighs images and makes no pairs, so it compares no outcome.", made)
    else:
        pairs = "1 pair was" if numbers.pairs == 1 else f"{numbers.pairs:,} pairs were"
        yield none.format(_NONE, f"{pairs} found for {numbers.treated:,} images with {treated}.")


def effect(outcome: MatchedOutcome, treated: str, control: str) -> Markup:
    """What the pairs show of an outcome: the verdict, the outcome of both groups, their difference, its interval."""
    head = Markup("<b>{}: {}</b>")
    if not math.isfinite(outcome.estimate):
        return head.format(outcome.outcome, f"not estimable ({outcome.reason}).")
    text = head.format(outcome.outcome, _verdict(outcome, treated, control))
    shown = Markup(" Within {} it is {} with {} and {} with {}: a difference of {}.")
    digits = decimals_for(outcome.low, outcome.high)
    level_a, level_b = (_level(outcome, mean, digits) for mean in (outcome.of_a, outcome.of_b))
    pairs = counted(outcome.n_pairs, "pair")
    text += shown.format(pairs, level_a, treated, level_b, control, _with_interval(outcome, outcome))
    if outcome.pairs_needed is not None:
        text += f" About {outcome.pairs_needed:,} pairs like these would decide it."
    if _is_adjusted(outcome):
        adjusted = Markup(" Adjusted for what still differs within pairs: {}{}.")
        text += adjusted.format(_with_interval(outcome, outcome.adjusted), _kept(outcome))
    return text


def _verdict(outcome: MatchedOutcome, treated: str, control: str) -> str:
    """The claim, by p (corrected where there are several groups) and the 90 % interval."""
    margin = stated(outcome.margin, "proportion") if outcome.is_binary else sized(outcome, outcome.margin)
    p = outcome.tested_p
    if not math.isfinite(p):
        return "a difference is not tested."
    if outcome.verdict == "found":
        more = "higher" if outcome.estimate > 0 else "lower"
        return f"{more} with {treated} than with {control} (p {probability(p)})."
    if outcome.verdict == "no difference":
        return f"no difference larger than {margin}."
    if math.isfinite(outcome.margin):
        return f"it is inconclusive whether {treated} and {control} differ by {margin} or more."
    return f"a difference is not shown (p {probability(p)})."


def sized(outcome: MatchedOutcome, value: float, digits: int = 1, *, unit: bool = True) -> str:
    """A difference of an outcome: in points, with these decimals, where it is 0 or 1."""
    if outcome.is_binary:
        text = decimals(100 * value, digits)
        return text + (f" point{'' if text.lstrip('−') in ('1', '1.0') else 's'}" if unit else "")
    return decimals(value)


def _ends(outcome: MatchedOutcome, low: float, high: float, digits: int = 1) -> str:
    return f"{sized(outcome, low, digits, unit=False)} to {sized(outcome, high, digits, unit=False)}"


def _level(outcome: MatchedOutcome, mean: float, digits: int) -> str:
    """The mean outcome of one side, in percent where it is 0 or 1."""
    return f"{decimals(100 * mean, digits)} %" if outcome.is_binary else decimals(mean)


def _kept(outcome: MatchedOutcome) -> str:
    """Whether the adjusted difference is shown too, by p (corrected where there are several groups)."""
    p = outcome.adjusted_p_groups if math.isfinite(outcome.adjusted_p_groups) else outcome.adjusted.p
    if not math.isfinite(p):
        return ", which is not tested"
    return "" if p <= ALPHA else f", which does not show a difference (p {probability(p)})"


def _with_interval(outcome: MatchedOutcome, found: _Difference) -> Markup:
    """A difference and its interval, in points where the outcome is 0 or 1."""
    digits = decimals_for(found.low, found.high)
    estimate = f"{'+' if found.estimate > 0 else ''}{sized(outcome, found.estimate, digits)}"
    if not math.isfinite(found.low):
        return Markup("{} ({})").format(estimate, found.reason)
    ends = _ends(outcome, found.low, found.high, digits)
    return Markup('{} <span class="range">(95 % interval {})</span>').format(estimate, ends)


def _is_adjusted(outcome: MatchedOutcome) -> bool:
    return math.isfinite(outcome.adjusted.estimate) and outcome.adjusted.covariates > 0


def _remarks(numbers: MatchNumbers) -> Iterator[str]:
    left = len(numbers.outcomes) - MOST_OUTCOMES
    if left > 0:
        yield f"{left} more {'outcome is' if left == 1 else 'outcomes are'} below."
    groups = len({outcome.versus for outcome in numbers.outcomes})
    if groups > 1:
        yield f"p is corrected for the {groups} groups (Holm); each 95 % interval is for one group."
    if len({outcome.outcome for outcome in numbers.outcomes}) > 1:
        yield "p is not corrected for the number of outcomes."


def _first(numbers: MatchNumbers) -> Iterator[Block]:
    """The verdict on balance, what to do next, what a matching cannot show, notes, and counts."""
    names = [spaced(row.covariate) for row in numbers.balance]
    more = f" and {len(names) - MOST_COVARIATES} more" if len(names) > MOST_COVARIATES else ""
    several = "Covariates" if len(names) > 1 else "Covariate"
    measured = f" {several}: {', '.join(names[:MOST_COVARIATES])}{more}." if names else ""
    balanced = numbers.verdict.startswith("balanced")
    verdict = Markup("<b>{}.</b>{}").format(numbers.verdict[0].upper() + numbers.verdict[1:], measured)
    yield Paragraph(verdict + ("" if balanced else _doubt(numbers)), "note" if balanced else "notice")
    yield from listed(list(_steps(numbers)), HERE)
    yield from (Paragraph(text, "note") for text in (_LIMITS, *_notes(numbers)))
    facts = [*_counts(numbers), ("method", numbers.method), *_measured(numbers)]
    yield Folded("Images and method", (Facts(facts),))


def _steps(numbers: MatchNumbers) -> Iterator[Step]:
    """Closer pairs, more people, and the cause."""
    outcomes = (f"--outcome {shlex.quote(name)}" for name in dict.fromkeys(one.outcome for one in numbers.outcomes))
    given = numbers.method == METHOD
    source = "--pairs PAIRS --table TABLE" if given else "--features FEATURES"
    again = " ".join(["transect match", source, "--treatment", shlex.quote(numbers.treatment), *outcomes])
    if not (given or numbers.verdict.startswith("balanced")):
        yield Step("Leave out pairs that are far apart:", [f"{again} --caliper DISTANCE"])
    if needed := max((one.pairs_needed or 0 for one in numbers.outcomes), default=0):
        yield Step(f"Match a larger table, of about {needed:,} pairs:", [again])
    if numbers.outcomes:
        cause = ["transect list attributes", "transect audit MODEL --vary ATTRIBUTE"]
        yield Step("To tell a cause from an association, set the attribute on the same subjects:", cause)


def _doubt(numbers: MatchNumbers) -> str:
    """What imbalance means for outcomes; the adjusted difference is named only where there is one."""
    if not numbers.outcomes:
        return ""
    adjusted = any(map(_is_adjusted, numbers.outcomes[:MOST_OUTCOMES]))
    allows = "; the adjusted one allows for it" if adjusted else ""
    return f" What still differs may explain a difference of the outcome{allows}."


def _notes(numbers: MatchNumbers) -> list[str]:
    """What to know of the matching, with the method's own warning."""
    return [*numbers.notes, *map(str, filter(None, [numbers.facts.get("warning")]))]


def _counts(numbers: MatchNumbers) -> Iterator[tuple[str, str]]:
    treated, control = groups_of(numbers)
    weighted = numbers.weighted
    yield ("pairs", f"{numbers.pairs:,}") if weighted is None else ("images weighted", f"{weighted:,}")
    if numbers.dose_gap is not None:
        yield "images", f"{numbers.treated:,}"
        yield f"{numbers.treatment} differs by", f"{numbers.dose_gap} or more"
    else:
        yield f"treated ({treated})", f"{numbers.treated:,}"
        yield f"control ({control})", f"{numbers.control:,}"


def _measured(numbers: MatchNumbers) -> Iterator[tuple[str, str]]:
    for name, words in _SHARES.items():
        share = numbers.facts.get(name)
        if isinstance(share, float):
            yield words, f"{decimals(100 * share, 1)} %"
    if numbers.missing:
        more = " …" if numbers.missing > len(numbers.missing_rows) else ""
        rows = "row" if numbers.missing == 1 else "rows"
        yield "with missing values", f"{numbers.missing:,}: {rows} {', '.join(map(str, numbers.missing_rows))}{more}"


def _lines(numbers: MatchNumbers) -> Iterator[str | AnyTable]:
    """What the terminal shows: counts, reasons, the verdict, the covariates that differed most, outcomes."""
    yield headline(numbers)
    yield from (f"  refused: {count} ({reason})" for reason, count in numbers.refused.items())
    yield from (f"  {words}: {value}" for words, value in _measured(numbers))
    yield from (f"  note: {note}" for note in _notes(numbers))
    yield numbers.verdict
    ranked = sorted(numbers.matched.balance, key=lambda row: -abs(np.nan_to_num(row.before.smd)))
    if ranked:
        yield Table("Balance", ranked[:MOST_SHOWN], SMDS)
    if left := len(ranked[MOST_SHOWN:]):
        yield f"{counted(left, 'more covariate')} differed less before: --json has all"
    treated, control = groups_of(numbers)
    yield from (effect(outcome, treated, outcome.versus or control).striptags() for outcome in numbers.outcomes)
    if not numbers.outcomes:
        return
    found, adjusted = (_outcome_table(numbers, adjusted=each) for each in (False, True))
    for table in (found, _hidden_bias(numbers), adjusted, _compared_with_experiment(numbers)):
        if table is not None:
            yield f"{table.title}:"
            yield table
    if numbers.method == METHOD:
        yield agreements(numbers.outcomes)


def headline(numbers: MatchNumbers) -> str:
    """How many pairs, of which images, by which method."""
    images = f"{numbers.treated} treated and {numbers.control} control images"
    if numbers.dose_gap is not None:  # every image may be the higher or the lower of a pair
        images = f"{numbers.treated} images whose {numbers.treatment} differs by {numbers.dose_gap:g} or more"
    weighted = numbers.weighted
    made = counted(numbers.pairs, "pair") if weighted is None else f"{weighted} images weighted"
    return f"{made} from {images} ({numbers.method})"


def _effects(numbers: MatchNumbers) -> Iterator[Block]:
    """Outcomes within pairs, adjusted for what still differs, and beside an experiment; nothing without outcomes."""
    if not numbers.outcomes:
        return
    treated, control = groups_of(numbers)
    yield Heading("Outcomes within pairs")
    yield Paragraph(
        f"{treated} minus {control} in each pair; outcomes of 0 and 1, and their changes, in percentage points."
    )
    if numbers.sets is not None:
        others = f"the {len(numbers.groups) - 1} other groups"
        yield Paragraph(f"p of {treated} against {others} are corrected together (Holm), too.")
    yield _outcome_table(numbers)
    if numbers.method == METHOD:
        yield Paragraph(agreements(numbers.outcomes))
    hidden = _hidden_bias(numbers)
    if hidden is None:
        yield Paragraph("No difference was found, so there is none that something hidden would have to explain.")
    else:
        folded = (Paragraph(_HIDDEN.format(treated)), hidden)
        yield Folded("Could something hidden explain the difference?", folded)
    yield Heading("Adjusted for what still differs within pairs")
    yield Paragraph(_ADJUSTED)
    yield _outcome_table(numbers, adjusted=True)
    compared = _compared_with_experiment(numbers)
    if compared is not None:
        yield Heading("Compared with the experiment")
        yield Paragraph(_EXPERIMENT)
        yield compared


def agreements(outcomes: Sequence[MatchedOutcome]) -> str:
    """How far the two images of pairs that were given agree, in a sentence."""
    said = [
        f"{outcome.label} {decimals(outcome.agreement, 2)} ({'kappa' if outcome.is_binary else 'correlation'})"
        if math.isfinite(outcome.agreement)
        else f"{outcome.label} not estimable: a side that does not vary, or fewer than three pairs"
        for outcome in outcomes
    ]
    return f"Agreement of the two images of a pair: {'; '.join(said)}."


_Difference: TypeAlias = MatchedOutcome | AdjustedPairs
_Found: TypeAlias = tuple[MatchedOutcome, _Difference]
_INTERVAL: Final = "95 % interval"


def _estimate(row: _Found) -> str:
    outcome, found = row
    return sized(outcome, found.estimate) if math.isfinite(found.estimate) else f"not estimable: {found.reason}"


def _interval(row: _Found) -> str:
    outcome, found = row
    return _ends(outcome, found.low, found.high) if math.isfinite(found.low) else found.reason


OUTCOMES: Final[Sequence[Column[_Found]]] = (
    Column("outcome", lambda row: row[0].label),
    Column("difference", _estimate, "figure"),
    Column(_INTERVAL, _interval, "figure"),
    Column("p", lambda row: row[1].p, "p"),
    Column("pairs", lambda row: row[1].n_pairs, "count"),
    Column("pairs without both outcomes", lambda row: row[1].n_missing, "count"),
)
ADJUSTED: Final[Sequence[Column[_Found]]] = (
    Column("covariates", lambda row: row[0].adjusted.covariates, "count"),
    Column("not used", lambda row: ", ".join(row[0].adjusted.left_out)),
)
CORRECTED: Final[Column[_Found]] = Column(
    "p, corrected", lambda row: row[0].p_groups if row[1] is row[0] else row[0].adjusted_p_groups, "p"
)


def _outcome_table(numbers: MatchNumbers, *, adjusted: bool = False) -> Table[_Found]:
    """The difference of each outcome within pairs, as found or adjusted."""
    rows: list[_Found] = [(outcome, outcome.adjusted if adjusted else outcome) for outcome in numbers.outcomes]
    corrected = [CORRECTED] if numbers.sets is not None else []
    columns = [*OUTCOMES[:4], *corrected, *OUTCOMES[4:], *(ADJUSTED if adjusted else ())]
    return Table("Adjusted outcomes" if adjusted else "Outcomes within pairs", rows, columns)


def _hidden_bias(numbers: MatchNumbers) -> Table[MatchedOutcome] | None:
    """How strong a hidden difference within pairs would have to be to explain the differences; None without any."""
    if not any(math.isfinite(outcome.tolerated) or outcome.no_bounds for outcome in numbers.outcomes):
        return None
    factors = [_at_factor(place, gamma) for place, gamma in enumerate(GAMMAS) if gamma > 1]
    columns = [Column("outcome", "label"), Column("largest factor", _largest_factor, "figure"), *factors]
    return Table("Hidden bias", numbers.outcomes, columns)


def _largest_factor(outcome: MatchedOutcome) -> str:
    if not outcome.largest_p:
        return outcome.no_bounds
    return decimals(outcome.tolerated, 2) if math.isfinite(outcome.tolerated) else "no difference found"


def _at_factor(place: int, gamma: float) -> Column[MatchedOutcome]:
    def largest(outcome: MatchedOutcome) -> str:
        return probability(outcome.largest_p[place]) if outcome.largest_p else "–"

    return Column(f"p at {gamma}", largest, "figure")


_Compared: TypeAlias = tuple[MatchedOutcome, ExperimentComparison, bool]
"""An outcome, an experiment's effect on it, and whether the pairs' difference is adjusted."""


def _compared_with_experiment(numbers: MatchNumbers) -> Table[_Compared] | None:
    rows = [
        (outcome, effect, adjusted)
        for outcome in numbers.outcomes
        for effect in outcome.experiment
        for adjusted in (False, True)
    ]
    return Table("Matched effects compared with the experiment", rows, EXPERIMENT) if rows else None


def _its_effect(row: _Compared) -> str:
    outcome, effect, _ = row
    return sized(outcome, effect.estimate) if math.isfinite(effect.estimate) else "not estimable"


def _its_interval(row: _Compared) -> str:
    outcome, effect, _ = row
    return _ends(outcome, effect.low, effect.high) if math.isfinite(effect.low) else ""


def _tested(row: _Compared) -> tuple[str, str, str, str]:
    """The difference from the experiment, its interval, p, and what could be detected; the reason where unknown."""
    outcome, effect, adjusted = row
    test = effect.adjusted if adjusted else effect.matched
    if test is None or not math.isfinite(test.p):
        return effect.reason or (test.reason if test else ""), "–", "–", "–"
    smallest = sized(outcome, test.smallest_found, unit=False)
    return sized(outcome, test.estimate), _ends(outcome, test.low, test.high), probability(test.p), smallest


EXPERIMENT: Final[Sequence[Column[_Compared]]] = (
    Column("outcome", lambda row: row[0].outcome),
    Column("experiment", lambda row: f"{row[1].name}, {row[1].target}"),
    Column("its effect", _its_effect, "figure"),
    Column(_INTERVAL, _its_interval, "figure"),
    Column("pairs", lambda row: "adjusted" if row[2] else "not adjusted"),
    Column("minus experiment", lambda row: _tested(row)[0], "figure"),
    Column(_INTERVAL, lambda row: _tested(row)[1], "figure"),
    Column("p", lambda row: _tested(row)[2], "figure"),
    Column("detectable with 80 % power", lambda row: _tested(row)[3], "figure"),
)


def _smd(value: float) -> str:
    return signed(value) if math.isfinite(value) else "unknown"


SMDS: Final[Sequence[Column[Balance]]] = (
    Column("covariate", "covariate"),
    Column("SMD before", lambda row: _smd(row.before.smd), "figure"),
    Column("SMD after", lambda row: _smd(row.after.smd), "figure"),
)


def _balance_table(numbers: MatchNumbers) -> Table[Balance]:
    treated, control = groups_of(numbers)
    columns: list[Column[Balance]] = [
        SMDS[0],
        Column(f"mean {treated} before", lambda row: row.before.treated, _THREE),
        Column(f"mean {control} before", lambda row: row.before.control, _THREE),
        Column(f"mean {treated} after", lambda row: row.after.treated, _THREE),
        Column(f"mean {control} after", lambda row: row.after.control, _THREE),
        *SMDS[1:],
        Column("variance ratio after", lambda row: row.after.variance_ratio, _THREE),
        Column("KS after", lambda row: row.after.ks, _THREE),
    ]
    return Table("Balance", numbers.matched.balance, columns)


_THREE: Final[Form] = "number"


def _balance(numbers: MatchNumbers, table: Table[Balance]) -> Iterator[Block]:
    gate = numbers.request.options.gate
    split = f"; “before” compares the images above and below the median {numbers.treatment}"
    yield Paragraph(
        "Absolute standardized mean differences in standard deviations of the unmatched groups, before matching "
        f"(hollow) and after (filled){split if numbers.dose_gap is not None else ''}. The vertical line is the balance "
        f"threshold, {decimals(gate, 2)}. The method saw the covariates marked “used”."
    )
    yield from figures.love_plot(numbers.matched.balance, gate)
    yield Secondary((table,))


def _shares(numbers: MatchNumbers) -> Iterator[Block]:
    measured = [row for row in numbers.matched.balance if np.isfinite(row.before.treated_interval[0])]
    found: list[figures.Share] = [(row.covariate, row.before, row.after) for row in measured[:MOST_PANELS]]
    if not found:
        return
    left = len(measured) - MOST_PANELS
    more = f" {left} more {'is' if left == 1 else 'are'} in match.json." if left > 0 else ""
    both = groups_of(numbers)
    yield figures.among("Share of each attribute", *both, f", with 95 % Wilson intervals.{more}")
    yield figures.shares("attribute", "Shares", found[:PANELS], *both)
    if rest := found[PANELS:]:
        yield Folded(f"{len(rest)} more", (figures.shares("further", "Further shares", rest, *both),))


def _overlap(numbers: MatchNumbers) -> Iterator[Block]:
    groups = figures.overlap(numbers)
    if not groups:
        return
    treated, control = groups_of(numbers)
    (low, high), plots = figures.histograms("overlap", "Distribution of log odds", groups, 1)
    yield Paragraph(
        f"Log odds of being {treated}, from {low} to {high}: {treated} above, {control} below. Where only one side has "
        "bars, images have no counterpart."
    )
    yield plots


def _references(numbers: MatchNumbers) -> Iterator[Block]:
    """Distances of both groups from their reference images (Fig. C2 of Singh et al. 2021)."""
    found, rows = numbers.references, numbers.matched.rows
    if found is None:
        return
    treated, control = groups_of(numbers)
    yield Paragraph(
        f"Distance of each matched image from a second image of the same person: {treated} above, {control} below. Of "
        "several second images, the two that are most nearly equally far are taken (Eq. 5 of Singh et al. 2021), so "
        "that the second image is about as hard to recognize in both groups."
    )
    measured = {
        f"mean, {treated}": found.mean_treated,
        f"mean, {control}": found.mean_control,
        "mean difference in pairs": found.mean_difference_in_pairs,
        "largest difference of the distributions (KS)": found.ks,
    }
    yield Facts([(words, decimals(value)) for words, value in measured.items()])
    groups = {"Matched images": (rows["a_difficulty"].to_numpy(), rows["b_difficulty"].to_numpy())}
    yield figures.histograms("reference", "Distribution of the distance of reference images", groups, 3)[1]


def _joints(numbers: MatchNumbers) -> Iterator[Block]:
    joints = figures.joints(numbers.prepared, numbers.matched, _named(numbers))
    for place, joint in enumerate(joints):
        both = joint.treated, joint.control
        if len(joints) > 1:
            yield Heading(f"{joint.treated} and {joint.control}")
        first = ", with 95 % Wilson intervals: groups may agree in each attribute and not in their combinations."
        yield figures.among("Share of each combination", *both, "." if place else first)
        yield figures.shares(f"combination-{place}", "Joint distribution", joint.shares(), *both)
    if joints:
        yield Secondary([joint.table() for joint in joints])


CARDS: Final[Sequence[Column[Card]]] = (
    Column("distance", lambda card: decimals(card.distance), "figure"),
    Column("reason", "reason"),
)


def _pairs(numbers: MatchNumbers) -> Iterator[Block]:
    pairs, (treated, control) = figures.pairs_shown(numbers), groups_of(numbers)
    if not pairs:
        yield Paragraph("This method weighs images and makes no pairs.")
        return
    which = "Every pair, the nearest first"
    if len(pairs) < numbers.pairs:
        which = f"{len(pairs)} of {numbers.pairs:,} pairs, in equal steps from the nearest to the farthest"
    if not _any_picture(pairs):
        yield Paragraph(f"{which}, by row of the table. {_NO_PICTURES}")
        columns = [Column(treated, "a"), Column(control, "b"), CARDS[0]]
        yield Secondary((Table("Pairs", pairs, columns),))
        return
    yield Paragraph(f"{which}: {treated} left, {control} right.")
    yield figures.filters("f", {"all": "all", "nearest": "nearest quarter", "farthest": "farthest quarter"})
    yield tag("div", joined(figures.quarters(pairs)), class_="cards")


def _refused(numbers: MatchNumbers) -> Iterator[Block]:
    refused, several = figures.refused_shown(numbers), numbers.sets is not None
    reasons = sorted({card.reason for card in refused})
    images = f"images with {groups_of(numbers)[0]}" if several else "treated images"
    counts: list[tuple[str, int | None]] = [*numbers.refused.items()] or [("none", None)]
    reason: Column[tuple[str, int | None]] = Column("reason", lambda row: row[0])
    yield Table("Images without a match", counts, [reason, Column(images, lambda row: row[1], "count")])
    if not refused:
        return
    other = "image of the group named" if several else "control"
    shown = f"{counted(len(refused), 'refused image')} with {'its' if len(refused) == 1 else 'their'} nearest {other}"
    if not _any_picture(refused):
        yield Paragraph(f"{shown}, whatever the constraint, by row of the table. {_NO_PICTURES}", "fine")
        nearest: Column[Card] = Column(f"nearest {other}", lambda card: "none" if card.b is None else card.b)
        columns = [Column("image", "a"), nearest, *CARDS]
        table = Table("Images without a match, and the nearest", refused, columns)
        yield Secondary((table,))
        return
    yield Paragraph(f"{shown}, whatever the constraint; each reason has its share:", "fine")
    yield figures.filters("r", {"all": "all", **{str(number): reason for number, reason in enumerate(reasons)}})
    cards = [card.figure(f"reason-{reasons.index(card.reason)}") for card in refused]
    yield tag("div", joined(cards), class_="cards")


def _any_picture(cards: Sequence[Card]) -> bool:
    return any(any(card.pictures) for card in cards)

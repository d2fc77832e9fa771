"""The numbers of a leakage analysis as records, which `--json` prints, and what they say of several models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect import __version__
from transect.attacks.analysis import Analysis, Level, ModelDifference
from transect.attacks.balance import Cost, Overview
from transect.attacks.estimation import Comparison
from transect.attacks.outputs import Matched
from transect.attacks.records import Format, LabelledData, LeakageEstimate
from transect.attacks.side_by_side import Interval, RepresentationRow, TableRow
from transect.runs.json_records import hidden
from transect.runs.result import HiddenTable
from transect.runs.wording import counted

WORKS: Final = {
    "leakage": "Wang, Zhao, Yatskar, Chang and Ordonez 2019, Balanced datasets are not enough: estimating and "
    "mitigating gender bias in deep image representations, arXiv:1811.08489",
    "intervals": "Zou and Donner 2008, Construction of confidence limits about effect measures, doi:10.1002/sim.3095",
    "folds": "Nadeau and Bengio 2003, Inference for the generalization error, doi:10.1023/A:1024068626366",
    "bias_amp": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
    "directional": "Wang and Russakovsky 2021, Directional bias amplification, arXiv:2102.12594",
    "multi_attribute": "Zhao, Andrews and Xiang 2023, Men also do laundry: multi-attribute bias amplification, "
    "arXiv:2210.11924",
}
CAVEAT: Final = (
    "Leakage is what this attacker found: a lower bound on what can be inferred. A difference of two leakages is no "
    "lower bound: a stronger attacker may find a smaller or a larger one."
)
CURVE: Final = " The learning curve shows whether more data would raise leakage."
NO_CURVE: Final = " Whether more data would raise leakage was not measured; --curve measures it."
MOST_LABELS: Final = 400
MOST_CONTRIBUTIONS: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AmplificationFigure(LeakageEstimate):
    """Δ = λ_M − λ_D in percentage points, in a format of answers and with a noise of the labels."""

    format: str
    noise: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(LeakageEstimate):
    """Leakage that an attacker finds that learns from `share` percent of the training rows."""

    share: float


@final
@dataclass(frozen=True, slots=True)
class Contribution:
    """What the items of one label and one class of the protected attribute add, in percentage points."""

    label: str
    protected_class: str
    points: float


@final
@dataclass(frozen=True, slots=True)
class LabelShare:
    """Items with a label by class, and each class's share in percent where classes have equal weight."""

    name: str
    counts: tuple[int, ...]
    share: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class OverviewFigures:
    """Labels from the most to the least uneven, the first 400 of `labels_in_all`; costs: of balancing them."""

    labels: tuple[LabelShare, ...]
    labels_in_all: int
    worst_ratio: float
    costs: tuple[Cost, ...]


@final
@dataclass(frozen=True, slots=True)
class LeakageNumbers:
    """Leakages in percent, amplification in percentage points; NaN where there is no figure, with its reason.

    dataset_leakage: λ_D. null: where λ_D lies in 95 % of cases if labels say nothing. at_accuracy: λ_D(a).
    model_leakage: λ_M, and amplification: Δ, of the comparison that the headline reports; None without predictions.
    labels: how many. chance: what guessing reaches. chosen: what `auto` chose. model: its name; model_f1: macro F1 and
    model_mean_average_precision: mAP of its predictions, NaN where these are no scores. learning_curve: of λ_D, and
    model_learning_curve: of λ_M. table: rows of several models, balanced subsets, attackers and protected attributes,
    the first that of the other figures; none where there would be one. differences: of λ_M, from the first model.
    representations: leakage of layers, and of the words of captions.
    counted: amplification by counting, without an attacker. answers: how predictions were matched to the labels.
    contributions: to the like-for-like Δ; counted_contributions: to each measure by counting. subjects: people on the
    items; None where no column says who repeats. marked: the rows with a column of true and false for each α
    (in_alpha2 …), None without one; warnings: searches for balanced rows that ran out of time.
    """

    dataset_leakage: LeakageEstimate
    null: Interval
    at_accuracy: tuple[Level, ...]
    model_leakage: LeakageEstimate | None
    amplification: AmplificationFigure | None
    attacker: str
    noise: str
    n: int
    subjects: int | None
    n_train: int
    chance: float
    classes: tuple[str, ...]
    protected: str
    labels: int
    label_format: Format
    splits: bool
    published_protocol: bool
    rounds: int
    seed: int
    chosen: tuple[str, ...]
    model: str
    model_f1: float
    model_mean_average_precision: float
    comparisons: tuple[Comparison, ...]
    learning_curve: tuple[CurvePoint, ...]
    model_learning_curve: tuple[CurvePoint, ...]
    counted: Mapping[str, float]
    answers: Matched | None
    notes: tuple[str, ...]
    caveat: str
    title: str
    source: str
    transect_version: str
    confidence: int
    overview: OverviewFigures
    table: tuple[TableRow, ...]
    differences: tuple[ModelDifference, ...]
    representations: tuple[RepresentationRow, ...]
    contributions: tuple[Contribution, ...]
    counted_contributions: Mapping[str, tuple[Contribution, ...]]
    works: tuple[str, ...]
    marked: HiddenTable | None = hidden(None)
    warnings: tuple[str, ...] = hidden(())


def numbers_of(analysis: Analysis, overview: Overview, source: str, cautions: Sequence[str] = ()) -> LeakageNumbers:
    """The records of an analysis. source: what the page calls the labels. cautions: notes that come first."""
    headline, data = analysis.headline, analysis.data
    folds = [] if data.split is not None else ["folds"]
    return LeakageNumbers(
        dataset_leakage=analysis.dataset,
        null=Interval(*analysis.null),
        at_accuracy=analysis.levels,
        model_leakage=None if headline is None else headline.model_leakage,
        amplification=None
        if headline is None
        else AmplificationFigure(**asdict(headline.amplification), format=headline.name, noise=headline.noise),
        attacker=analysis.attacker,
        noise=analysis.noise,
        n=analysis.dataset.n,
        subjects=None if data.subjects is None else data.n_subjects,
        n_train=analysis.n_train,
        chance=data.chance,
        classes=data.classes,
        protected=data.attribute,
        labels=len(data.labels.names),
        label_format=data.labels.format,
        splits=data.split is not None,
        published_protocol=analysis.settings.published,
        rounds=analysis.dataset.rounds,
        seed=analysis.settings.seed,
        chosen=analysis.chosen,
        model=analysis.model,
        model_f1=analysis.f1,
        model_mean_average_precision=analysis.mean_average_precision,
        comparisons=analysis.comparisons,
        learning_curve=_curve(analysis.curve),
        model_learning_curve=_curve(analysis.model_curve),
        counted=dict(analysis.counted),
        answers=analysis.matched,
        notes=(*cautions, *notes(analysis)),
        caveat=CAVEAT + (CURVE if analysis.curve else NO_CURVE),
        title=f"Leakage of {data.attribute} from {source}",
        source=source,
        transect_version=__version__,
        confidence=95,
        overview=_overview(overview),
        table=(),
        differences=(),
        representations=(),
        contributions=() if analysis.contributions is None else _largest(analysis, analysis.contributions),
        counted_contributions={name: _largest(analysis, points) for name, points in analysis.counted_by.items()},
        works=tuple(WORKS[name] for name in ["leakage", "intervals", *folds, *analysis.counted]),
    )


def notes(analysis: Analysis) -> tuple[str, ...]:
    """How predictions were matched to labels, and what was not measured."""
    lines, matched = _by_subject(analysis.data), analysis.matched
    if not analysis.levels:
        lines.append("λ_D of labels with errors was not measured; --f1 sets the F1 of such labels.")
    return (*lines, *([] if matched is None else _matching(matched, analysis)))


def _by_subject(data: LabelledData) -> list[str]:
    if data.subjects is None:
        return []
    lines = [f"{counted(data.n_subjects, 'subject')}: folds, the null and the intervals are by subject."]
    if data.n_mixed:
        lines.append(
            f"{data.attribute} varies within {data.n_mixed} of them: in the null, subjects exchange their items' "
            "classes together, in the same proportions."
        )
    return lines


def _matching(matched: Matched, analysis: Analysis) -> list[str]:
    lines = []
    if matched.by == "row order":
        lines.append("Predictions and labels were matched by row order: one of them has no identifiers.")
    if matched.columns > 1 and not matched.columns_by_name:
        first = ", ".join(analysis.data.labels.names[:3])
        lines.append(
            f"The {matched.columns} columns of predictions were taken in the labels' order ({first} …), since their "
            "names do not match."
        )
    if matched.unused:
        lines.append(f"{counted(matched.unused, 'prediction')} of items that are not among the labels: left out.")
    if matched.unknown:
        lines.append(f"{counted(matched.unknown, 'prediction')} of no known label: counted as wrong.")
    if matched.cross_fitted and analysis.data.split is not None:
        lines.append("The training rows have no predictions: attackers on predictions were cross-fitted on the others.")
    return lines


def _overview(overview: Overview) -> OverviewFigures:
    spread = np.nan_to_num(overview.share.max(axis=1) - overview.share.min(axis=1), nan=-1.0)
    order = np.lexsort((np.arange(len(spread)), -spread))[:MOST_LABELS]
    labels = tuple(
        LabelShare(
            overview.names[row],
            tuple(int(count) for count in overview.counts[row]),
            tuple(float(100 * share) for share in overview.share[row]),
        )
        for row in order.tolist()
    )
    worst = overview.worst if math.isfinite(overview.worst) else math.nan
    return OverviewFigures(labels, len(overview.names), worst, overview.costs)


def _curve(points: Sequence[tuple[float, LeakageEstimate]]) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(**asdict(point), share=100 * share) for share, point in points)


def _largest(analysis: Analysis, contributions: Float[np.ndarray, "k c"]) -> tuple[Contribution, ...]:
    """The labels and classes that add or take away most."""
    flat, c = contributions.ravel(), contributions.shape[1]
    order = np.lexsort((np.arange(len(flat)), -np.abs(flat)))[:MOST_CONTRIBUTIONS]
    names, classes = analysis.data.labels.names, analysis.data.classes
    return tuple(Contribution(names[i // c], classes[i % c], float(flat[i])) for i in order.tolist() if flat[i] != 0)


SPREAD: Final = "spread between rounds"
NO_INTERVAL: Final = "The published protocol has no interval"


def _points(value: float, sign: str = "+z") -> str:
    return f"{value:{sign}.1f}".replace("-", "−")


def model_answer(apart: ModelDifference) -> str:
    """Whether a model gives away less than the first; without an interval it is undecided."""
    found, model, reference = apart.difference, apart.model, apart.reference
    if not math.isfinite(found.estimate):
        return f"{model} and {reference} cannot be compared: {found.reason}."
    if math.isnan(apart.confidence):
        return (
            f"From {model} the attacker's balanced accuracy differs by {_points(found.estimate)} points from that from "
            f"{reference} ({SPREAD} {_points(found.low)} to {_points(found.high)}). {NO_INTERVAL}, so it is "
            "inconclusive which of them reveals more."
        )
    if not found.low * found.high > 0:
        sized = f"the attacker's balanced accuracy differs by {_range(found, signed=True)} points"
        return f"It is inconclusive whether {model} reveals more or less than {reference}: {sized}."
    amount, (low, high) = abs(found.estimate), sorted((abs(found.low), abs(found.high)))
    more, higher = ("less", "lower") if found.estimate < 0 else ("more", "higher")
    sized = f"{amount:.1f} points {higher} ({100 * apart.confidence:.3g} % interval {low:.1f} to {high:.1f})"
    return f"{model} reveals {more} than {reference}: the attacker's balanced accuracy is {sized}."


def _range(estimate: LeakageEstimate, *, signed: bool = False) -> str:
    sign = "+z" if signed else "z"
    if not math.isfinite(estimate.estimate):
        return "not estimable"
    if not math.isfinite(estimate.low):
        return f"{_points(estimate.estimate, sign)} ({estimate.reason or 'no interval'})"
    low, high = (_points(end, sign) for end in (estimate.low, estimate.high))
    return f"{_points(estimate.estimate, sign)} ({low} to {high})"

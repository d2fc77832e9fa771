"""From a request to a sample: features, groups, constraints, covariates, reference images; notes on the features;
refusals of options that do not go together, and of samples in which nothing can be matched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from transect.analysis.matched.request import WEIGHTING, Request
from transect.datasets import features as files
from transect.designs import matching
from transect.designs.matching.sample import CALIPER, Metric, absent, in_blocks
from transect.effects.matched_pairs import proportion_reach
from transect.effects.outcomes import OUTCOMES
from transect.errors import BadInput, UnknownName

PAIRS_PER_COVARIATE: Final = 10
"""Fewer pairs for each covariate make least squares unreliable (Harrell 2015, Regression modeling strategies, 4.4)."""
_SEPARATE: Final = 3.0
_MOST_COMPARED: Final = 1000
_MOST_NAMED: Final = 5

Moments = tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]


def column_notes(
    features: Float[np.ndarray, "n d"], sample: matching.Sample, names: Sequence[str], moments: tuple[Moments, Moments]
) -> list[str]:
    """Notes on columns that are constant, or equal an earlier one by both groups' moments and up to 1,000 images."""
    (mean_a, var_a), (mean_b, var_b) = moments
    constant = (var_a == 0) & (var_b == 0) & (mean_a == mean_b)
    notes = []
    if constant.any():
        columns = _named(np.flatnonzero(constant), names, len(constant))
        notes.append(f"features: {columns} the same for all images, so they count in no distance")
    varying = np.flatnonzero(~constant)
    usable = np.union1d(sample.rows, sample.columns)
    spaced = usable[np.linspace(0, len(usable) - 1, min(len(usable), _MOST_COMPARED)).astype(np.int64)]
    compared = np.asarray(features[spaced], dtype=np.float64)[:, varying]
    keyed = np.vstack([part[varying] for part in (mean_a, var_a, mean_b, var_b)] + [compared])
    first: dict[bytes, int] = {}
    again = [
        c for c, column in zip(varying.tolist(), keyed.T, strict=True) if first.setdefault(column.tobytes(), c) != c
    ]
    if again:
        columns = _named(np.array(again), names, len(constant))
        notes.append(
            f"features: {columns} equal to an earlier column, which therefore counts repeatedly in every distance"
        )
    return notes


def outcome_note(compared: Sequence[str], outcomes: Sequence[str]) -> list[str]:
    """A note on columns that have the name of an outcome, are not compared, and are therefore left out."""
    if not (others := [name for name in outcomes if name not in compared]):
        return []
    what = "is an outcome" if len(others) == 1 else "are outcomes"
    return [
        f"{', '.join(others)} {what} by name and neither a feature nor a covariate; compare with --outcome, or name "
        "with --covariate"
    ]


def crowded_note(n_covariates: int, n_pairs: int) -> list[str]:
    """A note where pairs are too few for the covariates that their differences are adjusted for."""
    if n_covariates * PAIRS_PER_COVARIATE <= n_pairs:
        return []
    return [
        f"outcomes are adjusted for {n_covariates} covariates on {n_pairs} pairs: with fewer than "
        f"{PAIRS_PER_COVARIATE} pairs for each, adjusted differences and intervals are unreliable; name fewer with "
        "--covariate"
    ]


def absence_note(features: Float[np.ndarray, "n d"], sample: matching.Sample) -> list[str]:
    """A note on images without features, such as those whose id the features lack."""
    rows = np.array(sorted(sample.ineligible), dtype=np.int64)
    empty = [row for part in in_blocks(len(rows)) for row in rows[part][np.isnan(features[rows[part]]).all(axis=1)]]
    if not empty:
        return []
    listed = ", ".join(map(str, empty[:_MOST_NAMED])) + (" …" if len(empty) > _MOST_NAMED else "")
    have = f"image has no features (row {listed}): is its" if len(empty) == 1 else ""
    have = have or f"images have no features (rows {listed}): is their"
    return [f"{len(empty)} {have} id in every features file?"]


def covariate_separation(covariates: Mapping[str, Float[np.ndarray, " n"]], sample: matching.Sample) -> list[str]:
    """A note on covariates that are apart by three standard deviations or more, or constant and different."""
    notes = []
    for name, values in covariates.items():
        sides = [values[rows][np.isfinite(values[rows])] for rows in (sample.rows, sample.columns)]
        if not min(map(len, sides)):
            continue
        gap = abs(float(sides[0].mean() - sides[1].mean()))
        spread = float(np.sqrt((sides[0].var() + sides[1].var()) / 2))
        if gap > 0 and gap >= _SEPARATE * spread:
            disjoint = sides[0].min() > sides[1].max() or sides[1].min() > sides[0].max()
            of = [_range(side) if disjoint else f"mean {side.mean():.3g}" for side in sides]
            notes.append(
                f"the groups separate on the covariate {name}: {of[0]} (treated) and {of[1]} (control), so that "
                f"{'no image has' if disjoint else 'few images may have'} a counterpart in it"
            )
    return notes


def _range(values: Float[np.ndarray, " n"]) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def separation(names: Sequence[str], moments: tuple[Moments, Moments]) -> str:
    """Where the groups separate: the feature that differs most, by three standard deviations or more."""
    (mean_a, var_a), (mean_b, var_b) = moments
    spread = np.sqrt((var_a + var_b) / 2)
    gap = np.abs(mean_a - mean_b)
    apart = np.divide(gap, spread, out=np.where(gap > 0, np.inf, 0.0), where=spread > 0)
    worst = int(apart.argmax())
    if not apart[worst] >= _SEPARATE:
        return ""
    name = names[worst] if len(names) == len(apart) else f"column {worst}"
    count = int((apart >= _SEPARATE).sum())
    deviations = "one value in each"
    if math.isfinite(apart[worst]):
        deviations = f"{apart[worst]:.1f} standard deviations apart"
    how_many = "1 feature is" if count == 1 else f"{count} features are"
    return (
        f"the groups separate on {name}: means {mean_a[worst]:.3g} (treated) and {mean_b[worst]:.3g} (control), "
        f"{deviations}; {how_many} at least {_SEPARATE:g} apart, so that few images "
        "may have a counterpart"
    )


def _named(columns: Int[np.ndarray, " c"], names: Sequence[str], width: int) -> str:
    """Columns by name, or by number where they have none, and the verb."""
    known = [names[c] if len(names) == width else str(c) for c in columns[:_MOST_NAMED].tolist()]
    listed = ", ".join(known) + (" …" if len(columns) > _MOST_NAMED else "")
    return f"1 column ({listed}) is" if len(columns) == 1 else f"{len(columns)} columns ({listed}) are"


def _moments(features: np.ndarray, rows: np.ndarray) -> Moments:
    """Mean and variance of each column, block by block."""
    total = np.zeros(features.shape[1])
    squares = np.zeros(features.shape[1])
    shift = np.asarray(features[rows[0]], dtype=np.float64)
    for part in in_blocks(len(rows), max(1, (1 << 22) // features.shape[1])):
        block = np.asarray(features[rows[part]], dtype=np.float64) - shift
        total += block.sum(axis=0)
        squares += (block**2).sum(axis=0)
    mean = total / len(rows)
    return mean + shift, np.maximum(squares / len(rows) - mean**2, 0.0)


_MOST_GROUPS: Final = 30


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """The sample, and what balance and report need. names: of feature columns, if any. groups: control and treated, or
    more, with `labels` of each image. references: which images may be ones. used: covariates that the method sees.
    apart: where the groups separate. outcomes: compared within pairs; no method sees them; reaches: see `pair_outcome`.
    """

    sample: matching.Sample
    names: tuple[str, ...]
    covariates: Mapping[str, Float[np.ndarray, " n"]]
    groups: tuple[str, ...]
    labels: tuple[str, ...] | None
    references: Bool[np.ndarray, " n"] | None
    used: tuple[str, ...]
    notes: tuple[str, ...]
    apart: str = ""
    outcomes: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    reaches: Mapping[str, float] = field(default_factory=dict)

    @property
    def covariate_matrix(self) -> Float[np.ndarray, "n k"]:
        """The covariates side by side; raises BadInput without any, or where an eligible image lacks one."""
        if not self.covariates:
            raise BadInput("this method needs covariates: give numeric columns of the table with --covariate")
        table = np.column_stack(list(self.covariates.values()))
        lacking = self.sample.eligible & ~np.isfinite(table).all(axis=1)
        if lacking.any():
            rows = ", ".join(map(str, np.flatnonzero(lacking)[:5]))
            raise BadInput(f"covariates: {lacking.sum()} images lack a value (rows {rows} …); leave those columns out")
        return table


def prepare(request: Request) -> Prepared:
    """The sample of a request, and what belongs to it."""
    table, options = request.table, request.options
    features, names, compared = _features(request)
    if len(features) != table.num_rows:
        raise BadInput(f"expected {table.num_rows} rows of features, as in the table, got {len(features)}")
    treatment, groups, labels = _treatment(request)
    metric: Metric = "mahalanobis" if request.method == "mahalanobis" else request.metric
    original = matching.layered(features, options.layers)
    flat, dropped = matching.in_metric(original, treatment, metric)
    sample = matching.make_sample(
        flat,
        treatment,
        exact=[files.objects(table, name, "exact") for name in request.exact],
        identity=_identity(request),
        second=_second(request),
        second_threshold=np.inf if options.second_threshold is None else options.second_threshold,
        dose_gap=options.dose_gap,
    )
    sample, usable = _with_references(request, sample)
    covariates = _covariates(request)
    notes, apart = _notes(request, original, sample, names, covariates, bool(labels))
    notes += [compared] if compared else []
    if dropped:
        columns = "1 constant or redundant column" if dropped == 1 else f"{dropped} constant or redundant columns"
        notes.insert(0, f"{columns} of the features {'was' if dropped == 1 else 'were'} dropped")
    seen = {*request.exact, *names} | ({*covariates} if request.method == WEIGHTING else set())
    used = tuple(name for name in covariates if name in seen)
    return Prepared(sample, names, covariates, groups, labels, usable, used, tuple(notes), apart, *_outcomes(request))


def _notes(
    request: Request,
    features: Float[np.ndarray, "n d"],
    sample: matching.Sample,
    names: tuple[str, ...],
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    several: bool,
) -> tuple[list[str], str]:
    """Notes on the features and covariates; and where the groups separate, empty where they do not."""
    notes = [*outcome_note(request.outcomes, _results(request)), *absence_note(features, sample)]
    if not request.blocks:
        return notes if several else notes + covariate_separation(covariates, sample), ""
    moments = _moments(features, sample.rows), _moments(features, sample.columns)
    if request.metric == "euclidean" and not request.method.startswith(("propensity", "mahalanobis", WEIGHTING)):
        notes += column_notes(features, sample, names, moments)
    if several or request.options.dose_gap:
        return notes, ""
    others = {name: values for name, values in covariates.items() if name not in names}
    return notes + covariate_separation(others, sample), separation(names, moments)


def _features(request: Request) -> files.Features:
    """One block as it is; several side by side by their weights."""
    weights = request.options.weights or [1.0] * len(request.blocks)
    if len(weights) != len(request.blocks):
        raise BadInput(
            f"weights: expected one for each of {len(request.blocks)} blocks of features, got {len(weights)}"
        )
    if request.options.columns and request.blocks and all(map(files.is_array, request.blocks)):
        raise BadInput("--columns applies to features in a table, got an array or an inversion; leave it out")
    if not request.blocks:  # given pairs need no distance; numbers that differ stand for images
        return files.Features(np.arange(request.table.num_rows, dtype=np.float64)[:, None])
    ids = files.ids_of(request.table)
    blocks, names = [], []
    notes: list[str] = []
    for block in request.blocks:
        columns: Sequence[str] = ()
        if not files.is_array(block):
            numeric = files.numeric_columns(request.table, _roles(request)) if block is request.table else ()
            columns = request.options.columns or numeric
        features = files.read_features(block, columns, ids, _roles(request))
        blocks.append(features.values)
        names.append(features.names)
        notes += [features.note] if features.note else []
    if len(blocks) == 1 and weights[0] == 1:
        return files.Features(blocks[0], names[0], " ".join(notes))
    flat = matching.weighted([matching.layered(block, request.options.layers) for block in blocks], weights)
    labels = tuple(name for labels in names for name in labels) if all(names) else ()
    return files.Features(flat, labels, " ".join(notes))


def _roles(request: Request) -> list[str]:
    """Columns that are no features by default, in whichever table they stand."""
    return [request.treatment, *request.exact, *filter(None, [request.identity]), *_results(request), files.ID]


def _results(request: Request) -> list[str]:
    """Outcomes to compare; with any, also every column that has the name of an outcome: it follows the treatment."""
    others = [name for name in OUTCOMES if name in request.table.column_names and name not in request.covariates]
    return list(dict.fromkeys([*request.outcomes, *(others if request.outcomes else [])]))


def _treatment(request: Request) -> tuple[Float[np.ndarray, " n"], tuple[str, ...], tuple[str, ...] | None]:
    """0 and 1, or a dose; with more than two groups 1 is the base, and the labels name each image's group."""
    values = files.column(request.table, request.treatment, "treatment")
    dose_gap = request.options.dose_gap
    if dose_gap:
        if not dose_gap > 0:
            raise BadInput(f"--dose-gap: expected a difference above 0, got {dose_gap:g}")
        return files.numbers(request.table, request.treatment, "treatment"), ("lower", "higher"), None
    texts = [None if value in (None, "") or value != value else files.text_of(value) for value in values.to_pylist()]
    names = sorted({text for text in texts if text is not None}, key=_rank)
    if not 2 <= len(names) <= _MOST_GROUPS:
        continuous = request.treatment in files.numeric_columns(request.table)
        merge = "give --dose-gap for a continuous treatment" if continuous else "merge groups in the table"
        advice = merge if len(names) > 2 else "a comparison needs two groups"
        raise BadInput(
            f"treatment {request.treatment!r}: expected 2 to {_MOST_GROUPS} groups, got {len(names)}; {advice}"
        )
    if len(names) == 2:
        coded = [np.nan if text is None else float(text == names[1]) for text in texts]
        return np.array(coded), (names[0], names[1]), None
    base = request.options.base
    if base is not None and base not in names:
        raise UnknownName("group", base, names, f"--base chooses a group of {request.treatment}")
    base = base or min(names, key=lambda name: sum(text == name for text in texts))
    coded = [np.nan if text is None else float(text == base) for text in texts]
    return np.array(coded), tuple(names), tuple("" if text is None else text for text in texts)


def _identity(request: Request) -> NDArray[np.object_] | None:
    """The column of identities; raises BadInput where it names nobody."""
    if request.identity is None:
        return None
    values = files.objects(request.table, request.identity, "identity")
    if absent(values).all():
        raise BadInput(f"--identity {request.identity}: no image has one; fill the column, or leave the option out")
    return values


def _rank(name: str) -> tuple[bool, float, str]:
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _second(request: Request) -> Float[np.ndarray, "n e"] | None:
    second = request.options.second
    if (second is None) != (request.options.second_threshold is None):
        raise BadInput("expected both --second (an embedding) and --second-threshold (its largest distance)")
    if second is None:
        return None
    features = files.read_features(second, (), files.ids_of(request.table), role="second").values
    return features.reshape(len(features), -1)


def _with_references(
    request: Request, sample: matching.Sample
) -> tuple[matching.Sample, Bool[np.ndarray, " n"] | None]:
    """Images without a valid reference image leave, where reference images are wanted (Eq. 5)."""
    options = request.options
    if not options.references:
        if options.defaults:
            raise BadInput("--default names attributes of reference images: give --references too")
        return sample, None
    if request.identity is None:
        raise BadInput("--references needs --identity COLUMN: a reference is another image of the same identity")
    table = request.table
    defaults = {name: (files.numbers(table, name, "default"), value) for name, value in options.defaults.items()}
    usable = matching.usable_references(sample, defaults)
    reasons = matching.without_reference(sample, usable)
    return replace(sample, ineligible={**reasons, **sample.ineligible}), usable


def _covariates(request: Request) -> dict[str, Float[np.ndarray, " n"]]:
    roles = [request.treatment, *filter(None, [request.identity]), *_results(request), files.ID]
    if request.treatment in request.covariates:
        raise BadInput(f"--covariate {request.treatment}: expected a column other than the treatment; leave it out")
    names = list(request.covariates) or files.numeric_columns(request.table, roles)
    return {name: files.numbers(request.table, name, "covariate") for name in names}


def _outcomes(request: Request) -> tuple[dict[str, Float[np.ndarray, " n"]], dict[str, float]]:
    """What is compared within pairs, and the reach of each. Raises BadInput for a column that pairs are made by."""
    pairing = {request.treatment, *request.options.columns, *request.exact, *request.covariates}
    for name in request.outcomes:
        if name in pairing:
            raise BadInput(f"--outcome {name}: pairs are made by this column; remove it from the other options")
    columns = {name: files.numbers(request.table, name, "outcome") for name in request.outcomes}
    reaches = {name: proportion_reach(values) for name, values in columns.items()}
    for after, before in request.options.changes:
        if after not in columns or before not in columns:
            raise BadInput(f"--change {after}={before}: expected two columns of --outcome; add both to --outcome")
        columns[f"{after} minus {before}"] = columns[after] - columns[before]
        reaches[f"{after} minus {before}"] = proportion_reach(columns[after], columns[before])
    return columns, reaches


_NO_OVERLAP: Final = 2.0
"""Standard deviations of the logit of propensity that no caliper bridges; the usual one is 0.2."""


def nothing_matched(empty: matching.Matching, request: Request, prepared: Prepared) -> str:
    """What refused every pair, and what would leave one."""
    reasons = ", ".join(f"{name} {count}" for name, count in empty.refusals.items()) or "there is no treated image"
    apart = f"; {prepared.apart}" if prepared.apart else ""
    if request.method == "propensity" and _NO_OVERLAP < float(_least_caliper(empty, request)) < math.inf:
        return (
            f"no pair is within the caliper, since the groups do not overlap in propensity{apart}; name features that "
            f"do not tell the groups apart with --columns (refused: {reasons})"
        )
    if CALIPER in empty.refusals and math.isfinite(empty.least_caliper):
        return (
            f"no pair is within the caliper; the smallest that would leave one is {_least_caliper(empty, request)}: "
            f"give it as --caliper (refused: {reasons}){apart}"
        )
    return f"no pair keeps the constraints (refused: {reasons}); relax one of them{apart}"


def _least_caliper(empty: matching.Matching, request: Request) -> str:
    """The smallest caliper that leaves a pair, in the unit of --caliper, so that it can be given as it stands."""
    least = empty.least_caliper
    if request.method == "propensity":  # its caliper is in standard deviations, converted with a margin for rounding
        least *= empty.facts["caliper_sd"] / empty.facts["caliper"] * (1 + 1e-12)
    return rounded_up(least)


def rounded_up(least: float) -> str:
    """Six digits, never below the number itself.

    >>> rounded_up(0.12345649), rounded_up(2.0)
    ('0.123457', '2')
    """
    digits = 6 - math.ceil(math.log10(least)) if least > 0 else 0
    rounded = f"{least:.6g}"
    return rounded if float(rounded) >= least else f"{least + 10.0**-digits / 2:.6g}"

"""From a request to a sample: features, groups, constraints, covariates, reference images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.designs.matching import (
    Sample,
    in_metric,
    layered,
    make_sample,
    usable_references,
    weighted,
    without_reference,
)
from transect.designs.matching.sample import Metric, absent
from transect.effects.matched_pairs import proportion_reach
from transect.effects.outcomes import OUTCOMES
from transect.errors import BadInput, UnknownName
from transect.jobs.match.notes import (
    absence_note,
    column_notes,
    covariate_separation,
    group_moments,
    outcome_note,
    separation,
)
from transect.jobs.match.options import USING_COVARIATES, WEIGHTING, Request

_MOST_GROUPS: Final = 30


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """The sample, and what balance and report need.

    names: of the feature columns, empty where they have none. covariates: whose balance is measured. groups: the names
    of control and treated, or of more groups; labels: [n], the group of each image where there are more than two.
    references: which images may be reference images, or None. used: covariates that the method sees. apart: where the
    groups separate, if they do. outcomes: compared within pairs; no method sees them. reaches: of each outcome, see
    `pair_outcome`.
    """

    sample: Sample
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
            raise BadInput("this method needs covariates: name numeric columns of the table with --covariate")
        table = np.column_stack(list(self.covariates.values()))
        lacking = self.sample.eligible & ~np.isfinite(table).all(axis=1)
        if lacking.any():
            rows = ", ".join(map(str, np.flatnonzero(lacking)[:5]))
            raise BadInput(f"covariates: {lacking.sum()} images lack a value (rows {rows} …); leave those columns out")
        return table


def prepare(request: Request) -> Prepared:
    """The sample of a request, and what belongs to it.

    Raises BadInput or UnknownName where features, table and options do not fit together.
    """
    table, options = request.table, request.options
    features, names, compared = _features(request)
    if len(features) != table.num_rows:
        raise BadInput(f"expected as many rows of features as of the table ({table.num_rows}), got {len(features)}")
    treatment, groups, labels = _treatment(request)
    metric: Metric = "mahalanobis" if request.method == "mahalanobis" else request.metric
    original = layered(features, options.layers)
    flat, dropped = in_metric(original, treatment, metric)
    sample = make_sample(
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
    seen = {*request.exact, *names} | ({*covariates} if request.method in USING_COVARIATES else set())
    used = tuple(name for name in covariates if name in seen)
    return Prepared(sample, names, covariates, groups, labels, usable, used, tuple(notes), apart, *_outcomes(request))


def _notes(
    request: Request,
    features: Float[np.ndarray, "n d"],
    sample: Sample,
    names: tuple[str, ...],
    covariates: Mapping[str, Float[np.ndarray, " n"]],
    several: bool,
) -> tuple[list[str], str]:
    """Notes on the features and covariates; and where the groups separate, empty where they do not."""
    notes = [*outcome_note(request.outcomes, _results(request)), *absence_note(features, sample)]
    if not request.blocks:
        return notes if several else notes + covariate_separation(covariates, sample), ""
    moments = group_moments(features, sample)
    if request.metric == "euclidean" and not request.method.startswith(("propensity", "mahalanobis", *WEIGHTING)):
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
        raise BadInput("--columns: expected features that are a table, got an array or an inversion; leave it out")
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
    flat = weighted([layered(block, request.options.layers) for block in blocks], weights)
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
        raise BadInput(
            "expected --second FILE and --second-threshold together: the embedding and the distance below which pairs "
            "must be"
        )
    if second is None:
        return None
    features = files.read_features(second, (), files.ids_of(request.table), role="second").values
    return features.reshape(len(features), -1)


def _with_references(request: Request, sample: Sample) -> tuple[Sample, Bool[np.ndarray, " n"] | None]:
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
    usable = usable_references(sample, defaults)
    reasons = without_reference(sample, usable)
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
            raise BadInput(
                f"--outcome {name}: expected a column that pairs are not made by; leave it out of the others"
            )
    columns = {name: files.numbers(request.table, name, "outcome") for name in request.outcomes}
    reaches = {name: proportion_reach(values) for name, values in columns.items()}
    for after, before in request.options.changes:
        if after not in columns or before not in columns:
            raise BadInput(f"--change {after}={before}: expected two columns of --outcome, got others; name both there")
        columns[f"{after} minus {before}"] = columns[after] - columns[before]
        reaches[f"{after} minus {before}"] = proportion_reach(columns[after], columns[before])
    return columns, reaches

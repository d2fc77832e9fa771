"""From what the user named to a sample: features, groups, constraints, covariates, reference images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, final

import numpy as np
import pyarrow as pa
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
from transect.designs.matching.metrics import Layers, Metric
from transect.designs.matching.sample import absent
from transect.effects.balance import GATE
from transect.errors import BadInput, UnknownName
from transect.jobs.match.notes import absence_note, column_notes, covariate_separation, group_moments, separation

Method = Literal[
    "greedy",
    "optimal",
    "propensity",
    "propensity-published",
    "mahalanobis",
    "coarsened",
    "cardinality",
    "entropy",
    "overlap",
]
METHODS: Final[dict[Method, str]] = {
    "greedy": "nearest pair first, the exact order of Singh et al. 2021",
    "optimal": "smallest total distance",
    "propensity": "nearest cross-fitted log odds within 0.2 SD",
    "propensity-published": "as in Singh et al. 2021: random order, scores within 0.1",
    "mahalanobis": "nearest pair first by Mahalanobis distance",
    "coarsened": "nearest pair first within equal bins of the covariates",
    "cardinality": "largest subset with balanced means, paired optimally",
    "entropy": "weights that give controls the treated means",
    "overlap": "weights for images that could be in either group",
}
WEIGHTING: Final = ("entropy", "overlap")
_MOST_GROUPS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What `transect match` was asked; its help says what each means."""

    features: Sequence[str]
    treatment: str
    table: Path | None = None
    method: Method = "greedy"
    metric: Metric = "euclidean"
    layers: Layers = "flatten"
    columns: Sequence[str] = ()
    exact: Sequence[str] = ()
    caliper: float | None = None
    identity: str | None = None
    second: Path | None = None
    second_threshold: float | None = None
    defaults: Sequence[str] = ()
    references: bool = False
    covariates: Sequence[str] = ()
    outcomes: Sequence[str] = ()
    experiment: Path | None = None
    experiment_attribute: str | None = None
    ratio: int = 1
    tolerance: float = 0.1
    bins: int | None = None
    dose_gap: float = 0.0
    base: str | None = None
    gate: float = GATE
    approximate: bool = False
    seed: int = 0


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """The sample and what balance and report need.

    names: of the feature columns, empty where they have none. covariates: whose balance is measured. groups: the names
    of control and treated, or of more groups; labels: [n], the group of each image where there are more than two.
    references: which images may be reference images, or None. used: covariates that the method sees. apart: where the
    groups separate, if they do. outcomes: what is compared within pairs, which no method sees.
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


def prepare(options: Options) -> Prepared:
    """Reads the files and checks that they fit together. Raises BadInput or UnknownName otherwise."""
    if not options.features:
        raise BadInput("nothing to match on: expected --features FILE.npy or FILE.parquet")
    table = files.read_table(table_path(options))
    features, names = _features(options, table)
    if len(features) != table.num_rows:
        raise BadInput(f"expected as many rows of features as of the table ({table.num_rows}), got {len(features)}")
    treatment, groups, labels = _treatment(options, table)
    metric: Metric = "mahalanobis" if options.method == "mahalanobis" else options.metric
    original = layered(features, options.layers)
    flat, dropped = in_metric(original, treatment, metric)
    sample = make_sample(
        flat,
        treatment,
        exact=[files.objects(table, name, "exact") for name in options.exact],
        identity=_identity(options, table),
        second=_second(options, table),
        second_threshold=np.inf if options.second_threshold is None else options.second_threshold,
        dose_gap=options.dose_gap,
    )
    sample, usable = _with_references(options, table, sample)
    covariates = _covariates(options, table)
    notes = [f"{dropped} constant or redundant columns of the features were dropped"] if dropped else []
    notes += absence_note(original, sample)
    moments = group_moments(original, sample)
    if metric == "euclidean" and not options.method.startswith(("propensity", *WEIGHTING)):
        notes += column_notes(original, sample, names, moments)
    apart = "" if labels or options.dose_gap else separation(names, moments)
    if not (labels or options.dose_gap):
        notes += covariate_separation({k: v for k, v in covariates.items() if k not in names}, sample)
    seen = {*options.exact, *names} | ({*covariates} if options.method in _USING_COVARIATES else set())
    used = tuple(name for name in covariates if name in seen)
    outcomes = _outcomes(options, table)
    return Prepared(sample, names, covariates, groups, labels, usable, used, tuple(notes), apart, outcomes)


_USING_COVARIATES = ("coarsened", "cardinality", *WEIGHTING)


def table_path(options: Options) -> Path:
    """The table of attributes: --table, or the features where they are Parquet."""
    if options.table is not None:
        return options.table
    path = files.parse_weighted(options.features[0])[0]
    if path.suffix == ".npy":
        raise BadInput("expected --table FILE.parquet with the treatment: a .npy file holds features alone")
    return path


def _features(options: Options, table: pa.Table) -> tuple[Float[np.ndarray, "n ..."], tuple[str, ...]]:
    """One block as it is; several side by side by their weights."""
    ids = table[files.ID].to_pylist() if files.ID in table.column_names else None
    blocks, names, weights = [], [], []
    for text in options.features:
        path, weight = files.parse_weighted(text)
        own = options.columns or _own_columns(options, path, table)
        block, labels = files.read_features(path, own if path.suffix != ".npy" else (), ids, _roles(options))
        blocks.append(block)
        names.append(labels)
        weights.append(weight)
    if len(blocks) == 1 and weights[0] == 1:
        return blocks[0], names[0]
    flat = weighted([layered(block, options.layers) for block in blocks], weights)
    return flat, tuple(name for labels in names for name in labels) if all(names) else ()


def _own_columns(options: Options, path: Path, table: pa.Table) -> list[str]:
    """Where features and attributes are one table: its numeric columns less those with a role."""
    if options.table is not None and options.table.resolve() != path.resolve():
        return []
    return files.numeric_columns(table, _roles(options))


def _roles(options: Options) -> list[str]:
    """Columns that are no features of their own accord, in whichever file they stand."""
    return [options.treatment, *options.exact, *filter(None, [options.identity]), *options.outcomes, files.ID]


def _treatment(
    options: Options, table: pa.Table
) -> tuple[Float[np.ndarray, " n"], tuple[str, ...], tuple[str, ...] | None]:
    """0 and 1, or a dose; with more than two groups 1 is the base, and the labels say which is which."""
    values = files.column(table, options.treatment, "treatment")
    if options.dose_gap:
        if not options.dose_gap > 0:
            raise BadInput(f"--dose-gap: expected a difference above 0, got {options.dose_gap:g}")
        return files.numbers(table, options.treatment, "treatment"), ("lower", "higher"), None
    texts = [None if value in (None, "") or value != value else files.text_of(value) for value in values.to_pylist()]
    names = sorted({text for text in texts if text is not None}, key=_rank)
    if not 2 <= len(names) <= _MOST_GROUPS:
        advice = "give --dose-gap for a continuous treatment" if len(names) > 2 else "a comparison needs two groups"
        raise BadInput(
            f"treatment {options.treatment!r}: expected 2 to {_MOST_GROUPS} groups, got {len(names)}; {advice}"
        )
    if len(names) == 2:
        coded = [np.nan if text is None else float(text == names[1]) for text in texts]
        return np.array(coded), (names[0], names[1]), None
    if options.base is not None and options.base not in names:
        raise UnknownName("group", options.base, names, f"--base chooses a group of {options.treatment}")
    base = options.base or min(names, key=lambda name: sum(text == name for text in texts))
    coded = [np.nan if text is None else float(text == base) for text in texts]
    return np.array(coded), tuple(names), tuple("" if text is None else text for text in texts)


def _identity(options: Options, table: pa.Table) -> NDArray[np.object_] | None:
    """The column of identities; raises BadInput where it names nobody."""
    if options.identity is None:
        return None
    values = files.objects(table, options.identity, "identity")
    if absent(values).all():
        raise BadInput(f"--identity {options.identity}: no image has one; fill the column, or leave the option out")
    return values


def _rank(name: str) -> tuple[bool, float, str]:
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _second(options: Options, table: pa.Table) -> Float[np.ndarray, "n e"] | None:
    if (options.second is None) != (options.second_threshold is None):
        raise BadInput("expected --second FILE and --second-threshold together: the embedding and how near it must be")
    if options.second is None:
        return None
    ids = table[files.ID].to_pylist() if files.ID in table.column_names else None
    features, _ = files.read_features(options.second, (), ids)
    return features.reshape(len(features), -1)


def _with_references(options: Options, table: pa.Table, sample: Sample) -> tuple[Sample, Bool[np.ndarray, " n"] | None]:
    """Images without a valid reference image leave, where reference images are asked for (Eq. 5)."""
    if not options.references:
        if options.defaults:
            raise BadInput("--default says what reference images must be like: give --references too")
        return sample, None
    if options.identity is None:
        raise BadInput("--references needs --identity COLUMN: a reference is another image of the same identity")
    wanted = dict(files.parse_default(text) for text in options.defaults)
    defaults = {name: (files.numbers(table, name, "default"), value) for name, value in wanted.items()}
    usable = usable_references(sample, defaults)
    reasons = without_reference(sample, usable)
    return replace(sample, ineligible={**reasons, **sample.ineligible}), usable


def _covariates(options: Options, table: pa.Table) -> dict[str, Float[np.ndarray, " n"]]:
    roles = [options.treatment, *filter(None, [options.identity]), *options.outcomes, files.ID]
    if options.treatment in options.covariates:
        raise BadInput(f"--covariate {options.treatment}: expected a column beside the treatment; leave it out")
    names = list(options.covariates) or files.numeric_columns(table, roles)
    return {name: files.numbers(table, name, "covariate") for name in names}


def _outcomes(options: Options, table: pa.Table) -> dict[str, Float[np.ndarray, " n"]]:
    """What is compared within pairs. Raises BadInput for a column that pairs are made by."""
    made_by = {options.treatment, *options.columns, *options.exact, *options.covariates}
    for name in options.outcomes:
        if name in made_by:
            raise BadInput(
                f"--outcome {name}: expected a column that pairs are not made by; leave it out of the others"
            )
    return {name: files.numbers(table, name, "outcome") for name in options.outcomes}

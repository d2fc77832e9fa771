"""Notes on the features: constant and repeated columns, missing images, separated groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.matching import Sample
from transect.designs.matching.sample import in_blocks

PAIRS_PER_COVARIATE: Final = 10
"""Fewer pairs for each covariate make least squares unreliable (Harrell 2015, Regression modeling strategies, 4.4)."""
_SEPARATE: Final = 3.0
_MOST_COMPARED: Final = 1000
_MOST_NAMED: Final = 5

Moments = tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]


def group_moments(features: Float[np.ndarray, "n d"], sample: Sample) -> tuple[Moments, Moments]:
    """Mean and variance of each column among the treated images, and among the controls."""
    return _moments(features, sample.rows), _moments(features, sample.columns)


def column_notes(
    features: Float[np.ndarray, "n d"], sample: Sample, names: Sequence[str], moments: tuple[Moments, Moments]
) -> list[str]:
    """Notes on columns that a distance takes as they are: the same for all images, or equal to an earlier column.

    Repeats are recognised by equal means and variances in both groups and equal values in up to 1,000 images.
    """
    (mean_a, var_a), (mean_b, var_b) = moments
    constant = (var_a == 0) & (var_b == 0) & (mean_a == mean_b)
    notes = []
    if constant.any():
        columns = _named(np.flatnonzero(constant), names, len(constant))
        notes.append(f"features: {columns} the same for all images and no part of any distance")
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


def absence_note(features: Float[np.ndarray, "n d"], sample: Sample) -> list[str]:
    """A note on images without features, such as those whose id the features lack."""
    rows = np.array(sorted(sample.ineligible), dtype=np.int64)
    empty = [row for part in in_blocks(len(rows)) for row in rows[part][np.isnan(features[rows[part]]).all(axis=1)]]
    if not empty:
        return []
    listed = ", ".join(map(str, empty[:_MOST_NAMED])) + (" …" if len(empty) > _MOST_NAMED else "")
    have = f"image has no features (row {listed}): is its" if len(empty) == 1 else ""
    have = have or f"images have no features (rows {listed}): is their"
    return [f"{len(empty)} {have} id in every features file?"]


def covariate_separation(covariates: Mapping[str, Float[np.ndarray, " n"]], sample: Sample) -> list[str]:
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
            notes.append(
                f"the groups separate on the covariate {name}: {_range(sides[0])} (treated) and {_range(sides[1])} "
                f"(control), so that {'no image has' if disjoint else 'few images may have'} a counterpart in it"
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
    how_many = "1 feature is" if count == 1 else f"{count} features are"
    return (
        f"the groups separate on {name}: means {mean_a[worst]:.3g} (treated) and {mean_b[worst]:.3g} (control), "
        f"{apart[worst]:.1f} standard deviations apart; {how_many} at least {_SEPARATE:g} apart, so that few images "
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

"""A recognition benchmark of photographs: errors of a face verifier by group, before and after matching.

The only module that knows the order of its steps, as `matching` does for matches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.effects.comparisons import Metric, directions_of
from transect.effects.pooled_threshold import pooled_thresholds
from transect.effects.recognition import (
    SOURCES,
    Differential,
    GroupErrors,
    comparable,
    difference_of_means,
    differentials,
    verification,
)
from transect.errors import BadInput
from transect.jobs.recognition.embeddings import embed
from transect.protocols import Target
from transect.runs.folder import write_table
from transect.runs.inputs import read_table
from transect.runs.plain_json import plain
from transect.targets.limits import Limits

RATE: Final = 0.01
"""The false match rate whose threshold is used where none is asked for."""
SAMPLES: Final = ("all", "matched")
REFERENCES: Final = ("a_reference", "b_reference")
MOST_GROUPS: Final = 20


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What `transect recognition` was asked; its help says what each means. kept: where a target's answers are kept."""

    table: Path
    identity: str
    group: str
    embeddings: Path | None = None
    pictures: str | None = None
    pairs: Path | None = None
    thresholds: Sequence[float] = ()
    rates: Sequence[float] = ()
    metric: Metric = "euclidean"
    size: int | None = None
    limits: Limits = field(default_factory=Limits)
    kept: Path = Path("recognition/answers")


@final
@dataclass(frozen=True, slots=True)
class Recognized:
    """summary: what --json prints. errors: by sample, those of each group. embeddings: [n, d], where a target made them
    (else None), and ids: of the rows, where the table has them.
    """

    summary: dict[str, Any]
    errors: Mapping[str, list[GroupErrors]]
    embeddings: Float[np.ndarray, "n d"] | None = None
    ids: tuple[str, ...] | None = None


def recognize(asked: Asked, target: Target | None = None, *, quiet: bool = True) -> Recognized:
    """Embeds where a target is given, finds the thresholds in all images, and counts errors in each sample.

    Raises BadInput for files, columns or options that cannot be used, and where no group has two images to compare.
    """
    started = time.perf_counter()
    _check(asked, target)
    table = read_table(asked.table)
    identity, group = (
        _column(table, asked.identity, "identity"),
        _named(_column(table, asked.group, "group"), asked.group),
    )
    matched = None if asked.pairs is None else _matched_rows(asked.pairs, table.num_rows)
    embeddings, reasons = _embeddings(asked, table, target, quiet)
    usable = comparable(embeddings, identity, group, asked.metric)
    _check_groups(group[usable], asked.group)
    _check_variation(embeddings[usable], asked.metric)
    limits, compared = _limits(asked, embeddings, identity, group)
    samples = {"all": None} if matched is None else {"all": None, "matched": matched[0]}
    values = [one["threshold"] for one in limits]
    errors = {
        name: verification(embeddings, identity, group, values, rows=rows, metric=asked.metric)
        for name, rows in samples.items()
    }
    summary = {
        "embeddings": asked.embeddings.name if target is None and asked.embeddings else getattr(target, "name", ""),
        "identity": asked.identity,
        "group": asked.group,
        "metric": asked.metric,
        "images": table.num_rows,
        "left_out": _left_out(usable, reasons, identity, group),
        "impostor_comparisons": compared,
        "thresholds": limits,
        "samples": {name: _sample(made, values, asked) for name, made in errors.items()},
        "notes": _notes(errors, matched),
        "sources": list(SOURCES),
        "seconds": round(time.perf_counter() - started, 3),
    }
    made = None if target is None else embeddings
    ids = tuple(map(str, table[files.ID].to_pylist())) if files.ID in table.column_names else None
    return Recognized(plain(summary), errors, made, ids)


def keep_embeddings(made: Recognized, folder: Path) -> None:
    """What a target made, as `embeddings.parquet` beside the page: for --embeddings, or --second of transect match."""
    if made.embeddings is None:
        return
    rows = pa.FixedSizeListArray.from_arrays(pa.array(made.embeddings.ravel()), made.embeddings.shape[1])
    ids = {} if made.ids is None else {files.ID: pa.array(made.ids)}
    write_table(folder / "embeddings.parquet", pa.table({**ids, "embedding": rows}))


def _check(asked: Asked, target: Target | None) -> None:
    if (target is None) == (asked.embeddings is None):
        raise BadInput("expected a TARGET with --pictures COLUMN, or --embeddings FILE: one of the two")
    if (target is None) != (asked.pictures is None):
        raise BadInput("--pictures names the column that a TARGET embeds: give both, or --embeddings FILE alone")
    for threshold in asked.thresholds:
        if not threshold > 0:
            raise BadInput(f"--threshold: expected a distance above 0, got {threshold:g}")


def _column(table: pa.Table, name: str, role: str) -> NDArray[np.object_]:
    """Texts, None where there is none; 1, 1.0 and True are one."""

    def text(value: object) -> str | None:
        if value is None or value != value or value == "":
            return None
        return files.text_of(value)

    return np.array([*map(text, files.objects(table, name, role)), None], dtype=object)[:-1]


def _named(group: NDArray[np.object_], column: str) -> NDArray[np.object_]:
    """A bare number needs its column: "Male 1"."""

    def name(value: str | None) -> str | None:
        bare = value is not None and value.replace(".", "").lstrip("-").isdigit()
        return f"{column} {value}" if bare else value

    return np.array([*map(name, group), None], dtype=object)[:-1]


def _check_groups(group: NDArray[np.object_], name: str) -> None:
    counts = Counter(group.tolist())
    if not counts:
        raise BadInput(f"no image has an embedding, an identity and a {name}: mend the files, or name other columns")
    if len(counts) > MOST_GROUPS:
        raise BadInput(f"--group {name}: expected at most {MOST_GROUPS} groups, got {len(counts)}; cut it into groups")


def _check_variation(embeddings: Float[np.ndarray, "m d"], metric: Metric) -> None:
    """Directions are equal up to rounding."""
    compared, rounding = (directions_of(embeddings), 1e-12) if metric == "cosine" else (embeddings, 0.0)
    if len(compared) > 1 and float(np.ptp(compared, axis=0).max()) <= rounding:
        raise BadInput(
            f"embeddings: all {len(compared)} are the same ({metric} distance), so that every distance is 0; give "
            "those of a model that tells images apart"
        )


def _embeddings(
    asked: Asked, table: pa.Table, target: Target | None, quiet: bool
) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    if target is not None and asked.pictures is not None:
        root = asked.table.parent
        return embed(table, asked.pictures, root, target, asked.limits, asked.size, folder=asked.kept, quiet=quiet)
    ids = table[files.ID].to_pylist() if files.ID in table.column_names else None
    made, _ = files.read_features(Path(asked.embeddings or ""), (), ids)
    if len(made) != table.num_rows:
        raise BadInput(f"expected as many embeddings as rows of the table ({table.num_rows}), got {len(made)}")
    flat = made.reshape(len(made), -1)
    return flat, tuple("" if known else "missing values" for known in np.isfinite(flat).all(axis=1))


def _matched_rows(path: Path, n: int) -> tuple[Int[np.ndarray, " m"], bool]:
    """The rows of the images in pairs, their reference images among them, and whether there are any of these.

    Raises BadInput for a file that is none of `transect match`, or of another table.
    """
    table = read_table(path)
    columns = [name for name in ("a", "b", *REFERENCES) if name in table.column_names]
    if not {"a", "b"} <= set(columns):
        raise BadInput(
            f"--pairs {path}: expected columns a and b, as transect match writes pairs, found "
            f"{', '.join(table.column_names[:6])}"
        )
    rows = np.unique(np.concatenate([files.numbers(table, name, "pair") for name in columns]))
    if not np.isin(rows, np.arange(n)).all():
        raise BadInput(f"--pairs {path}: expected row numbers from 0 to {n - 1}, got others; is it of this --table?")
    return rows.astype(np.int64), len(columns) > 2


def _limits(
    asked: Asked, embeddings: Float[np.ndarray, "n d"], identity: NDArray[np.object_], group: NDArray[np.object_]
) -> tuple[list[dict[str, Any]], int]:
    """The thresholds, stated or found by a false match rate in all images, and how many comparisons found them.

    reached: the share of these that match, less than the rate where distances tie.
    """
    rates = asked.rates or ([] if asked.thresholds else [RATE])
    found, reached, compared = pooled_thresholds(embeddings, identity, group, rates, asked.metric)
    keys = ("threshold", "false_match_rate", "reached")
    stated = [(value, None, None) for value in asked.thresholds]
    limits = [*stated, *zip(found, rates, reached, strict=True)]
    return [dict(zip(keys, one, strict=True)) for one in limits], compared


def _left_out(
    usable: NDArray[np.bool_], reasons: Sequence[str], identity: NDArray[np.object_], group: NDArray[np.object_]
) -> list[dict[str, Any]]:
    """Images that are in no comparison: how many of which group, and why."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in np.flatnonzero(~usable).tolist():
        why = reasons[row] or ("no identity" if identity[row] is None else "no group" if group[row] is None else "")
        counts[why or "embedding of zeros", "unknown" if group[row] is None else str(group[row])] += 1
    return [{"reason": why, "group": of, "images": n} for (why, of), n in sorted(counts.items())]


def _sample(made: list[GroupErrors], thresholds: Sequence[float], asked: Asked) -> dict[str, Any]:
    """The errors of one sample: by group, differences of mean distances, differentials."""
    several = len(made) > 1
    differences = [difference_of_means(one, made[0], "", asked.group) for one in made[1:]]
    keys = ("name", "estimate", "low", "high", "p", "reason")
    return {
        "groups": [_group(one, thresholds) for one in made],
        "differences": [{key: getattr(one, key) for key in keys} for one in differences],
        "differentials": [_differential(one) for one in differentials(made, thresholds)] if several else [],
    }


def _group(one: GroupErrors, thresholds: Sequence[float]) -> dict[str, Any]:
    rates = [
        {
            "threshold": threshold,
            "fnmr": one.fnmr[i],
            "fnmr_low": one.fnmr_interval[i, 0],
            "fnmr_high": one.fnmr_interval[i, 1],
            "fmr": one.fmr[i],
            "fmr_low": one.fmr_interval[i, 0],
            "fmr_high": one.fmr_interval[i, 1],
        }
        for i, threshold in enumerate(thresholds)
    ]
    return {
        "group": one.group,
        "images": one.images,
        "identities": one.identities,
        "genuine": one.genuine,
        "impostor": one.impostor,
        "mean_distance": one.mean_genuine,
        "mean_distance_low": one.mean_interval[0],
        "mean_distance_high": one.mean_interval[1],
        "rates": rates,
    }


def _differential(one: Differential) -> dict[str, Any]:
    ratios = zip(one.groups, one.ratio, one.ratio_interval, strict=True)
    return {
        "rate": one.rate,
        "threshold": one.threshold,
        "ratios": [{"group": name, "ratio": r, "low": ends[0], "high": ends[1]} for name, r, ends in ratios],
        "largest_ratio": one.largest,
        "gini": one.gini,
        "reason": one.reason,
    }


def _notes(errors: Mapping[str, list[GroupErrors]], matched: tuple[Int[np.ndarray, " m"], bool] | None) -> list[str]:
    """What cannot be told, and why."""
    notes = []
    for name, made in errors.items():
        alone = [one.group for one in made if not one.genuine]
        if alone:
            notes.append(
                f"{name}: no identity of {', '.join(alone)} has two images, so that its FNMR and mean distance are not "
                "known"
            )
        if len(made) < 2:
            notes.append(f"{name}: one group alone, so that no groups are compared")
    if matched is not None and not matched[1]:
        notes.append(
            "matched: the pairs name no reference images; with transect match --references each person has a second one"
        )
    return notes

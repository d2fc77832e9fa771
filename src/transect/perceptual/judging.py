"""How good are a generator's pictures? FID, KID, precision and recall of sets of images, and whether conditions are
obeyed.

The figures depend on the network whose features they compare, and are comparable only within one network: what it
does not see (it was taught other things, or resizes it away) does not count, and a generator trained or chosen by
the same network looks better than it is. Always report the network, the number of images of each set, and the size.
The common choice, Inception trained on ImageNet, weighs textures and ImageNet's classes (Kynkäänniemi et al. 2023,
arXiv:2203.06026); the built-in network was taught FaceWorld's attributes and is meant for generators of
FaceWorld. It errs too: how often it reads FaceWorld's own pictures as they are, at the same size, is the mark that
a share of obeyed conditions can be compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.errors import BadInput
from transect.perceptual.features import features, load, read
from transect.protocols import Generator, World
from transect.records import Attribute
from transect.training.pictures import levels_of, parse

NEIGHBOURS = 3
"""Of precision and recall, as published."""

_AT_ONCE = 1024
_FEWEST_FOR_KID = 3


def fid(real: np.ndarray, generated: np.ndarray) -> float:
    """The Fréchet distance of the Gaussians with the sets' moments: |μ - ν|² + tr(S + T - 2 (S T)^½), 0 or more.

    It is too large for few images (by about d²/n), since covariances are estimated: compare at equal n, and use many
    times more images than features. Fewer than two images in a set: NaN. Source: Heusel et al. 2017, arXiv:1706.08500,
    eq. 6. Raises BadInput for features of another shape or that are not finite.
    """
    first, other = _check_features(real, generated)
    if min(len(first), len(other)) < 2:
        return float("nan")
    apart = first.mean(axis=0) - other.mean(axis=0)
    s, t = (np.atleast_2d(np.cov(rows, rowvar=False)) for rows in (first, other))
    values, vectors = np.linalg.eigh(s)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    # The eigenvalues of S T are those of the symmetric S^½ T S^½.
    shared = np.sqrt(np.clip(np.linalg.eigvalsh(root @ t @ root), 0, None)).sum()
    return max(float(apart @ apart + np.trace(s) + np.trace(t) - 2 * shared), 0.0)


def kid(real: np.ndarray, generated: np.ndarray) -> tuple[float, float]:
    """The unbiased squared maximum mean discrepancy with the kernel (x·y / d + 1)³, and its jackknife error.

    Unbiased at every n, so it may be below 0. All pairs count, instead of random subsets. Fewer than three images in a
    set: NaN. Memory grows with n, time with its square. Sources: Bińkowski et al. 2018, arXiv:1801.01401, eq. 4;
    Arvesen 1969, doi:10.1214/aoms/1177697287 (jackknife of statistics of two samples). Raises BadInput as `fid` does.
    """
    reals, fakes = _check_features(real, generated)
    n, m = len(reals), len(fakes)
    if min(n, m) < _FEWEST_FOR_KID:
        return float("nan"), float("nan")
    within, within_other = (
        _kernel_sums(reals, reals) - _self_kernels(reals),
        _kernel_sums(fakes, fakes) - _self_kernels(fakes),
    )
    across, back = _kernel_sums(reals, fakes), _kernel_sums(fakes, reals)
    first, second, both = within.sum(), within_other.sum(), across.sum()
    value = first / (n * (n - 1)) + second / (m * (m - 1)) - 2 * both / (n * m)
    # The estimate without image i: its row and its column leave the sums.
    less_real = (
        (first - 2 * within) / ((n - 1) * (n - 2)) + second / (m * (m - 1)) - 2 * (both - across) / ((n - 1) * m)
    )
    less_generated = (
        first / (n * (n - 1)) + (second - 2 * within_other) / ((m - 1) * (m - 2)) - 2 * (both - back) / (n * (m - 1))
    )
    variance = sum((len(estimates) - 1) * estimates.var() for estimates in (less_real, less_generated))
    return float(value), float(np.sqrt(variance))


def precision_recall(real: np.ndarray, generated: np.ndarray, neighbours: int = NEIGHBOURS) -> tuple[float, float]:
    """Precision: the share of generated images within the real ones' manifold; recall: the other way round.

    A set's manifold is the union of balls around its images that reach to the k-th nearest of the same set. Both grow
    with k; recall falls where images are few, so compare at equal n. Fewer than k + 1 images in a set: NaN. Source:
    Kynkäänniemi et al. 2019, arXiv:1904.06991, eq. 1 and 2. Raises BadInput as `fid` does, and for k below 1.
    """
    first, other = _check_features(real, generated)
    if neighbours < 1:
        raise BadInput(f"neighbours: expected at least 1, got {neighbours}; the authors use {NEIGHBOURS}")
    if min(len(first), len(other)) <= neighbours:
        return float("nan"), float("nan")
    return _share_within(other, first, neighbours), _share_within(first, other, neighbours)


def _check_features(
    real: np.ndarray, generated: np.ndarray
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "m d"]]:
    first, other = np.asarray(real, dtype=np.float64), np.asarray(generated, dtype=np.float64)
    if first.ndim != 2 or other.ndim != 2 or first.shape[1] != other.shape[1]:
        raise BadInput(
            f"features: expected [n, d] and [m, d] of one network, got {list(first.shape)} and {list(other.shape)}"
        )
    for name, rows in (("real", first), ("generated", other)):
        bad = int((~np.isfinite(rows).all(axis=1)).sum())
        if bad:
            raise BadInput(
                f"features of the {name} images: expected finite numbers, got {bad} rows with NaN; drop them"
            )
    return first, other


def _kernel_sums(rows: Float[np.ndarray, "n d"], other: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " n"]:
    """Σ_j k(x_i, y_j), a block of rows at a time."""
    starts = range(0, len(rows), _AT_ONCE)
    return np.concatenate([((rows[s : s + _AT_ONCE] @ other.T / rows.shape[1] + 1) ** 3).sum(axis=1) for s in starts])


def _self_kernels(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """k(x_i, x_i)."""
    squares: np.ndarray = (np.square(rows).sum(axis=1) / rows.shape[1] + 1) ** 3
    return squares


def _share_within(points: Float[np.ndarray, "m d"], around: Float[np.ndarray, "n d"], neighbours: int) -> float:
    """The share of points within the balls around `around`."""
    from scipy.spatial.distance import cdist

    radii = np.concatenate(
        [  # the nearest of each image is itself
            np.partition(cdist(around[s : s + _AT_ONCE], around), neighbours, axis=1)[:, neighbours]
            for s in range(0, len(around), _AT_ONCE)
        ]
    )
    inside = sum(
        int((cdist(points[s : s + _AT_ONCE], around) <= radii).any(axis=1).sum())
        for s in range(0, len(points), _AT_ONCE)
    )
    return inside / len(points)


FEWEST = 200
_RENDERED_AT_ONCE = 250
_FIRST_JUDGED = 1 << 44
"""Far from the seeds that trainings and audits draw, so that pictures that are judged were not trained on."""


@dataclass(frozen=True, slots=True)
class SetDistances:
    """How near two sets of images are. kid_error: standard error of kid; NaN for what cannot be estimated."""

    fid: float
    kid: float
    kid_error: float
    precision: float
    recall: float


@final
@dataclass(frozen=True, slots=True)
class Judgement(SetDistances):
    """Generated images against real ones. images: of each set; floor: the same of two sets of real images."""

    images: int
    floor: SetDistances


def judge(real: Generator, generated: Generator, images: int, *, device: str = "cpu") -> Judgement:
    """FID, KID, precision and recall of `images` generated pictures against as many real ones.

    `floor` has the same of two samples of the real source, drawn for it: no generator does better. The built-in
    features were learned on FaceWorld, so that figures of other networks are on another scale.

    Raises BadInput for fewer than 200.
    """
    if images < FEWEST:
        raise BadInput(f"images: expected at least {FEWEST}, got {images}; results on fewer are unreliable")
    rows = [features_of(source, first, images, device) for source, first in ((real, 0), (real, images), (generated, 0))]
    return Judgement(*_figures(rows[0], rows[2]), images, SetDistances(*_figures(rows[0], rows[1])))


def features_of(source: Generator, first: int, images: int, device: str = "cpu") -> Float[np.ndarray, "n d"]:
    """Features of that many pictures, from the `first`-th on of those that are reserved for judging."""
    seeds = np.arange(_FIRST_JUDGED + first, _FIRST_JUDGED + first + images)
    parts = [seeds[start : start + _RENDERED_AT_ONCE] for start in range(0, images, _RENDERED_AT_ONCE)]
    return np.concatenate([features(source.render(source.sample(part)).pixels, device=device) for part in parts])


def _figures(
    real: Float[np.ndarray, "n d"], other: Float[np.ndarray, "n d"]
) -> tuple[float, float, float, float, float]:
    return fid(real, other), *kid(real, other), *precision_recall(real, other)


PICTURES: Final = 500
_FIRST_CONDITIONED: Final = 1 << 45
"""Far from the seeds that trainings and audits draw."""


@final
@dataclass(frozen=True, slots=True)
class Obedience:
    """Pictures of one level of a condition and how many the reader, where it reads that at all, reads so; and the
    world's own.
    """

    condition: str
    level: str
    pictures: int
    obeyed: int
    own_pictures: int
    own_obeyed: int
    read: bool


def obedience(generator: World, world: World, texts: Sequence[str], pictures: int = PICTURES) -> list[Obedience]:
    """The levels of each condition in turn. Pictures of a level are those that were asked for, of the world those that
    have it.
    """
    drawn, own = _read(generator, pictures), _read(world, pictures)
    rows = []
    for text in texts:
        attribute, cuts = parse(text, world.attributes)
        for place, level in enumerate(levels_of(attribute, cuts)):
            counts = (*_counts(drawn, attribute, cuts, place, ()), *_counts(own, attribute, cuts, place, cuts))
            rows.append(Obedience(attribute.name, level, *counts, read=_is_read(attribute, cuts)))
    return rows


def _is_read(attribute: Attribute, cuts: Sequence[float]) -> bool:
    """Whether the reader answers with the condition's levels."""
    levels = {answer.name: answer.levels for answer in load().answers}
    return attribute.name in levels and (bool(cuts) or levels[attribute.name] == len(attribute.levels))


Reading = tuple[pa.Table, dict[str, Float[np.ndarray, " n"]]]
"""What is true of each picture, and what the reader reads."""


def _read(source: World, pictures: int) -> Reading:
    latents = source.sample(np.arange(_FIRST_CONDITIONED, _FIRST_CONDITIONED + pictures))
    return source.read(latents), dict(read(source.render(latents).pixels))


def _counts(
    reading: Reading, attribute: Attribute, cuts: Sequence[float], place: int, cut_truth: Sequence[float]
) -> tuple[int, int]:
    """Pictures of a level, and those read so. cut_truth: cuts of what is true; none where it is a level's number."""
    truth, looks = reading
    here = _placed(np.asarray(truth[attribute.name], dtype=np.float64), cut_truth) == place
    if not _is_read(attribute, cuts):
        return int(here.sum()), 0
    # Of two levels the reader gives the probability of the second, of more the number of the likeliest.
    seen = _placed(looks[attribute.name], cuts or ((0.5,) if len(attribute.levels) == 2 else ()))
    return int(here.sum()), int((here & (seen == place)).sum())


def _placed(values: Float[np.ndarray, " n"], edges: Sequence[float]) -> Float[np.ndarray, " n"]:
    return np.searchsorted(np.asarray(edges), values, side="right").astype(np.float64) if edges else values

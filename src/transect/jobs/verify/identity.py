"""Do people look like different people? Pairs of pictures of one subject against pairs of two.

The embedding is the identity code as the reader network reads it: it was trained on other subjects, each with a code
separately, and is compared by the cosine. Sample of one subject share the identity code alone: attributes, nuisances
and texture seeds are drawn separately for each. Source of the task: Huang et al. 2007, Labeled Faces in the Wild.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.discrimination import Figure, pairs_auc
from transect.jobs.verify.learning import answers
from transect.jobs.verify.network import Network
from transect.jobs.verify.pictures import Draw, Sample
from transect.jobs.verify.reading import readings
from transect.jobs.verify.visibility import ALWAYS, rule
from transect.records import Latents

GATE = 0.95
COPIES = 4
"""Sample of each subject."""

_OTHER_SEEDS = 1_000_000
_OTHER_LIGHT = ("yaw", "pitch", "light_azimuth", "light_elevation", "light_level")


def same_code(first_seed: int, copies: int = COPIES) -> Draw:
    """Row i shows the identity code of subject i // copies; all else comes from a seed of the row's own."""

    def draw(world: FaceWorld, rows: Int[np.ndarray, " n"]) -> Latents:
        subject = world.sample(first_seed + rows // copies).values
        rest = world.sample(first_seed + _OTHER_SEEDS + rows)
        values = rest.values.copy()
        values[:, IDENTITY_COLUMNS] = subject[:, IDENTITY_COLUMNS]
        return Latents(rest.seeds, values, rest.space)

    return draw


def same_person(first_seed: int, copies: int = COPIES) -> Draw:
    """Row i shows subject i // copies as it is, in another pose and light."""

    def draw(world: FaceWorld, rows: Int[np.ndarray, " n"]) -> Latents:
        other = world.read(world.sample(first_seed + _OTHER_SEEDS + rows))
        return world.set(world.sample(first_seed + rows // copies), {name: other[name] for name in _OTHER_LIGHT})

    return draw


def embedding(network: Network, pictures: Sample, device: str) -> Float[np.ndarray, "n d"]:
    """The identity code as the network reads it: the traits that every picture shows, in units of their spread."""
    columns = [r.start for r in readings() if r.role == "identity" and rule(r.name) is ALWAYS]
    return np.asarray(answers(network, pictures.pixels, len(pictures), device)[:, columns])


def person_auc(
    embedded: Float[np.ndarray, "n d"],
    subject: Int[np.ndarray, " n"],
    *,
    euclidean: bool = False,
    resamples: int = 1000,
) -> Figure:
    """AUC of pairs of one subject against pairs of two, clustered by subject.

    All pairs of one subject, and one pair, drawn by chance, of each two. euclidean: compare by distance instead of the
    cosine. Rows that are NaN have no embedding; they are left out.
    """
    usable = np.isfinite(embedded).all(axis=1)
    _, subject = np.unique(subject[usable], return_inverse=True)
    first, second = pairs(subject)
    return pairs_auc(
        _likeness(embedded[usable], first, second, euclidean), subject[first], subject[second], resamples=resamples
    )


def pairs(subject: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]]:
    """Rows of all pairs of one subject, and of one pair of each two subjects.

    >>> first, second = pairs(np.array([0, 0, 1]))
    >>> len(first), (first[0], second[0]) == (0, 1)
    (2, True)
    """
    generator = np.random.Generator(np.random.Philox(key=0))
    members = [np.flatnonzero(subject == s) for s in range(int(subject.max()) + 1 if len(subject) else 0)]
    rows = [(a, b) for m in members for i, a in enumerate(m) for b in m[i + 1 :]]
    for s, mine in enumerate(members):
        rows += [(generator.choice(mine), generator.choice(theirs)) for theirs in members[s + 1 :]]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _likeness(
    embedded: Float[np.ndarray, "n d"], first: Int[np.ndarray, " p"], second: Int[np.ndarray, " p"], euclidean: bool
) -> Float[np.ndarray, " p"]:
    if euclidean:
        return np.asarray(-np.linalg.norm(embedded[first] - embedded[second], axis=1))
    unit = embedded / np.maximum(np.linalg.norm(embedded, axis=1, keepdims=True), 1e-12)
    return np.asarray((unit[first] * unit[second]).sum(1))


def identity_figures(network: Network, samples: Mapping[str, Sample], resamples: int, device: str) -> dict[str, Figure]:
    """The figure of each sample by its name; every sample has COPIES pictures of each subject."""
    figures = {}
    for name, pictures in samples.items():
        subject = np.arange(len(pictures)) // COPIES
        figures[name] = person_auc(embedding(network, pictures, device), subject, resamples=resamples)
    return figures

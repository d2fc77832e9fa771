"""Does a generator with conditions obey them? The shipped network reads its pictures, as it does FaceWorld's own.

The reader learned from FaceWorld alone and took no part in the training of the generator. It errs too: how often it
reads FaceWorld's own pictures as they are, at the same size, is the mark that a share can be compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.perceptual.features import load, read
from transect.perceptual.judging import Draws
from transect.records import Attribute, Latents
from transect.training.conditions import levels_of, parse

PICTURES: Final = 500
_FIRST_SEED: Final = 1 << 45
"""Far from the seeds that trainings and audits draw."""


@runtime_checkable
class Reads(Draws, Protocol):
    """Anything that draws pictures and knows the attributes of each."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Its attributes."""
        ...

    def read(self, latents: Latents) -> pa.Table:
        """The attributes of each row."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Obedience:
    """Pictures of one level of a condition and how many the reader reads so; the same of the world's own pictures.

    read: whether the reader reads the attribute at all; if not, the counts of what was read so are 0.
    """

    condition: str
    level: str
    pictures: int
    obeyed: int
    own_pictures: int
    own_obeyed: int
    read: bool


def obedience(generator: Reads, world: Reads, texts: Sequence[str], pictures: int = PICTURES) -> list[Obedience]:
    """The levels of each condition in turn, with `pictures` pictures of the generator and of the world, of one size.

    texts: the conditions as the training had them, of FaceWorld's attributes. Pictures of a level are those that were
    asked for, and of the world those that have it.
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


def _read(source: Reads, pictures: int) -> Reading:
    latents = source.sample(np.arange(_FIRST_SEED, _FIRST_SEED + pictures))
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

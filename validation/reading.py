"""What a network reads from held-out pictures: attributes, who is shown, and groups that do not differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.special import softmax
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.attributes import ATTRIBUTES, HAIR_STYLES, IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents
from validation.discrimination import Figure, auc, macro_auc, not_estimable, pairs_auc, r_squared, with_interval
from validation.network import Batch, Network, Places, Schedule, answers, new_network, train
from validation.pictures import Draw, Pictures

Truth = Mapping[str, Float[np.ndarray, " n"]]
"""Columns: attributes by name, area.<mask>, seen.earrings, identity.<trait>."""


class Rule(NamedTuple):
    """When an attribute is seen, in words with the reason, and as a function of the truth."""

    words: str
    seen: Callable[[Truth], Bool[np.ndarray, " n"]]


HAIR_AREA = 0.02
"""Share of the picture that hair takes, at the least, for its color to be seen: 330 pixels of 128 x 128."""

EYE_AREA = 0.002
"""The same of both openings of the lids: 33 pixels of 128 x 128."""

EARRING_AREA = 0.0002
"""The same of what earrings change: 3 pixels of 128 x 128."""

GREY_AGE = 48
"""Years from which grey takes the place of the hair's own pigment in more than a few."""

LEAST_BEARD = 0.2
"""Facial hair below this is a shadow without a style."""

_BALD = HAIR_STYLES.index("bald")


def _hair(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["area.hair"] >= HAIR_AREA)


def _no_hat(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["hat"] == 0)


def _grown(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["hair_style"] != _BALD)


ALWAYS = Rule("in every picture", lambda t: np.ones(len(t["skin_tone"]), dtype=bool))

RULES: dict[str, Rule] = {
    "hair_style": Rule(
        "where no hat is worn and hair takes 2 % of the picture, or the style is bald: a hat hides how hair is worn",
        lambda t: _no_hat(t) & (_hair(t) | ~_grown(t)),
    ),
    "hair_length": Rule(
        "where hair takes 2 % of the picture, no hat is worn and the style is not bald",
        lambda t: _hair(t) & _no_hat(t) & _grown(t),
    ),
    "hair_color": Rule(
        f"where hair takes 2 % of the picture, below {GREY_AGE} years: grey replaces the pigment",
        lambda t: _hair(t) & (t["age"] < GREY_AGE),
    ),
    "hair_redness": Rule(
        f"where hair takes 2 % of the picture, below {GREY_AGE} years: grey replaces the pigment",
        lambda t: _hair(t) & (t["age"] < GREY_AGE),
    ),
    "hair_volume": Rule(
        "where hair takes 2 % of the picture and no hat is worn: a hat presses it down",
        lambda t: _hair(t) & _no_hat(t),
    ),
    "baldness": Rule(
        "where no hat is worn and the style is not bald: both hide the hairline", lambda t: _no_hat(t) & _grown(t)
    ),
    "bangs": Rule(
        "where no hat is worn, the style is not bald and hair takes 2 % of the picture",
        lambda t: _no_hat(t) & _grown(t) & _hair(t),
    ),
    "facial_hair_style": Rule(
        f"where facial_hair is at least {LEAST_BEARD}: less is a shadow without a style",
        lambda t: np.asarray(t["facial_hair"] >= LEAST_BEARD),
    ),
    "eye_color": Rule(
        "where no glasses are worn and the openings of the lids take .2 % of the picture",
        lambda t: (t["glasses"] == 0) & (t["area.eyes"] >= EYE_AREA),
    ),
    "earrings": Rule(
        "where putting them on or off changes .02 % of the picture: hair covers many ears",
        lambda t: np.asarray(t["seen.earrings"] >= EARRING_AREA),
    ),
    "identity.frame_shape": Rule("where glasses are worn", lambda t: np.asarray(t["glasses"] > 0)),
    "identity.frame_color": Rule("where glasses are worn", lambda t: np.asarray(t["glasses"] > 0)),
    "identity.hat_hue": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
    "identity.hat_lightness": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
    "identity.hat_height": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
}
"""The rules of what is not always seen."""


def rule(name: str) -> Rule:
    """The rule of an attribute, nuisance or trait of identity.

    >>> rule("skin_tone").words
    'in every picture'
    """
    return RULES.get(name, ALWAYS)


GATES = {"auc": 0.95, "r2": 0.85}
"""What a reading of an attribute must reach; nuisances and traits are measured without a gate."""

IMPORTANCE = {"attribute": 4.0}
"""Weight of an error in training by role, 1 for others: with equal weights the 76 nuisances and traits left earrings,
which anyone sees, unlearned (area .71)."""

LEAST_SEEN = 20
"""Held-out pictures that show an attribute; fewer give no figure."""

_TURNED_ROUND = ("yaw", "roll", "light_azimuth", "identity.hair_parting")
"""What a mirror turns into its opposite."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """One attribute, nuisance ("identity.…": trait), and where it stands among the network's answers."""

    name: str
    role: str
    levels: int
    """0 for a number, 2 for a switch, more for a choice."""
    start: int

    @property
    def width(self) -> int:
        """Columns of answers: one, or one per level of a choice."""
        return self.levels if self.levels > 2 else 1

    @property
    def figure(self) -> str:
        """What is measured: auc, or r2 for a number."""
        return "auc" if self.levels else "r2"

    @property
    def columns(self) -> slice:
        """Its answers."""
        return slice(self.start, self.start + self.width)


def readings() -> tuple[Reading, ...]:
    """Everything that is read, attributes first.

    >>> readings()[0].name, readings()[-1].role
    ('skin_tone', 'identity')
    """
    named = [(a.name, str(a.role), len(a.levels)) for a in sorted(ATTRIBUTES, key=lambda a: a.role)]
    named += [(f"identity.{trait}", "identity", 0) for trait in IDENTITY]
    rows, start = [], 0
    for name, role, levels in named:
        rows.append(Reading(name, role, levels, start))
        start += rows[-1].width
    return tuple(rows)


@final
class Reader:
    """What the network is taught of some pictures, and how its answers become values again."""

    def __init__(self, pictures: Pictures) -> None:
        truth = {name: pictures.column(name) for name in pictures.names}
        self.readings, self.places = readings(), Places(pictures)
        self.outputs = self.readings[-1].columns.stop
        self.truth = np.stack([truth[r.name] for r in self.readings], axis=1)
        self.seen = np.stack([rule(r.name).seen(truth) for r in self.readings], axis=1)
        self.center, self.scale = _moments(self.truth, self.seen)
        signs = np.array([-1.0 if r.name in _TURNED_ROUND else 1.0 for r in self.readings])
        self._taught = self._standardized(self.truth)
        self._taught_mirrored = self._standardized(signs * self.truth)
        self._numbers = [j for j, r in enumerate(self.readings) if not r.levels]
        self._switches = [j for j, r in enumerate(self.readings) if r.levels == 2]
        self._choices = [j for j, r in enumerate(self.readings) if r.levels > 2]
        weight = np.array([IMPORTANCE.get(self.readings[j].role, 1.0) for j in self._in_turn])
        self._share = (weight / weight.sum()).astype(np.float32)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Squared errors of numbers in units of their spread, cross entropy of others, over what is seen; places."""
        rows, mirrored = batch.rows, batch.mirrored
        taught = np.where(mirrored[:, None], self._taught_mirrored[rows], self._taught[rows])
        numbers = self._tensor(taught[:, self._numbers], outputs)
        switches = self._tensor(self.truth[rows][:, self._switches].astype(np.float32), outputs)
        errors = [
            (outputs[:, self._starts(self._numbers)] - numbers) ** 2,
            functional.binary_cross_entropy_with_logits(
                outputs[:, self._starts(self._switches)], switches, reduction="none"
            ),
        ]
        for j in self._choices:
            level = torch.from_numpy(self.truth[rows, j].astype(np.int64)).to(outputs.device)
            errors.append(
                functional.cross_entropy(outputs[:, self.readings[j].columns], level, reduction="none")[:, None]
            )
        seen = self.seen[rows][:, self._in_turn].astype(np.float32)
        weights = self._tensor(self._share * seen / np.maximum(seen.sum(0), 1), outputs)
        return (torch.cat(errors, dim=1) * weights).sum() + self.places.loss(outputs, batch)

    @property
    def _in_turn(self) -> list[int]:
        """The readings in the order of the errors."""
        return self._numbers + self._switches + self._choices

    def _standardized(self, values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        return np.asarray((values - self.center) / self.scale, dtype=np.float32)

    def _starts(self, which: Sequence[int]) -> list[int]:
        return [self.readings[j].start for j in which]

    def _tensor(self, values: np.ndarray, like: Tensor) -> Tensor:
        return torch.from_numpy(values).to(like.device)


def _moments(
    truth: Float[np.ndarray, "n k"], seen: Bool[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Mean and spread of each column where it is seen; a spread of 1 for what does not vary."""
    counts = np.maximum(seen.sum(0), 1)
    center = np.where(seen, truth, 0).sum(0) / counts
    spread = np.sqrt(np.where(seen, (truth - center) ** 2, 0).sum(0) / counts)
    return center, np.where(spread > 1e-9, spread, 1.0)


def trained_reader(pictures: Pictures, schedule: Schedule, *, quiet: bool) -> Network:
    """The network that reads those pictures."""
    reader = Reader(pictures)
    network = new_network(reader.outputs, schedule.seed, reader.places.average)
    return train(network, pictures.pixels, len(pictures), reader.loss, schedule, "reader", quiet=quiet)


def read_back(
    network: Network, taught: Pictures, held_out: Pictures, resamples: int, device: str
) -> list[dict[str, object]]:
    """One row per attribute, nuisance and trait: figure, interval, gate, how many pictures show it."""
    learned, tested = Reader(taught), Reader(held_out)
    outputs = answers(network, held_out.pixels, len(held_out), device)
    rows = []
    for j, reading in enumerate(tested.readings):
        figure = _figure(
            reading, outputs, tested.truth[:, j], tested.seen[:, j], (learned.center[j], learned.scale[j]), resamples
        )
        gate = GATES[reading.figure] if reading.role == "attribute" else None
        rows.append(
            {
                "attribute": reading.name,
                "role": reading.role,
                "figure": reading.figure,
                **figure.as_dict(),
                "gate": gate,
                "met": None if gate is None else bool(figure.value >= gate),
                "visibility": rule(reading.name).words,
            }
        )
    return rows


def _figure(
    reading: Reading,
    outputs: Float[np.ndarray, "n k"],
    truth: Float[np.ndarray, " n"],
    seen: Bool[np.ndarray, " n"],
    moments: tuple[float, float],
    resamples: int,
) -> Figure:
    shown, value = outputs[seen, reading.columns], truth[seen]
    if len(value) < LEAST_SEEN:
        return not_estimable(f"fewer than {LEAST_SEEN} held-out pictures show it", len(value))
    if not reading.levels:
        number = shown[:, 0] * moments[1] + moments[0]
        return with_interval(lambda w: r_squared(number, value, w), len(value), resamples=resamples)
    if reading.levels == 2:
        return with_interval(lambda w: auc(shown[:, 0], value == 1, w), len(value), resamples=resamples)
    if len(np.unique(value)) < 2:
        return not_estimable("only one level is shown", len(value))
    level = value.astype(np.int64)
    probability = softmax(shown, axis=1)
    return with_interval(lambda w: macro_auc(probability, level, w), len(value), resamples=resamples)


GATE = 0.95
COPIES = 4
"""Pictures of each subject."""

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


def embedding(network: Network, pictures: Pictures, device: str) -> Float[np.ndarray, "n d"]:
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


SPLITS = 3
CONTROL = "smile"

Labels = Callable[[int], Bool[np.ndarray, " n"]]
"""Which of n pictures are in the second group."""


def pairs_with(attribute: str, first_seed: int) -> Draw:
    """Rows 2i and 2i + 1 show one subject with the attribute at 0 and at 1."""

    def draw(world: FaceWorld, rows: Int[np.ndarray, " n"]) -> Latents:
        return world.set(world.sample(first_seed + rows // 2), {attribute: (rows % 2).astype(np.float64)})

    return draw


def split_labels(split: int) -> Labels:
    """The fake groups of one split: the first half of the seeds against the second, then halves drawn by chance.

    >>> split_labels(0)(4).tolist()
    [False, False, True, True]
    """

    def labels(count: int) -> Bool[np.ndarray, " n"]:
        late = np.asarray(np.arange(count) >= count // 2)
        if split == 0:
            return late
        shuffled = np.random.Generator(np.random.Philox(key=[split, count])).permutation(late)
        return np.asarray(shuffled, dtype=bool)

    return labels


def odd(count: int) -> Bool[np.ndarray, " n"]:
    """The second picture of each pair."""
    return np.asarray(np.arange(count) % 2 == 1)


def separation(
    taught: Pictures,
    held_out: Pictures,
    labels: Labels,
    schedule: Schedule,
    *,
    name: str = "groups",
    cluster: int = 1,
    resamples: int = 1000,
    quiet: bool,
) -> Figure:
    """AUC, on held-out pictures, of a network that was trained to separate the groups.

    cluster: neighboring rows that show one subject and are resampled together.
    """
    second, places = labels(len(taught)), Places(taught)

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        wanted = torch.from_numpy(second[batch.rows].astype(np.float32)).to(outputs.device)
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted) + places.loss(outputs, batch)

    network = new_network(1, schedule.seed, places.average)
    network = train(network, taught.pixels, len(taught), loss, schedule, name, quiet=quiet)
    outputs = answers(network, held_out.pixels, len(held_out), schedule.device)[:, 0]
    second, of_row = labels(len(held_out)), np.arange(len(held_out)) // cluster
    return with_interval(lambda w: auc(outputs, second, w[:, of_row]), int(of_row[-1]) + 1, resamples=resamples)

"""What the built-in finder sees on real faces, beside 100 portraits that a person marked.

`facts/portraits.json` holds coordinates and answers alone; its head says how they were made. The photographs are not in
the repository: `--photographs`, the variable TRANSECT_PORTRAITS or ../shared/photographs names their folder. From which
answer glasses and hats count is chosen on the folder's other portraits (`--choose`).
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image

from transect.effects.intervals import wilson
from transect.errors import BadInput
from transect.generators.photographs.appearance.colors import median_ita
from transect.generators.photographs.appearance.faces import face_of, unsuited
from transect.marks import shipped
from transect.marks.finding import Finder
from transect.marks.records import EYES, GROUPS
from transect.marks.shipped import IS_WORN, LIMIT, WEIGHTS, WORN, NetworkMarks
from validation.text import FACTS, Table

FOLDER: Final = "TRANSECT_PORTRAITS"
INNER: Final = slice(17, 68)
EDITS: Final = ("glasses", "hat")
SEEN: Final = 0.002
"""The share of the picture from which the product takes glasses or a hat to be there."""
_RECALL, _CHEEK = 0.9, 0.12
_SEEN: Final = 0.95
_WRONGLY: Final = {"glasses": 0.01, "hat": 0.02}
"""By which thresholds are chosen: the share of the others' glasses that is seen, and shares that are wrongly seen."""
_DIGITS: Final = 1000
_CHEEKS: Final = ((2, 31, 41), (14, 35, 46))
_BINS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
_RESAMPLES, _LEVELS = 2000, (2.5, 97.5)


@final
@dataclass(frozen=True, slots=True)
class Portrait:
    """What a person saw on one photograph.

    points: iBUG's 68 in shares of width and height; hidden: groups of points that were guessed; glasses: none, thin or
    thick; hat: no, or what it is; gender as onlookers see it; ita of the cheeks in degrees, None where the photograph
    is grey; suits: edits of which a drawing could look right.
    """

    file: str
    points: Float[np.ndarray, "68 2"]
    hidden: tuple[str, ...]
    glasses: str
    hat: str
    gender: str
    beard: str
    fringe: str
    ita: float | None
    suits: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What the finder saw on one: where points lie from the marks, in eye distances along the face; answers: how surely
    a thing is worn; shares: of the picture, by what is worn, where the product decides; refused: why an edit does not
    take it, "" where it does.
    """

    apart: Float[np.ndarray, "68 2"]
    confidence: float
    answers: dict[str, float]
    shares: dict[str, float]
    refused: dict[str, str]


def portraits() -> tuple[Portrait, ...]:
    """The sample.

    >>> len(portraits())
    100
    """
    rows = json.loads(_text())["portraits"]
    lists = ("hidden", "suits")
    return tuple(
        Portrait(**{**row, "points": np.reshape(row["points"], (68, 2)), **{name: tuple(row[name]) for name in lists}})
        for row in rows
    )


def _text() -> str:
    return (FACTS / "portraits.json").read_text(encoding="utf-8")


def photographs(folder: Path | None = None) -> Path:
    """The folder of the photographs. Raises BadInput where it has none of the sample."""
    beside = Path(__file__).parents[2] / "shared" / "photographs"
    found = folder or Path(os.environ.get(FOLDER, beside))
    if not (found / portraits()[0].file).is_file():
        raise BadInput(
            f"portraits: expected the marked photographs ({portraits()[0].file} and others) in {found}, got none; name"
            f" their folder with --photographs or {FOLDER}"
        )
    return found


def read(folder: Path, file: str) -> UInt8[np.ndarray, "h w 3"]:
    """The photograph."""
    with Image.open(folder / file) as image:
        return np.asarray(image.convert("RGB"))


def cheek_ita(picture: UInt8[np.ndarray, "h w 3"], points: Float[np.ndarray, "68 2"]) -> float:
    """ITA in degrees of the median color of two discs on the cheeks, .12 of the eyes' distance in radius.

    Each lies about the mean of three points: on the jaw, at the nose's wing and on the lower lid. points: in pixels.
    """
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]] + 0.5
    disc = np.zeros(picture.shape[:2], dtype=np.bool_)
    for cheek in _CHEEKS:
        x, y = points[list(cheek)].mean(axis=0)
        disc |= np.hypot(columns - x, rows - y) <= _CHEEK * eye_distance(points)
    return median_ita(picture, disc)


def eye_distance(points: Float[np.ndarray, "68 2"]) -> float:
    """Pixels between the middles of the eyes."""
    left, right = (points[part].mean(axis=0) for part in EYES)
    return float(np.linalg.norm(right - left))


def answers(picture: UInt8[np.ndarray, "h w 3"], weights: Path = WEIGHTS) -> dict[str, float]:
    """How surely the network says that each thing is worn, 0 to 1."""
    return dict(zip(WORN, map(float, shipped.look(shipped.load(weights).network, picture).worn), strict=True))


def displaced(points: Float[np.ndarray, "68 2"], truth: Float[np.ndarray, "68 2"]) -> Float[np.ndarray, "68 2"]:
    """From the true points to the others, across and down the true face, in distances between its eyes."""
    left, right = (truth[part].mean(axis=0) for part in EYES)
    across = (right - left) / eye_distance(truth) ** 2
    return np.asarray((points - truth) @ np.array([across, [-across[1], across[0]]]).T)


def look(finder: NetworkMarks, picture: UInt8[np.ndarray, "h w 3"], portrait: Portrait, worn: dict[str, float]) -> Seen:
    """What the finder sees on one photograph, given alone, beside its answers to what is worn."""
    marks = finder.find(picture[None])
    truth = portrait.points * (picture.shape[1], picture.shape[0])
    apart = displaced(marks.points[0], truth)
    face = face_of(marks, finder.threshold, picture)
    refused = {edit: face if isinstance(face, str) else unsuited(face, [edit]) for edit in EDITS}
    masks = {name: mask[0] for name, mask in marks.masks.items()} if isinstance(face, str) else face.masks
    shares = {edit: float(masks[edit].mean()) for edit in EDITS}
    return Seen(apart, float(marks.confidence[0]), worn, shares, refused)


def measure(folder: Path, weights: Path = WEIGHTS) -> list[Table]:
    """Errors of points, what is wrongly seen as worn, who can be edited, and what confidence is worth."""
    finder, sample = NetworkMarks(weights), portraits()
    pictures = [read(folder, one.file) for one in sample]
    seen = [
        look(finder, picture, one, answers(picture, weights)) for picture, one in zip(pictures, sample, strict=True)
    ]
    return [
        _points(np.array([one.apart for one in seen])),
        _worn(sample, seen),
        _usable(sample, seen),
        _reliability(seen),
    ]


def measure_points(folder: Path, finder: Finder) -> list[Table]:
    """Errors of the points of any finder, each photograph given alone."""
    apart = []
    for one in portraits():
        picture = read(folder, one.file)
        found = finder.find(picture[None]).points[0]
        apart.append(displaced(found, one.points * (picture.shape[1], picture.shape[0])))
    return [_points(np.array(apart))]


def _points(apart: Float[np.ndarray, "n 68 2"]) -> Table:
    """Besides errors as they are: without what this finder does on all other faces.

    Schemes of 68 points differ by constants, which are no errors of a finder.
    """
    found = apart[np.isfinite(apart).all(axis=(1, 2))]
    usual = (found.sum(axis=0) - found) / max(len(found) - 1, 1)
    errors, freed = (np.linalg.norm(part, axis=2) for part in (found, found - usual))
    parts = {"all points": GROUPS["all points"], "inner points": INNER, **GROUPS}
    columns = ((errors, np.median), (errors, np.mean), (freed, np.median))
    rows = [
        [name, *(_resampled(values[:, part].mean(axis=1), figure) for values, figure in columns)]
        for name, part in parts.items()
    ]
    title = f"Distance of points in eye distances: {len(found)} of {len(apart)} faces found"
    return title, ["points", "median", "mean", "median without constant offsets"], rows


def _resampled(values: Float[np.ndarray, " n"], figure: Callable[..., np.ndarray]) -> str:
    if not len(values):
        return "none"
    drawn = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.percentile(figure(values[drawn], axis=1), _LEVELS)
    return f"{figure(values):.3f} ({low:.3f} to {high:.3f})"


def share(hits: Bool[np.ndarray, " n"]) -> str:
    """A share in percent with Wilson's 95 % interval and its number.

    >>> share(np.array([True, False, False, False]))
    '25 % (5 to 70) of 4'
    """
    if not len(hits):
        return "of 0"
    low, high = wilson(int(hits.sum()), len(hits))
    return f"{100 * hits.mean():.0f} % ({100 * float(low):.0f} to {100 * float(high):.0f}) of {len(hits)}"


def at_recall(shares: Float[np.ndarray, " n"], wears: Bool[np.ndarray, " n"], recall: float = _RECALL) -> float:
    """The largest threshold at which at least that part of those who wear it is seen.

    >>> at_recall(np.array([.9, .5, .1, .3]), np.array([True, True, True, False]), 2 / 3)
    0.5
    """
    worn = np.sort(shares[wears])[::-1]
    return float(worn[int(np.ceil(recall * len(worn) - 1e-9)) - 1])


def _worn(sample: tuple[Portrait, ...], seen: list[Seen]) -> Table:
    worn = {
        "glasses": np.array([one.glasses != "none" for one in sample]),
        "hat": np.array([one.hat != "no" for one in sample]),
    }
    rows = []
    for edit, wears in worn.items():
        seen_so = np.array([one.shares[edit] > SEEN for one in seen])
        rows.append([edit, f"{IS_WORN[edit]:g}, as shipped", share(seen_so[wears]), share(seen_so[~wears])])
    sure, wears = np.array([one.answers["glasses"] for one in seen]), worn["glasses"]
    cut = at_recall(sure, wears)
    rows.insert(1, ["glasses", f"{cut:.3f}, for 90 % recall", share(sure[wears] >= cut), share(sure[~wears] >= cut)])
    return "Seen on those who wear it, and on those who do not", ["worn", "answer from", "seen", "wrongly seen"], rows


def choose(folder: Path, weights: Path = WEIGHTS) -> list[Table]:
    """The answers from which glasses and hats should count, by the portraits that are not in the sample.

    Glasses: the middle between the largest at which 95 % of theirs are seen and the least at which at most 1 % are
    wrongly seen; the first where it is the lower one. Hats, which nobody wears: the least, from .5 on, at which they
    are seen on at most 2 %.
    """
    sample, glasses = {one.file for one in portraits()}, json.loads(_text())["others"]["glasses"]
    files = [file.name for file in sorted(folder.glob("p*.jpg")) if file.name not in sample]
    if not set(glasses) <= set(files):
        raise BadInput(f"portraits: expected the portraits beside the sample in {folder}, got {len(files)}")
    found = [answers(read(folder, file), weights) for file in files]
    eyes, head = (np.array([one[edit] for one in found]) for edit in EDITS)
    wears = np.array([file in glasses for file in files])
    seen, few = at_recall(eyes, wears, _SEEN), above(eyes[~wears], _WRONGLY["glasses"])
    cuts = floored(min(seen, (seen + few) / 2)), max(0.5, above(head, _WRONGLY["hat"]))
    rows = [
        ["glasses", f"{cuts[0]:.3f}", share(eyes[wears] >= cuts[0]), share(eyes[~wears] >= cuts[0])],
        ["hat", f"{cuts[1]:.3f}", "nobody wears one", share(head >= cuts[1])],
    ]
    title = "Answers from which each counts as worn, IS_WORN of transect.marks.shipped"
    return [(title, ["worn", "answer from", "seen", "wrongly seen"], rows)]


def above(values: Float[np.ndarray, " n"], share: float) -> float:
    """The least threshold in thousandths that at most that share of the values reaches.

    >>> above(np.array([0.9, 0.5, 0.3, 0.1]), 0.25)
    0.501
    """
    first = np.sort(values)[::-1][int(share * len(values))]
    return floored(float(first) + 1 / _DIGITS)


def floored(value: float) -> float:
    """Rounded down to thousandths.

    >>> floored(0.98765)
    0.987
    """
    return math.floor(round(value * _DIGITS, 6)) / _DIGITS


def quarters(values: list[float | None]) -> list[int]:
    """The quarter of each, 0 the darkest; -1 where it is not known."""
    known = [value for value in values if value is not None]
    edges = np.percentile(known, (25, 50, 75))
    return [-1 if value is None else int(np.searchsorted(edges, value, side="right")) for value in values]


def _usable(sample: tuple[Portrait, ...], seen: list[Seen]) -> Table:
    tones = np.array(quarters([one.ita for one in sample]))
    women = np.array([one.gender == "woman" for one in sample])
    groups = {"all": np.ones(len(sample), dtype=np.bool_), "women": women, "men": ~women}
    groups |= {f"ITA quarter {quarter + 1}, {name}": tones == quarter for quarter, name in _NAMED}
    rows = []
    for edit in EDITS:
        bare = np.array([{"glasses": one.glasses == "none", "hat": one.hat == "no"}[edit] for one in sample])
        suits = np.array([edit in one.suits for one in sample])
        taken = np.array([not one.refused[edit] for one in seen])
        rows += [[edit, name, share(taken[bare & who]), share(taken[suits & who])] for name, who in groups.items()]
    return "Photographs that an edit takes", ["edit", "who", "of the bare", "of those that suit it by eye"], rows


_NAMED: Final = ((0, "darkest"), (1, "darker"), (2, "lighter"), (3, "lightest"))


def _reliability(seen: list[Seen]) -> Table:
    sure = np.array([one.confidence for one in seen])
    right = np.array([bool(np.linalg.norm(one.apart, axis=1).mean() < LIMIT) for one in seen])
    rows = []
    for low, high in itertools.pairwise(_BINS):
        inside = (sure >= low) & ((sure < high) | (high == _BINS[-1]))
        mean = f"{100 * sure[inside].mean():.0f} %" if inside.any() else ""
        rows.append([f"{low:g} to {high:g}", str(inside.sum()), mean, share(right[inside])])
    head = ["confidence", "photographs", "mean confidence", "right"]
    return f"Confidence, and how often points lie within {LIMIT:g} eye distances", head, rows

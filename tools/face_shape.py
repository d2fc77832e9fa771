"""Fits how faces are shaped and move to the geometry of photographs: generators/photographs/drawn/facts/face_shape.npz.

python -m tools.face_shape --photographs FOLDER --instrument FOLDER [--rounds 2]: the folders of tools/face_geometry.py.

Each round measures rendered faces with the instrument with which photographs were measured, and adds what is missing
to the fields that ship: the mean of all faces; the shift of subjects whose smile, open mouth, age or face shape alone
is set low and high, against the photographs' regression; and the variance along the photographs' seven largest
residual modes. Shifts of the 68 points are spread over the face by a thin-plate spline (Duchon 1977,
doi:10.1007/BFb0086566) that ends at the hairline. All fields are the same on both sides but the third of identity: in
photographs it shifts nose, mouth and chin aside, the farther the lower they lie, so that the field lets the whole face
below the eyes lean and tilts no mouth. No target is asked: of the instrument's network, only the points are used.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from scipy.interpolate import RBFInterpolator

from tools.face_geometry import MODES, Settings, align, columns, measure, regress
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.generators.photographs.drawn import head
from transect.generators.photographs.drawn.landmarks import face_points
from transect.generators.photographs.drawn.parameters import parameters
from transect.records import Latents

FACTS = Path(head.__file__).parent / "facts" / "face_shape.npz"
ROWS, COLUMNS = 42, 32
INTEROCULAR = 0.54
"""The distance of the eyes in face units."""
STEP = 0.9
"""The share of what is missing that a round adds: the instrument answers a shift with about as much."""
MOST_DROP = 0.13
"""How far an open mouth lowers the chin at most, in face units: more would fold the field over itself."""
CALM = {"smile": (0.25, 0.58, 0.92), "age": (0.4, 0.55, 0.85)}
"""How much of a shift up or down is kept at the chin, and the heights between which it fades. The instrument
hardly sees how low a chin lies: one that a full smile raises by .02 instead of .15 changes what it reads by .007."""
CALM_ASIDE = {"smile": (0.2, 0.26, 0.38)}
"""The same of a shift to the side at the cheeks' outline, by distance from the middle: a smile narrows no face."""
SMOOTHING, BEYOND = 3e-2, 1.18
STILL = np.array([
    (0, -1), (0.35, -0.9), (-0.35, -0.9), (0.62, -0.55), (-0.62, -0.55), (0, -0.78), (0.3, -0.72), (-0.3, -0.72),
    (0.75, -0.2), (-0.75, -0.2), (0.5, -0.62), (-0.5, -0.62),
])  # fmt: skip
"""Points of the skull that no field moves: crown, temples, hairline."""
MIRROR = np.r_[
    16:-1:-1, 26:16:-1, 27:31, 35:30:-1, 45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40, 54:47:-1, 59:54:-1, 64:59:-1,
    67:64:-1,
]  # fmt: skip
"""The point on the other side of the face."""
LEANING, LEAN_FROM = "shape_3", (-0.22, 0.02)
"""The field that lets a face lean, and the heights between which its slope begins."""
CLEAN = {"blur": 0.0, "noise": 0.5, "jpeg_quality": 100.0, "roll": 0.0}
SHUT, NEUTRAL, SHAVEN = {"mouth_open": 0.0}, {"smile": 0.0}, {"facial_hair": 0.0}
PAIRS = {
    "smile": ({"smile": 0.0} | SHUT, {"smile": 1.0} | SHUT, "Smiling", 1.0, 1.0),
    "mouth_open": ({"mouth_open": 0.0} | NEUTRAL, {"mouth_open": 1.0} | NEUTRAL, "Mouth_Slightly_Open", 0.0, 1.0),
    "age": ({"age": 22.0}, {"age": 72.0}, "Young", -2.0, 2.0),
    "masculine": ({"face_shape": 0.0} | SHAVEN, {"face_shape": 1.0} | SHAVEN, "Male", 1.0, 1.0),
}
"""Field: what is set low and high, the photographs' label, how often its coefficient is wanted (0: as often as the lips
part), and by how much the field's weight differs."""


def mirrored(shift: np.ndarray) -> np.ndarray:
    """The part of a shift [68, 2] that is the same on both sides."""
    return (shift + shift[MIRROR] * [-1, 1]) / 2


def lean() -> np.ndarray:
    """[2, ROWS, COLUMNS]: the shift of a face that leans aside by 1 for each unit that a place lies below the eyes."""
    down = np.linspace(head.SHAPE_Y_CENTER - head.SHAPE_Y_EXTENT, head.SHAPE_Y_CENTER + head.SHAPE_Y_EXTENT, ROWS)
    top, bottom = LEAN_FROM
    below = np.clip(down - top, 0, bottom - top)
    aside = np.broadcast_to(
        (below**2 / (2 * (bottom - top)) + np.clip(down - bottom, 0, None))[:, None], (ROWS, COLUMNS)
    )
    return np.stack([aside, np.zeros((ROWS, COLUMNS))])


def spread(world: FaceWorld) -> np.ndarray:
    """[lattice, 68]: the weight of each point's shift at each point of the lattice."""
    latents = world.sample(np.arange(30_000, 30_200))
    p = parameters(world.model.solve(latents), latents.values[:, IDENTITY_COLUMNS])
    with torch.inference_mode():
        x, y = (part.numpy().mean(axis=0) for part in face_points(p))
    points = mirrored(np.stack([x, y], axis=1))
    middle = np.array([0, 0.2])
    places = np.concatenate([points, middle + (points[:17] - middle) * BEYOND, STILL])
    values = np.zeros((len(places), 68))
    values[:68], values[68:85, :17] = np.eye(68), np.eye(17)
    across = np.linspace(-head.SHAPE_X_EXTENT, head.SHAPE_X_EXTENT, COLUMNS)
    down = np.linspace(head.SHAPE_Y_CENTER - head.SHAPE_Y_EXTENT, head.SHAPE_Y_CENTER + head.SHAPE_Y_EXTENT, ROWS)
    lattice = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    spline = RBFInterpolator(places, values, kernel="thin_plate_spline", smoothing=SMOOTHING, degree=1)
    weights: np.ndarray = spline(lattice)
    other = weights.reshape(ROWS, COLUMNS, 68)[:, ::-1].reshape(-1, 68)[:, MIRROR]
    return (weights + other) / 2


def calmed(name: str, shift: np.ndarray) -> np.ndarray:
    """A shift [2, ROWS, COLUMNS] of which chin and outline keep the parts that CALM and CALM_ASIDE say."""
    down = np.linspace(head.SHAPE_Y_CENTER - head.SHAPE_Y_EXTENT, head.SHAPE_Y_CENTER + head.SHAPE_Y_EXTENT, ROWS)
    aside = np.abs(np.linspace(-head.SHAPE_X_EXTENT, head.SHAPE_X_EXTENT, COLUMNS))
    return np.stack([
        shift[0] * _share(CALM_ASIDE.get(name), aside),
        shift[1] * _share(CALM.get(name), down)[:, None],
    ])  # fmt: skip


def _share(calm: tuple[float, float, float] | None, along: np.ndarray) -> np.ndarray:
    kept, start, end = calm or (1.0, 0.0, 1.0)
    return 1 - (1 - kept) * np.clip((along - start) / (end - start), 0, 1)


class Fit:
    """The fields as they ship, and what is added to them."""

    def __init__(self, world: FaceWorld, photographs: dict[str, np.ndarray], settings: Settings) -> None:
        self.world, self.photographs, self.settings = world, photographs, settings
        self.weights = spread(world)
        with np.load(FACTS, allow_pickle=False) as stored:
            self.fields = {name: stored[name].astype(np.float64) for name in head.FIELDS}

    def drop_jaw(self, by: float) -> None:
        """Lower the jaw by that much more with an open mouth: evenly down the face, so that nothing folds over."""
        across = np.linspace(-head.SHAPE_X_EXTENT, head.SHAPE_X_EXTENT, COLUMNS)
        down = np.linspace(head.SHAPE_Y_CENTER - head.SHAPE_Y_EXTENT, head.SHAPE_Y_CENTER + head.SHAPE_Y_EXTENT, ROWS)
        x, y = np.meshgrid(across, down)
        lowered = np.clip((y - 0.50) / 0.32, 0, 1) * np.exp(-((x / 0.62) ** 2))
        now = float(self.fields["mouth_open"][1].max() / lowered.max())
        self.fields["mouth_open"] = np.stack([0 * x, min(MOST_DROP, now + by) * lowered])

    def coefficient(self, label: str) -> np.ndarray:
        """The photographs' shift of the points with a label, [68, 2]."""
        found: np.ndarray = self.photographs["coefficients"][list(self.photographs["columns"]).index(label)]
        return found

    def add(self, name: str, shift: np.ndarray) -> None:
        """Add a shift of the points, in interocular distances, to a field."""
        added = np.moveaxis((self.weights @ (STEP * INTEROCULAR * shift)).reshape(ROWS, COLUMNS, 2), 2, 0)
        self.fields[name] += calmed(name, added)

    def save(self) -> None:
        """Write the fields and let the renderer read them anew."""
        np.savez_compressed(FACTS, **{name: field.astype(np.float32) for name, field in self.fields.items()})
        head.fields_of.cache_clear()

    def shapes(self, latents: Latents) -> np.ndarray:
        """The measured points in interocular distances, [n, 68, 2]; NaN where no face is found."""
        return align(measure(self.world, latents, self.settings))

    def subjects(self, first: int, count: int) -> Latents:
        """Subjects in sharp pictures."""
        return self.world.set(self.world.sample(np.arange(first, first + count)), CLEAN)

    def round(self, first: int, subjects: int) -> None:
        """Measure everything, then add what is missing; prints both."""
        latents = self.subjects(first, 3 * subjects)
        found = self.shapes(latents)
        known = np.isfinite(found[:, 0, 0])
        fit = regress(found[known], columns(self.world, latents.take(np.flatnonzero(known))))
        missing = self.photographs["mean_shape"] - fit.coefficients[0].reshape(68, 2)
        changes = {"mean": mirrored(missing)} | self._movements(first, subjects) | self._modes(fit.residuals)
        distance = np.linalg.norm(missing, axis=1)
        print(f"mean shape: inner face {distance[17:].max():.3f} at most, jaw {distance[:17].mean():.3f} on average")
        self.drop_jaw(STEP * INTEROCULAR * float(changes.pop("mouth_open")[8, 1]))
        for name, change in changes.items():
            self.add(name, change)
        self.save()

    def _movements(self, first: int, subjects: int) -> dict[str, np.ndarray]:
        changes = {}
        for name, (low, high, label, often, units) in PAIRS.items():
            base = self.world.set(self.subjects(first + 5000, subjects), {"yaw": 0.0, "pitch": 0.0})
            moved = self.shapes(self.world.set(base, high)) - self.shapes(self.world.set(base, low))
            shift, wanted = mirrored(np.nanmean(moved, axis=0)), mirrored(self.coefficient(label))
            wanted = wanted * (often or max(1.2, float((shift[48:] * wanted[48:]).sum() / (wanted[48:] ** 2).sum())))
            lengths = np.linalg.norm(shift), np.linalg.norm(wanted)
            print(f"{name}: cosine {(shift * wanted).sum() / np.prod(lengths):.3f}, size {lengths[0] / lengths[1]:.2f}")
            changes[name] = (wanted - shift) / units
        return changes

    def _modes(self, residuals: np.ndarray) -> dict[str, np.ndarray]:
        """What the fields of identity lack; a field that has too much shrinks."""
        modes, wanted = self.photographs["residual_modes"][:MODES], self.photographs["residual_variances"][:MODES]
        variance = (residuals.reshape(len(residuals), -1) @ modes.reshape(MODES, -1).T).var(axis=0)
        print("variances of modes over photographs':", (variance / wanted).round(2))
        changes = {}
        for place, name in enumerate(head.IDENTITY_FIELDS):
            lacking = float(wanted[place] - variance[place])
            if name == LEANING:
                self._lean(modes[place], lacking)
                continue
            moved = mirrored(modes[place])
            mode = np.moveaxis((self.weights @ moved).reshape(ROWS, COLUMNS, 2), 2, 0)
            now = float((self.fields[name] * mode).sum() / (mode**2).sum()) / INTEROCULAR
            changes[name] = moved * (np.sqrt(max(0.0, now**2 + lacking)) - now)
        return changes

    def _lean(self, mode: np.ndarray, lacking: float) -> None:
        """Let faces lean so much more that the variance along that mode grows by what it lacks."""
        along = float((mode[:, 0] * self.photographs["mean_shape"][:, 1].clip(min=0)).sum())
        now = along * float(self.fields[LEANING][0, -1, 0] / lean()[0, -1, 0])
        self.fields[LEANING] = lean() * (np.sqrt(max(0.0, now**2 + lacking)) / along)


def main() -> None:
    """Fit in rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--instrument", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--subjects", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=70_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes that measure")
    given = parser.parse_args()
    with np.load(given.photographs / "face_geometry.npz", allow_pickle=False) as archive:
        photographs = dict(archive)
    settings = Settings(3 * given.subjects, given.subjects, given.first_seed, "balanced", given.instrument, given.jobs)
    fit = Fit(FaceWorld(image_size=256, threads=1), photographs, settings)
    for number in range(given.rounds):
        fit.round(given.first_seed + 10_000 * number, given.subjects)


if __name__ == "__main__":
    main()

"""Prints how the shape of rendered faces compares with photographs, landmark by landmark.

python -m tools.face_geometry --photographs FOLDER [--subjects 300] [--out FILE.npz]: FOLDER holds face_geometry.npz,
the statistics of 2,367 near-frontal portraits. The instrument is the 68-point network of the npm package
@vladmandic/face-api, in --instrument, where `npm ci --ignore-scripts` installed it (examples/face_api). It smooths, so
rendered faces are measured with it too; none of its other answers is used. --out keeps the landmarks, and nothing is
rendered again where the file is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents

HERE = Path(__file__).parent
SIZE, BATCH = 256, 32
NEAR_FRONTAL = 0.25
"""Largest yaw proxy that enters, from the median, in interocular distances."""
MODES = 7
"""Residual modes of the photographs that hold 97 % of their variance."""
PARTS = {
    "jaw": slice(0, 17),
    "brows": slice(17, 27),
    "nose": slice(27, 36),
    "eyes": slice(36, 48),
    "mouth": slice(48, 68),
    "inner face": slice(17, 68),
}
LABELS = {
    "Smiling": ("smile", lambda v: v > 0.5),
    "Mouth_Slightly_Open": ("mouth_open", lambda v: v > 0.1),
    "Male": ("face_shape", lambda v: v > 0.5),
    "Young": ("age", lambda v: v < 45),
    "Eyeglasses": ("glasses", lambda v: v > 0),
    "Wearing_Hat": ("hat", lambda v: v > 0),
    "Bangs": ("bangs", lambda v: v > 0.5),
    "No_Beard": ("facial_hair", lambda v: v < 0.1),
    "Heavy_Makeup": ("makeup", lambda v: v > 0.5),
    "Bald": ("baldness", lambda v: v > 0.6),
    "Chubby": ("face_width", lambda v: v > 1.1),
}
"""A label of photographs, and what in FaceWorld would get it: yes or no, as a rater says."""
LEVELS = {"smile": (0.0, 1.0), "mouth_open": (0.0, 1.0), "face_shape": (0.0, 1.0), "age": (60.0, 30.0)}
"""Each attribute is set to both on the same subjects: where its label is 0 and where it is 1."""
LABEL_OF = {attribute: label for label, (attribute, _) in LABELS.items()}


@dataclass(frozen=True)
class Settings:
    """Subjects, where their seeds begin, population, folder of the instrument, processes that measure."""

    subjects: int
    pairs: int
    first_seed: int
    population: str
    instrument: Path
    jobs: int


def align(points: np.ndarray) -> np.ndarray:
    """Pixels [n, 68, 2] in interocular distances: origin between the eyes, x to the right, y down, eyes level."""
    eyes = points[:, 36:42].mean(1), points[:, 42:48].mean(1)
    across = eyes[1] - eyes[0]
    turn = np.conj(across[:, 0] + 1j * across[:, 1]) / (across**2).sum(1)
    moved = points - (eyes[0] + eyes[1])[:, None] / 2
    level = (moved[..., 0] + 1j * moved[..., 1]) * turn[:, None]
    return np.stack([level.real, level.imag], -1)


def pose(shapes: np.ndarray) -> np.ndarray:
    """Proxies of yaw and pitch [n, 2]: the nose's tip from the middle of the jaw, and below the nose's root."""
    yaw = shapes[:, 30, 0] - shapes[:, [2, 14], 0].mean(1)
    return np.stack([yaw, shapes[:, 30, 1] - shapes[:, 27, 1]], 1)


def measure(world: FaceWorld, latents: Latents, settings: Settings) -> np.ndarray:
    """Landmarks in pixels [n, 68, 2] as the instrument sees them; NaN where it does not see one face."""
    parts = np.array_split(np.arange(len(latents)), settings.jobs)
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for k, rows in enumerate(parts):
            pictures = Path(folder) / f"{k}.bin"
            with pictures.open("wb") as file:
                for start in range(0, len(rows), BATCH):
                    world.render(latents.take(rows[start : start + BATCH])).pixels.tofile(file)
            command = ["node", HERE / "measure_landmarks.js", pictures, str(len(rows)), str(SIZE)]
            out = pictures.with_suffix(".json")
            process = subprocess.Popen([*command, out], cwd=settings.instrument)  # noqa: S603
            running.append((process, out))
        points = []
        for process, out in running:
            if process.wait():
                raise SystemExit(f"the instrument failed; run npm ci --ignore-scripts in {settings.instrument}")
            points += [np.full((68, 2), np.nan) if p is None else np.array(p) for p in json.loads(out.read_text())]
    return np.array(points)


def landmarks(settings: Settings) -> dict[str, np.ndarray]:
    """Landmarks of the population ("base"), its attributes, and landmarks of pairs ("smile low", "smile high", ...)."""
    world = FaceWorld(SIZE, settings.population, threads=1)
    sharp = {"blur": 0.0, "noise": 0.3, "jpeg_quality": 100.0}
    base = world.set(world.sample(np.arange(settings.first_seed, settings.first_seed + settings.subjects)), sharp)
    found = {"base": measure(world, base, settings)}
    found |= {f"value {name}": column.to_numpy() for name, column in columns(world, base).items()}
    pairs = base.take(np.arange(min(settings.pairs, len(base))))
    for name, levels in LEVELS.items():
        for which, level in zip(("low", "high"), levels, strict=True):
            found[f"{name} {which}"] = measure(world, world.set(pairs, {name: level}), settings)
    return found


def columns(world: FaceWorld, latents: Latents) -> Mapping[str, object]:
    """The attributes that have a label."""
    table = world.read(latents)
    return {attribute: table[attribute] for attribute, _ in LABELS.values()}


@dataclass(frozen=True)
class Regression:
    """Shapes regressed on labels and pose: coefficients [k, 136], their names, residuals [n, 136], means."""

    names: tuple[str, ...]
    coefficients: np.ndarray
    residuals: np.ndarray
    means: dict[str, float]
    yaw: float


def regress(shapes: np.ndarray, values: Mapping[str, np.ndarray]) -> Regression:
    """Near-frontal shapes on labels as the photographs were; labels that do not vary are left out."""
    proxies = pose(shapes)
    frontal = np.abs(proxies[:, 0] - np.median(proxies[:, 0])) < NEAR_FRONTAL
    shapes, proxies = shapes[frontal], proxies[frontal]
    labels = {name: rule(values[of][frontal]).astype(float) for name, (of, rule) in LABELS.items()}
    labels = {name: label for name, label in labels.items() if 0 < label.mean() < 1}
    centred = proxies - proxies.mean(0)
    terms = [*labels.values(), centred[:, 0], centred[:, 0] ** 2, centred[:, 1], centred[:, 1] ** 2]
    design = np.column_stack([np.ones(len(shapes)), *(term - term.mean() for term in terms)])
    flat = shapes.reshape(len(shapes), -1)
    coefficients = np.linalg.lstsq(design, flat, rcond=None)[0]
    names = ("const", *labels, "yaw", "yaw2", "pitch", "pitch2")
    means = {name: float(label.mean()) for name, label in labels.items()}
    return Regression(names, coefficients, flat - design @ coefficients, means, float(proxies[:, 0].mean()))


def mean_shapes(fit: Regression, photographs: Mapping[str, np.ndarray]) -> list[str]:
    """Distances of the mean shapes by part at the photographs' yaw, as drawn and with labels as frequent as there."""
    turned = pose(photographs["mean_shape"][None])[0, 0] - fit.yaw
    drawn = fit.coefficients[0] + turned * fit.coefficients[fit.names.index("yaw")]
    frequent = dict(zip(photographs["columns"][1:23], photographs["attribute_means"], strict=True))
    alike = drawn + sum(
        fit.coefficients[fit.names.index(name)] * (frequent[name] - mean) for name, mean in fit.means.items()
    )
    lines = [
        "| part | mean distance | largest | with labels as frequent as in photographs | largest |",
        "| --- |" + " --- |" * 4,
    ]
    apart = [np.linalg.norm(s.reshape(68, 2) - photographs["mean_shape"], axis=1) for s in (drawn, alike)]
    for part, points in PARTS.items():
        cells = [f"{figure:.3f}" for d in apart for figure in (d[points].mean(), d[points].max())]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return lines


def variances(fit: Regression, photographs: Mapping[str, np.ndarray]) -> list[str]:
    """Variance of what labels and pose leave, along the photographs' modes and along the rendered faces' own."""
    modes = photographs["residual_modes"].reshape(-1, 136)
    covariance = fit.residuals.T @ fit.residuals / (len(fit.residuals) - len(fit.names))
    along = np.einsum("ki,ij,kj->k", modes, covariance, modes)
    own, vectors = np.linalg.eigh(covariance)
    own, vectors = own[::-1], vectors[:, ::-1]
    shared = np.linalg.svd(vectors[:, :MODES].T @ modes[:MODES].T)[1]
    wanted, total = photographs["residual_variances"], float(photographs["total_residual_variance"])
    lines = [
        "| mode | photographs | rendered, along it | ratio | rendered, own mode | ratio |",
        "| --- |" + " --- |" * 5,
    ]
    for k in range(MODES):
        lines.append(
            f"| {k + 1} | {wanted[k]:.4f} | {along[k]:.4f} | {along[k] / wanted[k]:.2f} | {own[k]:.4f} | "
            f"{own[k] / wanted[k]:.2f} |"
        )
    every = np.trace(covariance)
    held, theirs = along[:MODES].sum() / every, wanted[:MODES].sum() / total
    return [
        *lines,
        f"| all | {total:.4f} | {every:.4f} | {every / total:.2f} | | |",
        "",
        f"Photographs' first {MODES} modes hold {held:.2f} of the rendered variance (of their own {theirs:.2f}).",
        f"Cosines between both spaces of {MODES} modes: {', '.join(f'{c:.2f}' for c in shared)}.",
    ]


HEADINGS = (
    *("attribute", "levels", "pairs", "size", "photographs", "size ratio", "cosine", "best possible"),
    *("ratio, pose free", "cosine, pose free", "ratio, labels", "cosine, labels"),
)


def shifts(found: Mapping[str, np.ndarray], fit: Regression, photographs: Mapping[str, np.ndarray]) -> list[str]:
    """How each attribute moves the landmarks, and how its label does in photographs, with pose held in both."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|" + " --- |" * len(HEADINGS)]
    order = list(photographs["columns"])
    for name, levels in LEVELS.items():
        k = order.index(LABEL_OF[name])
        wanted, noise = (photographs[key][k].ravel() for key in ("coefficients", "standard_errors"))
        low, high = (align(found[f"{name} {which}"]) for which in ("low", "high"))
        seen = np.isfinite(low + high).all((1, 2))
        moved, turned = (high - low)[seen].reshape(-1, 136), (pose(high) - pose(low))[seen]
        held = moved - turned @ fit.coefficients[[fit.names.index("yaw"), fit.names.index("pitch")]]
        size = np.linalg.norm(wanted)
        best = np.sqrt(max(0.0, 1 - (noise**2).sum() / size**2))
        cells = [name, f"{levels[0]:g} to {levels[1]:g}", str(seen.sum())]
        cells += [f"{np.linalg.norm(held.mean(0)):.3f}", f"{size:.3f}", *_intervals(held, wanted), f"{best:.2f}"]
        label = fit.coefficients[fit.names.index(LABEL_OF[name])] if LABEL_OF[name] in fit.names else np.zeros(136)
        cells += [f"{value:.2f}" for shift in (moved.mean(0), label) for value in _alike(shift, wanted)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _alike(shift: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Ratio of sizes, and cosine; 0 where there is no shift."""
    size = np.linalg.norm(shift)
    return float(size / np.linalg.norm(wanted)), float(shift @ wanted / max(size, 1e-12) / np.linalg.norm(wanted))


def _intervals(rows: np.ndarray, wanted: np.ndarray) -> list[str]:
    """Ratio and cosine of the mean row, with the 95 % of 400 resamples of subjects."""
    rng = np.random.default_rng(0)
    drawn = np.array([_alike(rows[rng.integers(0, len(rows), len(rows))].mean(0), wanted) for _ in range(400)])
    ends = np.percentile(drawn, (2.5, 97.5), axis=0).T
    values = _alike(rows.mean(0), wanted)
    return [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, (low, high) in zip(values, ends, strict=True)]


def report(found: Mapping[str, np.ndarray], photographs: Mapping[str, np.ndarray]) -> list[str]:
    """All tables."""
    seen = np.isfinite(found["base"]).all((1, 2))
    shapes = align(found["base"][seen])
    values = {key.removeprefix("value "): v[seen] for key, v in found.items() if key.startswith("value ")}
    fit = regress(shapes, values)
    yaw, pitch = pose(shapes).mean(0)
    wanted = pose(photographs["mean_shape"][None])[0]
    return [
        f"{seen.sum()} of {len(seen)} rendered faces found, {len(fit.residuals)} near frontal.",
        f"Pose proxies: yaw {yaw:.3f} (photographs {wanted[0]:.3f}), pitch {pitch:.3f} ({wanted[1]:.3f}).",
        "",
        "Mean shape, in interocular distances (wanted: inner face .03, jaw .05):",
        *mean_shapes(fit, photographs),
        "",
        "Variance that labels and pose leave (wanted: within 25 % in the first seven modes):",
        *variances(fit, photographs),
        "",
        "Movements (wanted: cosine .9, size within 20 %). Best possible: the cosine that the errors of photographs'",
        "coefficients allow; labels: difference of groups in the population; pose free: the nose may move.",
        *shifts(found, fit, photographs),
    ]


def main() -> None:
    """Measure, or read what was measured, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--instrument", type=Path, default=HERE.parent / "examples" / "face_api")
    parser.add_argument("--subjects", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=90_000_000)
    parser.add_argument("--population", default="balanced")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = vars(parser.parse_args())
    photographs, out = np.load(given.pop("photographs") / "face_geometry.npz"), given.pop("out")
    if out and out.is_file():
        found = dict(np.load(out))
    else:
        found = landmarks(Settings(**given))
        if out:
            np.savez(out, **found)
    print("\n".join(report(found, photographs)))


if __name__ == "__main__":
    main()

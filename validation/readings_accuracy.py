"""Prints how well `transect match readings` reads FaceWorld, by skin tone.

python -m validation.readings_accuracy --landmarks FILE

The same subjects at each tone, in the poses and the light of the balanced population; the camera's exposure responds to
the tone. Errors are mean absolute errors, ± one standard error by subject. --wide: poses up to 32 degrees of yaw, 18 of
pitch and 20 of roll, spread evenly.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from transect.generators.faceworld.world import FaceWorld
from transect.jobs.match_readings import Reader
from transect.records import Latents
from transect.targets.face_readers import FaceFinder, FaceLandmarks
from transect.targets.pose_and_scene import background_mask, sized

TONES = (1.0, 4.0, 7.0, 10.0)
FIRST_SEED = 80_000_000
SIZE = 128
WIDE = {"yaw": 32.0, "pitch": 18.0, "roll": 20.0}
UNTABLED = ("side_light", "azimuth", *(f"{kind} {angle}" for kind in ("read", "true") for angle in WIDE))


def measured(subjects: int, detector: str, landmarks: Path | None, *, wide: bool = False) -> dict[str, np.ndarray]:
    """Errors by name, float64 [subjects, tones], NaN where nothing was read; found: 1 where a face was."""
    world, reader = FaceWorld(SIZE), Reader(FaceFinder(detector), FaceLandmarks(landmarks) if landmarks else None)
    latents, rng = world.sample(np.arange(FIRST_SEED, FIRST_SEED + subjects)), np.random.default_rng(0)
    if wide:
        latents = world.set(latents, {name: rng.uniform(-most, most, subjects) for name, most in WIDE.items()})
    rows = [_of_tone(world, reader, latents, tone) for tone in TONES]
    return {name: np.column_stack([row[name] for row in rows]) for name in rows[0]}


def _of_tone(world: FaceWorld, reader: Reader, subjects: Latents, tone: float) -> dict[str, np.ndarray]:
    latents = world.set(subjects, {"skin_tone": tone})
    truth, pixels, behind = world.read(latents), world.render(latents).pixels, world.masks(latents)["background"]
    read = [reader.of(image) for image in pixels]
    errors = {"found": np.array([float(bool(each.faces)) for each in read])}
    for name in WIDE:
        if name in reader.names:
            values = np.array([each.values.get(name, np.nan) for each in read])
            errors[f"read {name}"], errors[f"true {name}"] = values, truth[name].to_numpy()
            errors[name] = np.abs(values - truth[name].to_numpy())
    means = np.array([image[mask].mean() if mask.any() else np.nan for image, mask in zip(pixels, behind, strict=True)])
    errors["background"] = np.abs(np.array([each.values.get("background", np.nan) for each in read]) - means)
    errors["IoU"] = np.array([_overlap(reader, *each) for each in zip(pixels, behind, strict=True)])
    errors["side_light"] = np.array([each.values.get("side_light", np.nan) for each in read])
    errors["azimuth"] = truth["light_azimuth"].to_numpy()
    return errors


def _overlap(reader: Reader, pixels: np.ndarray, behind: np.ndarray) -> float:
    """Intersection over union of the background, at the size at which it is read."""
    faces = reader.finder.boxes(pixels[None])[0]
    small, factor = sized(pixels)
    if not len(faces):
        return np.nan
    read = background_mask(small, faces[0] * factor)
    at = (np.arange(len(small)) / factor).astype(int)
    known = behind[at][:, at]
    return float((read & known).sum() / (read | known).sum())


def table(errors: dict[str, np.ndarray]) -> list[str]:
    """A row per reading, a column per tone, and the darkest less the lightest within subjects."""
    lines = [f"| error | {' | '.join(f'tone {tone:g}' for tone in TONES)} | darkest less lightest |"]
    lines.append("| --- |" + " --- |" * (len(TONES) + 1))
    for name, values in errors.items():
        if name not in UNTABLED:
            cells = [_cell(column) for column in (*values.T, values[:, -1] - values[:, 0])]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    pairs = [(errors["side_light"][:, k], errors["azimuth"][:, k]) for k in range(len(TONES))]
    ranks = [f"{spearmanr(light, azimuth, nan_policy='omit').statistic:.3f}" for light, azimuth in pairs]
    return [*lines, f"| side_light, rank correlation with light_azimuth | {' | '.join(ranks)} | |"]


def agreement(errors: dict[str, np.ndarray]) -> list[str]:
    """For each angle how the reading goes with the truth, over all images."""
    lines = []
    for name in WIDE:
        if f"read {name}" in errors:
            read, true = errors[f"read {name}"].ravel(), errors[f"true {name}"].ravel()
            known = np.isfinite(read)
            slope, offset = np.polyfit(true[known], read[known], 1)
            correlation = np.corrcoef(true[known], read[known])[0, 1]
            lines.append(
                f"{name}: slope {slope:.2f}, correlation {correlation:.3f}, mean difference "
                f"{(read - true)[known].mean():+.2f}, at 0 {offset:+.2f}, spread {true.std():.1f}"
            )
    return lines


def _cell(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.mean():.3g} ± {known.std(ddof=1) / np.sqrt(len(known)):.2g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--landmarks", type=Path)
    parser.add_argument("--detector", default="dlib:hog-face")
    parser.add_argument("--subjects", type=int, default=80)
    parser.add_argument("--wide", action="store_true")
    given = parser.parse_args()
    results = measured(given.subjects, given.detector, given.landmarks, wide=given.wide)
    print("\n".join([*table(results), "", *agreement(results)]))

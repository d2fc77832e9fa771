"""What inversion keeps, by λ: likeness, identity, attributes and edits, on faces of FaceWorld, whose truth is known.

Two tables. `sweep_generator`: faces inverted into a StyleGAN2 as in Fig. 3 of Singh et al. 2021, arXiv:2103.13455.
`sweep_latent_view`: faces inverted into FaceWorld's own latent view without derivatives, where the latents are known.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pyarrow as pa
import torch
from derivative_free import Surrogate, fit_surrogate, invert_view, latent_view
from jaxtyping import Float

from transect.controls.directions import Direction, fit_direction
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.optimisation import Inverted, Search, invert
from transect.inversion.protocol import Invertible
from transect.perceptual import features
from transect.perceptual.distance import appearance_of, distance
from transect.perceptual.features import as_tensor, identities, identity_distance
from transect.records import Latents

READ = ("skin_tone", "yaw", "smile", "age", "facial_hair", "hair_length", "face_shape")
"""Attributes that are recovered and edited: numbers that the feature network reads."""

EDITED = ("skin_tone", "smile")
FIRST_FACE = 950_000_000
_FIRST_LABEL = 3_000_000
_GOOD = 0.3
"""R² of a direction below which its edits are not counted."""


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """faces: inverted. steps: for each. labels: the generator's images that directions are fitted on."""

    faces: int = 32
    steps: int = 200
    labels: int = 2_000
    view_faces: int = 60
    samples: int = 4_000
    rounds: int = 8
    penalties: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01, 0.0)
    view_penalties: tuple[float, ...] = (100.0, 10.0, 3.0, 1.0, 0.1)


def sweep_generator(generator: Invertible, sizes: Sizes) -> dict[str, object]:
    """Rows by setting: w (restricted), then w+ by λ. Medians over faces, but for what says mean.

    perceptual, pixels, restriction: as inverted. identity_distance: between the feature network's identities of both
    images. attribute_error: of directions' readings of the mean code against the world's truth, in the truth's
    deviations, mean over attributes and faces (0.8 is what the mean face gets). edit_gain: measured change per
    requested change, mean; off_target: change of the other attributes, in deviations, mean.
    """
    world = FaceWorld(image_size=generator.image_size, threads=1)
    subjects = world.sample(FIRST_FACE + np.arange(sizes.faces))
    pixels, truth = world.render(subjects).pixels, world.read(subjects)
    directions, spreads = directions_of(generator, sizes.labels)
    rows = []
    for penalty in (None, *sizes.penalties):
        search = Search("w", 0.0, sizes.steps) if penalty is None else Search("w+", penalty, sizes.steps)
        inverted = invert(generator, pixels, search, appearance_of("features"), batch=min(16, sizes.faces))
        rows.append(
            {
                "space": search.space,
                "penalty": penalty,
                "faces": sizes.faces,
                "failed": sum(bool(why) for why in inverted.failures),
                **{name: _median(getattr(inverted, name)) for name in ("perceptual", "pixels", "restriction")},
                "identity_distance": _median(
                    identity_distance(identities(pixels), identities(inverted.reconstructions))
                ),
                "attribute_error": recovered(inverted, search.space, truth, directions),
                **edited(generator, inverted, search.space, directions, spreads),
            }
        )
    facts = [{"name": direction.name, "r2": direction.quality, "labels": direction.labels} for direction in directions]
    return {"generator": generator.name, "sizes": asdict(sizes), "rows": rows, "directions": facts}


def directions_of(generator: Invertible, labels: int) -> tuple[list[Direction], dict[str, float]]:
    """Directions of READ in w, from what the feature network reads off the generator's own images, and its spreads."""
    w = generator.sample("w", labels, _FIRST_LABEL)
    readings = _read_codes(generator, w, "w")
    directions = [
        fit_direction(name, w.double().numpy(), readings[name], "continuous", source="model:transect.perceptual")
        for name in READ
    ]
    return directions, {name: float(readings[name].std()) for name in READ}


def recovered(inverted: Inverted, space: str, truth: pa.Table, directions: Sequence[Direction]) -> float | None:
    """Mean |reading of the mean code - truth| in deviations of the truth, over attributes whose direction is good."""
    codes = inverted.codes.astype(np.float64)
    w = codes.mean(axis=1) if space == "w+" else codes
    errors = []
    for direction in directions:
        if direction.quality >= _GOOD:
            true = truth[direction.name].to_numpy()
            reading = direction.mean + direction.slope * (w @ direction.normal + direction.offset)
            errors.append(np.abs(reading - true) / true.std())
    return float(np.nanmean(errors)) if errors else None


def edited(
    generator: Invertible, inverted: Inverted, space: str, directions: Sequence[Direction], spreads: dict[str, float]
) -> dict[str, float | None]:
    """Each of EDITED moved by one deviation up in all layers: gain and drift, as the feature network reads them."""
    codes = torch.from_numpy(inverted.codes[[not why for why in inverted.failures]])
    before, gains, drifts = _read_codes(generator, codes, space), [], []
    for direction in directions:
        if direction.name not in EDITED or direction.quality < _GOOD or not len(codes):
            continue
        unit = direction.way / (direction.way @ direction.normal)
        step = torch.from_numpy(unit * spreads[direction.name] / direction.slope).to(codes)
        after = _read_codes(generator, codes + step, space)
        change = {name: (after[name] - before[name]) / spreads[name] for name in READ}
        gains.append(change[direction.name].mean())
        drifts += [np.abs(change[name]).mean() for name in READ if name != direction.name]
    return {
        "edit_gain": float(np.mean(gains)) if gains else None,
        "off_target": float(np.mean(drifts)) if drifts else None,
    }


def sweep_latent_view(world: FaceWorld, sizes: Sizes, surrogate: Surrogate | None = None) -> dict[str, object]:
    """Rows by λ for FaceWorld's latent view, and one for the mean face (λ without end).

    perceptual: median distance of reconstruction and image. attribute_error: as in `sweep_generator`, of the world's
    own reading of the latents. identity_error: 1 - cosine of the true and found identity codes, median. edit_distance:
    median perceptual distance of the recovered face and the true one after EDITED are set to the same values.
    """
    view = latent_view(world)
    fitted = surrogate or fit_surrogate(view, features.load().network, samples=sizes.samples)
    subjects = world.sample(FIRST_FACE + np.arange(sizes.view_faces))
    pixels, rows = world.render(subjects).pixels, []
    for penalty in (None, *sizes.view_penalties):
        if penalty is None:
            z, renders = np.zeros((sizes.view_faces, view.latent_dim)), 0.0
        else:
            inverted = invert_view(view, fitted, pixels, penalty=penalty, rounds=sizes.rounds)
            z, renders = inverted.latents, float(inverted.renders.mean())
        true_latents = world.from_z(Latents(np.zeros(len(z), np.int64), z, "z"))
        rows.append(
            {
                "penalty": penalty,
                "faces": sizes.view_faces,
                "renders": renders,
                "perceptual": _apart(world.render(true_latents).pixels, pixels),
                "attribute_error": _attribute_error(world, true_latents, subjects),
                "identity_error": _median(
                    identity_distance(true_latents.values[:, IDENTITY_COLUMNS], subjects.values[:, IDENTITY_COLUMNS])
                ),
                "edit_distance": _apart(
                    *(world.render(_set(world, latents)).pixels for latents in (true_latents, subjects))
                ),
            }
        )
    return {"sizes": asdict(sizes), "explained": fitted.explained, "rows": rows}


def _set(world: FaceWorld, latents: Latents) -> Latents:
    """EDITED at three quarters of their range."""
    chosen = {
        attribute.name: attribute.low + 0.75 * (attribute.high - attribute.low)
        for attribute in world.attributes
        if attribute.name in EDITED
    }
    return world.set(latents, chosen)


def _attribute_error(world: FaceWorld, recovered_latents: Latents, subjects: Latents) -> float:
    readings, true = world.read(recovered_latents), world.read(subjects)
    errors = [np.abs(readings[name].to_numpy() - true[name].to_numpy()) / true[name].to_numpy().std() for name in READ]
    return float(np.mean(errors))


def _apart(first: np.ndarray, second: np.ndarray) -> float:
    with torch.inference_mode():
        distances = distance(appearance_of("features"), as_tensor(first), as_tensor(second))
    return _median(distances.numpy())


def _read_codes(generator: Invertible, codes: torch.Tensor, space: str) -> dict[str, Float[np.ndarray, " n"]]:
    with torch.no_grad():
        parts = [generator.show(codes[s : s + 50], space).clamp(0, 1) for s in range(0, len(codes), 50)]
    shown = [(part * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy() for part in parts]
    return features.read(np.concatenate(shown))


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")

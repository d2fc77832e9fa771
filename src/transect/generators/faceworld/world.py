"""FaceWorld: generator and controls in one. Exogenous noise becomes attributes, attributes become a picture."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transect.errors import BadInput
from transect.generators.faceworld import camera, exposure
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from transect.generators.faceworld.causal_model import LATENT_DIM, SPACE, CausalModel
from transect.generators.faceworld.chance import check_seeds, exogenous_noise
from transect.generators.faceworld.head import face_boxes
from transect.generators.faceworld.latent_view import rotate, rotate_back
from transect.generators.faceworld.masks import MASKS, draw_masks
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.population import load_population
from transect.generators.faceworld.renderer import RENDERER_VERSION, locate_landmarks, render_tile
from transect.protocols import Table
from transect.records import Attribute, Images, Latents

SMALLEST, LARGEST = 32, 512
WORTH_SHARING = 192

_Work: TypeAlias = Callable[[int, dict[str, Tensor], int], None]


@final
class FaceWorld:
    """Rendered faces with exact controls.

    image_size: pixels, 32..512. population: a shipped name or the path of a TOML file. threads: workers that render
    (default: one for small pictures, all processors from 192 pixels); it never changes a pixel. Raises BadInput (size,
    threads, population's file) and UnknownName (population).

    >>> world = FaceWorld(image_size=32)
    >>> subject = world.sample([7])
    >>> world.render(world.set(subject, {"glasses": 1.0})).pixels.shape
    (1, 32, 32, 3)
    """

    name = "faceworld"
    latent_dim = LATENT_DIM

    def __init__(self, image_size: int = 128, population: str | Path = "balanced", threads: int | None = None) -> None:
        self.image_size = _whole("image_size", image_size, SMALLEST, LARGEST, "pixels")
        self.threads = _whole("threads", (os.cpu_count() or 1) if threads is None else threads, 1, 1024, "workers")
        self.model = CausalModel(load_population(population))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set: attributes and nuisances."""
        return ATTRIBUTES

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[Any]) -> Latents:
        """One subject per seed: exogenous noise u, float64 [n, latent_dim], the same whatever the other seeds.

        Raises BadInput unless seeds are whole numbers from 0 to 2⁶³ - 1.
        """
        checked = check_seeds(seeds)
        return Latents(checked, exogenous_noise(checked, LATENT_DIM), SPACE)

    def to_z(self, latents: Latents) -> Latents:
        """The latent view z = R u, R a fixed random rotation: as in a learned generator, no coordinate means anything.

        Interventions are kept beside it. Raises BadInput when the latents are not of space u.
        """
        return rotate(latents)

    def from_z(self, latents: Latents) -> Latents:
        """Latents of space u from the latent view, u = Rᵀ z; raises BadInput when the latents are not of space z.

        >>> world = FaceWorld(image_size=32)
        >>> subject = world.sample([7])
        >>> bool(np.allclose(world.from_z(world.to_z(subject)).values, subject.values, rtol=0, atol=1e-9))
        True
        """
        return rotate_back(latents)

    def read(self, latents: Latents) -> pa.Table:
        """The value of every attribute and nuisance, one float64 column each, after the latents' interventions."""
        return pa.table({name: pa.array(column, pa.float64()) for name, column in self.model.solve(latents).items()})

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): identity, nuisances and all other attributes stay; exposure responds unless it is held.

        values: one value for all rows or one per row, by attribute. hold: attributes pinned to the values that they
        had before. Raises UnknownName (attribute) and BadInput (range, kind, number of values, held and set at once).

        >>> world = FaceWorld(image_size=32)
        >>> dark = world.set(world.sample([7]), {"skin_tone": 10.0}, hold=["exposure"])
        >>> world.read(dark)["skin_tone"].to_pylist()
        [10.0]
        """
        return self.model.intervene(latents, values, hold)

    def render(self, latents: Latents) -> Images:
        """Pixels uint8 [n, h, w, 3], sRGB; face_boxes float64 [n, 4]: the visible face from hairline to chin.

        Each picture depends on its own row alone. No rows give no pictures.
        """
        values = self.model.solve(latents)
        pixels = np.empty((len(latents), self.image_size, self.image_size, 3), dtype=np.uint8)
        boxes = np.empty((len(latents), 4))

        def render_row(row: int, p: dict[str, Tensor], seed: int) -> None:
            taken = render_tile(p, seed, self.image_size)[0].numpy()
            pixels[row] = camera.compress(taken, float(values["jpeg_quality"][row]))
            boxes[row] = face_boxes(p, self.image_size)[0]

        self._for_each(render_row, latents, values)
        return Images(pixels, boxes)

    def masks(self, latents: Latents) -> dict[str, Bool[np.ndarray, "n h w"]]:
        """Which pixels show what: boolean [n, h, w] for skin, hair, face, eyes, mouth, glasses, background and person.

        glasses, eyes, mouth and person hold every pixel that the part touches: whatever is done to the part alone
        (and without blur and JPEG, which mix pixels) leaves all others as they are. skin, hair and face hold pixels of
        which the part is at least half; background is what the person does not touch. Masks may overlap.

        >>> world = FaceWorld(image_size=32)
        >>> masks = world.masks(world.sample([7]))
        >>> bool((masks["background"] ^ masks["person"]).all())
        True
        """
        shape = (len(latents), self.image_size, self.image_size)
        masks = {name: np.empty(shape, dtype=np.bool_) for name in MASKS}

        def draw_row(row: int, p: dict[str, Tensor], seed: int) -> None:
            for name, mask in draw_masks(p, seed, self.image_size).items():
                masks[name][row] = mask[0].numpy()

        self._for_each(draw_row, latents, self.model.solve(latents))
        return masks

    def landmarks(self, latents: Latents) -> Float[np.ndarray, "n 68 2"]:
        """The 68 points of dlib's order, x and y in pixels, float64 [n, 68, 2]; turned heads hide some of them.

        Pixel i spans i to i + 1, as in face_boxes.

        >>> world = FaceWorld(image_size=32)
        >>> world.landmarks(world.sample([7])).shape
        (1, 68, 2)
        """
        points = np.empty((len(latents), 68, 2))

        def locate_row(row: int, p: dict[str, Tensor], seed: int) -> None:
            points[row] = locate_landmarks(p, seed, self.image_size)[0]

        self._for_each(locate_row, latents, self.model.solve(latents))
        return points

    def _for_each(self, work: _Work, latents: Latents, values: dict[str, Float[np.ndarray, " n"]]) -> None:
        """Calls work(row, parameters, seed) for every row, alone in its tile."""

        def do(row: int) -> None:
            one = {name: column[row : row + 1] for name, column in values.items()}
            work(row, parameters(one, latents.values[row : row + 1, : len(IDENTITY)]), int(latents.seeds[row]))

        with _one_thread_per_operation():
            if self.threads == 1 or len(latents) < 2:
                for row in range(len(latents)):
                    do(row)
                return
            with ThreadPoolExecutor(min(self.threads, len(latents)), initializer=_one_thread) as pool:
                list(pool.map(do, range(len(latents))))

    def describe(self) -> dict[str, Any]:
        """What recreates the pictures, for a run's spec: plain numbers and text."""
        return {
            "name": self.name,
            "image_size": self.image_size,
            "population": self.model.population.name,
            "population_sha256": self.model.population.sha256,
            "renderer_version": RENDERER_VERSION,
            "camera": {
                "maximum_gain": exposure.MAXIMUM_GAIN,
                "reference_luminance": exposure.REFERENCE_LUMINANCE,
                "tone_adaptation": exposure.TONE_ADAPTATION,
                "shot_noise": camera.SHOT_NOISE,
                "read_noise": camera.READ_NOISE,
            },
        }

    def validity(self) -> dict[str, Any]:
        """What is known of the world's likeness to photographs; every report carries it."""
        return {
            "photometry_validated": False,
            "statement": (
                "FaceWorld's photometry is not yet validated against photographs: effects on its faces are evidence"
                " about the target, to be confirmed on photographs."
            ),
        }


def _default_threads(image_size: int) -> int:
    """One for small pictures, whose operations are so short that threads would wait for the interpreter."""
    return (os.cpu_count() or 1) if image_size >= WORTH_SHARING else 1


def _whole(name: str, value: Any, low: int, high: int, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise BadInput(f"{name}: expected a whole number of {unit} from {low} to {high}, got {value!r}; change it")
    return int(value)


def _one_thread() -> None:
    torch.set_num_threads(1)


@final
class _OneThread:
    """Within, an operation runs on one core in float32, as results may differ in the last bit with how it is cut.

    PyTorch's settings are the process's: the last of overlapping renders puts them back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = (0, torch.float32)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._inside:
                self._before = (torch.get_num_threads(), torch.get_default_dtype())
            self._inside += 1
            torch.set_num_threads(1)
            torch.set_default_dtype(torch.float32)
        try:
            with torch.inference_mode(), torch.device("cpu"):
                yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    torch.set_num_threads(self._before[0])
                    torch.set_default_dtype(self._before[1])


_one_thread_per_operation = _OneThread()

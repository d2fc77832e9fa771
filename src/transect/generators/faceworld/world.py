"""FaceWorld: a generator and its controls in one; its latent view as a learned generator; and its own exact marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.engines.protocol import cores
from transect.errors import BadInput, UnknownName
from transect.generators.faceworld import camera, causal_model, reflectance
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.causal_model import LATENT_DIM, LATENT_VIEW_SPACE, SPACE, CausalModel, rotation
from transect.generators.faceworld.chance import check_seeds, exogenous_noise
from transect.generators.faceworld.mesh.asset import asset
from transect.generators.faceworld.parameters import parameters
from transect.generators.faceworld.population import load_population
from transect.generators.faceworld.renderer import (
    FURTHER,
    MASKS,
    RENDERER_VERSION,
    Person,
    draw_depth,
    draw_masks,
    face_box,
    locate_landmarks,
    locate_vertices,
    render_person,
)
from transect.generators.faceworld.validity import shipped_facts, validity_of
from transect.marks.records import MASKS as MARKED
from transect.marks.records import Marks
from transect.protocols import Table
from transect.records import Attribute, Images, Latents

SMALLEST, LARGEST = 32, 512
_TOGETHER = 6
"""Rows that a thread takes at once."""

_Work: TypeAlias = Callable[[int, Person], None]


@final
class FaceWorld:
    """Rendered faces with exact controls.

    image_size: pixels, 32..512. population: a built-in name or the path of a TOML file. threads: workers that render
    (default: one per processor); it never changes a pixel. Raises BadInput (size, threads, population's file) and
    UnknownName (population).

    >>> world = FaceWorld(image_size=32)
    >>> subject = world.sample([7])
    >>> world.render(world.set(subject, {"glasses": 1.0})).pixels.shape
    (1, 32, 32, 3)
    """

    name = "faceworld"
    latent_dim = LATENT_DIM

    def __init__(
        self,
        image_size: int = 128,
        population: str | Path = "balanced",
        threads: int | None = None,
    ) -> None:
        self.image_size = _whole("image_size", image_size, SMALLEST, LARGEST, "pixels")
        self.threads = _whole("threads", cores() if threads is None else threads, 1, 1024, "workers")
        self.model = CausalModel(load_population(population))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set: attributes and nuisances."""
        return ATTRIBUTES

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """One subject per seed: exogenous noise u, float64 [n, latent_dim], the same whatever the other seeds.

        Raises BadInput unless seeds are whole numbers from 0 to 2⁶³ - 1.
        """
        numbers = check_seeds(seeds)
        return Latents(numbers, exogenous_noise(numbers, LATENT_DIM), SPACE)

    def to_z(self, latents: Latents) -> Latents:
        """The latent view z = R u, R a fixed random rotation: as in a learned generator, no coordinate means anything.

        Interventions are kept unchanged. Raises BadInput when the latents are not of space u.
        """
        causal_model.check_latents(latents)
        return replace(latents, values=causal_model.turned(rotation(), latents.values), space=LATENT_VIEW_SPACE)

    def from_z(self, latents: Latents) -> Latents:
        """Latents of space u from the latent view, u = Rᵀ z; raises BadInput when the latents are not of space z.

        >>> world = FaceWorld(image_size=32)
        >>> subject = world.sample([7])
        >>> bool(np.allclose(world.from_z(world.to_z(subject)).values, subject.values, rtol=0, atol=1e-9))
        True
        """
        shape = latents.values.shape
        if latents.space != LATENT_VIEW_SPACE or len(shape) != 2 or shape[1] != LATENT_DIM:
            raise BadInput(
                f"expected latents of FaceWorld's latent view (space z, [n, {LATENT_DIM}]), got space {latents.space}"
                f" and shape {list(shape)}; make them with FaceWorld.to_z"
            )
        return replace(latents, values=causal_model.turned(rotation().T, latents.values), space=SPACE)

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

        def render_row(row: int, person: Person) -> None:
            picture = render_person(person, self.image_size)
            pixels[row] = camera.compress(picture, float(values["jpeg_quality"][row]))
            boxes[row] = face_box(person, self.image_size)

        self._for_each(render_row, latents, values)
        return Images(pixels, boxes)

    def masks(self, latents: Latents, further: Sequence[str] = ()) -> dict[str, Bool[np.ndarray, "n h w"]]:
        """Pixels by part: boolean [n, h, w] for skin, hair, face, eyes, mouth, glasses, background and person.

        further: names of more masks that are drawn, hat, face_mask and clothes. Raises UnknownName for another.

        glasses, eyes, mouth and person hold every pixel that the part touches: whatever is done to the part alone
        (and without blur and JPEG, which mix pixels) leaves all others as they are, but for the shade of glasses on
        the face. skin, hair and face hold pixels of which the part is at least half; background is what the person
        does not touch. Masks may overlap.

        >>> world = FaceWorld(image_size=32)
        >>> masks = world.masks(world.sample([7]))
        >>> bool((masks["background"] ^ masks["person"]).all())
        True
        """
        for name in further:
            if name not in FURTHER:
                raise UnknownName("mask", name, FURTHER)
        shape = (len(latents), self.image_size, self.image_size)
        masks = {name: np.empty(shape, dtype=np.bool_) for name in (*MASKS, *further)}

        def draw_row(row: int, person: Person) -> None:
            drawn = draw_masks(person, self.image_size)
            for name, mask in masks.items():
                mask[row] = drawn[name]

        self._for_each(draw_row, latents, self.model.solve(latents))
        return masks

    def landmarks(self, latents: Latents) -> Float[np.ndarray, "n 68 2"]:
        """The 68 points of dlib's order, x and y in pixels, float64 [n, 68, 2]; turned heads hide some of them.

        Pixel i spans i to i + 1, as in face_boxes.

        >>> world = FaceWorld(image_size=32)
        >>> world.landmarks(world.sample([7])).shape
        (1, 68, 2)
        """
        return self._stacked(locate_landmarks, latents, 68, 2)

    def vertices(self, latents: Latents) -> Float[np.ndarray, "n v 3"]:
        """The head's mesh: x and y in pixels as in landmarks, and distance from the camera.

        float64 [n, v, 3], in distances between the eyes; the same v vertices for everybody, hidden ones too. Hair and
        what is worn have none.

        >>> world = FaceWorld(image_size=32)
        >>> world.vertices(world.sample([7])).shape[2]
        3
        """
        return self._stacked(locate_vertices, latents, len(asset().mean), 3)

    def depth(self, latents: Latents) -> Float[np.ndarray, "n h w"]:
        """Distance from the camera of what is nearest at each pixel, in distances between the eyes; NaN for background.

        float64 [n, h, w]. Hair, clothes and what is worn count; lenses do not, since one sees through them.

        >>> world = FaceWorld(image_size=32)
        >>> bool(np.isnan(world.depth(world.sample([7]))[0, 0, 0]))
        True
        """
        return self._stacked(draw_depth, latents, self.image_size, self.image_size)

    def _stacked(
        self, draw: Callable[[Person, int], Float[np.ndarray, ...]], latents: Latents, *shape: int
    ) -> Float[np.ndarray, "n ..."]:
        found = np.empty((len(latents), *shape))

        def fill(row: int, person: Person) -> None:
            found[row] = draw(person, self.image_size)

        self._for_each(fill, latents, self.model.solve(latents))
        return found

    def _for_each(self, work: _Work, latents: Latents, values: dict[str, Float[np.ndarray, " n"]]) -> None:
        """Calls work(row, person) for all rows; a thread takes neighbors, which mostly share steps of their drawing."""
        rows = parameters(values, latents.values[:, causal_model.IDENTITY_COLUMNS])
        people = [Person(row, int(seed)) for row, seed in zip(rows, latents.seeds, strict=True)]
        parts = [range(len(people))[first : first + _TOGETHER] for first in range(0, len(people), _TOGETHER)]

        def do(part: Sequence[int]) -> None:
            for number in part:
                work(number, people[number])

        if min(self.threads, len(parts)) < 2:
            do(range(len(people)))
            return
        with ThreadPoolExecutor(min(self.threads, len(parts))) as pool:
            list(pool.map(do, parts))

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec: plain numbers and text."""
        return {
            "name": self.name,
            "image_size": self.image_size,
            "population": self.model.population.name,
            "population_sha256": self.model.population.sha256,
            "renderer_version": RENDERER_VERSION,
            "camera": {
                "maximum_gain": reflectance.MAXIMUM_GAIN,
                "reference_luminance": reflectance.REFERENCE_LUMINANCE,
                "tone_adaptation": reflectance.TONE_ADAPTATION,
                "common_luminance": reflectance.COMMON_LUMINANCE,
                "fill": reflectance.FILL,
                "shot_noise": camera.SHOT_NOISE,
                "read_noise": camera.READ_NOISE,
            },
        }

    def validity(self) -> dict[str, object]:
        """How similar the world is to photographs, as far as measured; every report includes it. See validity_of."""
        return validity_of(shipped_facts(), RENDERER_VERSION)


def _whole(name: str, value: object, low: int, high: int, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise BadInput(f"{name}: expected a whole number of {unit} from {low} to {high}, got {value!r}")
    return int(value)


@final
class LatentWorld:
    """A generator over the latent view of a FaceWorld; it has no controls, and knows the truth of every latent."""

    name = "faceworld-latent"

    def __init__(self, world: FaceWorld) -> None:
        self.world, self.image_size, self.latent_dim = world, world.image_size, world.latent_dim

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What `truths` has a column of."""
        return self.world.attributes

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """FaceWorld's subjects of these seeds, in space z. Raises BadInput as FaceWorld does."""
        return self.world.to_z(self.world.sample(seeds))

    def render(self, latents: Latents) -> Images:
        """Their pictures. Raises BadInput for latents that are not of space z."""
        return self.world.render(self.world.from_z(latents))

    def truths(self, latents: Latents) -> pa.Table:
        """The causal model's values of each latent; the last bits of what the rotation moved may differ."""
        return self.world.read(self.world.from_z(latents))

    def identities(self, latents: Latents) -> Float[np.ndarray, "n k"]:
        """The identity code of each latent, without its attributes."""
        return np.asarray(self.world.from_z(latents).values[:, causal_model.IDENTITY_COLUMNS])

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec."""
        return {**self.world.describe(), "name": self.name, "space": LATENT_VIEW_SPACE}

    def validity(self) -> dict[str, object]:
        """The validity of FaceWorld's pictures, which these are."""
        return self.world.validity()


def own_marks(world: FaceWorld, latents: Latents) -> Marks:
    """Points and all masks of the pictures that the world renders of these latents, with confidence 1."""
    found = Marks.of_points(world.landmarks(latents), world.name)
    drawn = world.masks(latents, further=("hat",))
    masks = {name: drawn[name].astype(np.float32) for name in MARKED}
    return Marks(found.points, found.five, masks, found.confidence, found.reasons, world.name)

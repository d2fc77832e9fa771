"""A diffusion pipeline as generator and controls in one: one seed, one subject, and words or edits set its attributes.

Text: the subject is the noise that it starts from; prompts differ in the words of one attribute alone (prompt pairs).
Edit: the subject is a photograph, to which noise is added, and removed under the edit's prompt; the level is
the share of noise (Meng et al. 2022, SDEdit, arXiv:2108.01073). Instruct: the same by instruction; the level is the
share of guidance (Brooks et al. 2023, InstructPix2Pix, arXiv:2211.09800). Inpaint: a level's prompt is painted inside
a mask, and all pixels outside are put back bitwise. Several edits follow one another.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int, UInt8
from scipy.special import ndtr

from transect.datasets.labelled import SUBJECT
from transect.errors import BadInput
from transect.generators.diffusion.photographs import EditedPhotographs
from transect.generators.diffusion.pipelines import check_prompts, facts_of, open_pipeline, own_size
from transect.generators.diffusion.settings import Settings, read_settings
from transect.generators.faceworld.chance import Stream, check_seeds, exogenous_noise, generator
from transect.generators.photographs.masks import composite
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import SUBJECTS_PER_SEED, Attribute, Images, Latents

SPACE = "prompt"


@final
class DiffusionGenerator:
    """Images of a diffusion pipeline that a TOML file describes.

    image_size: pixels, unless the file says; photographs to edit are fitted into it. device: cpu, cuda and so on. On
    one device an image is bitwise the same in every batch, since rows are made one by one. Raises BadInput (file,
    pipeline, a prompt too long, size) and MissingExtra.
    """

    def __init__(self, path: str | Path, *, image_size: int | None = None, device: str = "cpu") -> None:
        self.path = Path(path)
        self.settings: Settings = read_settings(self.path)
        self.device = device
        folder = self.path.parent / self.settings.pipeline
        self._pipeline = open_pipeline(folder, self.settings.mode, device, self.settings.half)
        check_prompts(self._pipeline, self.settings.every_prompt())
        self._facts = facts_of(folder)
        self.image_size = self._size(image_size)
        opened = (
            EditedPhotographs.open(self.settings, self.path.parent, self.image_size) if self.settings.source else None
        )
        self._source: EditedPhotographs | None = opened

    @property
    def name(self) -> str:
        """The name in reports."""
        return f"diffusers:{self.path.stem}"

    @property
    def latent_dim(self) -> int:
        """Number of coordinates that identify a subject: one per attribute in mode text, else the photograph's row."""
        return len(self.settings.attributes) if self._source is None else 1

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set."""
        return self.settings.shown

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """One subject per seed: its own levels (text, each equally probable) or photograph.

        Photograph i of the data set is subject i in modes edit and instruct; in mode inpaint the order is that of
        `Photographs`, by the run's seed.
        """
        numbers = check_seeds(seeds)
        if self._source is None:
            return Latents(numbers, exogenous_noise(numbers, self.latent_dim), SPACE)
        self.check_subjects(int((numbers % SUBJECTS_PER_SEED).max(initial=-1)) + 1)
        return Latents(numbers, self._source.drawn(numbers).astype(np.float64)[:, None], SPACE)

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than there are photographs; prompts make any number."""
        if self._source is not None and wanted > len(self._source):
            raise BadInput(
                f"{self.name}: expected at most {len(self._source)} subjects, its photographs; ask for fewer"
            )

    @property
    def photographs(self) -> int:
        """How many photographs can be edited; 0 in mode text."""
        return 0 if self._source is None else len(self._source)

    @property
    def learned_edits(self) -> bool:
        """Whether photographs are edited: the pipeline was trained, and may show something else."""
        return self._source is not None

    @property
    def as_they_are(self) -> Mapping[str, float]:
        """By attribute: the level at which a photograph is as it is."""
        return {} if self._source is None else dict.fromkeys(self.settings.attributes, 0.0)

    def intended_readings(self) -> Mapping[str, Mapping[float, float]]:
        """By attribute and level: what a model that reads the attribute should read, where the file says so."""
        return {name: entry.readings for name, entry in self.settings.attributes.items() if entry.reads}

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What is known of an image: the levels that were asked for, and the labels of the photograph."""
        labels = {} if self._source is None else self._source.labels
        return (*self.attributes, *(replace(attribute, name=name) for name, attribute in labels.items()))

    def truths(self, latents: Latents) -> pa.Table:
        """As `read`; of photographs with the labels (NaN: none), and the person as `subject`."""
        columns = dict(self._values(latents))
        if self._source is not None:
            numbers = np.asarray(latents.values)[:, 0].astype(np.int64)
            columns |= {name: self._source.label(name, numbers) for name in self._source.labels}
            columns[SUBJECT] = self._source.people(numbers).astype(np.float64)
        return pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()})

    def edit_masks(self, latents: Latents) -> Bool[np.ndarray, "n s s"]:
        """The pixels that the edits of each row may change; outside, the image is bitwise the photograph.

        In modes edit and instruct every pixel of a row that is edited; in mode text, where there is no photograph, all.
        """
        values, size = self._values(latents), self.image_size
        masks = np.full((len(latents), size, size), self._source is None, dtype=np.bool_)
        for row in range(len(latents) if self._source is not None else 0):
            for name in (name for name, column in values.items() if column[row] > 0):
                masks[row] |= self._may_change(int(latents.values[row, 0]), name)
        return masks

    def _may_change(self, number: int, name: str) -> Bool[np.ndarray, "s s"]:
        if self._source is None or self.settings.mode != "inpaint":
            return np.ones((self.image_size, self.image_size), dtype=np.bool_)
        return np.asarray(self._source.shares(number, name) > 0)

    def read(self, latents: Latents) -> pa.Table:
        """The requested float64 levels of the prompt or strengths of the edits; the subject's own where not set."""
        return pa.table({name: pa.array(column, pa.float64()) for name, column in self._values(latents).items()})

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): noise, photograph and all other words stay. Raises UnknownName, BadInput (range, kind, hold)."""
        settings = requested_columns(self.attributes, values, hold, len(latents), f"of {self.path.name}")
        least = 1 / self.settings.steps
        for name, column in settings.items():
            if self.settings.mode == "edit" and (small := column[(column > 0) & (column < least)]).size:
                raise BadInput(f"{name}: expected 0 or at least {least:.3g}, one of the steps, got {small[0]:g}")
        return replace(latents, settings={**latents.settings, **settings})

    def render(self, latents: Latents) -> Images:
        """Pixels uint8 [n, h, w, 3], sRGB; each row from its own seed and values alone. No rows give no pictures."""
        values = self._values(latents)
        pixels = np.empty((len(latents), self.image_size, self.image_size, 3), dtype=np.uint8)
        for row, seed in enumerate(latents.seeds.tolist()):
            levels = {name: float(column[row]) for name, column in values.items()}
            if self._source is None:
                pixels[row] = self._render_prompt(seed, levels)
            else:
                pixels[row] = self._render_edit(self._source, int(latents.values[row, 0]), seed, levels)
        return Images(pixels)

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec. Folders are left out: they can name people and machines."""
        settings = {**self.settings.described(), "pipeline": Path(self.settings.pipeline).name, "source": None}
        source = {"source": None} if self._source is None else self._source.describe()
        description = {"name": self.name, "image_size": self.image_size, "device": self.device, **source}
        return {**description, "settings": settings, **self._facts}

    def validity(self) -> dict[str, object]:
        """What a report states about the images."""
        how = "prompts" if self._source is None else "edits of photographs"
        how = "painting inside masks on photographs" if self.settings.mode == "inpaint" else how
        statement = (
            f"Images of the diffusion pipeline {self._facts['pipeline']} by {how}. Values are what was asked for: what "
            "an image shows may differ, and other attributes may change too, as they did in the training data. "
            "Have people rate the images (--ratings, --perceived) before an effect is believed."
        )
        notes = self._source.notes() if self._source is not None else ()
        return {
            "photometry_validated": False,
            "statement": " ".join([statement, *notes]),
            "not_measured": "no truth is known of these images",
        }

    def _size(self, wanted: int | None) -> int:
        default = self.settings.image_size
        if default is not None and wanted not in (None, default):
            raise BadInput(f"{self.path.name}: expected its own size of {default} pixels, got {wanted}; leave it out")
        size = default or wanted or own_size(self._pipeline)
        factor = int(getattr(self._pipeline, "vae_scale_factor", 8))
        if size % factor:
            raise BadInput(
                f"image_size: expected a multiple of {factor} pixels for this pipeline, got {size}; change it"
            )
        return size

    def _values(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        if latents.space != SPACE or np.asarray(latents.values)[:1].size not in (0, self.latent_dim):
            raise BadInput(
                f"latents: expected space {SPACE} with {self.latent_dim} numbers, got {latents.space}; sample them"
            )
        columns = {}
        for place, attribute in enumerate(self.attributes):
            column = np.zeros(len(latents))
            if self._source is None and len(latents):
                share = ndtr(np.asarray(latents.values)[:, place])
                column = np.minimum(np.floor(share * len(attribute.levels)), len(attribute.levels) - 1)
            setting = latents.settings.get(attribute.name, np.full(len(latents), np.nan))
            columns[attribute.name] = np.where(np.isnan(setting), column, setting)
        return columns

    def _render_prompt(self, seed: int, values: dict[str, float]) -> UInt8[np.ndarray, "h w 3"]:
        arguments = {"prompt": self.settings.prompt_of(values), "height": self.image_size, "width": self.image_size}
        return self._run(arguments, seed, 0)

    def _render_edit(
        self, source: EditedPhotographs, number: int, seed: int, values: dict[str, float]
    ) -> UInt8[np.ndarray, "h w 3"]:
        picture = source.picture(number)
        for place, (name, level) in enumerate(values.items()):
            if level > 0 and self.settings.mode == "inpaint":
                picture = self._painted(picture, source.shares(number, name), self._prompt(name, level), seed, place)
            elif level > 0:
                picture = self._run(self._edit(picture, name, level), seed, place)
        return picture

    def _edit(self, picture: UInt8[np.ndarray, "h w 3"], name: str, level: float) -> dict[str, object]:
        from PIL import Image

        prompt = self.settings.attributes[name].prompt
        return {"prompt": prompt, "image": Image.fromarray(picture), **self._strength(level)}

    def _prompt(self, name: str, level: float) -> str:
        """The words of a level above "as it is"."""
        return list(self.settings.attributes[name].levels.values())[int(level) - 1]

    def _painted(
        self, picture: UInt8[np.ndarray, "h w 3"], shares: Float[np.ndarray, "h w"], prompt: str, seed: int, place: int
    ) -> UInt8[np.ndarray, "h w 3"]:
        """The picture with what the pipeline paints inside the mask; bitwise as it was outside."""
        from PIL import Image

        mask = Image.fromarray(np.where(shares > 0, 255, 0).astype(np.uint8))
        size = {"height": self.image_size, "width": self.image_size}
        arguments = {"prompt": prompt, "image": Image.fromarray(picture), "mask_image": mask, **size}
        return composite(picture, self._run({**arguments, "strength": self.settings.strength}, seed, place), shares)

    def _strength(self, level: float) -> dict[str, float]:
        if self.settings.mode == "edit":
            return {"strength": level}
        settings = self.settings
        return {"guidance_scale": 1 + level * (settings.guidance - 1), "image_guidance_scale": settings.image_guidance}

    def _run(self, arguments: dict[str, object], seed: int, place: int) -> UInt8[np.ndarray, "h w 3"]:
        """One image; the noise comes from the subject's seed and the edit's place, on the CPU for every device."""
        noise_seed = int(generator(seed, Stream.TEXTURE).integers(0, 1 << 62)) + place
        chance = torch.Generator("cpu").manual_seed(noise_seed)
        guided = {"guidance_scale": self.settings.guidance, "negative_prompt": self.settings.negative_prompt or None}
        parameters = inspect.signature(type(self._pipeline).__call__).parameters
        guided = {name: value for name, value in guided.items() if name in parameters}
        with torch.inference_mode():
            output = self._pipeline(
                **{**guided, **arguments}, num_inference_steps=self.settings.steps, generator=chance, output_type="np"
            ).images[0]
        if not np.isfinite(output).all():
            raise BadInput(f"{self.name}: the pipeline made no image (NaN) for seed {seed}; use full precision")
        return np.asarray(np.rint(np.clip(output, 0, 1) * 255), dtype=np.uint8)

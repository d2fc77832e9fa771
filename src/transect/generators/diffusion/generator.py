"""Images of a diffusion pipeline that a TOML file describes: from prompts, or edits and inpainting of photographs."""

from __future__ import annotations

import importlib.util
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int, UInt8
from PIL import Image
from scipy.special import ndtr

from transect.datasets import LabelledImages, open_dataset
from transect.datasets.labelled import SUBJECT, digest
from transect.errors import BadInput, MissingExtra
from transect.generators.diffusion.settings import Settings, read_settings
from transect.generators.faceworld.chance import Stream, check_seeds, exogenous_noise, generator
from transect.generators.photographs.masks import Mask, Shown, composite, feathered, open_mask, path_inside
from transect.generators.photographs.subjects import Subjects, check_opencv, corner, fitted, squared
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import SUBJECTS_PER_SEED, Attribute, Images, Latents
from transect.runs import model_folders
from transect.runs.environment import check_torchvision
from transect.runs.wording import counted
from transect.texts import words_of

UNMASKED: Final = "photographs on which the mask of {} has no pixel"


@final
@dataclass(frozen=True)
class EditedPhotographs:
    """Photographs by number, from 0. subjects, masks: of mode inpaint. edited: names that labels may not have."""

    labelled: LabelledImages
    rows: Int[np.ndarray, " n"]
    edited: frozenset[str]
    subjects: Subjects | None = None
    masks: Mapping[str, Mask] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings, base: Path, image_size: int) -> EditedPhotographs:
        """The photographs of a file's `source`, relative to `base`; those that cannot be painted are counted."""
        reader, colon, location = settings.source.partition(":")
        place = location if Path(location).is_absolute() else str(base / location)
        named, edited = f"{reader}{colon}{place}", frozenset(settings.attributes)
        if settings.mode != "inpaint":
            labelled = open_dataset(named, image_size=image_size, labelled=False)
            return cls(labelled, np.arange(len(labelled), dtype=np.int64), edited)
        check_opencv("inpainting of photographs")
        subjects = Subjects.open(named, image_size)
        names = [path_inside(subjects.labelled, int(row)) for row in subjects.rows]
        masks = {
            name: open_mask(entry.mask or settings.mask, base, subjects.labelled, names)
            for name, entry in settings.attributes.items()
        }
        subjects = _maskable(subjects, masks)
        return cls(subjects.labelled, subjects.rows, edited, subjects, masks)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> dict[str, Attribute]:
        """The data set's labels by the name that they have here: label.NAME where an edit is called so."""
        taken = {*self.edited, SUBJECT}
        return {f"label.{each.name}" if each.name in taken else each.name: each for each in self.labelled.attributes}

    def label(self, name: str, numbers: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """A label of those photographs, NaN where it is not known."""
        return np.asarray(self.labelled.column(self.labels[name].name)[self.rows[numbers]], dtype=np.float64)

    def people(self, numbers: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """Who is on those photographs."""
        return np.asarray(np.array(self.labelled.subjects, dtype=np.int64)[self.rows[numbers]])

    def drawn(self, seeds: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """The photograph of each seed."""
        return seeds % SUBJECTS_PER_SEED if self.subjects is None else self.subjects.drawn(seeds)

    def picture(self, number: int) -> UInt8[np.ndarray, "s s 3"]:
        """The photograph as it is."""
        if self.subjects is None:
            return np.asarray(self.labelled.pixels([int(self.rows[number])])[0])
        return squared(self.subjects.picture(number), self.labelled.image_size)

    def shares(self, number: int, name: str) -> Float[np.ndarray, "s s"]:
        """Of mode inpaint: the share of paint that each pixel takes, 0 outside the attribute's mask."""
        if self.subjects is None:
            raise KeyError(name)
        shown, size = shown_of(self.subjects, number), self.labelled.image_size
        mask, (height, width) = self.masks[name], shown.picture.shape[:2]
        top, left = corner(height, width, size)
        shares = np.zeros((size, size), dtype=np.float32)
        shares[top : top + height, left : left + width] = feathered(mask.of(shown), mask.feather)
        return shares

    def notes(self) -> list[str]:
        """A sentence for each reason for which photographs are left out."""
        return self.labelled.notes() if self.subjects is None else list(self.subjects.notes())

    def describe(self) -> dict[str, object]:
        """What recreates the photographs and where they are painted; no path."""
        levels = {name: list(each.levels) for name, each in self.labels.items() if each.discrete}
        if self.subjects is None:
            return {"source": self.labelled.describe(), "labels": levels}
        found = self.subjects
        return {
            "labels": levels,
            "source": {**self.labelled.describe(), "left_out": found.left_out, "images": len(found)},
            "pictures_sha256": found.pictures_sha256,
            "table_sha256": self.labelled.sha256,
            "masks": {name: mask.describe() for name, mask in self.masks.items()},
        }


def shown_of(subjects: Subjects, number: int) -> Shown:
    """A photograph as masks take it."""
    look, row = subjects.looks[number], int(subjects.rows[number])
    labelled = subjects.labelled

    def frame(whole: UInt8[np.ndarray, "a b 3"]) -> UInt8[np.ndarray, "h w 3"]:
        return fitted(labelled, whole)

    return Shown(path_inside(labelled, row), row, look.width, look.height, subjects.picture(number), frame)


def _maskable(subjects: Subjects, masks: Mapping[str, Mask]) -> Subjects:
    """Those on which every mask has a pixel. Raises BadInput where there is none."""
    reasons = []
    for number in range(len(subjects)):
        shown = shown_of(subjects, number)
        empty = next((name for name, mask in masks.items() if not mask.of(shown).any()), "")
        reasons.append(UNMASKED.format(empty) if empty else "")
    kept = subjects.only(np.array([not reason for reason in reasons]), Counter(filter(None, reasons)))
    if not len(kept):
        found = ", ".join(f"{count} {reason}" for reason, count in kept.left_out.items())
        raise BadInput(f"{subjects.labelled.name}: no photographs to paint ({found}); change the mask")
    return kept


Pipeline: TypeAlias = Any
"""A pipeline of diffusers, which has no common class for what is used here."""

_PICKLED: Final = (".bin", ".ckpt", ".pt", ".pth", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack")
_PROGRAMS: Final = (".py", ".pyc", ".so", ".dll", ".sh")
_LIBRARIES: Final = ("diffusers", "transformers")
_INDEX: Final = "model_index.json"
LOADERS: Final = {
    "text": "AutoPipelineForText2Image",
    "edit": "AutoPipelineForImage2Image",
    "instruct": "DiffusionPipeline",
    "inpaint": "AutoPipelineForInpainting",
}
"""diffusers' class that opens a folder for each mode."""


def check_folder(folder: Path) -> Mapping[str, object]:
    """The pipeline's index; raises BadInput for a folder that is none, or that holds what could run."""
    if not (folder / _INDEX).is_file():
        raise BadInput(f"{folder}: no saved diffusers pipeline, which has {_INDEX}; check the path")
    files = sorted(file for file in folder.rglob("*") if file.is_symlink() or not file.is_dir())
    for file in files:
        if file.suffix.lower() in _PROGRAMS:
            raise BadInput(f"{file}: expected weights and settings, found a program; pipelines with code are not run")
        if file.suffix.lower() in _PICKLED and not any(file.parent.glob("*.safetensors")):
            raise BadInput(f"{file}: expected safetensors, found {file.suffix}; save with safe_serialization=True")
    model_folders.check_files(folder, files)
    index = model_folders.settings_of(folder / _INDEX)
    if not isinstance(index.get("_class_name"), str):
        raise BadInput(
            f"{folder / _INDEX}: expected a pipeline's name, found {index.get('_class_name')!r}; use another file"
        )
    for name, part in index.items():
        if isinstance(part, list) and part[:1] not in ([None], *([library] for library in _LIBRARIES)):
            raise BadInput(f"{folder / _INDEX}: {name} is from {part[0]!r}: expected only {' or '.join(_LIBRARIES)}")
    return index


def open_pipeline(folder: Path, mode: str, device: str, half: bool) -> Pipeline:
    """The pipeline on its device, quiet. Raises MissingExtra, or BadInput for a pipeline of another kind."""
    index = check_folder(folder)
    check_torchvision()
    try:
        import diffusers
        import transformers  # noqa: F401  (a missing package is reported here, not in the middle of loading)
    except ImportError:
        raise MissingExtra("diffusers", "a diffusion generator") from None
    _check_device(device, half)
    options: dict[str, object] = {"use_safetensors": True, "local_files_only": True}
    if importlib.util.find_spec("accelerate") is None:
        options["low_cpu_mem_usage"] = False
    options |= {"torch_dtype": torch.float16 if half else torch.float32, "trust_remote_code": False}
    if "safety_checker" in index:  # it would black out images, and the report would not count them
        options |= {"safety_checker": None, "requires_safety_checker": False}
    with _quiet():
        try:
            pipeline = getattr(diffusers, LOADERS[mode]).from_pretrained(folder, **options)
        except (ValueError, OSError, TypeError, KeyError, AttributeError, ImportError, RuntimeError) as error:
            reason = words_of(error, 200)
            raise BadInput(f"{folder}: {index['_class_name']} cannot be opened for mode {mode}: {reason}") from None
    _check_kind(pipeline, mode, folder)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def check_prompts(pipeline: Pipeline, prompts: list[str]) -> None:
    """Raises BadInput for a prompt that the text encoder would truncate, which could lose an attribute."""
    tokenizer = getattr(pipeline, "tokenizer", None)
    longest = getattr(tokenizer, "model_max_length", 0)
    if tokenizer is None or not 0 < longest < 10_000:
        return
    for prompt in prompts:
        with _quiet():
            count = len(tokenizer(prompt).input_ids)
        if count > longest:
            raise BadInput(
                f"prompt of {count} tokens: expected at most {longest}, the rest is cut off: {prompt[:60]!r}…"
            )


def facts_of(folder: Path) -> dict[str, object]:
    """Libraries and a digest of every weight and setting, for a run's spec."""
    import diffusers
    import transformers

    files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".safetensors", ".json", ".txt", ".model")]
    return {
        "pipeline": model_folders.settings_of(folder / _INDEX)["_class_name"],
        "pipeline_sha256": digest(files),
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
    }


def own_size(pipeline: Pipeline) -> int:
    """Default width and height of the pipeline's images, in pixels."""
    model = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
    size = getattr(getattr(model, "config", None), "sample_size", None)
    size = getattr(pipeline, "default_sample_size", None) if size is None else size
    factor = getattr(pipeline, "vae_scale_factor", 8)
    return int(size) * int(factor) if isinstance(size, int) else 512


def _check_device(device: str, half: bool) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = words_of(error, 120)
        raise BadInput(f"device: expected one PyTorch can use, got {device!r} ({reason})") from None
    if half and device == "cpu":
        raise BadInput("half: expected a GPU for half precision, got the CPU; drop it or give --device cuda")


def _check_kind(pipeline: Pipeline, mode: str, folder: Path) -> None:
    takes = inspect.signature(type(pipeline).__call__).parameters
    arguments = {
        "text": ("prompt", "generator"),
        "edit": ("image", "strength"),
        "instruct": ("image", "image_guidance_scale"),
        "inpaint": ("image", "mask_image", "strength"),
    }
    if missing := [name for name in arguments[mode] if name not in takes]:
        kind = type(pipeline).__name__
        raise BadInput(f"{folder}: expected a pipeline for mode {mode}, got {kind}, which takes no {missing[0]}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides the libraries' progress bars and advice on standard error; errors are still raised."""
    import warnings

    import transformers
    from diffusers.utils import logging as of_diffusers

    of_transformers = transformers.utils.logging
    loggers = (of_diffusers, of_transformers)
    before = [logger.get_verbosity() for logger in loggers]
    for logger in loggers:
        logger.set_verbosity_error()
        logger.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.set_verbosity(level)
            logger.enable_progress_bar()


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
        self._source: EditedPhotographs | None = None
        if self.settings.source:
            self._source = EditedPhotographs.open(self.settings, self.path.parent, self.image_size)

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
            most = counted(len(self._source), "subject")
            raise BadInput(f"{self.name}: expected at most {most}, one for each photograph, got {wanted}")

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
        """The pixels that each row's edits may change: inside the masks (inpaint), else all of what is edited."""
        values, size = self._values(latents), self.image_size
        masks = np.full((len(latents), size, size), self._source is None, dtype=np.bool_)
        if self._source is None:
            return masks
        for row, number in enumerate(np.asarray(latents.values)[:, 0].astype(np.int64).tolist()):
            for name in (name for name, column in values.items() if column[row] > 0):
                masks[row] |= self._source.shares(number, name) > 0 if self.settings.mode == "inpaint" else True
        return masks

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
        values, size = self._values(latents), self.image_size
        pixels = np.empty((len(latents), size, size, 3), dtype=np.uint8)
        for row, seed in enumerate(latents.seeds.tolist()):
            levels = {name: float(column[row]) for name, column in values.items()}
            if self._source is None:
                prompt = self.settings.prompt_of(levels)
                pixels[row] = self._run({"prompt": prompt, "height": size, "width": size}, seed, 0)
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
            raise BadInput(f"image_size: {self.path.name} makes images of {default} pixels, got {wanted}; leave it out")
        size = default or wanted or own_size(self._pipeline)
        factor = int(getattr(self._pipeline, "vae_scale_factor", 8))
        if size % factor:
            raise BadInput(f"image_size: expected a multiple of {factor} pixels for this pipeline, got {size}")
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

    def _render_edit(
        self, source: EditedPhotographs, number: int, seed: int, values: dict[str, float]
    ) -> UInt8[np.ndarray, "h w 3"]:
        picture = source.picture(number)
        for place, (name, level) in enumerate(values.items()):
            if level > 0 and self.settings.mode == "inpaint":
                prompt = list(self.settings.attributes[name].levels.values())[int(level) - 1]  # 0: as it is
                picture = self._painted(picture, source.shares(number, name), prompt, seed, place)
            elif level > 0:
                picture = self._run(self._edit(picture, name, level), seed, place)
        return picture

    def _edit(self, picture: UInt8[np.ndarray, "h w 3"], name: str, level: float) -> dict[str, object]:
        settings = self.settings
        arguments = {"prompt": settings.attributes[name].prompt, "image": Image.fromarray(picture)}
        if settings.mode == "edit":
            return {**arguments, "strength": level}
        guidance = 1 + level * (settings.guidance - 1)
        return {**arguments, "guidance_scale": guidance, "image_guidance_scale": settings.image_guidance}

    def _painted(
        self, picture: UInt8[np.ndarray, "h w 3"], shares: Float[np.ndarray, "h w"], prompt: str, seed: int, place: int
    ) -> UInt8[np.ndarray, "h w 3"]:
        """The picture with what the pipeline paints inside the mask; bitwise as it was outside."""
        mask = Image.fromarray(np.where(shares > 0, 255, 0).astype(np.uint8))
        size = {"height": self.image_size, "width": self.image_size}
        arguments = {"prompt": prompt, "image": Image.fromarray(picture), "mask_image": mask, **size}
        return composite(picture, self._run({**arguments, "strength": self.settings.strength}, seed, place), shares)

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

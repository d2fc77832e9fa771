"""Measure the rendered world: light, sharpness, what detectors find, what networks read, who is distinguished."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from transect import __version__
from transect.errors import BadInput
from transect.generators.faceworld.population import SHIPPED
from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.validity import IMAGE_SIZE, READERS_FILE, stored_readers
from transect.generators.faceworld.world import FaceWorld
from transect.runs.folder import write_json
from transect.runs.json_records import plain
from validation import detectors, light_by_attribute, reading
from validation.discrimination import INTERVAL
from validation.network import Network, Schedule, has_bfloat16
from validation.outside_readers import Outside, read_from_outside
from validation.photometry import compare, measure
from validation.pictures import Draw, Pictures, population

Figures = dict[str, Any]
"""Figures by name, in JSON's own types."""

PARTS: Final = ("photometry", "by_attribute", "sharpness", "targets", "attributes", "identity", "groups", "readers")
"""The parts of the check, in the order in which they are made."""

POPULATION: Final = "balanced"
GROUP_EPOCHS: Final = 10
"""Passes over the pictures of the groups, whatever the reader's number is."""

FULL: Final = 5000
FULL_SIZES: Final = {
    "targets": 1000,
    "training": 20_000,
    "held_out": 4000,
    "identities": 500,
    "other_people": 300,
    "taught_groups": 4000,
    "control_pairs": 2000,
    "landmarks": 300,
    "readers": 500,
    "by_attribute": 2400,
    "sharpness": 500,
}
"""Subjects at the full size, where the photometry has FULL."""

FIRST_SEEDS: Final = {
    "photometry": 1_000_000,
    "targets": 2_000_000,
    "landmarks": 6_000_000,
    "training": 10_000_000,
    "held_out": 20_000_000,
    "identities": 40_000_000,
    "other_people": 45_000_000,
    "controls": 50_000_000,
    "held_out_controls": 55_000_000,
    "readers": 60_000_000,
    "by_attribute": 65_000_000,
    "sharpness": 70_000_000,
}
"""Each sample's seeds begin here, apart from each other, from a study's and from those that the world was fitted on."""


@dataclass(frozen=True)
class Settings:
    """One check of the world.

    subjects: of the photometry; the other samples are in proportion. image_size: pixels. parts: which of PARTS. epochs:
    passes over the training images. device: of training alone. resamples: of the bootstrap. landmark_model,
    recognition_model: files of dlib's 68-point predictor and recognition network. outside: models that read attributes.
    """

    subjects: int = FULL
    image_size: int = 128
    parts: Sequence[str] = PARTS
    epochs: int = 14
    device: str = "cpu"
    resamples: int = 1000
    landmark_model: Path | None = None
    recognition_model: Path | None = None
    outside: Outside = field(default_factory=Outside)

    def size(self, name: str) -> int:
        """The subjects of a sample.

        >>> Settings(subjects=500).size("targets")
        100
        """
        return max(4, round(FULL_SIZES[name] * self.subjects / FULL))


def validate_world(settings: Settings, *, quiet: bool = False) -> Figures:
    """All figures of the requested parts, in JSON's own types."""
    return _Check(settings, quiet).figures()


class _Check:
    """One check: its samples, each rendered when it is first used, and its parts."""

    def __init__(self, settings: Settings, quiet: bool) -> None:
        self.settings, self.quiet = settings, quiet
        self.world = FaceWorld(image_size=settings.image_size, population=POPULATION)

    def figures(self) -> Figures:
        parts: dict[str, Callable[[], Figures]] = {
            "photometry": self._photometry,
            "by_attribute": self._by_attribute,
            "sharpness": self._sharpness,
            "targets": lambda: {"targets": detectors.shares_found(self.sample("targets"))},
            "attributes": self._attributes,
            "identity": self._identity,
            "groups": self._groups,
            "readers": self._readers,
        }
        figures = _head(self.settings)
        for name in PARTS:
            if name in self.settings.parts:
                figures |= parts[name]()
        if self.settings.landmark_model is not None:
            pictures = self.sample("landmarks")
            figures["landmarks"] = detectors.landmark_errors(pictures, self.settings.landmark_model)
        return figures

    def seeds(self, name: str, count: int | None = None) -> np.ndarray:
        return FIRST_SEEDS[name] + np.arange(self.settings.size(name) if count is None else count)

    def sample(self, name: str, count: int | None = None, draw: Draw | None = None, masks: bool = False) -> Pictures:
        drawing = draw or population(FIRST_SEEDS[name])
        size = self.settings.size(name) if count is None else count
        return Pictures(self.world, name, size, drawing, masks=masks, quiet=self.quiet)

    @cached_property
    def taught(self) -> Pictures:
        return self.sample("training", masks=True)

    @cached_property
    def held_out(self) -> Pictures:
        return self.sample("held_out", masks=True)

    @cached_property
    def reader(self) -> Network:
        schedule = Schedule(self.settings.epochs, device=self.settings.device)
        return reading.trained_reader(self.taught, schedule, quiet=self.quiet)

    def _photometry(self) -> Figures:
        count = self.settings.subjects
        return compare(measure(self.world, self.seeds("photometry", count)), count)

    def _by_attribute(self) -> Figures:
        world = FaceWorld(light_by_attribute.IMAGE_SIZE, light_by_attribute.POPULATION)
        table = light_by_attribute.measured(world, self.seeds("by_attribute"))
        rows = tuple(light_by_attribute.compared({name: table[name].to_numpy() for name in table.column_names}))
        return {"by_attribute": plain(rows), "share_within": light_by_attribute.share_within(rows)}

    def _sharpness(self) -> Figures:
        rows: list[Figures] = []
        for name in SHIPPED:
            table = light_by_attribute.measured_sharpness(name, self.seeds("sharpness"))
            rows += plain(tuple(light_by_attribute.compared_sharpness(name, table)))
        return {"sharpness": rows}

    def _attributes(self) -> Figures:
        settings = self.settings
        rows = reading.read_back(self.reader, self.taught, self.held_out, settings.resamples, settings.device)
        return {"attributes": rows}

    def _identity(self) -> Figures:
        """How well people are distinguished, by the reader, and by dlib's recognition network on the same pairs."""
        copies, settings = reading.COPIES, self.settings
        draws = {"identities": reading.same_code, "other_people": reading.same_person}
        by_reader, by_dlib = {}, {}
        for name, draw in draws.items():
            pictures = self.sample(name, copies * settings.size(name), draw(FIRST_SEEDS[name]))
            subject = np.arange(len(pictures)) // copies
            embedded = reading.embedding(self.reader, pictures, settings.device)
            by_reader[name] = reading.person_auc(embedded, subject, resamples=settings.resamples)
            if settings.recognition_model is not None:
                embedded = detectors.descriptors(pictures, settings.recognition_model)
                figure = reading.person_auc(embedded, subject, euclidean=True, resamples=settings.resamples)
                by_dlib[name] = figure.as_dict()
        gated, model = by_reader["identities"], settings.recognition_model
        identity = {
            **gated.as_dict(),
            "pictures_each": copies,
            "gate": reading.GATE,
            "met": bool(gated.value >= reading.GATE),
            "same_person": by_reader["other_people"].as_dict(),
            "recognition": None if model is None else {"model": model.name, **by_dlib},
        }
        return {"identity_auc": identity["value"], "identity": identity}

    def _groups(self) -> Figures:
        count = min(self.settings.size("taught_groups"), len(self.taught))
        taught = self.sample("training", count, masks=True) if count < len(self.taught) else self.taught
        nulls = [
            self._separation(f"null{split}", taught, self.held_out, reading.split_labels(split), 1, split)
            for split in range(reading.SPLITS)
        ]
        size = self.settings.size("control_pairs")
        pairs, held_out = (
            self.sample(name, 2 * count, reading.pairs_with(reading.CONTROL, FIRST_SEEDS[name]))
            for name, count in (("controls", size), ("held_out_controls", max(2, size // 3)))
        )
        control = self._separation("control", pairs, held_out, reading.odd, 2, 0)
        return {"null_auc": nulls, "control_auc": {"attribute": reading.CONTROL, **control}}

    def _separation(
        self, name: str, taught: Pictures, held_out: Pictures, labels: reading.Labels, cluster: int, seed: int
    ) -> Figures:
        schedule = Schedule(min(self.settings.epochs, GROUP_EPOCHS), device=self.settings.device, seed=seed)
        resamples = self.settings.resamples
        figure = reading.separation(
            taught, held_out, labels, schedule, name=name, cluster=cluster, resamples=resamples, quiet=self.quiet
        )
        return figure.as_dict()

    def _readers(self) -> Figures:
        outside, resamples = self.settings.outside, self.settings.resamples
        seeds = self.seeds("readers")
        return {"readers": read_from_outside(outside, self.world, seeds, resamples=resamples, quiet=self.quiet)}


def _head(settings: Settings) -> Figures:
    import torch

    return {
        "renderer_version": RENDERER_VERSION,
        "population": POPULATION,
        "image_size": settings.image_size,
        "sizes": {"photometry": settings.subjects, **{name: settings.size(name) for name in FULL_SIZES}},
        "epochs": settings.epochs,
        "first_seeds": dict(FIRST_SEEDS),
        "interval": f"95 %, {INTERVAL}, {settings.resamples} resamples; Wilson score for shares found",
        "found_rule": detectors.RULE,
        "photographs": list(detectors.detected_photographs()),
        "versions": {
            "transect": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "device": settings.device,
            "precision": "bfloat16" if settings.device != "cpu" or has_bfloat16() else "float32",
        },
    }


def publish_facts(figures: Figures, file: Path) -> None:
    """Write the figures that ship with FaceWorld, rounded to four digits; parts that were not measured are left out.

    Raises BadInput without the photometry, and for pictures of another size.
    """
    if "photometry" not in figures:
        raise BadInput("--publish: expected the photometry at least, got none; add it to --only, or leave --only out")
    if figures["image_size"] != IMAGE_SIZE:
        raise BadInput(f"--publish: expected figures at {IMAGE_SIZE} pixels, got {figures['image_size']}")
    write_json(file, facts(figures), indent=1)


def facts(figures: Figures) -> Figures:
    """What ships, of the figures of one check; no date, no machine."""
    of_light = ("medians_inside", "medians_outside", "share_inside", "faces_per_fifth", "unmeasured", "darkest_cheek")
    copied = ("renderer_version", "population", "image_size", "sizes", "interval", "found_rule")
    where_measured = (
        "targets", "attributes", "identity", "null_auc", "control_auc", "landmarks", "share_within", "sharpness",
        "readers",
    )  # fmt: skip
    light = {"subjects": figures["sizes"]["photometry"], **{name: figures[name] for name in of_light}}
    content = {
        **{name: figures[name] for name in copied},
        "photometry": {**light, "rows": figures["photometry"]},
        **{name: figures[name] for name in where_measured if figures.get(name)},
    }
    return {name: _rounded(value) for name, value in content.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def keep_readers(folder: Path, version: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put what models from outside read where audits look for it; a reader's new row of an attribute replaces its old.

    version: of the renderer; rows of another version are dropped.
    """
    kept = {(row["attribute"], row["reader"]): row for row in (*stored_readers(version, folder), *rows)}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / READERS_FILE, {"renderer_version": version, "readers": list(kept.values())}, indent=1)

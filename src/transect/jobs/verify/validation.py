"""The whole check of the world, in order: photometry, detectors, attributes, identity, groups that do not differ.

Every sample of pictures, trained network and figure is stored in one folder as soon as it is computed, under a name
that holds the renderer's version and the settings. Rerun the command to resume after an interruption.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa

from transect import __version__
from transect.generators.faceworld.population import SHIPPED
from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify import by_attribute, detection, groups, identity, reading, sharpness
from transect.jobs.verify.cache import Cache, Figures
from transect.jobs.verify.discrimination import INTERVAL
from transect.jobs.verify.learning import Schedule, has_bfloat16
from transect.jobs.verify.network import DESCRIPTION, Network
from transect.jobs.verify.outside_readers import read_from_outside
from transect.jobs.verify.pictures import PER_PART, Draw, Pictures, plain
from transect.jobs.verify.publication import keep_readers
from transect.jobs.verify.settings import FIRST_SEEDS, Settings
from transect.jobs.verify.world import columns, compare, measure
from transect.runs.parts import resumable
from transect.runs.plain_json import plain as plain_json
from transect.runs.progress import Progress

POPULATION = "balanced"
GROUP_EPOCHS: Final = 10
"""Passes over the pictures of the groups, whatever the reader's number is."""

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
"""Subjects at the full size; photometry has 5,000."""


def validate_world(settings: Settings, out: Path, *, quiet: bool = False) -> Figures:
    """All figures of the requested parts, in JSON's own types; the figures of other parts are empty or None.

    out: the folder that keeps pictures (about 2.5 GB at full size), networks and figures. Raises BadInput for bad
    settings, FolderInUse, RunFolderError, and Interrupted when stopped: call again to resume.
    """
    with Cache(out) as cache, resumable(out):
        return _Check(settings, cache, quiet).figures()


@final
class _Check:
    """One check: its samples, each rendered when it is first used, and its parts."""

    def __init__(self, settings: Settings, cache: Cache, quiet: bool) -> None:
        self.settings, self.cache, self.quiet = settings, cache, quiet
        self.world = FaceWorld(image_size=settings.image_size, population=POPULATION)
        self.schedule = Schedule(settings.epochs, device=settings.device)

    def figures(self) -> Figures:
        parts: dict[str, Callable[[], Figures]] = {
            "photometry": self._photometry,
            "by_attribute": self._by_attribute,
            "sharpness": self._sharpness,
            "targets": self._targets,
            "attributes": self._attributes,
            "identity": self._identity,
            "groups": self._groups,
        }
        results: Figures = {**_head(self.settings), **_EMPTY}
        for name, make in parts.items():
            if name in self.settings.parts:
                results |= self.cache.figures(name, self._key(name), make)
        if "readers" in self.settings.parts:
            results["readers"] = self._readers()
        if self.settings.landmark_model is not None:
            model = self.settings.landmark_model
            key = self._key("landmarks") | {"model": model.name}
            results["landmarks"] = self.cache.figures("landmarks", key, lambda: self._landmarks(model))
        return results

    def _key(self, part: str) -> Figures:
        """What the figures of a part depend on."""
        names = dict.fromkeys(("photometry", "by_attribute", "sharpness", "targets", "landmarks"), ()).get(
            part, ("epochs", "resamples")
        )
        key = {"world": self.world.describe(), "subjects": self.settings.subjects, **self.settings.of(*names)}
        if part in ("attributes", "identity", "groups"):
            key["network"] = DESCRIPTION
        if part in ("attributes", "identity"):
            key["importance"] = dict(reading.IMPORTANCE)
        if part == "targets":
            key["installed"] = [name for name in ("cv2", "dlib") if _installed(name)]
        if part == "identity" and self.settings.recognition_model is not None:
            key["model"] = self.settings.recognition_model.name
        return key

    def size(self, name: str) -> int:
        return self.settings.in_proportion(FULL_SIZES[name])

    def sample(self, name: str, count: int, draw: Draw | None = None, masks: bool = False) -> Pictures:
        first = FIRST_SEEDS[name]
        key = {"sample": name, "first_seed": first}
        drawing = draw or plain(first)
        return Pictures(self.cache, self.world, name, count, drawing, key=key, masks=masks, quiet=self.quiet)

    @cached_property
    def taught(self) -> Pictures:
        return self.sample("training", self.size("training"), masks=True)

    @cached_property
    def held_out(self) -> Pictures:
        return self.sample("held_out", self.size("held_out"), masks=True)

    @cached_property
    def reader(self) -> Network:
        return reading.trained_reader(self.taught, self.schedule, self.cache, quiet=self.quiet)

    def _photometry(self) -> Figures:
        count = self.settings.subjects
        table = self._table("photometry", count, self.world, lambda seeds: _light(self.world, seeds))
        return compare(columns(table.to_pylist()), count).as_dict()

    def _by_attribute(self) -> Figures:
        world = FaceWorld(by_attribute.IMAGE_SIZE, by_attribute.POPULATION)
        table = self._table(
            "by_attribute", self.size("by_attribute"), world, lambda seeds: by_attribute.measured(world, seeds)
        )
        rows = tuple(by_attribute.compared(_columns(table)))
        return {"by_attribute": plain_json(rows), "share_within": by_attribute.share_within(rows)}

    def _sharpness(self) -> Figures:
        rows = []
        for population in SHIPPED:
            worlds = sharpness.worlds(population)
            make = partial(sharpness.measured, worlds)
            table = self._table("sharpness", self.size("sharpness"), worlds[0], make, name=f"sharpness-{population}")
            rows += plain_json(tuple(sharpness.compared(population, _columns(table))))
        return {"sharpness": rows}

    def _table(
        self, part: str, count: int, world: FaceWorld, make: Callable[[np.ndarray], pa.Table], name: str = ""
    ) -> pa.Table:
        """One row per subject that was measured, of the subjects of a part; kept as files of PER_PART subjects."""
        first, tables = FIRST_SEEDS[part], []
        with Progress(name or part, count, quiet=self.quiet) as progress:
            for start in range(0, count, PER_PART):
                seeds = np.arange(first + start, first + min(start + PER_PART, count))
                key = {"world": world.describe(), "first": int(seeds[0]), "subjects": len(seeds)}
                name_of_file = f"{name or part}-{start // PER_PART:04d}"
                tables.append(self.cache.table(name_of_file, key, partial(make, seeds)))
                progress.advance(len(seeds))
        return pa.concat_tables(tables)

    def _targets(self) -> Figures:
        pictures = self.sample("targets", self.size("targets"))
        return {"targets": detection.shares_found(pictures)}

    def _attributes(self) -> Figures:
        settings = self.settings
        rows = reading.read_back(self.reader, self.taught, self.held_out, settings.resamples, settings.device)
        return {"attributes": rows}

    def _identity(self) -> Figures:
        copies, resamples = identity.COPIES, self.settings.resamples
        draws = {"identities": identity.same_code, "other_people": identity.same_person}
        samples = {
            name: self.sample(name, copies * self.size(name), draw(FIRST_SEEDS[name])) for name, draw in draws.items()
        }
        figures = identity.identity_figures(self.reader, samples, resamples, self.settings.device)
        gated, model = figures["identities"], self.settings.recognition_model
        return {
            "identity_auc": gated.as_dict()["value"],
            "identity": {
                **gated.as_dict(),
                "pictures_each": copies,
                "gate": identity.GATE,
                "met": bool(gated.value >= identity.GATE),
                "same_person": figures["other_people"].as_dict(),
                "recognition": None if model is None else self._recognition(samples, model),
            },
        }

    def _recognition(self, samples: dict[str, Pictures], model: Path) -> Figures:
        """Dlib's embedding on the same pairs."""
        from transect.jobs.verify.dlib_models import descriptors

        results = {}
        for name, pictures in samples.items():
            subject = np.arange(len(pictures)) // identity.COPIES
            embedded = descriptors(pictures, model)
            figure = identity.person_auc(embedded, subject, euclidean=True, resamples=self.settings.resamples)
            results[name] = figure.as_dict()
        return {"model": model.name, **results}

    def _groups(self) -> Figures:
        count = min(self.size("taught_groups"), len(self.taught))
        taught = self.sample("training", count, masks=True) if count < len(self.taught) else self.taught
        nulls = []
        for split in range(groups.SPLITS):
            labels = groups.split_labels(split)
            nulls.append(self._separation(f"null{split}", taught, self.held_out, labels, 1, split))
        pairs = self.sample(
            "controls",
            2 * self.size("control_pairs"),
            groups.pairs_with(groups.CONTROL, FIRST_SEEDS["controls"]),
        )
        held_out = self.sample(
            "held_out_controls",
            2 * max(2, self.size("control_pairs") // 3),
            groups.pairs_with(groups.CONTROL, FIRST_SEEDS["held_out_controls"]),
        )
        control = self._separation("control", pairs, held_out, groups.odd, 2, 0)
        return {"null_auc": nulls, "control_auc": {"attribute": groups.CONTROL, **control}}

    def _separation(
        self, name: str, taught: Pictures, held_out: Pictures, labels: groups.Labels, cluster: int, seed: int
    ) -> Figures:
        schedule = Schedule(min(self.settings.epochs, GROUP_EPOCHS), device=self.settings.device, seed=seed)
        figure = groups.separation(
            name,
            taught,
            held_out,
            labels,
            schedule,
            self.cache,
            cluster=cluster,
            resamples=self.settings.resamples,
            quiet=self.quiet,
        )
        return figure.as_dict()

    def _readers(self) -> list[Figures]:
        """Answers are kept as tables; figures follow from them at once."""
        outside = self.settings.outside
        if outside is None or not outside.readers:
            return []
        seeds = FIRST_SEEDS["readers"] + np.arange(self.size("readers"))
        rows = read_from_outside(
            outside, self.world, seeds, self.cache, resamples=self.settings.resamples, quiet=self.quiet
        )
        keep_readers(self.cache.path, RENDERER_VERSION, rows)
        return rows

    def _landmarks(self, model: Path) -> Figures:
        from transect.jobs.verify.dlib_models import landmark_errors

        return landmark_errors(self.sample("landmarks", self.size("landmarks")), model)


_EMPTY: Final[Figures] = {
    "photometry": [],
    "share_inside": None,
    "targets": [],
    "attributes": [],
    "identity_auc": None,
    "null_auc": [],
    "control_auc": None,
    "landmarks": None,
    "readers": [],
    "by_attribute": [],
    "share_within": None,
    "sharpness": [],
}


def _light(world: FaceWorld, seeds: np.ndarray) -> pa.Table:
    return pa.table(measure(world, seeds, world.landmarks))


def _columns(table: pa.Table) -> dict[str, np.ndarray]:
    return {name: table[name].to_numpy() for name in table.column_names}


def _head(settings: Settings) -> Figures:
    import torch

    return {
        "renderer_version": RENDERER_VERSION,
        "population": POPULATION,
        "image_size": settings.image_size,
        "sizes": {"photometry": settings.subjects, **{n: settings.in_proportion(f) for n, f in FULL_SIZES.items()}},
        "epochs": settings.epochs,
        "first_seeds": dict(FIRST_SEEDS),
        "interval": f"95 %, {INTERVAL}, {settings.resamples} resamples; Wilson score for shares found",
        "found_rule": detection.RULE,
        "photographs": list(detection.detected_photographs()),
        "versions": {
            "transect": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "device": settings.device,
            "precision": "bfloat16" if settings.device != "cpu" or has_bfloat16() else "float32",
        },
    }


def _installed(module: str) -> bool:
    from transect.targets.catalogue import installed

    return installed(module)

"""What codes of images are found with, how a worker opens it itself, and the rows that they become."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.datasets.features import read_codes
from transect.engines.protocol import HERE, Engine, check_same, on_gpu
from transect.protocols import Generator
from transect.records import Latents
from transect.runs import model_files
from transect.runs.capabilities import description
from transect.runs.environment import versions
from transect.runs.folder import FinishedRun, canonical_json
from transect.runs.json_records import plain
from transect.runs.parts import stage
from transect.texts import say

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from transect.inversion.encoder import FittedRidge, RidgeEncoder, TrainedEncoder
    from transect.inversion.protocol import Invertible
    from transect.perceptual.distance import Appearance

Medians = TypeVar("Medians", bound="DataclassInstance")

KINDS: Final = ("inversion", "encoding")
"""What the records of runs of `invert` and `encode` call themselves."""
TABLE: Final = "inversions"
PART: Final = 64
"""Images of a part of an encoding; no figure depends on it."""
ENCODER_R2: Final = b"encoder_r2"
"""The key of a fitted encoder's held-out R² in a part's schema metadata."""


def parts_of(run: FinishedRun) -> int:
    """How many parts a run of `invert` or `encode` has."""
    return math.ceil(int(run.record["images"]["count"]) / int(run.record.get("batch", PART)))


def rows_of_run(folder: Path) -> pa.Table:
    """All rows of a finished run of `invert` or `encode`. Raises BadInput for another folder."""
    run = FinishedRun(folder)
    return run.read_table(TABLE, parts_of(run))


def read_latents(path: str | Path) -> tuple[tuple[str, ...], Latents]:
    """Ids and latents of a file of latents; rows that failed are NaN. Raises BadInput for other files.

    Codes of w+ are [n, layers * w_dim], as generators render them; the seed of a row is its place.
    """
    inverted = read_codes(Path(path))
    return inverted.ids, Latents(np.arange(len(inverted.codes)), inverted.codes, inverted.space)


def rows_of_parts(count: int, size: int) -> list[range]:
    """The rows of each part of that size; the last may have fewer."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def medians_of(table: pa.Table, kind: type[Medians]) -> Medians:
    """A record of the medians of the finite values of the columns that its fields name; None where there are none."""
    names = [field.name for field in dataclasses.fields(kind)]
    columns = {name: table[name].to_numpy().astype(np.float64) for name in names}
    known = {name: column[np.isfinite(column)] for name, column in columns.items()}
    return kind(**{name: float(np.median(values)) if len(values) else None for name, values in known.items()})


def identity_distances(
    pixels: UInt8[np.ndarray, "n h w 3"], reconstructions: UInt8[np.ndarray, "n h w 3"], failures: Sequence[str]
) -> Float[np.ndarray, " n"]:
    """1 - cosine between the identity embeddings of each image and its reconstruction; NaN for failures."""
    from transect.perceptual.features import identities, identity_distance

    apart = identity_distance(identities(pixels), identities(reconstructions))
    apart[[bool(reason) for reason in failures]] = np.nan
    return apart


@final
@dataclass(frozen=True, slots=True)
class Tools:
    """Opened. encoder: None where a search begins at the mean code."""

    network: Invertible
    encoder: RidgeEncoder | TrainedEncoder | None
    appearance: Appearance


@final
@dataclass(frozen=True, slots=True)
class ToolsRecipe:
    """The same by names, files and numbers, as a worker gets them. facts: `facts_of` in the command's process."""

    generator: str
    space: str
    encoder: Path | FittedRidge | None
    distance: str
    files: tuple[Path | None, Path | None]
    device: str
    facts: str

    @property
    def gpus(self) -> int:
        """One where images are computed on a GPU."""
        return on_gpu(self.device)

    def open(self) -> Tools:
        """Open them. Raises TargetChanged where they are not those of the command, and what opening them raises."""
        from transect.generators import load
        from transect.inversion.protocol import invertible
        from transect.perceptual.distance import appearance_of

        generator = load(self.generator, device=self.device)
        trained = self.encoder if isinstance(self.encoder, Path) else None
        check_same(self.facts, facts_of(generator, (trained, *self.files)))
        network = invertible(generator)
        return Tools(network, self._encoder(network), appearance_of(self.distance, *self.files, self.device))

    def _encoder(self, network: Invertible) -> RidgeEncoder | TrainedEncoder | None:
        from transect.inversion.encoder import RidgeEncoder, open_encoder
        from transect.perceptual.features import load

        if self.encoder is None:
            return None
        if isinstance(self.encoder, Path):
            return open_encoder(self.encoder, network, self.space, self.device)
        return RidgeEncoder(load(device=self.device).network, self.encoder)


@final
@dataclass(frozen=True)
class ToolsPlan:
    """The tools that a command chose, opened when they are needed.

    named: how a worker opens the generator; "" for an object, which stays here. encoder_file: of a trained encoder;
    samples: images of the generator on which one is fitted without a file, 0 for no encoder. files: of the distance.
    """

    generator: Generator
    named: str
    space: str
    device: str
    distance: str
    files: tuple[Path | None, Path | None]
    encoder_file: Path | None
    samples: int

    @cached_property
    def network(self) -> Invertible:
        """The generator as inversion sees it."""
        from transect.inversion.protocol import invertible

        return invertible(self.generator)

    @cached_property
    def appearance(self) -> Appearance:
        """What makes two images look similar."""
        from transect.perceptual.distance import appearance_of

        return appearance_of(self.distance, *self.files, self.device)

    @cached_property
    def encoder(self) -> RidgeEncoder | TrainedEncoder | None:
        """Read, or fitted when the first part needs it."""
        from transect.inversion.encoder import fit_encoder, open_encoder
        from transect.perceptual.features import load

        if self.encoder_file is not None:
            return open_encoder(self.encoder_file, self.network, self.space, self.device)
        if not self.samples:
            return None
        stage(f"fitting an encoder on {self.samples:,} images of {self.generator.name}")
        return fit_encoder(self.network, self.space, load(device=self.device).network, samples=self.samples)

    @property
    def tools(self) -> Tools:
        """What the codes are found with, in this process."""
        return Tools(self.network, self.encoder, self.appearance)

    def recipe(self) -> ToolsRecipe:
        """The same for a worker, with the encoder that was fitted here."""
        from transect.inversion.encoder import RidgeEncoder

        encoder = self.encoder.fitted if isinstance(self.encoder, RidgeEncoder) else self.encoder_file
        facts = facts_of(self.generator, (self.encoder_file, *self.files))
        return ToolsRecipe(self.named, self.space, encoder, self.distance, self.files, self.device, facts)

    def distance_facts(self) -> dict[str, str]:
        """The distance and the SHA-256 of its files."""
        files = zip(("weights", "heads"), self.files, strict=True)
        return {"name": self.distance, **{name: model_files.sha256(path) for name, path in files if path}}


def rows_with_quality(table: pa.Table, encoder: RidgeEncoder | TrainedEncoder | None) -> pa.Table:
    """The rows with a fitted encoder's R², so that a finished run fits no encoder again."""
    from transect.inversion.encoder import RidgeEncoder

    quality = encoder.fitted.quality if isinstance(encoder, RidgeEncoder) else None
    return table.replace_schema_metadata({ENCODER_R2: json.dumps(quality).encode()})


def facts_of(generator: Generator, files: Iterable[Path | None]) -> str:
    """What the generator says of itself, the SHA-256 of each file, and the libraries, as canonical JSON."""
    digests = {str(path): model_files.sha256(path) for path in files if path}
    return canonical_json({"the generator": plain(description(generator)), "the libraries": versions(), **digests})


def elsewhere(engine: Engine, generator: str, what: str, *, quiet: bool) -> Engine:
    """The engine that makes the parts of `what`: this process where the generator has no name, and a line says so."""
    if not engine.apart or generator:
        return engine
    if not quiet:
        say(f"{what}: this process makes all parts, since the generator is an object", error=True)
    return HERE

"""What codes of images are found with: a generator, a start and a distance; and how a worker opens them itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from transect.engines.facts import check_same, on_gpu
from transect.engines.protocol import HERE, Engine
from transect.protocols import Generator
from transect.runs import model_files
from transect.runs.capabilities import description
from transect.runs.folder import canonical_json
from transect.runs.plain_json import plain
from transect.runs.provenance import versions
from transect.texts import say

if TYPE_CHECKING:
    from transect.inversion.encoder import FittedRidge, RidgeEncoder, TrainedEncoder
    from transect.inversion.protocol import Invertible
    from transect.perceptual.distance import Appearance


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
    """The same by names and files, as a worker gets them.

    generator: a name or a file. encoder: the file of a trained one, a fitted one as numbers, or None. files: of the
    distance, weights and heads. facts: `facts_of` in the process of the command.
    """

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

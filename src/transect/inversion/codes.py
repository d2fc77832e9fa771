"""Images ► codes of a generator, part by part: by a search, or by an encoder alone. Rerun to resume.

The run folder holds inversions/part-*.parquet: a row for each image with its id, why it failed, what was reached, its
codes and what they render.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar, cast, final

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work
from transect.inversion.parts import (
    PART,
    TABLE,
    Tools,
    ToolsPlan,
    ToolsRecipe,
    elsewhere,
    identity_distances,
    rows_of_parts,
    rows_with_quality,
)
from transect.inversion.pictures import Pictures
from transect.protocols import Generator
from transect.runs import model_files
from transect.runs.capabilities import description
from transect.runs.environment import versions
from transect.runs.folder import FinishedRun, RunFolder
from transect.runs.parts import Progress, announcing_stages, fill_table, resumable, stage
from transect.runs.pictures import png
from transect.runs.wording import counted

if TYPE_CHECKING:
    from transect.inversion.encoder import RidgeEncoder, TrainedEncoder
    from transect.inversion.optimisation import Search
    from transect.inversion.protocol import Invertible

Result = TypeVar("Result")

NOT_FINITE: Final = "the encoder's code, or the image of it, is not finite"
_MEASURES: Final = ("perceptual", "pixels", "identity_distance")
ENCODED: Final = pa.schema(
    [("id", pa.string()), ("failure", pa.string())]
    + [(name, pa.float64()) for name in _MEASURES]
    + [("codes", pa.list_(pa.float32())), ("image", pa.binary())]
)
_QUOTED: Final = 3
"""Steps on which the time of the whole is estimated."""


@final
@dataclass(frozen=True, slots=True)
class ByEncoder:
    """The encoder's own codes, each image alone: else the last bit would depend on those beside it."""

    KIND: ClassVar[str] = "encoding"
    space: str
    device: str

    @property
    def batch(self) -> int:
        """Images of a part."""
        return PART

    def facts(self, plan: ToolsPlan) -> dict[str, object]:
        """What the codes depend on, beside the tools."""
        file = plan.encoder_file
        encoder = {"samples": plan.samples} if file is None else {"sha256": model_files.sha256(file)}
        return {"space": self.space, "encoder": encoder}

    def steps(self, images: int) -> int:
        """Those of a part: one for each image."""
        return images

    def progress(self, images: int, steps: int, *, quiet: bool) -> Progress:  # noqa: ARG002  (as `BySearch.progress`)
        """What counts images."""
        return Progress(self.KIND, steps, quiet=quiet)

    def rows(self, tools: Tools, pictures: Pictures, advance: Callable[[int], None]) -> pa.Table:
        """The rows of these pictures; one that cannot be read is a failure. advance: told of each that is done."""
        pixels, failures = pictures.readable(range(len(pictures)))
        rows = []
        for name, image, failure in zip(pictures.ids, pixels, failures, strict=True):
            rows.append({"id": name, **(self._failed(tools, image, failure) if failure else self._row(tools, image))})
            advance(1)
        return pa.Table.from_pylist(rows, schema=ENCODED)

    def _row(self, tools: Tools, pixels: UInt8[np.ndarray, "h w 3"]) -> dict[str, object]:
        import torch

        from transect.perceptual.distance import distance
        from transect.perceptual.features import as_tensor

        image = as_tensor(pixels[None], self.device)
        encoder = cast("RidgeEncoder | TrainedEncoder", tools.encoder)
        with torch.no_grad():
            code = encoder(image).float()
            shown = tools.network.show(code, self.space)
            apart, square = float(distance(tools.appearance, image, shown)), float((shown - image).square().mean())
        if not (np.isfinite(apart) and bool(torch.isfinite(code).all())):
            return self._failed(tools, pixels, NOT_FINITE)
        drawn = (shown[0] * 255).round().clamp(0, 255).byte().permute(1, 2, 0).cpu().numpy()
        return {
            "failure": "",
            "perceptual": apart,
            "pixels": square,
            "identity_distance": float(identity_distances(pixels[None], drawn[None], ("",))[0]),
            "codes": code.flatten().cpu().numpy(),
            "image": png(drawn),
        }

    def _failed(self, tools: Tools, pixels: UInt8[np.ndarray, "h w 3"], reason: str) -> dict[str, object]:
        """NaN in place of codes and measures, and a black reconstruction."""
        codes = np.full(tools.network.codes(self.space).mean.numel(), np.nan, np.float32)
        unknown = dict.fromkeys(_MEASURES, np.nan)
        return {"failure": reason, **unknown, "codes": codes, "image": png(np.zeros_like(pixels))}


@final
@dataclass(frozen=True, slots=True)
class BySearch:
    """Gradient descent. start: mean, or encoder."""

    KIND: ClassVar[str] = "inversion"
    search: Search
    start: str
    batch: int
    device: str

    def facts(self, plan: ToolsPlan) -> dict[str, object]:
        """What the codes depend on, beside the tools."""
        start: dict[str, str | int] = {"name": self.start}
        if plan.encoder_file is not None:
            start["sha256"] = model_files.sha256(plan.encoder_file)
        elif plan.samples:
            start["samples"] = plan.samples
        return {"search": asdict(self.search), "start": start, "batch": self.batch}

    def steps(self, images: int) -> int:  # noqa: ARG002  (as `ByEncoder.steps`)
        """Those of the search, at most: a part's images are searched for together."""
        return self.search.steps

    def progress(self, images: int, steps: int, *, quiet: bool) -> Progress:
        """What counts steps, with an estimate of the time of all."""
        return Progress(f"inversion of {counted(images, 'image')}, steps", steps, quiet=quiet, quote=_QUOTED)

    def rows(self, tools: Tools, pictures: Pictures, advance: Callable[[int], None]) -> pa.Table:
        """The rows of these pictures. advance: told of steps as they are made. Raises BadInput for one not readable."""
        from transect.inversion import optimisation

        pixels = pictures.pixels(range(len(pictures)))
        inverted = optimisation.invert(
            tools.network, pixels, self.search, tools.appearance, encoder=tools.encoder,
            batch=self.batch, device=self.device, advance=advance,
        )  # fmt: skip
        apart = identity_distances(pixels, inverted.reconstructions, inverted.failures)
        return pa.table(
            {
                "id": pa.array(pictures.ids),
                "failure": pa.array(inverted.failures),
                "perceptual": pa.array(inverted.perceptual.astype(np.float64)),
                "pixels": pa.array(inverted.pixels.astype(np.float64)),
                "restriction": pa.array(inverted.restriction.astype(np.float64)),
                "identity_distance": pa.array(apart),
                "steps": pa.array(inverted.steps),
                "objective": pa.array(list(inverted.history.astype(np.float64)), pa.list_(pa.float64())),
                "codes": pa.array(list(inverted.codes.reshape(len(inverted), -1)), pa.list_(pa.float32())),
                "image": pa.array([png(image) for image in inverted.reconstructions], pa.binary()),
            }
        )


Method = ByEncoder | BySearch
"""How codes are found. KIND: what the record of a run calls it."""


@final
@dataclass(frozen=True, slots=True)
class CodesParts:
    """What makes parts."""

    tools: Tools
    method: Method
    advance: Callable[[int], None] = lambda _: None

    def make(self, pictures: Pictures) -> pa.Table:
        """The rows of these pictures."""
        return rows_with_quality(self.method.rows(self.tools, pictures, self.advance), self.tools.encoder)

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class CodesWork:
    """The same for a worker."""

    tools: ToolsRecipe
    method: Method

    @property
    def gpus(self) -> int:
        """As of the tools."""
        return self.tools.gpus

    def open(self) -> CodesParts:
        """Open the tools. Raises as that does."""
        return CodesParts(self.tools.open(), self.method)


@final
@dataclass(frozen=True, slots=True)
class CodesRun:
    """What codes are found of, with what, and how."""

    plan: ToolsPlan
    pictures: Pictures
    method: Method

    def __post_init__(self) -> None:
        self.plan.appearance  # noqa: B018  (refuses files that do not fit)

    @property
    def parts(self) -> list[range]:
        """The rows of each part."""
        return rows_of_parts(len(self.pictures), self.method.batch)

    def spec(self) -> dict[str, object]:
        """What the codes depend on."""
        plan, pictures = self.plan, self.pictures
        return {
            "kind": self.method.KIND,
            "generator": description(plan.generator),
            "images": {"count": len(pictures), "sha256": pictures.sha256, "fitted": pictures.fit},
            **self.method.facts(plan),
            "distance": plan.distance_facts(),
            "versions": versions(),
        }

    def find(
        self, out: Path, finish: Callable[[pa.Table], Result], *, quiet: bool = False, engine: Engine = HERE
    ) -> Result:
        """Find the codes that the folder lacks; the engine makes the parts. finish: of all rows, while it is ours."""
        made_by = elsewhere(engine, self.plan.named, self.method.KIND, quiet=quiet)
        count = len(self.parts)
        with RunFolder(out, self.spec()) as folder, announcing_stages(quiet=quiet):
            missing = [part for part in range(count) if not folder.has_part(TABLE, part)]
            if missing:
                with resumable(out):
                    self.plan.encoder  # noqa: B018  (before the clock of the steps starts)
            self._fill(folder, missing, made_by, quiet)
            stage(f"latents and sheet of {counted(len(self.pictures), 'image')}")
            return finish(FinishedRun(out).read_table(TABLE, count))

    def _fill(self, folder: RunFolder, missing: list[int], engine: Engine, quiet: bool) -> None:
        parts = self.parts
        steps = [self.method.steps(len(rows)) for rows in parts]
        progress = self.method.progress(len(self.pictures), sum(steps), quiet=quiet)
        work: Work[Pictures, pa.Table] = Ready(lambda: CodesParts(self.plan.tools, self.method, progress.advance))
        if engine.apart and missing:
            work = CodesWork(self.plan.recipe(), self.method)
        with Ahead(engine, work, missing, lambda part: self.pictures.carried(parts[part])) as ahead:

            def make(part: int) -> pa.Table:
                rows = ahead(part)
                if engine.apart:  # a worker's steps are counted when its part is here
                    progress.advance(steps[part])
                return rows

            fill_table(folder, TABLE, steps, make, title=progress.label, progress=progress)


def opened(generator: str | Path | Generator, device: str) -> tuple[Generator, str]:
    """The generator, and how a worker opens it: "" for an object."""
    from transect.generators import load

    if isinstance(generator, str | Path):
        return load(generator, device=device), str(generator)
    return generator, ""


def own_space(network: Invertible, encoder: Path | None) -> str:
    """The space of the encoder's codes; of one that is fitted, w where the generator has it."""
    from transect.generators.encoder import Encoder

    if encoder is not None:
        return Encoder.from_file(encoder).space
    return "w" if "w" in network.spaces else network.spaces[0]

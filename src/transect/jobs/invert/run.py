"""`transect invert`: images of a folder or a run ► latents of a generator, part by part; a stopped run goes on.

The run folder holds inversions/part-*.parquet (a row per image: id, what was reached, codes, reconstruction), and at
the end latents.safetensors (all codes), summary.json and sheet.png (images above what stands for them).
"""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, Interrupted
from transect.inversion.latents_file import encoded, read_codes
from transect.inversion.pictures import Pictures
from transect.records import Latents
from transect.runs import model_files
from transect.runs.capabilities import description
from transect.runs.folder import FinishedRun, RunFolder, write_atomically
from transect.runs.parts import map_parts
from transect.runs.progress import Progress
from transect.runs.provenance import versions

TABLE = "inversions"
STARTS = {
    "mean": "the generator's mean code",
    "encoder": "ridge regression from features, fitted on its own images; or a trained encoder's file",
}
PRECISIONS = ("full", "mixed")
_SHOWN = 8
_ENCODER_R2 = b"encoder_r2"
_MEASURES = ("perceptual", "pixels", "restriction", "identity_distance")


@final
@dataclass(frozen=True)
class Order:
    """What is to be inverted, and how. weights, heads: of the distance; see `appearance_of`. start: one of STARTS.

    encoder: a file of `transect train encoder`, where the search begins in place of the regression.
    """

    generator: Any
    pictures: Pictures
    search: Any
    distance: str = "features"
    weights: Path | None = None
    heads: Path | None = None
    start: str = "mean"
    encoder: Path | None = None
    samples: int = 2_000
    batch: int = 16
    device: str = "cpu"
    _made: dict[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> int:
        """How many parts of `batch` images."""
        return math.ceil(len(self.pictures) / self.batch)

    def spec(self) -> dict[str, Any]:
        """What the codes depend on."""
        files = {"weights": self.weights, "heads": self.heads}
        start: dict[str, Any] = {"name": self.start}
        if self.start == "encoder":
            start |= {"samples": self.samples} if self.encoder is None else {"sha256": model_files.sha256(self.encoder)}
        return {
            "kind": "inversion",
            "generator": description(self.generator),
            "images": {"count": len(self.pictures), "sha256": self.pictures.sha256, "fitted": self.pictures.fit},
            "search": asdict(self.search),
            "distance": {
                "name": self.distance,
                **{name: model_files.sha256(path) for name, path in files.items() if path},
            },
            "start": start,
            "batch": self.batch,
            "versions": versions(),
        }


def order(
    generator: str, images: Path, *, space: str, penalty: float | None, steps: int, pixels: float, **options: Any
) -> Order:
    """The order that the command line's options mean. Raises BadInput and UnknownName for what does not fit."""
    from transect.errors import UnknownName
    from transect.generators import load
    from transect.inversion.encoder import open_encoder
    from transect.inversion.optimisation import Search
    from transect.inversion.protocol import check_space, invertible
    from transect.perceptual.distance import appearance_of

    fit, precision, device = options.pop("fit", False), options.pop("precision", "full"), options.get("device", "cpu")
    world: Any = load(generator, device=device)
    check_space(invertible(world), space)
    if penalty is not None and penalty != 0 and space != "w+":
        raise BadInput(f"penalty: expected none in space {space}, got {penalty:g}; it holds the layers of w+ together")
    if precision not in PRECISIONS:
        raise UnknownName("precision", precision, PRECISIONS)
    if options.get("encoder") is not None:
        options["start"] = "encoder"
        open_encoder(options["encoder"], invertible(world), space)
    if options.get("start", "mean") not in STARTS:
        raise UnknownName("start", options["start"], STARTS)
    if options.get("batch", 1) < 1:
        raise BadInput(f"batch: expected 1 image or more, got {options['batch']}; give more")
    chosen = (0.1 if penalty is None else penalty) if space == "w+" else 0.0
    search = Search(space, chosen, steps, pixels, mixed=precision == "mixed")
    appearance_of(options.get("distance", "features"), options.get("weights"), options.get("heads"), device)
    return Order(world, Pictures.open(images, world.image_size, fit=fit), search, **options)


def run(asked: Order, out: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Invert what is not there yet, and return the summary, which is also in summary.json.

    Raises what RunFolder raises of a folder that holds something else, Interrupted, and BadInput for broken images.
    """
    count = len(asked.pictures)
    with RunFolder(out, asked.spec()) as folder, Progress("inversion", count, quiet=quiet) as progress:

        def stage(part: int) -> None:
            rows = range(part * asked.batch, min((part + 1) * asked.batch, count))
            if not folder.has_part(TABLE, part):
                folder.write_part(TABLE, part, _part(asked, rows))
            progress.advance(len(rows))

        try:
            map_parts(stage, range(asked.parts))
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; what is done is kept in {out}, and the same command goes on") from None
        return _finish(asked, out, FinishedRun(out).read_table(TABLE, asked.parts))


def _part(asked: Order, rows: range) -> pa.Table:
    from transect.inversion.optimisation import invert
    from transect.perceptual.features import identities, identity_distance

    pixels = asked.pictures.pixels(rows)
    found = invert(
        _seen(asked), pixels, asked.search, _appearance(asked), encoder=_encoder(asked), batch=asked.batch,
        device=asked.device,
    )  # fmt: skip
    apart = identity_distance(identities(pixels), identities(found.reconstructions))
    apart[[bool(why) for why in found.failures]] = np.nan
    quality = getattr(asked._made.get("encoder"), "quality", None)
    made = pa.table(
        {
            "id": pa.array([asked.pictures.ids[row] for row in rows]),
            "failure": pa.array(found.failures),
            "perceptual": pa.array(found.perceptual.astype(np.float64)),
            "pixels": pa.array(found.pixels.astype(np.float64)),
            "restriction": pa.array(found.restriction.astype(np.float64)),
            "identity_distance": pa.array(apart),
            "objective": pa.array(list(found.history.astype(np.float64)), pa.list_(pa.float64())),
            "codes": pa.array(list(found.codes.reshape(len(found), -1)), pa.list_(pa.float32())),
            "image": pa.array([_png(image) for image in found.reconstructions], pa.binary()),
        }
    )
    # Kept with the part: a run that is finished has no encoder in memory any more.
    return made.replace_schema_metadata({_ENCODER_R2: json.dumps(quality).encode()})


def _seen(asked: Order) -> Any:
    from transect.inversion.protocol import invertible

    return invertible(asked.generator)


def _appearance(asked: Order) -> Any:
    from transect.perceptual.distance import appearance_of

    return appearance_of(asked.distance, asked.weights, asked.heads, asked.device)


def _encoder(asked: Order) -> Any:
    """Read or fitted once, when the first part needs it."""
    if asked.start != "encoder":
        return None
    from transect.inversion.encoder import fit_encoder, open_encoder
    from transect.perceptual.features import load

    if "encoder" not in asked._made:
        given, space = _seen(asked), asked.search.space
        asked._made["encoder"] = (
            fit_encoder(given, space, load(device=asked.device).network, samples=asked.samples)
            if asked.encoder is None
            else open_encoder(asked.encoder, given, space, asked.device)
        )
    return asked._made["encoder"]


def _finish(asked: Order, out: Path, table: pa.Table) -> dict[str, Any]:
    """latents.safetensors, sheet.png and summary.json."""
    shape = tuple(_seen(asked).codes(asked.search.space).mean.shape)
    codes = np.array(table["codes"].to_pylist(), dtype=np.float32).reshape(len(table), *shape)
    content = encoded(table["id"].to_pylist(), codes, asked.search.space, description(asked.generator))
    write_atomically(out / "latents.safetensors", content)
    write_atomically(out / "sheet.png", _sheet(asked, table))
    summary = _summary(asked, out, table)
    write_atomically(out / "summary.json", (json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
    return summary


def _summary(asked: Order, out: Path, table: pa.Table) -> dict[str, Any]:
    failed = [name for name, why in zip(table["id"].to_pylist(), table["failure"].to_pylist(), strict=True) if why]
    medians = {}
    for name in _MEASURES:
        known = table[name].to_numpy()
        known = known[np.isfinite(known)]
        medians[name] = float(np.median(known)) if len(known) else None
    return {
        "out": str(out),
        "images": len(table),
        "failed": len(failed),
        "failed_ids": failed[:20],
        "space": asked.search.space,
        "penalty": asked.search.penalty,
        "steps": asked.search.steps,
        "distance": asked.distance,
        "start": asked.start,
        "encoder_r2": json.loads((table.schema.metadata or {}).get(_ENCODER_R2, b"null")),
        "median": medians,
        "latents": str(out / "latents.safetensors"),
        "sheet": str(out / "sheet.png"),
    }


def lines(summary: dict[str, Any]) -> list[str]:
    """The summary for people."""
    told = [f"{summary['images']} images inverted into {summary['space']}, {summary['failed']} failed"]
    for name, value in summary["median"].items():
        shown = "not known: no image succeeded" if value is None else f"{value:.4g}"
        told.append(f"median {name.replace('_', ' ')}: {shown}")
    return [*told, f"latents: {summary['latents']}", f"sheet: {summary['sheet']}"]


def read(path: Path) -> tuple[tuple[str, ...], Latents]:
    """Ids and latents of a file that an inversion wrote; rows that failed are NaN. Raises BadInput for other files.

    Codes of w+ are [n, layers * w_dim], as generators render them; the seed of a row is its place.
    """
    found = read_codes(path)
    return found.ids, Latents(np.arange(len(found.codes)), found.codes, found.space)


def _sheet(asked: Order, table: pa.Table) -> bytes:
    """The first images in a row, and their reconstructions below."""
    from PIL import Image

    from transect.report import contact_sheet

    rows = range(min(_SHOWN, len(table)))
    made = [np.asarray(Image.open(io.BytesIO(table["image"][row].as_py()), formats=("PNG",))) for row in rows]
    picture = contact_sheet(np.concatenate([asked.pictures.pixels(rows), np.stack(made)]), columns=len(rows))
    sink = io.BytesIO()
    picture.save(sink, "PNG")
    return sink.getvalue()


def _png(image: np.ndarray) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.fromarray(image).save(sink, "PNG")
    return sink.getvalue()

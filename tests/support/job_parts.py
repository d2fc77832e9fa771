"""Small inversions, encodings and embeddings, which workers can open by name."""

import pyarrow.parquet as pq
import torch
from people_tables import write_people
from PIL import Image
from planted_networks import pixels_of, small, tensors
from safetensors.torch import save_file
from worker_runs import content

from transect.experiment import picture_embeddings as embeddings
from transect.generators.encoder import Network
from transect.inversion.protocol import invertible
from transect.inversion.settings import EncodeOptions, InvertOptions
from transect.jobs.invert import Invert
from transect.jobs.invert_encode import Encode
from transect.targets.guard import Limits

EMBED = "people_tables:embedder"


def portraits(folder):
    """A generator's file, a network that was never trained as its encoder, five images, and a table of people."""
    save_file(tensors(), folder / "small.safetensors")
    (folder / "images").mkdir()
    for index, image in enumerate(pixels_of(small(), invertible(small()).sample("w", 5, seed=50), "w")):
        Image.fromarray(image).save(folder / "images" / f"{index}.png")
    torch.manual_seed(1)
    facts = {"kind": "transect.encoder", "space": "w", "size": "8"}
    save_file(Network(8, (4, 6), 8).state_dict(), folder / "encoder.safetensors", facts)
    return write_people(folder)


def inversion(folder, out, start="mean", **settings):
    """Four steps each, in parts of two."""
    options = InvertOptions(distance="pixels", batch=2, encoder_samples=40)
    given = {"steps": 4, "start": start, "options": options, "quiet": True, **settings}
    return Invert(folder / "images", folder / "small.safetensors", out, **given)


def encoding(folder, images, out, trained):
    """By the network of the folder, or a regression that is fitted."""
    encoder = folder / "encoder.safetensors" if trained else None
    options = EncodeOptions(distance="pixels", encoder_samples=40)
    return Encode(images, folder / "small.safetensors", out, encoder=encoder, options=options, quiet=True)


def embedded(folder, out, engine, spec=EMBED):
    """Embeddings as lists, and reasons, of the seven pictures of people by a target that is named."""
    asked = embeddings.Asked.of(spec, None, engine)
    table = pq.read_table(folder / "t.parquet")
    values, reasons = embeddings.embed(table, "face", folder, asked, Limits(batch=2), folder=out, quiet=True)
    return values.tolist(), reasons


def made(folder):
    """Every file but the log, with the folder's own name, which summaries hold, taken out."""
    return {name: written.replace(str(folder).encode(), b"OUT") for name, written in content(folder).items()}


def parts_in(folder):
    """How many parts of rows it holds."""
    return len(list(folder.rglob("*.parquet")))

"""Checkpoint files ► safetensors files that are safe to share."""

from __future__ import annotations

from pathlib import Path

from transect.errors import BadInput, RunFolderError
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.reading import read_checkpoint
from transect.runs import model_files
from transect.runs.folder import write_atomically
from transect.texts import words_of


def convert(source: Path, out: Path) -> dict[str, str | int | float | None]:
    """Write the generator of a checkpoint as safetensors; returns the network's figures.

    Nothing that the checkpoint names is imported or run. Raises BadInput when the file is no StyleGAN2, is unsound or
    cannot be written; `out` is then left unchanged.
    """
    from safetensors.torch import save

    if out.suffix != ".safetensors":
        raise BadInput(f"{out}: expected a name that ends in .safetensors; change it")
    weights = read_checkpoint(source)
    network = StyleGAN2(weights, name=str(source))
    metadata = {**network.metadata, "source_sha256": model_files.sha256(source)}
    _write(out, save(network.tensors, metadata))
    return {
        "out": str(out),
        "architecture": network.metadata["architecture"],
        "image_size": network.image_size,
        "z_dim": network.latent_dim,
        "w_dim": network.shape.w_dim,
        "layers": network.layers,
        "classes": network.shape.classes,
        "clamp": network.shape.clamp,
        "noise": "newly drawn, since the file has none" if weights.noise_drawn else "the file's own",
    }


def _write(out: Path, data: bytes) -> None:
    """Writes the whole file or nothing, with the permissions that the umask allows."""
    if not out.parent.is_dir():
        raise BadInput(f"{out}: cannot be written (its folder does not exist); create the folder first")
    if out.is_dir():
        raise BadInput(f"{out}: cannot be written (it is a folder); choose another name")
    try:
        write_atomically(out, data)
    except RunFolderError as error:
        reason = words_of(error.__cause__ or error)
        raise BadInput(f"{out}: cannot be written ({reason}); check the folder and the space on disk") from None

"""StyleGAN2 as a generator: z, w, w+ and s, options, pictures; conversion of official checkpoints to safetensors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack, final

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import save
from torch import Tensor

from transect.errors import BadInput, RunFolderError
from transect.generators.faceworld.chance import Stream, check_seeds, exogenous_noise, generator
from transect.generators.stylegan2.network import Network, Noise, configuration_of, fitting_weights
from transect.generators.stylegan2.reading import Weights, read_checkpoint, read_safetensors
from transect.records import Images, Latents
from transect.runs import model_files
from transect.runs.folder import write_atomically
from transect.texts import words_of

NOISES = ("const", "none", "seed")
ARCHITECTURE = "stylegan2"
"""Its name in the metadata of a converted file."""

_FOR_AVERAGE = 10_000


class Options(TypedDict, total=False):
    """What can be chosen of a network after its file; see `StyleGAN2`."""

    truncation: float
    noise: str
    label: int | None


@final
class StyleGAN2:
    """A trained StyleGAN2.

    truncation: from 1 (none) down to 0 (the average face), which trades variety for realism. noise: "const" (the
    network's own, as trained), "none", or "seed" (drawn from each subject's seed). label: the class of a conditional
    network. device: where it computes; on one device a picture is bitwise the same in every batch, since rows are
    rendered one by one. Raises BadInput for weights that are no StyleGAN2, an unknown noise or label; where z is mapped
    without a class that the network needs.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        name: str = ARCHITECTURE,
        truncation: float = 1.0,
        noise: str = "const",
        label: int | None = None,
        device: str = "cpu",
        facts: dict[str, object] | None = None,
    ) -> None:
        if noise not in NOISES:
            raise BadInput(f"noise: expected one of {', '.join(NOISES)}, got {noise!r}")
        self.name, self.truncation, self.noise, self.facts = name, float(truncation), noise, dict(facts or {})
        self.shape = configuration_of(weights.tensors, weights.clamp, name)
        self.device = torch.device(device)
        with torch.device("meta"):  # the shapes alone: a few bytes of a file can ask for more than the memory
            expected = Network(self.shape).state_dict()
        fitting = fitting_weights(weights.tensors, expected, name)
        self._network = Network(self.shape)
        self._network.load_state_dict(fitting, strict=False)
        self._network.requires_grad_(False).to(self.device).eval()
        self._network.synthesis.freeze()
        self.label = self._check_label(label)
        if "mapping.w_avg" not in fitting:
            self._network.average.copy_(self._estimate_average())

    @classmethod
    def from_file(
        cls, path: Path, *, name: str | None = None, device: str = "cpu", **options: Unpack[Options]
    ) -> StyleGAN2:
        """The network of a safetensors file, in any of the known layouts. Raises BadInput for other files."""
        weights = read_safetensors(path)
        facts: dict[str, object] = {"weights_sha256": model_files.sha256(path)}
        return cls(weights, name=path.stem if name is None else name, device=device, facts=facts, **options)

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        return self.shape.image_size

    @property
    def latent_dim(self) -> int:
        """Coordinates of z."""
        return self.shape.z_dim

    @property
    def layers(self) -> int:
        """How many w an image takes."""
        return self.shape.layers

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[object]) -> Latents:
        """Z ~ N(0, I), float64 [n, z_dim], from each seed alone. Raises BadInput for seeds that are not whole."""
        numbers = check_seeds(seeds)
        return Latents(numbers, exogenous_noise(numbers, self.latent_dim), "z")

    def to_space(self, latents: Latents, space: str) -> Latents:
        """The same subjects in space w or w+ (flattened), from latents of space z; row by row, whatever the batch.

        Truncation is the network's own. Raises BadInput for other spaces.
        """
        if latents.space == space:
            return latents
        if latents.space != "z" or space not in ("w", "w+"):
            raise BadInput(f"latents: expected z to map to w or w+, got {latents.space} to {space}; sample them again")
        z = torch.from_numpy(np.asarray(latents.values, dtype=np.float32))
        rows = [self.map(z[index : index + 1])[0].cpu().numpy() for index in range(len(latents))]
        width = self.shape.w_dim if space == "w" else self.layers * self.shape.w_dim
        mapped = [row[0] if space == "w" else row.reshape(-1) for row in rows]
        values = np.array(mapped, dtype=np.float64).reshape(len(latents), width)
        return replace(latents, values=values, space=space)

    def map(
        self,
        z: Tensor | np.ndarray,
        truncation: float | None = None,
        c: Tensor | np.ndarray | None = None,
        *,
        gradients: bool = False,
    ) -> Float[Tensor, "b layers w"]:
        """Z [b, z_dim], tensor or array, ► w+ [b, layers, w_dim], drawn towards the average by the truncation.

        truncation: default is the network's. c: one-hot classes [b, classes] (default: the network's label). gradients:
        keep what is needed to differentiate by z. Raises BadInput for another width of z or c, and for a class that is
        stated neither here nor before.
        """
        z, c = torch.as_tensor(z), None if c is None else torch.as_tensor(c)
        if c is not None and c.shape != (len(z), self.shape.classes):
            expected = f"[{len(z)}, {self.shape.classes}]"
            raise BadInput(f"c: expected one-hot classes {expected}, got {list(c.shape)}; give a row for each z")
        psi = self.truncation if truncation is None else truncation
        if z.dim() != 2 or z.shape[1] != self.latent_dim:
            raise BadInput(f"z: expected [b, {self.latent_dim}], got {list(z.shape)}; give latents of this network")
        average = self._network.average
        with torch.inference_mode(not gradients):
            w: Tensor = self._network.mapping(
                z.to(self.device, torch.float32),
                self._condition(len(z)) if c is None else c.to(self.device, torch.float32),
            )
            truncated = average + (w - average) * psi if psi != 1 else w
            return truncated.unsqueeze(1).repeat(1, self.layers, 1)

    def styles(self, w: Float[Tensor, "b layers w"], *, gradients: bool = False) -> list[Tensor]:
        """Style space: the scales [b, channels] of every convolution and color layer, in order."""
        with torch.inference_mode(not gradients):
            return self._network.synthesis.styles(w.to(self.device, torch.float32))

    def synthesize(
        self,
        w: Tensor | np.ndarray | Sequence[Tensor],
        noise: str | None = None,
        seed: int = 0,
        *,
        gradients: bool = False,
    ) -> Float[Tensor, "b 3 h w"]:
        """Images float32 in about [-1, 1], not cut, of w [b, layers, w_dim] (tensor or array) or of styles.

        noise: as for the network (its own by default); "seed" takes that of `seed` for all rows. gradients: keep what
        is needed to differentiate by w. Raises BadInput for another shape of w.
        """
        w = torch.from_numpy(w) if isinstance(w, np.ndarray) else w
        if isinstance(w, Tensor) and (w.dim() != 3 or w.shape[1:] != (self.layers, self.shape.w_dim)):
            shape = f"[b, {self.layers}, {self.shape.w_dim}]"
            raise BadInput(f"w: expected {shape}, got {list(w.shape)}; give latents of space w+")
        with torch.inference_mode(not gradients):
            styles = self.styles(w, gradients=gradients) if isinstance(w, Tensor) else w
            images: Tensor = self._network.synthesis(styles, self._noise(self.noise if noise is None else noise, seed))
            return images

    def render(self, latents: Latents) -> Images:
        """Pixels uint8 [n, h, w, 3] of latents of space z, w, w+ (flattened) or s (styles, flattened).

        Raises BadInput for latents of another space or width. No rows give no pictures.
        """
        rows = np.asarray(latents.values, dtype=np.float32).reshape(len(latents), -1)
        pixels = np.empty((len(latents), self.image_size, self.image_size, 3), dtype=np.uint8)
        for index, (seed, row) in enumerate(zip(latents.seeds, rows, strict=True)):
            entry = self._entry(torch.from_numpy(row).unsqueeze(0), latents.space)
            image = self.synthesize(entry, seed=int(seed))[0]
            pixels[index] = ((image * 127.5 + 128).clamp(0, 255).to(torch.uint8).permute(1, 2, 0)).cpu().numpy()
        return Images(pixels)

    @property
    def average(self) -> Float[Tensor, " w"]:
        """The mean w of many z."""
        return self._network.average.clone()

    @property
    def options(self) -> dict[str, object]:
        """Truncation, noise and label where they differ from the default."""
        usual = {"truncation": 1.0, "noise": "const", "label": None}
        return {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}

    def describe(self) -> dict[str, object]:
        """What recreates the pictures, for a run's spec."""
        options = {"truncation": self.truncation, "noise": self.noise, "label": self.label}
        return {"name": self.name, "architecture": ARCHITECTURE, "image_size": self.image_size, **options, **self.facts}

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The weights by official name, for a file."""
        return {name: value.contiguous().cpu() for name, value in self._network.state_dict().items()}

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of a converted file."""
        return {"architecture": ARCHITECTURE, "clamp": json.dumps(self.shape.clamp)}

    def _entry(self, row: Tensor, space: str) -> Tensor | list[Tensor]:
        """The input of synthesis, for one row [1, d] of that space."""
        if space == "z":
            return self.map(row)
        if space == "s":
            widths = [part.affine.bias.shape[0] for block in self._network.synthesis.blocks for part in block.parts]
            if row.shape[1] != sum(widths):
                raise BadInput(f"latents of space s: expected {sum(widths)} coordinates, got {row.shape[1]}")
            return list(torch.split(row.to(self.device), widths, dim=1))
        width = {"w": self.shape.w_dim, "w+": self.layers * self.shape.w_dim}.get(space)
        if width is None:
            raise BadInput(f"latents: expected space z, w, w+ or s, got {space!r}; they fit another generator")
        if row.shape[1] != width:
            raise BadInput(f"latents of space {space}: expected {width} coordinates, got {row.shape[1]}")
        return row.view(1, -1, self.shape.w_dim).expand(1, self.layers, -1)

    def _noise(self, mode: str, seed: int) -> Noise:
        if mode not in NOISES:
            raise BadInput(f"noise: expected one of {', '.join(NOISES)}, got {mode!r}")
        if mode == "const":
            return None
        if mode == "none":
            nothing = torch.zeros(1, device=self.device)
            return lambda _: nothing
        draws = generator(seed, Stream.TEXTURE)

        def draw(index: int) -> Tensor:
            size = 4 << ((index + 1) // 2)
            return torch.from_numpy(draws.standard_normal((1, 1, size, size), dtype=np.float32)).to(self.device)

        return draw

    def _check_label(self, label: int | None) -> int | None:
        classes = self.shape.classes
        if not classes and label is not None:
            raise BadInput(f"label: the network has no classes, got {label}; leave it out")
        if label is not None and not 0 <= label < classes:
            raise self._no_class(label)
        return label

    def _no_class(self, got: int | None) -> BadInput:
        expected = f"a class from 0 to {self.shape.classes - 1}"
        return BadInput(f"label: expected {expected}, got {got}; choose one, as in file.safetensors?label=0")

    def _condition(self, rows: int) -> Tensor | None:
        if not self.shape.classes:
            return None
        if self.label is None:
            raise self._no_class(None)
        one_hot = torch.zeros(rows, self.shape.classes, device=self.device)
        one_hot[:, self.label] = 1
        return one_hot

    def _estimate_average(self) -> Tensor:
        """The mean w of many z, for files that do not hold it: of all classes in turn, or of the label."""
        draws = generator(0, Stream.NOISE).standard_normal((_FOR_AVERAGE, self.latent_dim))
        classes = torch.arange(_FOR_AVERAGE, device=self.device) % max(self.shape.classes, 1)
        every = torch.nn.functional.one_hot(classes).float() if self.shape.classes else None
        with torch.inference_mode():
            z = torch.from_numpy(draws).to(self.device, torch.float32)
            condition = every if self.label is None else self._condition(_FOR_AVERAGE)
            mean: Tensor = self._network.mapping(z, condition).mean(dim=0)
            return mean.clone()


def convert(source: Path, out: Path) -> dict[str, str | int | float | None]:
    """Write the generator of a checkpoint as safetensors; returns the network's figures.

    Nothing that the checkpoint names is imported or run. Raises BadInput when the file is no StyleGAN2, is unsound or
    cannot be written; `out` is then left unchanged.
    """
    if out.suffix != ".safetensors":
        raise BadInput(f"{out}: expected a name that ends in .safetensors")
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

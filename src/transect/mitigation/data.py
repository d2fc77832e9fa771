"""Pictures with labels and protected classes in batches; pictures with hidden regions, and what a mask leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn

from transect.errors import BadInput
from transect.protocols import DrawsMasks
from transect.records import Latents
from transect.training.pictures import chance


@runtime_checkable
class Pixels(Protocol):
    """Pictures by row."""

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Those of the rows, in that order."""


@final
@dataclass(frozen=True)
class TaskData:
    """labels: yes or no for each item and label; protected: the class of each; names: of the labels."""

    pictures: Pixels
    labels: Bool[np.ndarray, "n k"]
    protected: Int[np.ndarray, " n"]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.protected) or self.labels.shape[1] != len(self.names):
            got = f"{list(self.labels.shape)}, {len(self.protected)} and {len(self.names)}"
            raise BadInput(f"expected labels [n, k] with n protected classes and k names, got {got}")
        if len(np.unique(self.protected)) < 2:
            raise BadInput("protected: expected at least two classes, got one; there is nothing to hide")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        """How many protected classes, numbered from 0."""
        return int(self.protected.max()) + 1

    def images(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Float[Tensor, "m 3 h w"]:
        """Pictures of the rows in 0..1."""
        return images_of(self.pictures, rows, device)

    def targets(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Float[Tensor, "m k"]:
        """Their labels as 0 and 1."""
        return torch.from_numpy(self.labels[rows]).to(device).float()

    def hidden(self, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Tensor:
        """Their protected classes."""
        return torch.from_numpy(self.protected[rows]).to(device).long()


def images_of(pictures: Pixels, rows: Int[np.ndarray, " m"], device: str = "cpu") -> Float[Tensor, "m 3 h w"]:
    """Pictures of the rows in 0..1."""
    pixels = np.ascontiguousarray(pictures.pixels(rows))
    return torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float() / 255


def batches(rows: Int[np.ndarray, " n"], size: int, seed: int, epoch: int) -> Iterator[Int[np.ndarray, " m"]]:
    """Every row once, in an order of the epoch's own; a rest of one is left out, since it has no batch statistics."""
    order = chance(seed, epoch, 0).permutation(rows)
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        if len(batch) > 1:
            yield batch


def balanced_batches(
    rows: Int[np.ndarray, " n"], protected: Int[np.ndarray, " all"], size: int, seed: int, epoch: int
) -> Iterator[Int[np.ndarray, " m"]]:
    """As many batches as `batches` gives, each with as many of every protected class; rows of rarer ones come again."""
    classes = np.unique(protected[rows])
    if size % len(classes) or size < 2 * len(classes):
        least = 2 * len(classes)
        raise BadInput(f"batch: expected a multiple of {len(classes)} classes from {least}, got {size}")
    drawn, each = chance(seed, epoch, 1), size // len(classes)
    count = -(-len(rows) // size)
    members = []
    for group in classes:
        group_rows = rows[protected[rows] == group]
        dealt = [drawn.permutation(group_rows) for _ in range(-(-count * each // len(group_rows)))]
        members.append(np.concatenate(dealt)[: count * each].reshape(count, each))
    yield from np.concatenate(members, axis=1)


BLUR: Final = 1 / 16
"""Standard deviation of the blur as a share of the width."""

_AT_ONCE: Final = 500


@runtime_checkable
class Regions(Protocol):
    """Where what is on a picture."""

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region."""


@final
class WorldRegions:
    """Regions from the renderer's own masks; row i is the picture of the latents' row i - first."""

    def __init__(self, world: DrawsMasks, latents: Latents, first: int = 0) -> None:
        self._world, self._latents, self._first = world, latents, first

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region."""
        masks = self._world.masks(self._latents.take(rows - self._first))
        return masks["person"] if region == "mask" else boxed(masks["face" if region == "face" else "person"])


@final
class HiddenPictures:
    """The pictures with a region hidden; each is made once, when it is first asked for."""

    def __init__(self, pictures: Pixels, regions: Regions, region: str, how: str) -> None:
        self.regions = regions
        self._pictures, self._region, self._how = pictures, region, how
        self._made: dict[int, UInt8[np.ndarray, "h w 3"]] = {}

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Those of the rows, in that order."""
        lacking = np.array(sorted({int(row) for row in rows} - self._made.keys()), dtype=np.int64)
        for start in range(0, len(lacking), _AT_ONCE):
            some = lacking[start : start + _AT_ONCE]
            hidden = hide(self._pictures.pixels(some), self.regions.of(self._region, some), self._how)
            self._made.update(zip(some.tolist(), hidden, strict=True))
        return np.stack([self._made[int(row)] for row in rows])


def hide(
    pixels: UInt8[np.ndarray, "m h w 3"], where: Bool[np.ndarray, "m h w"], how: str
) -> UInt8[np.ndarray, "m h w 3"]:
    """The pictures with those pixels black, or as in a blurred copy; all others stay.

    >>> hide(np.full((1, 1, 2, 3), 9, dtype=np.uint8), np.array([[[True, False]]]), "blackout")[0, 0, :, 0].tolist()
    [0, 9]
    """
    if how == "blackout":
        return np.where(where[..., None], 0, pixels).astype(np.uint8)
    width = BLUR * pixels.shape[2]
    soft = gaussian_filter(pixels.astype(np.float32), (0, width, width, 0), mode="nearest")
    return np.where(where[..., None], np.round(soft), pixels).astype(np.uint8)


def boxed(masks: Bool[np.ndarray, "m h w"]) -> Bool[np.ndarray, "m h w"]:
    """The smallest upright box around each mask; nothing around an empty one."""

    def spanned(hit: Bool[np.ndarray, "m s"]) -> Bool[np.ndarray, "m s"]:
        from_start = np.logical_or.accumulate(hit, axis=1)
        return np.asarray(from_start & np.logical_or.accumulate(hit[:, ::-1], axis=1)[:, ::-1])

    rows, columns = np.asarray(masks.any(axis=2)), np.asarray(masks.any(axis=1))
    return np.asarray(spanned(rows)[:, :, None] & spanned(columns)[:, None, :])


SHOWN: Final = 8


def sheet(
    mask: nn.Module, data: TaskData, rows: Int[np.ndarray, " m"], device: str = "cpu"
) -> UInt8[np.ndarray, "h w 3"]:
    """The pictures of those rows side by side, and below each what the mask leaves of it."""
    mask.eval()
    with torch.no_grad():
        images = data.images(rows, device)
        left = (255 * images * mask(images)).round().permute(0, 2, 3, 1).to(torch.uint8).cpu().numpy()
    whole = data.pictures.pixels(rows)
    return np.concatenate([np.concatenate(list(row), axis=1) for row in (whole, left)])

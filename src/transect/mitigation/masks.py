"""Pictures, and what a mask leaves of them: Fig. 6 of Wang et al. 2019, arXiv:1811.08489."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import nn

from transect.mitigation.data import TaskData

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

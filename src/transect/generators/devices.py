"""Where PyTorch computes: the available devices, by name."""

from __future__ import annotations

import torch

from transect.errors import BadInput


def device_of(name: object) -> torch.device:
    """The device of that name; raises BadInput unless it is the CPU or a GPU that PyTorch can use."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ["cpu", *(["cuda"] if count else []), *(f"cuda:{number}" for number in range(count))]
    if name not in names:
        advice = "change it" if count else "PyTorch sees no CUDA GPU here: use cpu, or install PyTorch with CUDA"
        raise BadInput(f"device: expected {' or '.join(names)}, got {name!r}; {advice}")
    return torch.device(name)

"""The state of a training on disk: safetensors in pieces, renamed when whole, so that a kill loses minutes at most.

A state is a folder `state-<step>` of pieces of at most 15 MiB and an index that is written last; the one before is
removed after it. Adam's first moment is not stored where its decay is 0, since it is then the last gradient.

All trainings use it (GANs, encoders, classifiers, the feature network). A run folder's parts are written once and never
change; a training replaces its state, so `runs.parts` does not fit it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transect.errors import RunFolderError
from transect.runs.folder import write_atomically
from transect.runs.plain_json import loads
from transect.texts import words_of

PIECE = 15 << 20
_INDEX = "index.json"


def save_state(
    folder: Path,
    parts: Mapping[str, nn.Module],
    optimizers: Mapping[str, torch.optim.Optimizer],
    facts: Mapping[str, object],
) -> None:
    """Write the weights, the optimizers' moments and the facts (plain JSON, with the number of the step as `step`)."""
    from safetensors.torch import save

    target = folder / f"state-{facts['step']:09d}"
    shutil.rmtree(target, ignore_errors=True)
    pieces = _pieces(_tensors(parts, optimizers))
    for number, piece in enumerate(pieces):
        write_atomically(target / f"{number:03d}.safetensors", save(piece))
    index = {"pieces": len(pieces), "facts": dict(facts)}
    write_atomically(target / _INDEX, json.dumps(index, sort_keys=True))
    for old in _states(folder):
        if old != target:
            shutil.rmtree(old)


def load_state(
    folder: Path, parts: Mapping[str, nn.Module], optimizers: Mapping[str, torch.optim.Optimizer]
) -> dict[str, Any] | None:
    """Put the newest complete state into the networks and optimizers and return its facts; None where there is none."""
    from safetensors.torch import load

    states = [state for state in _states(folder) if (state / _INDEX).exists()]
    if not states:
        return None
    try:
        index = loads((states[-1] / _INDEX).read_text(encoding="utf-8"))
        tensors: dict[str, Tensor] = {}
        for number in range(int(index["pieces"])):
            tensors |= load((states[-1] / f"{number:03d}.safetensors").read_bytes())
        for name, part in parts.items():
            part.load_state_dict(_under(tensors, f"parts.{name}."))
        for name, optimizer in optimizers.items():
            _restore(optimizer, _under(tensors, f"optimizers.{name}."))
        return dict(index["facts"])
    except Exception as error:
        # safetensors and PyTorch name wrong and damaged files with exceptions of many kinds.
        line = words_of(error, 200)
        raise RunFolderError(
            f"{states[-1]}: expected the state of this training, found another or a damaged one ({line});"
            " choose another --out, or remove that folder"
        ) from None


def _states(folder: Path) -> list[Path]:
    return sorted(state for state in folder.glob("state-*") if re.fullmatch(r"state-\d{9}", state.name))


def _tensors(parts: Mapping[str, nn.Module], optimizers: Mapping[str, torch.optim.Optimizer]) -> dict[str, Tensor]:
    tensors = {f"parts.{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    for name, optimizer in optimizers.items():
        for place, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                if key != "exp_avg" or any(group.get("betas", (1.0,))[0] != 0 for group in optimizer.param_groups):
                    tensors[f"optimizers.{name}.{place}.{key}"] = torch.as_tensor(value)
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def _restore(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        place, _, key = name.partition(".")
        state.setdefault(int(place), {})[key] = value
    for moment in state.values():
        if "exp_avg_sq" in moment:
            moment.setdefault("exp_avg", torch.zeros_like(moment["exp_avg_sq"]))
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _pieces(tensors: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
    """In order, each piece as full as possible; a tensor that is larger alone is a separate piece."""
    pieces: list[dict[str, Tensor]] = [{}]
    room = PIECE
    for name, value in tensors.items():
        size = value.numel() * value.element_size()
        if pieces[-1] and size > room:
            pieces.append({})
            room = PIECE
        pieces[-1][name] = value
        room -= size
    return pieces

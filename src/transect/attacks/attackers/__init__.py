"""Attackers that infer the protected attribute: one protocol, several capacities.

`bayes` (closed form, one category a row), `logistic`, `trees` (gradient-boosted), `auto` (the best, cross-fitted); the
networks of Wang et al. 2019: `mlp` (five linear layers, as released), `mlp-4` (as in the text), `mlp-2`, `mlp-2x100`
and `mlp-1` (the ablations).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from transect.attacks.attackers.classical import Attacker, Auto, Bayes, Logistic, Trees
from transect.attacks.attackers.networks import HIDDEN, Mlp
from transect.errors import BadInput, UnknownName
from transect.texts import whole_number

__all__ = ["Attacker", "Auto", "Bayes", "Logistic", "Mlp", "Trees", "load", "names"]

_ON_PROCESSOR: Final[dict[str, Callable[[], Attacker]]] = {
    "auto": Auto,
    "bayes": Bayes,
    "logistic": Logistic,
    "trees": Trees,
}


def names() -> tuple[str, ...]:
    """Every attacker that can be loaded by name."""
    return (*_ON_PROCESSOR, *HIDDEN)


def load(name: str, device: str = "cpu") -> Attacker:
    """The attacker of a name; networks train on a device: cpu, cuda or cuda:N. Raises UnknownName, BadInput."""
    if name in _ON_PROCESSOR:
        return _ON_PROCESSOR[name]()
    if name not in names():
        raise UnknownName("attacker", name, names())
    if device != "cpu":
        _check_device(device)
    return Mlp(name, device=device)


def _check_device(device: str) -> None:
    import torch

    kind, _, number = device.partition(":")
    there = torch.cuda.device_count() if kind == "cuda" else 0
    place = whole_number(number or "0")
    if place is None or place >= there:
        known = f"cpu, or cuda:N with N below {there}" if there else "cpu, since CUDA finds no device here"
        raise BadInput(f"device {device!r}: expected {known}; change --device")

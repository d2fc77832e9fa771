"""The options of a GAN's training, which Python, the command line and the training itself share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GanOptions:
    """Settings of a GAN's networks and optimisation, as the help of `transect train gan` explains them.

    z_dim: None for the published one. channels: at size s a block has channels / s of them, at most max_channels. grow,
    fade: see `transect.training.gans.growth_of`. rate, r1: None for the architecture's own. class_weight: of a
    conditional GAN's class loss, None for 1. distil, blend, teacher_weight: see
    `transect.training.distillation`; None for no teacher, half of distil, and 10. every: images between kept states and
    sample sheets.
    """

    batch: int = 16
    z_dim: int | None = None
    channels: int = 16_384
    max_channels: int = 512
    mapping_layers: int = 8
    precision: str = "full"
    grow: str | None = None
    fade: int | None = None
    rate: float | None = None
    r1: float | None = None
    class_weight: float | None = None
    distil: int | None = None
    blend: int | None = None
    teacher_weight: float | None = None
    path: float = 2.0
    mixing: float = 0.9
    half_life: float = 10_000.0
    mirror: bool = False
    every: int = 20_000

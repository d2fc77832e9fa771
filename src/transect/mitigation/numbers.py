"""The numbers of a mitigation as records: what mitigate.json holds, `--json` prints and the JSON Schema describes.

Leakages, F1 and shares are in percent, differences in percentage points; null where there is no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from pydantic import JsonValue


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its 95 % interval. n: items, or seeds of a mean over seeds. reason: why an end is missing."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """What one attacker finds: λ_M, λ_D and Δ in the same format, and λ_D and Δ against flipped bits as published."""

    model_leakage: Figure
    dataset_leakage: Figure
    amplification: Figure
    published_dataset_leakage: Figure
    published_amplification: Figure


@final
@dataclass(frozen=True, slots=True)
class LabelEffect:
    """The effect of the protected appearance on a label's answer, in points, with its p value."""

    label: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None


@final
@dataclass(frozen=True, slots=True)
class EffectFigures:
    """Effects on all labels. mean_size: mean absolute effect in points; changed: share of answers that change."""

    labels: tuple[LabelEffect, ...]
    mean_size: float | None
    changed: float | None
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class SeedFigures:
    """One model. label_f1: of each label; effects: None without transects; notes: facts about the training."""

    seed: int
    mean_average_precision: float | None
    f1: float | None
    label_f1: tuple[float | None, ...]
    attackers: Mapping[str, AttackFigures]
    effects: EffectFigures | None
    notes: Mapping[str, int | float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MitigationFigures(AttackFigures):
    """One mitigation, means over seeds; leakages by `attacker`, the one that finds most.

    effect, changed: of the audit by transects, None without one. f1_lost: against the plain model of
    the same seed, in points. amplification_lost: the same of Δ, above zero where the mitigation lowers Δ.
    amplification_lowered: the share of Δ that is gone, of means. noise_amplification: Δ that
    noise leaves at this F1; beats_noise: whether Δ is below it. good_trade: Δ lowered by half or more at 3 points of F1
    or fewer. Both are decided by 95 % intervals over seeds: null where these hold both answers, or there is one seed.
    """

    name: str
    kind: str
    start: str
    settings: Mapping[str, JsonValue]
    mean_average_precision: Figure
    f1: Figure
    label_f1: tuple[Figure, ...]
    attacker: str
    attackers: Mapping[str, AttackFigures]
    effect: Figure | None
    changed: Figure | None
    f1_lost: Figure | None = None
    amplification_lost: Figure | None = None
    amplification_lowered: float | None = None
    noise_amplification: float | None = None
    beats_noise: bool | None = None
    good_trade: bool | None = None
    seeds: tuple[SeedFigures, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Pictures:
    """How many pictures train, stop the training and measure."""

    train: int
    check: int
    test: int


@final
@dataclass(frozen=True, slots=True)
class LabelFrequency:
    """How often a label is yes in each protected class, in percent."""

    name: str
    share: tuple[float | None, ...]


@final
@dataclass(frozen=True, slots=True)
class RankCorrelations:
    """Spearman's correlations of Δ with the size of effects and with changed answers, over n mitigations."""

    n: int
    effect: float | None
    changed: float | None


@final
@dataclass(frozen=True, slots=True)
class MitigateNumbers:
    """Every figure of every mitigation that is finished; the first is the plain model.

    config: the request. finished: whether all mitigations are there. left_out: pictures and labels that cannot be used,
    reason -> how many. split: where the pictures of a data set come from, empty for FaceWorld.
    dataset_leakage: λ_D of the true labels by attacker. protocol: of the audit by transects. protected: the question
    that the protected classes answer; protected_words: the same for a reader.
    """

    title: str
    transect_version: str
    config: Mapping[str, JsonValue]
    finished: bool
    confidence: int
    protected: str
    protected_words: str
    classes: tuple[str, ...]
    pictures: Pictures
    left_out: Mapping[str, int]
    split: str
    labels: tuple[LabelFrequency, ...]
    dataset_leakage: Mapping[str, Figure]
    mitigations: tuple[MitigationFigures, ...]
    protocol: Mapping[str, JsonValue] | None
    leakage_and_effect: RankCorrelations | None
    caveat: str
    works: tuple[str, ...]

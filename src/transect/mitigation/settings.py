"""The request of a mitigation: data, network, training, mitigations and audit, shared by Python and TOML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from transect.errors import BadInput
from transect.runs import toml_files

PLAIN: Final = "plain"
_PROTECTED: Final = "face_shape>0.43"


class Strict(BaseModel):
    """Frozen, and without keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Data(Strict):
    """source: faceworld, or READER:PATH. train, check, test: pictures that train, that stop the training, that measure.

    split: official takes them from a data set's official parts where it has them, drawn from all its pictures.
    labels: a question for each name; default: those of the test bed. protected: a question too.
    """

    source: str = "faceworld"
    population: str = "celebrity-like"
    size: int = Field(default=64, ge=32, le=512)
    train: int = Field(default=3000, ge=2)
    check: int = Field(default=500, ge=2)
    test: int = Field(default=2000, ge=2)
    split: Literal["official", "drawn"] = "official"
    protected: str = _PROTECTED
    labels: dict[str, str] = Field(default_factory=dict)


class Network(Strict):
    """widths: channels of each block of the small network; or a backbone (see `backbones`) instead of it.

    pretrained: with its library's weights; default: yes. weights: a safetensors file instead.
    """

    widths: tuple[int, ...] = (16, 32, 64)
    backbone: str | None = None
    pretrained: bool | None = None
    weights: Path | None = None

    @model_validator(mode="after")
    def _complete(self) -> Network:
        if self.backbone is None and (self.pretrained is not None or self.weights is not None):
            raise PydanticCustomError("backbone", "pretrained and weights need a backbone: set one")
        return self


class Training(Strict):
    """Settings of every model that is trained for its task; see `adversarial.Settings`.

    head: train only parameters whose names start with this, as published for pretrained networks; default: all.
    """

    epochs: int = Field(default=15, ge=1)
    patience: int = Field(default=4, ge=1)
    batch: int = Field(default=64, ge=2)
    rate: float = Field(default=2e-3, gt=0)
    head: str | None = None


class _Mitigation(Strict):
    """start: the name of the mitigation whose model it starts from; "": the plain one, where it needs one."""

    name: str = Field(min_length=1)
    start: str = ""


class Plain(_Mitigation):
    """The model without mitigation."""

    kind: Literal["plain"]


class Noise(_Mitigation):
    """Gaussian noise in a module's output; levels: standard deviations as multiples of that of the output."""

    kind: Literal["noise"]
    module: str = "embedding"
    levels: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)


class Hide(_Mitigation):
    """Blur or blackout of a region, in training and in use.

    detector: of the faces of photographs; default: OpenCV's frontal cascade.
    """

    kind: Literal["hide"]
    region: Literal["mask", "box", "face"]
    how: Literal["blur", "blackout"] = "blackout"
    detector: str | None = None


class Balanced(_Mitigation):
    """Training on the largest subset in which no label is more than α times as frequent with one class.

    balance_sizes: no class has more than α times the pictures of another, either; with α = 1 sizes are equal.
    """

    kind: Literal["balanced"]
    alpha: float = Field(default=1.0, ge=1)
    balance_sizes: bool = True


class Reweighed(_Mitigation):
    """Training items weighted so that label and class are independent."""

    kind: Literal["reweighed"]


class GroupDro(_Mitigation):
    """The group of label and class with the largest loss has the most weight."""

    kind: Literal["group_dro"]
    rate: float = Field(default=0.01, ge=0)


class Thresholds(_Mitigation):
    """A threshold per label and class, the class inferred from the embedding."""

    kind: Literal["thresholds"]
    goal: Literal["true_positive_rate", "false_positive_rate", "positive_rate"] = "true_positive_rate"
    module: str = "embedding"


class Erasure(_Mitigation):
    """Linear concept erasure (LEACE) in a module's output; the layers after it stay."""

    kind: Literal["erasure"]
    module: str = "embedding"


class Adversarial(_Mitigation):
    """A critic on a module's output, or on the picture behind a mask (`module = "image"`, `critic = "image"`).

    critic_width: units or channels of its layers (of the image's ResNet-18: the first stage); none: 300 for a map, 128
    for convolutions, 64 at the image. mask_widths: channels of the U-Net, from the picture's size down.
    """

    kind: Literal["adversarial"]
    module: str = "blocks.2"
    critic: Literal["map", "convolution", "image"] = "map"
    critic_width: int | None = Field(default=None, ge=1)
    mask_widths: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(default=None, min_length=1)
    weight: float = Field(default=1.0, ge=0)
    reconstruction: float = Field(default=1.0, ge=0)
    reverse: bool = False
    critic_epochs: int = Field(default=3, ge=0)
    epochs: int = Field(default=10, ge=1)
    rate: float = Field(default=3e-4, gt=0)
    critic_rate: float = Field(default=3e-3, gt=0)


class Star(_Mitigation):
    """Labels and class predicted together."""

    kind: Literal["crf"]


class Rba(_Mitigation):
    """Constraints on all answers of a `crf` together, which `start` names."""

    kind: Literal["rba"]
    margin: float = Field(default=0.05, ge=0)


Mitigation = Annotated[
    Plain | Noise | Hide | Balanced | Reweighed | GroupDro | Thresholds | Erasure | Adversarial | Star | Rba,
    Field(discriminator="kind"),
]


class Audit(Strict):
    """The audit by transects, the same for every model: subjects, the attribute that is set, and its two levels."""

    subjects: int = Field(default=200, ge=0)
    attribute: str = "face_shape"
    low: float = 0.15
    high: float = 0.85
    population: str = "celebrity-like"


class Config(Strict):
    """The whole request. attackers: new ones, of increasing capacity; rounds: random copies of noisy labels."""

    seeds: tuple[int, ...] = (0, 1, 2)
    attackers: tuple[str, ...] = ("logistic", "trees", "mlp-2")
    rounds: int = Field(default=2, ge=1)
    data: Data = Data()
    network: Network = Network()
    training: Training = Training()
    mitigations: tuple[Mitigation, ...] = ()
    audit: Audit = Audit()


def as_config(source: Config | Mapping[str, object] | str | Path) -> Config:
    """The checked request from a record, nested mappings or a TOML file. Raises BadInput that names the key."""
    if isinstance(source, str | Path):
        return read_config(Path(source))
    return _checked(source, "config") if isinstance(source, Config) else parse_config(source, "config")


def read_config(path: Path) -> Config:
    """The configuration of a file. Raises BadInput that names the file and the key."""
    text = toml_files.read_text(path)
    return _checked(toml_files.checked(Config, toml_files.parse(text, str(path)), str(path), text), str(path))


def parse_config(content: Mapping[str, object], where: str) -> Config:
    """The checked request of nested mappings. Raises BadInput that names the key."""
    return _checked(toml_files.checked(Config, content, where), where)


def _checked(config: Config, where: str) -> Config:
    """The request with `_ordered` mitigations. Raises BadInput for what cannot be used."""
    seeds = config.seeds
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        raise BadInput(f"{where}: seeds: expected different whole numbers of at least 0, got {list(seeds)}")
    if not config.attackers:
        raise BadInput(f"{where}: attackers: none given; name logistic, trees or mlp-2")
    return config.model_copy(update={"mitigations": _ordered(config.mitigations, where)})


def _ordered(mitigations: Sequence[Mitigation], where: str) -> tuple[Mitigation, ...]:
    """The plain model first, then the others with the start of each named; noise once for each level."""
    ordered: list[Mitigation] = [method for method in mitigations if method.kind == PLAIN]
    ordered = ordered or [Plain(name=PLAIN, kind=PLAIN)]
    for method in mitigations:
        if isinstance(method, Noise):
            ordered += [_at_level(method, level) for level in method.levels]
        elif method.kind != PLAIN:
            ordered.append(method)
    twice = [name for name, count in Counter(method.name for method in ordered).items() if count > 1]
    if twice or sum(method.kind == PLAIN for method in ordered) > 1:
        raise BadInput(f"{where}: mitigations: expected distinct names and one plain model, got {twice}; rename one")
    return tuple(_started(method, ordered, place, where) for place, method in enumerate(ordered))


def _at_level(noise: Noise, level: float) -> Noise:
    ending = f" {level:g}"
    name = noise.name if noise.name.endswith(ending) else noise.name + ending
    return noise.model_copy(update={"name": name, "levels": (level,)})


def _started(method: Mitigation, ordered: Sequence[Mitigation], place: int, where: str) -> Mitigation:
    """Raises BadInput where the mitigation that it starts from does not precede it, or cannot be started from."""
    if method.kind in ("plain", "hide", "balanced", "reweighed", "group_dro", "crf"):
        if method.start:
            raise BadInput(f"{where}: mitigation {method.name!r}: {method.kind} starts from scratch; leave out start")
        return method
    start = method.start or (ordered[0].name if method.kind != "rba" else "")
    before = {other.name: other for other in ordered[:place]}
    kinds: tuple[str, ...] = ("crf",) if method.kind == "rba" else ("plain", "balanced", "reweighed", "group_dro")
    kinds = (*kinds, "crf") if method.kind == "adversarial" else kinds
    if start not in before or before[start].kind not in kinds:
        known = ", ".join(name for name, other in before.items() if other.kind in kinds) or "none"
        raise BadInput(
            f"{where}: mitigation {method.name!r}: start: expected one that precedes it ({known}), got {start!r}"
        )
    return method.model_copy(update={"start": start})

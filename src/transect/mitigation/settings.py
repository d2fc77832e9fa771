"""What `transect mitigate` reads: one TOML file of data, network, training, mitigations and audit."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from transect.errors import BadInput

PLAIN: Final = "plain"
_PROTECTED: Final = "face_shape>0.43"


class Strict(BaseModel):
    """Frozen, and without keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Data(Strict):
    """source: faceworld, or READER:PATH. train, check, test: pictures that teach, that stop the training, that measure.

    labels: a question for each name; none: those of the test bed. protected: a question too.
    """

    source: str = "faceworld"
    population: str = "celebrity-like"
    size: int = Field(default=64, ge=32, le=512)
    train: int = Field(default=3000, ge=2)
    check: int = Field(default=500, ge=2)
    test: int = Field(default=2000, ge=2)
    protected: str = _PROTECTED
    labels: dict[str, str] = Field(default_factory=dict)


class Network(Strict):
    """widths: channels of each block of the small network; or a backbone (see `backbones`) instead of it.

    pretrained: with the weights that its library has for it; none: yes. weights: a safetensors file instead.
    """

    widths: tuple[int, ...] = (16, 32, 64)
    backbone: str | None = None
    pretrained: bool | None = None
    weights: Path | None = None

    @model_validator(mode="after")
    def _complete(self) -> Network:
        if self.backbone is None and (self.pretrained is not None or self.weights is not None):
            raise PydanticCustomError("backbone", "pretrained and weights are a backbone's: name one")
        return self


class Training(Strict):
    """Of every model that is trained for its task; see `adversarial.Settings`.

    head: only parameters whose names start so learn, as published for pretrained networks (`head`); none: all.
    """

    epochs: int = Field(default=15, ge=1)
    patience: int = Field(default=4, ge=1)
    batch: int = Field(default=64, ge=2)
    rate: float = Field(default=2e-3, gt=0)
    head: str | None = None


class _Mitigation(Strict):
    """start: the name of the mitigation whose model it begins with; "" for the plain one, where it needs one."""

    name: str = Field(min_length=1)
    start: str = ""


class Plain(_Mitigation):
    """The model without mitigation."""

    kind: Literal["plain"]


class Noise(_Mitigation):
    """Gaussian noise in a module's output, its standard deviation so many times that output's own."""

    kind: Literal["noise"]
    module: str = "embedding"
    levels: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)


class Hide(_Mitigation):
    """Blur or blackout of a region, in training and afterwards."""

    kind: Literal["hide"]
    region: Literal["mask", "box", "face"]
    how: Literal["blur", "blackout"] = "blackout"


class Balanced(_Mitigation):
    """Training on the largest subset in which no label is more than α times as frequent with one class."""

    kind: Literal["balanced"]
    alpha: float = Field(default=1.0, ge=1)


class Reweighed(_Mitigation):
    """Training items weighted so that label and class are independent."""

    kind: Literal["reweighed"]


class GroupDro(_Mitigation):
    """The group of label and class with the largest loss leads."""

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
    """The protocol by transects, the same for every model: subjects, the attribute set, and its two levels."""

    subjects: int = Field(default=200, ge=0)
    attribute: str = "face_shape"
    low: float = 0.15
    high: float = 0.85
    population: str = "celebrity-like"


class Config(Strict):
    """The whole file. attackers: fresh ones, of rising capacity; rounds: of the noise that labels get."""

    seeds: tuple[int, ...] = (0, 1, 2)
    attackers: tuple[str, ...] = ("logistic", "trees", "mlp-2")
    rounds: int = Field(default=2, ge=1)
    data: Data = Data()
    network: Network = Network()
    training: Training = Training()
    mitigations: tuple[Mitigation, ...] = ()
    audit: Audit = Audit()


def read_config(path: Path) -> Config:
    """The configuration of a file. Raises BadInput that names the file and the key."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: expected a readable TOML file, got {error}; name another") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: expected TOML, got {error}; mend the file") from None
    return parse_config(content, str(path))


def parse_config(content: dict[str, Any], where: str) -> Config:
    """The configuration of a parsed file. Raises BadInput that names the key."""
    try:
        made = Config.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{where}: {key}: {first['msg']}, got {str(first['input'])[:80]!r}; mend this key") from None
    if not made.seeds or len(set(made.seeds)) != len(made.seeds) or min(made.seeds) < 0:
        raise BadInput(f"{where}: seeds: expected different whole numbers from 0, got {list(made.seeds)}; mend them")
    if not made.attackers:
        raise BadInput(f"{where}: attackers: expected at least one, got none; name logistic, trees or mlp-2")
    return made.model_copy(update={"mitigations": _checked(made.mitigations, where)})


def _checked(given: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    """The mitigations with the plain model first and what each starts from named; one of noise for each level."""
    named: list[Any] = [] if any(one.kind == PLAIN for one in given) else [Plain(name=PLAIN, kind=PLAIN)]
    named += [one for one in given if one.kind == PLAIN]
    for one in given:
        if one.kind == "noise":
            named += [one.model_copy(update={"name": f"{one.name} {s:g}", "levels": (s,)}) for s in one.levels]
        elif one.kind != PLAIN:
            named.append(one)
    twice = [name for name, count in Counter(one.name for one in named).items() if count > 1]
    if twice or sum(one.kind == PLAIN for one in named) > 1:
        raise BadInput(f"{where}: mitigations: expected one name each, and one plain model, got {twice}; rename one")
    return tuple(_started(one, named, place, where) for place, one in enumerate(named))


def _started(one: Any, named: list[Any], place: int, where: str) -> Any:
    """Raises BadInput where what it starts from does not stand before it, or cannot be started from."""
    fresh = one.kind in ("plain", "hide", "balanced", "reweighed", "group_dro", "crf")
    if fresh:
        if one.start:
            raise BadInput(f"{where}: mitigation {one.name!r}: {one.kind} begins anew; leave out start")
        return one
    start = one.start or (named[0].name if one.kind != "rba" else "")
    before = {other.name: other for other in named[:place]}
    can = ("crf",) if one.kind == "rba" else ("plain", "balanced", "reweighed", "group_dro")
    can = (*can, "crf") if one.kind == "adversarial" else can
    if start not in before or before[start].kind not in can:
        known = ", ".join(name for name, other in before.items() if other.kind in can) or "none"
        raise BadInput(f"{where}: mitigation {one.name!r}: start: expected one before it ({known}), got {start!r}")
    return one.model_copy(update={"start": start})

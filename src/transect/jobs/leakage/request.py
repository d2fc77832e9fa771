"""What `leakage` is asked: its less common settings, the models, and how the command line writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from transect.attacks.attackers import names as attacker_names
from transect.attacks.captions import ENGLISH
from transect.attacks.estimation import Settings
from transect.datasets.features import FeaturesLike
from transect.errors import BadInput
from transect.runs.inputs import TableLike

ALL: str = "all"


@final
@dataclass(frozen=True, slots=True)
class ModelPredictions:
    """A model's predictions among several, with the model's name.

    table: hard labels, logits or probabilities, as in `leakage`. alpha: the model was trained on the subset balanced to
    this ratio; its row then has the leakage of that subset.
    """

    name: str
    table: TableLike
    alpha: float | None = None


@final
@dataclass(frozen=True, slots=True)
class LeakageOptions:
    """The less common settings of `leakage`.

    noise: how labels err in λ_D(a): flips, replacement or frequency; "": frequency, or flips as published. f1: levels
    of macro F1 in percent at which λ_D is measured; none: the model's own. rounds, permutations, train_per_class,
    test_per_class, as_published: see `transect.attacks.Settings`. curve: also learn from 25, 50 and 75 % of the rows;
    None: unless the attacker is a network. device: of networks. alphas: ratios to which labels are balanced: leakage is
    measured in each subset, whose rows are marked in `LeakageResult.marked`. A column in_alpha3 of the table is taken
    as the subset of α = 3. balance_sizes: these rows meet each ratio in the sizes of the classes, too. subject: a
    column of who is on each item, where people repeat: folds, the null and intervals are then by person.
    representations: real numbers of the items, as an array or table with a name; each layer is attacked by itself.
    captions: tables of identifiers and captions, with a name; lexicon: "english", or a TOML file of the words of gender
    and objects.
    """

    noise: str = ""
    f1: tuple[float, ...] = ()
    rounds: int = 0
    permutations: int = -1
    train_per_class: int = 0
    test_per_class: int = 0
    as_published: bool = False
    curve: bool | None = None
    device: str = "cpu"
    alphas: tuple[float, ...] = ()
    balance_sizes: bool = True
    subject: str | None = None
    representations: tuple[tuple[str, FeaturesLike], ...] = ()
    captions: tuple[tuple[str, TableLike], ...] = ()
    lexicon: str | Path = ENGLISH

    def settings(self, seed: int) -> Settings:
        """How each attack is made."""
        return Settings(
            self.rounds, self.permutations, seed, self.as_published, self.train_per_class, self.test_per_class
        )


def models_of(predictions: TableLike | Sequence[ModelPredictions] | None) -> tuple[ModelPredictions, ...]:
    """The models whose predictions were given. Raises BadInput where two have one name."""
    if predictions is None:
        return ()
    if not isinstance(predictions, list | tuple):
        return (ModelPredictions("model", predictions),)
    models = tuple(predictions)
    if not all(isinstance(model, ModelPredictions) for model in models):
        raise BadInput("predictions: expected a table or a list of ModelPredictions, got a list of others")
    names = [model.name for model in models]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"predictions: expected a name for each model, got {repeated!r} twice; write NAME=PATH")
    return models


def with_alphas_of(options: LeakageOptions, models: Sequence[ModelPredictions]) -> LeakageOptions:
    """The options, with the α of every model that was trained on a balanced subset."""
    alphas = [*options.alphas, *(model.alpha for model in models if model.alpha is not None)]
    return replace(options, alphas=tuple(dict.fromkeys(alphas)))


def parse_models(texts: Sequence[str]) -> tuple[ModelPredictions, ...]:
    """Models as the command line has them: PATH, NAME=PATH or NAME@ALPHA=PATH; the name is the file's by default."""
    return tuple(_parsed(text) for text in texts)


def parse_sources(texts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Files as the command line has them: PATH or NAME=PATH; the name is the file's by default.

    >>> parse_sources(["conv5=a.npy", "b.npz"])
    (('conv5', PosixPath('a.npy')), ('b', PosixPath('b.npz')))
    """
    parts = [("", "", text) if Path(text).exists() else text.rpartition("=") for text in texts]
    return tuple((name or Path(path).stem, Path(path)) for name, _, path in parts)


def parse_columns(text: str) -> tuple[str, ...]:
    """Names of columns between commas.

    >>> parse_columns("gender, age")
    ('gender', 'age')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def attackers_of(names: str | Sequence[str], category: bool) -> tuple[str, ...]:
    """Names of attackers, several between commas; "all" is every attacker that can read such labels, best first."""
    parts = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    if ALL in parts:
        parts = [name for name in attacker_names() if category or name != "bayes"]
    return tuple(dict.fromkeys(parts))


def _parsed(text: str) -> ModelPredictions:
    name, equals, path = text.rpartition("=")
    if not equals or Path(text).exists():
        return ModelPredictions(Path(text).stem, Path(text))
    name, at, alpha = name.partition("@")
    try:
        ratio = float(alpha) if at else None
    except ValueError:
        raise BadInput(f"--predictions {text}: expected NAME@ALPHA=PATH with a number after @, got {alpha!r}") from None
    if not name or not path:
        raise BadInput(f"--predictions {text}: expected PATH, NAME=PATH or NAME@ALPHA=PATH")
    return ModelPredictions(name, Path(path), ratio)

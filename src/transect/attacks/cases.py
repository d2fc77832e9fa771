"""What a leakage analysis is asked: options, labels, captions, layers, and the cases of its table; and the attacks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.attacks import tables
from transect.attacks.analysis import Analysis, Several, analyse_models
from transect.attacks.attackers import load
from transect.attacks.attackers import names as attacker_names
from transect.attacks.balance import ALPHAS, Cost, costs, overview
from transect.attacks.estimation import Settings
from transect.attacks.numbers import LeakageNumbers, numbers_of
from transect.attacks.outputs import ENGLISH, Lexicon, Model, caption_outputs, read_lexicon, remaining_words
from transect.attacks.outputs import predictions as matched_predictions
from transect.attacks.records import LabelledData
from transect.attacks.side_by_side import (
    LINEAR,
    NON_LINEAR,
    Case,
    Layer,
    RepresentationRow,
    TableRow,
    representation_rows,
    row_of,
    row_without_figures,
)
from transect.attacks.tables import identifiers
from transect.datasets import is_dataset
from transect.datasets.features import FeaturesLike, is_array, is_list, is_scalar, objects, read_features
from transect.datasets.label_tables import LabelTable, label_table
from transect.errors import BadInput
from transect.options import Option
from transect.runs.parts import stage
from transect.runs.table_inputs import TableLike, as_names, as_table, parse_numbers


@final
@dataclass(frozen=True)
class Source:
    """Rows of labels, and which columns count. notes: what was left out, and what the labels are."""

    rows: pa.Table
    labels: tuple[str, ...]
    protected: tuple[str, ...]
    split: str | None
    name: str
    notes: tuple[str, ...] = ()


def opened(table: TableLike, protected: str | Sequence[str], labels: str | Sequence[str], split: str | None) -> Source:
    """The table, and the columns that were named; of a data set's reader those that it names."""
    read = LabelTable(pa.table({}))
    if isinstance(table, str | Path) and is_dataset(str(table)):
        read = label_table(str(table))
    rows = read.table if read.table.num_columns else tables.read_labels(table)
    chosen = as_names(labels) or read.labels
    attributes = as_names(protected) or ((read.protected,) if read.protected else ())
    for what, names, option in (("labels", chosen, "--label"), ("protected attribute", attributes, "--protected")):
        if not any(names):
            raise BadInput(f"{what}: no name of a column; give it with {option}")
    name = Path(table).name if isinstance(table, str | Path) else "a table"
    left = tuple(f"Left out: {count} {reason}." for reason, count in read.left_out.items() if count)
    notes = (*left, read.about) if read.about else left
    return Source(rows, chosen, attributes, split or read.split or None, name, notes)


CAPTION = "caption"


@final
@dataclass(frozen=True)
class Captions:
    """Captions by identifier, several of one item joined, and the lexicon by which they are read."""

    name: str
    texts: Mapping[str, str]
    lexicon: Lexicon

    def model(self, data: LabelledData) -> Model:
        """The objects that the captions name, as hard answers on the items that have captions."""
        if data.ids is None or data.id_column is None:
            raise BadInput("captions: the labels need a column of identifiers; give it with --id")
        named = caption_outputs(data, list(self.texts.values()), self.lexicon).hard.matrix.astype(int)
        if not named.any():
            raise BadInput(
                f"captions {self.name}: expected captions that name the labels, got none of "
                f"{', '.join(data.labels.names)} in {len(self.texts)}; rename the labels, or give --lexicon"
            )
        columns = {label: named[:, place] for place, label in enumerate(data.labels.names)}
        table = pa.table({data.id_column: list(self.texts), **columns})
        covered, outputs = matched_predictions(table, data, data.labels.names, data.id_column)
        order = covered.own_order()
        return Model(outputs.take(order), covered.take(order), self.name)

    def words(self, data: LabelledData) -> Layer:
        """Which of the remaining words each item's caption has, as 0 and 1; NaN where an item has no caption."""
        texts = [self.texts.get(item) for item in data.ids or ()]
        known = [row for row, text in enumerate(texts) if text is not None]
        seen = remaining_words(data.labels.names, [text for text in texts if text is not None], self.lexicon)
        values = np.full((len(data), len(seen.names)), np.nan, dtype=np.float32)
        values[known] = seen.matrix
        return Layer(f"{self.name}: words without objects and gender", values)


def read_captions(name: str, source: TableLike, lexicon: Lexicon, ids: str | None) -> Captions:
    """Captions from a table with identifiers and a column `caption`. Raises BadInput where it has none."""
    table = as_table(source, "captions")
    items = identifiers(table, ids)
    if items is None or CAPTION not in table.column_names:
        raise BadInput(
            f"captions: expected a column of identifiers and one named {CAPTION}, got {', '.join(table.column_names)}"
        )
    texts: dict[str, list[str]] = {}
    for item, text in zip(items, objects(table, CAPTION, "captions"), strict=True):
        texts.setdefault(item, []).append("" if text is None else str(text))
    return Captions(name, {item: " . ".join(lines) for item, lines in texts.items()}, lexicon)


def _layers(data: LabelledData, name: str, source: FeaturesLike) -> Iterator[Layer]:
    """Of an array [n, layers, d] each layer, of a table each column of lists, and its other numbers together."""
    ids = None if data.ids is None else list(data.ids)
    if is_array(source):
        is_codes = isinstance(source, str | Path) and Path(source).suffix != ".npy"
        yield from _split(name, _of_items(data, name, read_features(source, ids=ids if is_codes else None).values))
        return
    table = as_table(source, "representation")
    if "id" in table.column_names:  # as texts, as those of labels are
        texts = pa.array(identifiers(table, "id"))
        table = table.set_column(table.column_names.index("id"), "id", texts)
    lists = [field.name for field in table.schema if is_list(field.type)]
    numbers = [field.name for field in table.schema if is_scalar(field.type) and field.name != "id"]
    for columns in [*([column] for column in lists), *([numbers] if numbers else [])]:
        layer = f"{name}: {columns[0]}" if lists else name
        values = read_features(table, columns, ids if "id" in table.column_names else None).values
        yield Layer(layer, _of_items(data, name, values))


def _split(name: str, values: Float[np.ndarray, "n ..."]) -> Iterator[Layer]:
    if values.ndim == 2:
        yield Layer(name, values)
        return
    for number in range(values.shape[1]):
        yield Layer(f"{name}: layer {number}", values[:, number].reshape(len(values), -1))


def _of_items(data: LabelledData, name: str, values: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
    if len(values) != len(data):
        raise BadInput(
            f"representation {name}: expected {len(data)} rows, one for each label, got {len(values)}; give both a "
            "column id"
        )
    return values


ALL: str = "all"


def parse_sources(texts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Files as the command line has them: PATH or NAME=PATH; the name is the file's by default.

    >>> parse_sources(["conv5=a.npy", "b.npz"])
    (('conv5', PosixPath('a.npy')), ('b', PosixPath('b.npz')))
    """
    parts = [("", "", text) if Path(text).exists() else text.rpartition("=") for text in texts]
    return tuple((name or Path(path).stem, Path(path)) for name, _, path in parts)


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

    alphas: the rows of each balanced subset are marked in `LeakageNumbers.marked`; a column in_alpha3 of the table is
    taken as the subset of α = 3. representations: arrays or tables of real numbers, with a name. captions: tables of
    identifiers and captions, with a name.
    """

    noise: Annotated[
        str, Option("Label noise in λ_D(a): flips, replacement or frequency (keeps label frequencies).", opens="value")
    ] = ""
    f1: Annotated[
        tuple[float, ...],
        Option(
            "Measure λ_D at this macro F1, in percent, such as 80,60; default: the model's.",
            list[str],
            read=partial(parse_numbers, option="--f1", example="80,60"),
            opens="value",
        ),
    ] = ()
    rounds: Annotated[
        int, Option("Attackers to average; 0: five if the attacker or the noise is random, one otherwise.")
    ] = 0
    permutations: Annotated[int, Option("Permutations for the null; -1: 200, or 5 if the attacker is slow.")] = -1
    train_per_class: Annotated[int, Option("Training rows to draw per class; 0: all.")] = 0
    test_per_class: Annotated[int, Option("With --as-published: rows to score per class; 0: all.")] = 0
    as_published: Annotated[bool, Option("Use the protocol of Wang et al. 2019, with its selection and folding.")] = (
        False
    )
    curve: Annotated[
        bool | None,
        Option(
            "Also train on 25, 50 and 75 % of the rows; default: unless the attacker is a network.",
            names=("--curve/--no-curve",),
        ),
    ] = None
    device: Annotated[str, Option("Where networks train: cpu, cuda or cuda:N.", opens="value")] = "cpu"
    alphas: Annotated[
        tuple[float, ...],
        Option(
            "Also measure leakage where no label is more than α times as frequent with one class as with another, "
            "such as 3,2,1: in the table's column in_alpha3 or, without one, the largest such subset, which --out "
            "marks in balanced.parquet.",
            list[str],
            names=("--alpha",),
            read=partial(parse_numbers, option="--alpha"),
            opens="value",
        ),
    ] = ()
    balance_sizes: Annotated[
        bool,
        Option(
            "With --alpha: balance the sizes of the classes as well, or the labels only.",
            names=("--balance-sizes/--labels-only",),
        ),
    ] = True
    subject: Annotated[
        str | None,
        Option("Column of person ids, if people repeat: folds, null and intervals by person.", opens="value"),
    ] = None
    representations: Annotated[
        tuple[tuple[str, FeaturesLike], ...],
        Option(
            "Real numbers of the items, PATH or NAME=PATH (.npy, .npz, .parquet, an inversion): each layer "
            "separately, with a linear and a non-linear attacker. May be repeated.",
            list[str],
            names=("--representation",),
            opens="data",
            read=parse_sources,
        ),
    ] = ()
    captions: Annotated[
        tuple[tuple[str, TableLike], ...],
        Option(
            "Captions of the items, PATH or NAME=PATH, with the column caption: measure the objects they name, and "
            "the remaining words without objects and gender. May be repeated.",
            list[str],
            opens="data",
            read=parse_sources,
        ),
    ] = ()
    lexicon: Annotated[
        str | Path, Option("Gender and object words in captions: english, or a TOML file.", str, opens="data")
    ] = ENGLISH

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
        raise BadInput("predictions: expected a table or a list of ModelPredictions, got a list of other values")
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


ACROSS = " × "
PERMUTATIONS = 20
"""Behind the null of a representation, whose numbers are many."""


@final
@dataclass(frozen=True)
class Inputs:
    """The tables of labels and predictions, and which of their columns count."""

    source: Source
    ids: str | None
    where: str | None
    models: tuple[ModelPredictions, ...]
    columns: tuple[str, ...]
    options: LeakageOptions
    captions: tuple[Captions, ...] = ()

    def data(self, protected: str, rows: pa.Table | None = None) -> LabelledData:
        """The labels with one protected attribute, by default of all rows."""
        return tables.labelled_data(
            self.source.rows if rows is None else rows,
            self.source.labels,
            protected,
            split=self.source.split,
            ids=self.ids,
            subject=self.options.subject,
            where=self.where,
            where_train_only=self.options.as_published,
        )

    def predicted(self, data: LabelledData, alpha: float | None = None) -> tuple[Model, ...]:
        """The models of that α, with their predictions of these items, in their own order; captions are of no α."""
        models = tuple(self._matched(model, data) for model in self.models if model.alpha == alpha)
        if alpha is not None or data.labels.category is not None:  # captions name several objects
            return models
        return (*models, *(captions.model(data) for captions in self.captions))

    def _matched(self, model: ModelPredictions, data: LabelledData) -> Model:
        table = tables.read_labels(model.table, "predictions")
        covered, outputs = matched_predictions(table, data, self.columns or self.source.labels, self.ids)
        order = covered.own_order()
        return Model(outputs.take(order), covered.take(order), model.name)


@final
@dataclass(frozen=True)
class Attacks:
    """How cases are attacked: the first attacker is that of the headline."""

    attackers: tuple[str, ...]
    seed: int
    stage: str
    options: LeakageOptions

    def on(self, case: Case, attacker: str = "", *, curve: bool | None = False) -> Several:
        """The analyses of a case. Raises BadInput where it cannot be measured."""
        name = attacker or self.attackers[0]
        about = ", ".join(text for text in (_words(case), "" if not attacker else name) if text)
        return analyse_models(
            # Attackers and permutations go through the rows in turn: the order of the rows must not matter.
            case.data.take(case.data.own_order()),
            load(name, self.options.device),
            case.models,
            noise=self.options.noise,
            f1=self.options.f1 or None,
            curve=curve,
            settings=self.options.settings(self.seed),
            stage=self.stage and ", ".join(filter(None, (self.stage, about))),
        )

    def rows(self, case: Case, attacker: str = "") -> list[TableRow]:
        """The rows of a case; one with the reason where it cannot be measured."""
        try:
            return [row_of(case, analysis) for analysis in self.on(case, attacker).analyses]
        except BadInput as error:
            return [row_without_figures(case, attacker or self.attackers[0], str(error))]


def main_case(inputs: Inputs) -> Case:
    """All rows, the first protected attribute, and the models that were trained on all rows."""
    data = inputs.data(inputs.source.protected[0])
    return Case("model", data, inputs.predicted(data))


def representations(inputs: Inputs, main: Case, attacks: Attacks) -> tuple[RepresentationRow, ...]:
    """Rows of every layer, and of the words of captions, with fewer permutations than labels have."""
    data, options = main.data, attacks.options
    layers = [layer for name, source in options.representations for layer in _layers(data, name, source)]
    layers += [captions.words(data) for captions in inputs.captions]
    settings = options.settings(attacks.seed)
    if settings.permutations < 0:
        settings = replace(settings, permutations=PERMUTATIONS)
    named = [name for name in attacks.attackers if name in attacker_names() and name not in ("auto", "bayes")]
    chosen = named or (LINEAR, NON_LINEAR)
    return tuple(representation_rows(data, layers, chosen, settings, options.device, attacks.stage))


def further_rows(
    inputs: Inputs, main: Case, several: Several, attacks: Attacks, marked: pa.Table | None
) -> tuple[TableRow, ...]:
    """All rows of the table, the main case's first; none where it would have one row that says nothing new."""
    cases = [*_balanced(inputs, main, marked), *_attributes(inputs, main)]
    if not cases and len(several.analyses) == 1 and len(attacks.attackers) == 1:
        return ()
    rows, total = [row_of(main, analysis) for analysis in several.analyses], len(attacks.attackers) - 1 + len(cases)
    for place, name in enumerate(attacks.attackers[1:], 1):
        stage(f"further attacks, {place} of {total}: {name}")
        rows += attacks.rows(replace(main, part="attacker"), name)
    for place, case in enumerate(cases, len(attacks.attackers)):
        if isinstance(case, Case):
            stage(f"further attacks, {place} of {total}: {_words(case)}")
        rows += attacks.rows(case) if isinstance(case, Case) else [case]
    return tuple(rows)


def _balanced(inputs: Inputs, main: Case, marked: pa.Table | None) -> Iterator[Case]:
    """A case for each α, its largest ratio first."""
    if marked is None:
        return
    for alpha in inputs.options.alphas:
        keep = np.asarray(marked[tables.mark_of(alpha)].to_numpy(zero_copy_only=False), dtype=np.bool_)
        if inputs.options.as_published and main.data.split is not None:
            keep = keep | (main.data.split != "train")
        data = main.data.take(np.flatnonzero(keep))
        own = tables.mark_of(alpha) in inputs.source.rows.column_names
        note = f"rows of the table's column {tables.mark_of(alpha)}" if own else ""
        yield Case("balanced", data, inputs.predicted(data, alpha), alpha, note=note)


def _attributes(inputs: Inputs, main: Case) -> Iterator[Case | TableRow]:
    """Each further attribute, each two together, and each within the levels of another."""
    table, protected = inputs.source.rows, inputs.source.protected
    for name in protected[1:]:
        data = inputs.data(name)
        yield Case("attribute", data, inputs.predicted(data))
    for first, second in combinations(protected, 2):
        crossed = [f"{a}, {b}" for a, b in zip(_texts(table, first), _texts(table, second), strict=True)]
        name = f"{first}{ACROSS}{second}"
        yield _restricted(inputs, main, name, table.append_column(name, pa.array(crossed)))
        for about, given in ((first, second), (second, first)):
            levels = np.array(_texts(table, given))
            for level in np.unique(levels).tolist():
                rows = table.filter(pa.array(levels == level))
                yield _restricted(inputs, main, about, rows, f"{given} = {level}")


def _restricted(inputs: Inputs, main: Case, protected: str, rows: pa.Table, within: str = "") -> Case | TableRow:
    """The case of these rows; a row with the reason where they lack a class, or a prediction."""
    try:
        data = inputs.data(protected, rows)
        return Case("attribute", data, inputs.predicted(data), within=within)
    except BadInput as error:
        bare = row_without_figures(replace(main, part="attribute", within=within), "", str(error))
        return replace(bare, attribute=protected, classes=(), n_train=(), chance=math.nan)


def _texts(table: pa.Table, name: str) -> list[str]:
    return [str(value) for value in tables.matrix(table, [name]).tolist()]


def _words(case: Case) -> str:
    if case.alpha is not None:
        return f"α = {case.alpha:g}"
    return case.data.attribute + (f" where {case.within}" if case.within else "") if case.part == "attribute" else ""


def analysed(inputs: Inputs, main: Case, attacks: Attacks) -> LeakageNumbers:
    """All attacks, stage by stage."""
    options = inputs.options
    for name in attacks.attackers:
        load(name, options.device)  # an unknown one is refused before hours of work
    if options.alphas:
        stage("sizes of the balanced subsets")
    balancing = costs(main.data, options.alphas, balance_sizes=options.balance_sizes)  # before the attacks: may refuse
    stage(f"attacks by {attacks.attackers[0]}, {main.data.attribute}")
    several = attacks.on(main, curve=options.curve)
    marked, warnings = _marked(inputs, main, attacks.seed)
    table = further_rows(inputs, main, several, attacks, marked)
    layers = representations(inputs, main, attacks)
    cautions = _caution(inputs), _captions_left_out(inputs, main)
    stage("overview of the labels")
    numbers = _numbers(several.analyses[0], balancing, inputs.source, cautions)
    return replace(
        numbers,
        table=table,
        differences=several.differences,
        representations=layers,
        marked=marked,
        warnings=tuple(warnings),
    )


def _marked(inputs: Inputs, main: Case, seed: int) -> tuple[pa.Table | None, list[str]]:
    """The table with a mark of each balanced subset, and searches that ran out of time; None without an α."""
    options = inputs.options
    if not options.alphas:
        return None, []
    stage("rows of the balanced subsets")
    return tables.balanced_table(
        inputs.source.rows,
        main.data,
        options.alphas,
        split=inputs.source.split,
        where=inputs.where,
        where_train_only=options.as_published,
        seed=seed,
        balance_sizes=options.balance_sizes,
    )


def captions_of(options: LeakageOptions, ids: str | None) -> tuple[Captions, ...]:
    """The captions that the options name, read by their lexicon."""
    if not options.captions:
        return ()
    lexicon = read_lexicon(options.lexicon)
    return tuple(read_captions(name, table, lexicon, ids) for name, table in options.captions)


def _caution(inputs: Inputs) -> str:
    """A line on people who seem to repeat, where no column of subjects was named."""
    if inputs.options.subject is not None:
        return ""
    source, ids = inputs.source, tables.id_column(inputs.source.rows, inputs.ids) or ""
    return tables.unnamed_subjects(source.rows, [*tables.expand(source.rows, source.labels), *source.protected, ids])


def _captions_left_out(inputs: Inputs, main: Case) -> str:
    """A line on captions that are no model, since each item has one category."""
    if not inputs.captions or main.data.labels.category is None:
        return ""
    names = ", ".join(captions.name for captions in inputs.captions)
    return (
        f"{names}: captions name several objects, and the label is one category of each item, so that there is no "
        "model leakage of captions; give labels of 0 and 1 for it. Their other words are analysed"
    )


def _numbers(
    analysis: Analysis, balancing: tuple[Cost, ...], source: Source, cautions: Sequence[str]
) -> LeakageNumbers:
    # Several labels are a whole-number programme, which can take a minute for each ratio: on request only.
    alphas = ALPHAS if analysis.data.labels.category is not None and not balancing else ()
    shown = overview(analysis.data, alphas)
    notes = (*source.notes, *filter(None, cautions))
    return numbers_of(analysis, replace(shown, costs=balancing or shown.costs), source.name, notes)

"""`transect.leakage`: how well a protected attribute can be inferred from labels and from a model's predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import pyarrow as pa

from transect.attacks import results, tables
from transect.attacks.analysis import Analysis, analyse
from transect.attacks.answers import predictions as matched_predictions
from transect.attacks.attackers import load
from transect.attacks.estimation import Settings
from transect.attacks.numbers import LeakageNumbers, numbers_of
from transect.attacks.outputs import Outputs
from transect.attacks.overview import ALPHAS, Cost, costs, overview
from transect.attacks.records import LabelledData
from transect.runs.folder import write_table
from transect.runs.inputs import TableLike
from transect.runs.result import JobResult

MARKS = "balanced.parquet"


@final
@dataclass(frozen=True, slots=True)
class LeakageOptions:
    """The less common settings of `leakage`.

    noise: how labels err in λ_D(a): flips, replacement or frequency; "": frequency, or flips as published. f1: levels
    of macro F1 in percent at which λ_D is measured; none: the model's own. rounds, permutations, train_per_class,
    test_per_class, as_published: see `transect.attacks.Settings`. curve: also learn from 25, 50 and 75 % of the rows;
    None: unless the attacker is a network. device: of networks. alphas: ratios to which labels are balanced; rows are
    marked in `LeakageResult.marked`. balance_sizes: these rows meet each ratio in the sizes of the classes, too.
    subject: a column of who is on each item, where people repeat: folds, the null and intervals are then by person.
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


@final
@dataclass(frozen=True)
class LeakageResult(JobResult[LeakageNumbers]):
    """Leakages in percent, amplification in percentage points.

    marked: the rows with a column of true and false for each α (in_alpha2 …), None without `alphas`. warnings: searches
    for balanced rows that ran out of time.
    """

    JOB: ClassVar[str] = "leakage"

    marked: pa.Table | None = None
    warnings: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """Every figure: name, estimate, 95 % interval, items, how it was measured."""
        return results.table_of(self.numbers)

    def report(self, path: str | Path) -> Path:
        """Write leakage.html, leakage.json and, with marked rows, balanced.parquet; returns the path of the page."""
        from transect.jobs.leakage.page import write

        if self.marked is not None:
            write_table(Path(path) / MARKS, self.marked)
        return write(self.numbers, Path(path))

    def headline(self) -> str:
        """How often the attacker guesses right, and how much more from a model's predictions."""
        return results.headline(self.numbers)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The figures as texts."""
        return ["figure", "%", "95 % interval", "how"], results.rows_of(self.numbers)


def leakage(
    table: TableLike,
    protected: str,
    labels: str | Sequence[str],
    *,
    split: str | None = None,
    ids: str | None = None,
    where: str | None = None,
    predictions: TableLike | None = None,
    prediction: str | Sequence[str] = (),
    attacker: str = "auto",
    seed: int = 0,
    quiet: bool = False,
    options: LeakageOptions | None = None,
) -> LeakageResult:
    """How well an attacker infers the protected attribute from labels (λ_D) and from a model's predictions (λ_M).

    table: a path (.csv, .parquet, .npz, .arrow, a data set's folder), an Arrow table, a data frame, or arrays by column
    name. protected: its column of the protected attribute, with any number of classes. labels: one column of
    categories, a column of lists of 0 and 1, or several columns of 0 and 1 (names or patterns such as 'obj_*').
    split: a column of train, val and test; without it attackers are cross-fitted. ids: a column of identifiers, by
    default id, image_id or image_name. where: a column of true and false that says which rows count.
    predictions: hard labels, logits or probabilities on the same items, in the columns `prediction` (as `labels` by
    default). attacker: bayes, logistic, trees, mlp, mlp-4, …, converged, or auto, the best of several. quiet: no
    progress on standard error.

    Returns leakages in percent (chance is 100 / classes) and amplification in percentage points, with 95 % intervals;
    NaN with a reason where nothing can be estimated.

    Raises BadInput or UnknownName for tables, columns and settings that cannot be used. Source: Wang et al. 2019,
    arXiv:1811.08489.

    >>> verbs = ["cooking"] * 40 + ["driving"] * 40
    >>> people = (["woman"] * 30 + ["man"] * 10) + (["woman"] * 10 + ["man"] * 30)
    >>> result = leakage({"verb": verbs, "gender": people}, "gender", "verb", attacker="bayes", quiet=True)
    >>> result.numbers.dataset_leakage.estimate  # 30 of 40 of either verb
    75.0
    """
    options = options or LeakageOptions()
    fighter = load(attacker, options.device)
    names = [labels] if isinstance(labels, str) else list(labels)
    rows = tables.read_labels(table)
    data = tables.labelled_data(
        rows,
        names,
        protected,
        split=split,
        ids=ids,
        subject=options.subject,
        where=where,
        where_train_only=options.as_published,
    )
    answered, outputs = None, None
    if predictions is not None:
        columns = [prediction] if isinstance(prediction, str) else list(prediction)
        answered, outputs = _matched(predictions, data, columns or names, ids)
    settings = Settings(
        options.rounds,
        options.permutations,
        seed,
        options.as_published,
        options.train_per_class,
        options.test_per_class,
    )
    # Before the attackers, which may take minutes: it may be refused.
    balancing = costs(data, options.alphas, balance_sizes=options.balance_sizes)
    analysis = analyse(
        # Attackers and permutations go through the rows in turn: the order of the rows must not matter.
        data.take(data.own_order()),
        fighter,
        outputs=outputs,
        answered=answered,
        noise=options.noise,
        f1=options.f1 or None,
        curve=options.curve,
        settings=settings,
        stage="" if quiet else "leakage",
    )
    marked, warnings = None, list[str]()
    if options.alphas:
        marked, warnings = tables.balanced_table(
            rows,
            data,
            options.alphas,
            split=split,
            where=where,
            where_train_only=options.as_published,
            seed=seed,
            balance_sizes=options.balance_sizes,
        )
    used = [*tables.expand(rows, names), protected, tables.id_column(rows, ids) or ""]
    caution = tables.unnamed_subjects(rows, used) if options.subject is None else ""
    return LeakageResult(_numbers(analysis, balancing, table, caution), marked, tuple(warnings))


def _matched(
    predictions: TableLike, data: LabelledData, columns: Sequence[str], ids: str | None
) -> tuple[LabelledData, Outputs]:
    """The items that have predictions, and these, both by identifier."""
    covered, outputs = matched_predictions(tables.read_labels(predictions, "predictions"), data, columns, ids)
    order = covered.own_order()
    return covered.take(order), outputs.take(order)


def _numbers(analysis: Analysis, balancing: tuple[Cost, ...], table: TableLike, caution: str) -> LeakageNumbers:
    # Several labels are a whole-number programme, which can take a minute for each ratio: on request only.
    alphas = ALPHAS if analysis.data.labels.category is not None and not balancing else ()
    shown = overview(analysis.data, alphas)
    source = Path(table).name if isinstance(table, str | Path) else "a table"
    return numbers_of(analysis, replace(shown, costs=balancing or shown.costs), source, caution)

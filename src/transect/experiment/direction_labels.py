"""Labels of a generator's subjects or of inverted photographs, to fit directions to: from a table, truth or a model.

Each row is one subject, by its seed or the id of its photograph. What a row lacks is NaN, and what is left out is
counted in the notes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.controls.fitting import Labels
from transect.datasets.features import as_named
from transect.effects.outcomes import Truth, compute
from transect.effects.samples import read_columns
from transect.errors import BadInput, UnknownName
from transect.inversion.pictures import InvertedPhotographs
from transect.protocols import Generator, KnowsTruth, Target
from transect.records import Attribute, Latents, Task
from transect.runs import model_files
from transect.runs.parts import Progress
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.wording import counted
from transect.texts import words_of

BATCH: Final = 64
"""Images that are rendered and labelled at a time."""
BY: Final = ("seed", "subject", "id")
"""Columns of a table by which a row's subject is known; an id is that of an image as the population has it."""
NOT_LABELS: Final = (*BY, "cell", "study", "rater")
_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)")
_ID: Final = re.compile(r"(\d+)-0000")


def from_truth(generator: Generator, latents: Latents, wanted: Sequence[str]) -> Labels:
    """The values of the causal model for each latent. wanted: names, or names compared with a value ("smile>0.5").

    Raises BadInput where the generator knows no truth, for a name twice, or an attribute of several levels that is not
    compared with one; UnknownName for another attribute.

    >>> from transect import generators
    >>> view = generators.load("faceworld-latent", image_size=32)
    >>> labels = from_truth(view, view.sample([1, 2]), ["age", "smile>0.5"])
    >>> dict(labels.kinds)
    {'age': 'continuous', 'smile': 'binary'}
    """
    if not isinstance(generator, KnowsTruth):
        raise BadInput(
            f"--labels truth: expected a generator that knows the truth, got {generator.name}; give a table "
            "or target:SPEC"
        )
    known = {attribute.name: attribute for attribute in generator.truth_attributes}
    truths = _truths_of(wanted, known)
    _refuse_whole(truths, known)
    table = generator.truths(latents)
    columns, kinds = {}, {}
    for name, truth in truths.items():
        attribute = known[name]
        columns[name] = truth.of({name: table[name].to_numpy()})
        kinds[name] = "binary" if truth.comparison or attribute.kind == "binary" else "continuous"
    return Labels(latents.seeds, columns, kinds, "truth", _texts(truths))


def from_table(source: TableLike, wanted: Sequence[str] = (), labelled_by: str = "") -> Labels:
    """Labels of a table with a column seed, subject or id, and one per attribute.

    wanted: names or comparisons; every column where there are none. Several rows of one subject (raters) are averaged;
    of labels 0 and 1 the majority's is taken, none at a tie. labelled_by: who gave them, "model:NAME" for a model.

    Raises BadInput for a table, a subject or a label that cannot be read; UnknownName for a column that is not there.
    """
    return of_table(LabelledRows.of(source), wanted, labelled_by)


@final
@dataclass(frozen=True, slots=True)
class LabelledRows:
    """A table of labels: its rows, what messages call it, its file's name ("" in memory) and its SHA-256.

    attributes: what its columns are, where they are a data set's; a level is then named, such as 'race==Black'.
    """

    rows: pa.Table
    name: str
    file: str
    sha256: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    @classmethod
    def of(cls, source: TableLike) -> LabelledRows:
        """Read a table. Raises BadInput for an unreadable or empty one, or a column twice."""
        rows = as_table(source, "labels", text=("id",))
        names = [name.removeprefix("true.") for name in rows.column_names]  # of a run's images
        rows = rows.rename_columns(names) if len(set(names)) == len(names) else rows
        path = Path(source) if isinstance(source, str | Path) else None
        name = "labels" if path is None else str(path)
        if repeated := sorted({column for column in rows.column_names if rows.column_names.count(column) > 1}):
            raise BadInput(f"{name}: expected unique column names, got {', '.join(repeated)} twice; rename or drop one")
        if not len(rows):
            raise BadInput(f"{name}: expected a row for each labelled subject, got a heading without rows")
        if path is None:
            return cls(rows, name, "", _digest(rows))
        return cls(rows, name, path.name, _digest(rows) if path.is_dir() else model_files.sha256(path))

    @classmethod
    def of_dataset(cls, text: str) -> LabelledRows:
        """The labels of the data set READER:PATH. Raises BadInput and UnknownName as `datasets.open_dataset`."""
        from transect.datasets import open_dataset

        dataset = open_dataset(text)
        known = {attribute.name: attribute for attribute in dataset.attributes}
        return cls(dataset.table(), dataset.name, dataset.name, dataset.sha256, known)

    @property
    def source(self) -> str:
        """Who gave the labels, where nobody says."""
        return f"{'data set' if self.attributes else 'table'} {self.file}".strip()


def _digest(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def of_table(source: LabelledRows, wanted: Sequence[str] = (), labelled_by: str = "") -> Labels:
    """As `from_table`, of a table that is read already."""
    table, path = source.rows, source.name
    seeds = _seeds(table, path)
    if not (labels := [column for column in table.column_names if column not in NOT_LABELS]):
        present = ", ".join(table.column_names[:6])
        raise BadInput(f"{path}: expected a column of labels for each attribute, got only {present}; add one")
    named = {name_of(text) for text in wanted} or {*labels}
    if unknown := sorted(named - {*labels}):
        raise UnknownName("attribute", unknown[0], labels)
    names, values = read_columns(table.select([column for column in labels if column in named]))
    values = np.where(np.isfinite(values), values, np.nan)
    nominal = [name for name in names if (known := source.attributes.get(name)) is not None and known.nominal]
    whole = [name for name in names if name not in nominal]
    truths = _truths_of(wanted or whole, {name: source.attributes.get(name) for name in names})
    _refuse_whole(truths, source.attributes)
    subjects, rows = np.unique(seeds, return_inverse=True)
    columns, kinds, notes = {}, {}, []
    if len(subjects) < len(seeds):
        notes.append(f"{counted(len(seeds), 'row')} of {counted(len(subjects), 'subject')} averaged by subject")
    if nominal and not wanted:
        notes.append(
            f"not fitted, since their levels have no order: {', '.join(nominal)}; name a level, such as 'NAME==LEVEL'"
        )
    for name, truth in truths.items():
        column = values[:, names.index(name)]
        of_two = bool(np.isin(column[np.isfinite(column)], (0, 1)).all())
        kinds[name] = "binary" if truth.comparison or of_two else "continuous"
        mean = _means(column, rows.reshape(-1), len(subjects))
        if kinds[name] == "binary" and not truth.comparison:
            ties = int((mean == 0.5).sum())
            notes += [f"{name}: {counted(ties, 'subject')} without a majority left out"] if ties else []
            mean = np.where(np.isnan(mean) | (mean == 0.5), np.nan, mean > 0.5)
        columns[name] = truth.of({name: mean})
        lacking = int(np.isnan(mean).sum()) if kinds[name] != "binary" else int(np.isnan(columns[name]).sum())
        notes += [f"{name}: {lacking:,} of {len(subjects):,} subjects have no label"] if lacking else []
    facts = {"table": source.file, "table_sha256": source.sha256, **_texts(truths)}
    return Labels(subjects, columns, kinds, labelled_by or source.source, facts, tuple(notes))


def from_target(generator: Generator, latents: Latents, target: Target, name: str, *, quiet: bool = False) -> Labels:
    """What a model answers on each subject's image: yes or no, or its number where it gives one.

    The source names the target, so that reports warn of its biases. Images without a valid answer have no label.
    Raises BadInput for an embedding, or a model of several classes without the one that counts as yes.
    """
    from transect.targets import describe, guarded

    task = Task(target.task)
    if task is Task.EMBEDDING:
        raise BadInput(f"--labels target: expected answers, got an embedding of {target.name}; give another target")
    description, batches, failed = describe(target), [], 0
    positive, threshold = description.get("positive"), description.get("threshold")
    for batch in _batches(latents, target.name, quiet):
        answers = guarded(target, generator.render(batch), timeout=10.0, batch=BATCH)
        counted, cut = "score" if task is Task.REGRESSION else "answer", 0.5 if threshold is None else float(threshold)
        outcomes = compute(counted, answers, positive=positive, threshold=cut)
        batches.append(outcomes.values)
        failed += int(answers.failed.sum())
    values = np.concatenate(batches) if batches else np.empty(0)
    kind = "continuous" if task is Task.REGRESSION else "binary"
    notes = (f"{failed:,} of {len(latents):,} images have no valid answer of {target.name}",) if failed else ()
    facts = {"target": target.name, "target_description": description, "labels": {name: target.name}}
    return Labels(latents.seeds, {name: values}, {name: kind}, f"target:{target.name}", facts, notes)


def _batches(latents: Latents, name: str, quiet: bool) -> Iterator[Latents]:
    with Progress(f"labels of {name}", len(latents), quiet=quiet) as progress:
        for start in range(0, len(latents), BATCH):
            batch = latents.take(slice(start, start + BATCH))
            yield batch
            progress.advance(len(batch))


def _truths_of(texts: Sequence[str], known: Mapping[str, Attribute | None]) -> dict[str, Truth]:
    """Attribute by name, with what it is compared with. Raises BadInput for one named twice."""
    truths: dict[str, Truth] = {}
    for text in texts:
        name = name_of(text)
        if name not in known:
            raise UnknownName("attribute", name, known)
        attribute = known[name]
        truth = Truth.parse(text, None if attribute is None else {name: attribute})
        if truths.setdefault(name, truth) != truth:
            raise BadInput(f"--attribute {name} is given twice with different settings: give it once")
    return truths


def _refuse_whole(truths: Mapping[str, Truth], known: Mapping[str, Attribute]) -> None:
    """Raise BadInput for an attribute whose levels have no order and that is not compared with one."""
    for name, truth in truths.items():
        attribute = known.get(name)
        if attribute is not None and attribute.nominal and not truth.comparison:
            levels = ", ".join(attribute.levels)
            raise BadInput(f"{name}: it has levels {levels}; fit one, for example '{name}=={attribute.levels[-1]}'")


def name_of(text: str) -> str:
    """The attribute that a text names, compared with a value or not."""
    match = _NAME.match(text)
    return match[1] if match else Truth.parse(text).attribute


def _texts(truths: Mapping[str, Truth]) -> dict[str, object]:
    return {"labels": {name: truth.text for name, truth in truths.items()}}


def _means(column: Float[np.ndarray, " r"], rows: Int[np.ndarray, " r"], n: int) -> Float[np.ndarray, " n"]:
    known = np.isfinite(column)
    counts = np.bincount(rows[known], minlength=n)
    sums = np.bincount(rows[known], weights=column[known], minlength=n)
    return np.asarray(np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0))


def _seeds(table: pa.Table, path: str) -> Int[np.ndarray, " r"]:
    """The subject of each row. Raises BadInput where a row names none."""
    by = next((name for name in BY if name in table.column_names), None)
    if by is None or table[by].null_count:
        names = ", ".join(table.column_names[:6]) or "no column"
        raise BadInput(f"{path}: expected a column {', '.join(BY[:-1])} or id with a subject in every row, got {names}")
    if by != "id":
        try:
            return np.asarray(table[by].cast(pa.int64()).to_numpy(), dtype=np.int64)
        except pa.ArrowException as error:
            raise BadInput(f"{path}: expected whole numbers in column {by}, got {words_of(error)}") from None
    matches = [_ID.fullmatch(str(name)) for name in table["id"].to_pylist()]
    if bad := [name for name, match in zip(table["id"].to_pylist(), matches, strict=True) if match is None]:
        raise BadInput(
            f"{path}: expected ids of unedited images, SEED-0000, got {bad[0]!r}; the id of an edited image "
            "does not give its latents: label unedited subjects, or add a column seed"
        )
    return np.array([int(match[1]) for match in matches if match], dtype=np.int64)


_MOST_NAMED: Final = 3


def labels_of_photographs(
    table: LabelledRows, photographs: InvertedPhotographs, wanted: Sequence[str] = (), labelled_by: str = ""
) -> Labels:
    """Labels of a table or data set with a column id, that of the photograph, and one per attribute.

    As `labels.from_table`; rows of photographs that were not inverted, or whose inversion failed, are left out and
    counted in the notes.
    """
    columns = table.rows.column_names
    if "id" not in columns:
        raise BadInput(
            f"{table.name}: expected a column id with the names of photographs, as in --latents, got"
            f" {', '.join(columns[:6]) or 'no column'}"
        )
    places = {name: place for place, name in enumerate(photographs.ids)}
    stated = [str(name) for name in table.rows["id"].to_pylist()]
    same, compared = as_named(stated, [*photographs.ids, *photographs.left_out])
    ids = [str(name) for name in same]
    inverted = np.array([name in places for name in ids], dtype=bool)
    if not inverted.any():
        names = ", ".join(photographs.ids[:_MOST_NAMED])
        got = ", ".join(ids[:_MOST_NAMED])
        raise BadInput(f"{table.name}: expected ids of inverted photographs, as {names}, got {got}")
    seeds = pa.array([places[name] for name in ids if name in places], pa.int64())
    others = [name for name in columns if name not in BY]
    rows = table.rows.select(others).filter(pa.array(inverted)).add_column(0, "seed", seeds)
    labels = of_table(replace(table, rows=rows), wanted, labelled_by)
    labelled = len({name for name in ids if name in places})
    notes = [f"{labelled:,} of {len(photographs.ids):,} photographs with latents have labels in {table.name}, by id"]
    notes += [compared] if compared else []
    return replace(labels, notes=(*labels.notes, *notes, *_left_out(ids, places, photographs.left_out)))


def _left_out(ids: Sequence[str], places: dict[str, int], failed: Sequence[str]) -> list[str]:
    unknown, lost = [name for name in ids if name not in places], set(failed)
    of_failed = sum(name in lost for name in unknown)
    notes = [(of_failed, "photographs whose inversion failed"), (len(unknown) - of_failed, "photographs not inverted")]
    return [f"{counted(count, 'row')} of {words} left out" for count, words in notes if count]

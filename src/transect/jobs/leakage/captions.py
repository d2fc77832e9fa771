"""Captions from a file as a model's answers: objects that they name, and the words that are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from transect.attacks.answers import predictions as matched_predictions
from transect.attacks.captions import Lexicon, caption_outputs, remaining_words
from transect.attacks.outputs import Model
from transect.attacks.records import LabelledData
from transect.attacks.representations import Layer
from transect.attacks.tables import identifiers
from transect.datasets.features import objects
from transect.errors import BadInput
from transect.runs.inputs import TableLike, as_table

CAPTION = "caption"


@final
@dataclass(frozen=True)
class Captions:
    """Captions by identifier, several of one item joined, and the lexicon by which they are read."""

    name: str
    texts: Mapping[str, str]
    lexicon: Lexicon

    def model(self, data: LabelledData) -> Model:
        """The objects that the captions name, as hard answers on the items that have captions.

        Raises BadInput where labels have no identifiers, or captions cover a split in part.
        """
        if data.ids is None or data.id_column is None:
            raise BadInput("captions: expected labels with a column of identifiers, got none; name it with --id")
        named = caption_outputs(data, list(self.texts.values()), self.lexicon).hard.matrix.astype(int)
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
